"""Calls whose results are in no message, because their run was stopped or failed: each gets one that tells its fate.

A server refuses a history in which a call has no result, and would refuse it for ever. What became of such a call is
in its row, and in what its service keeps of it; so it is told as done or not done, not as something that may have been.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from madang.agent.history import to_model
from madang.agent.outcomes import outcome_part
from madang.core.calls import Call, Locale
from madang.core.phrases import Phrase, say
from madang.llm.messages import CallPart, Message, ResultPart, parse_parts
from madang.provider.provider import Provider
from madang.records.operations import OperationStore
from madang.records.runs.journal import Message as StoredMessage
from madang.records.runs.message_calls import MessageCall
from madang.records.runs.messages import MessageStore
from madang.rendering.catalogue import translator

Outcomes = Mapping[tuple[str, str], ResultPart | Phrase]
"""What became of calls, by the ids of their message and their own."""


class OpenCalls:
    """Finds out what became of calls that have no result."""

    def __init__(self, messages: MessageStore, operations: OperationStore, provider: Provider) -> None:
        self._messages = messages
        self._operations = operations
        self._provider = provider

    async def close(self, call: Call, messages: Sequence[StoredMessage]) -> list[Message]:
        """Return messages as they are sent, with every call followed by its result."""
        open_ids = {message.id for message in find_open(messages)}
        outcomes: dict[tuple[str, str], ResultPart | Phrase] = {}
        if open_ids:
            for one in await self._messages.list_calls(call, messages[0].seq, messages[-1].seq):
                if one.message_id in open_ids:
                    outcomes[one.message_id, one.call.call_id] = await self._outcome(call, one)
        return close_calls(messages, outcomes, call.locale)

    async def _outcome(self, call: Call, one: MessageCall) -> ResultPart | Phrase:
        for part in parse_parts(list(one.call.result)):
            if isinstance(part, ResultPart):
                return part  # it was done before the others of its turn
        if one.call.outcome == "unanswered":
            return _UNANSWERED
        if one.call.pause_id:
            return _WITHDRAWN
        tool = self._provider.find_tool(one.call.tool)
        if tool is None:
            return _STOPPED
        if tool.effect == "read":
            return _NOT_DONE
        made = one.made_by(call)
        if await self._operations.get(made, made.operation_id) is not None:
            return _DONE
        was_done = await self._provider.was_done(made, one.call.tool)
        if was_done is None and tool.once_per_operation and tool.restorable:
            was_done = False  # it writes its operation with its effect, and there is none
        return _STOPPED if was_done is None else _DONE if was_done else _NOT_DONE


def find_open(messages: Sequence[StoredMessage]) -> list[StoredMessage]:
    """Return the messages with calls that no message gives the results of."""
    following: Sequence[StoredMessage | None] = [*messages[1:], None]
    return [
        message
        for message, after in zip(messages, following, strict=True)
        if message.role == "assistant"
        and (after is None or after.role != "tool")
        and any(part.get("type") == "call" for part in message.parts)
    ]


def close_calls(messages: Sequence[StoredMessage], outcomes: Outcomes, locale: Locale) -> list[Message]:
    """Return messages as they are sent, with every call followed by its result. Pure."""
    open_ids = {message.id for message in find_open(messages)}
    words = translator(locale)
    closed: list[Message] = []
    for stored, message in zip(messages, to_model(messages), strict=True):
        closed.append(message)
        if stored.id in open_ids:
            results: list[ResultPart] = []
            for part in message.parts:
                if isinstance(part, CallPart):
                    known = outcomes.get((stored.id, part.id), _STOPPED)
                    if isinstance(known, Phrase):
                        known = outcome_part(part.id, part.tool, known.render(words), is_error=known is not _DONE)
                    results.append(known)
            closed.append(Message("tool", tuple(results)))
    return closed


_DONE = say("Done. The run was stopped right after it, so its own words are lost: look at what it changed.")
_NOT_DONE = say("Error: Not done: the run was stopped before.\nHint: Call it again if it is still wanted.")
_UNANSWERED = say(
    "No answer yet: the run ended before one came. The question stays open, and its answer will be given to you."
)
_WITHDRAWN = say("Error: Not answered: the run was stopped, and what it asked was withdrawn with it.")
_STOPPED = say(
    "Error: The run was stopped before this call had a result; it may have been done.\n"
    "Hint: Look at the state before you call it again."
)
