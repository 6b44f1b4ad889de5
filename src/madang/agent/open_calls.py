"""Calls whose results are in no message, because their run was stopped or failed: each gets one that says so. Pure.

A server refuses a history in which a call has no result, and would refuse it for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

from madang.agent.outcomes import outcome_part
from madang.core.calls import Locale
from madang.core.phrases import say
from madang.llm.messages import CallPart, Message
from madang.rendering.catalogue import translator


def close_calls(messages: Sequence[Message], locale: Locale) -> list[Message]:
    """Return messages in which every call is followed by its result."""
    text = _STOPPED.render(translator(locale))
    closed: list[Message] = []
    for number, message in enumerate(messages):
        closed.append(message)
        calls = [part for part in message.parts if isinstance(part, CallPart)]
        if message.role != "assistant" or not calls:
            continue
        following = messages[number + 1] if number + 1 < len(messages) else None
        if following is None or following.role != "tool":
            results = (outcome_part(one.id, one.tool, text, is_error=True) for one in calls)
            closed.append(Message("tool", tuple(results)))
    return closed


_STOPPED = say(
    "Error: The run was stopped before this call had a result; it may have been done.\n"
    "Hint: Look at the state before you call it again."
)
