"""Calls by `use_tool`: what they name is what is called. Pure.

They are rewritten where an answer is taken, so that policy, audit, limits, loop guard and whoever looks see the tool
itself. The model is sent its own call again as it made it: a server that binds a model to the listed names would else
lead it from a history of other names to the listed one that begins alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from madang.agent.calls import parse_arguments
from madang.core.tools import Tool
from madang.llm.base import ModelAnswer
from madang.llm.messages import CallPart, Message, ResultPart

FIND_TOOLS = "find_tools"
USE_TOOL = "use_tool"
FINDERS = frozenset({FIND_TOOLS, USE_TOOL})


def named_call(part: CallPart, find_tool: Callable[[str], Tool | None]) -> CallPart:
    """Return the call that a call of `use_tool` means; any other, and one that names nothing, as it is."""
    arguments = parse_arguments(part.arguments) if part.tool == USE_TOOL else None
    if arguments is None or not arguments.keys() <= {"name", "arguments"}:
        return part
    name, inner = arguments.get("name"), arguments.get("arguments")
    if isinstance(inner, str):  # some models write the object as a text
        inner = parse_arguments(inner)
    if not isinstance(name, str) or not name or name == USE_TOOL or not isinstance(inner, dict):
        return part
    tool = find_tool(name)
    text = json.dumps(inner, ensure_ascii=False)
    return replace(part, tool=tool.name if tool else name, arguments=text, asked=part.arguments)


def with_named_calls(answer: ModelAnswer, find_tool: Callable[[str], Tool | None]) -> ModelAnswer:
    """Return an answer with the calls that its calls of `use_tool` mean."""
    if not any(call.tool == USE_TOOL for call in answer.calls):
        return answer
    parts = tuple(named_call(part, find_tool) if isinstance(part, CallPart) else part for part in answer.parts)
    return replace(answer, parts=parts)


def as_asked(messages: Sequence[Message]) -> list[Message]:
    """Return messages with the calls as their model made them, for that model."""
    if not any(isinstance(part, CallPart) and part.asked for message in messages for part in message.parts):
        return list(messages)
    sent: list[Message] = []
    asked: set[str] = set()
    for message in messages:
        if message.role == "assistant":
            asked = {part.id for part in message.parts if isinstance(part, CallPart) and part.asked}
        parts = tuple(
            replace(part, tool=USE_TOOL, arguments=part.asked, asked="")
            if isinstance(part, CallPart) and part.asked
            else replace(part, tool=USE_TOOL)
            if isinstance(part, ResultPart) and part.call_id in asked
            else part
            for part in message.parts
        )
        sent.append(replace(message, parts=parts))
    return sent
