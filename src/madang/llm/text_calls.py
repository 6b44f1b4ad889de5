"""Calls that a model wrote into its text, as small local models do. Pure.

Only a text that is nothing but calls is read so: never a call inside of prose, which a document that the model quotes
could have brought there. What is read goes the way of every call: grants, rules and approvals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from madang.core.phrases import Phrase, layout, say
from madang.core.suggestions import did_you_mean_tool
from madang.llm.mending import mend_arguments, parse_nearly

MAX_CALL_CHARS = 256 * 1024
"""A longer text is no call."""
MAX_OBJECTS = 256
"""Of one text; more are no calls."""
HEAD_CHARS = 400
"""Of a text, by which it is told whether it still may be a call."""

_NAMES = ("name", "tool", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_OTHERS = ("id", "call_id", "tool_call_id", "type", "index")
_KEYS = (*_NAMES, *_ARGUMENTS, *_OTHERS, "tool_calls")

_TAGS = (
    "<tool_call>", "</tool_call>", "<tool_calls>", "</tool_calls>", "<function_call>", "</function_call>",
    "<|tool_call|>", "<|/tool_call|>", "<|python_tag|>", "[TOOL_CALLS]",
)  # fmt: skip
"""What templates of models write around calls, and servers that do not know the template leave there."""
_FENCE = re.compile(r"```(?:json|jsonc|tool_calls?|xml)?[ \t]*(?:\r?\n|(?=[{\[<])|$)", re.IGNORECASE)
_FENCE_BEGUN = re.compile(r"`{1,3}[a-z_]{0,12}[ \t]*", re.IGNORECASE)
_DECODER = json.JSONDecoder(strict=False)  # bare line ends in strings can be read in one way only
_SPACE = re.compile(r"\A[\s,;]+")
_KEY_BEGUN = re.compile(r'\{\s*(?:"(\w*)("?)|$)')
_CALL_BEGUN = re.compile(
    rf'\{{\s*"(?:{"|".join(_NAMES)})"\s*:\s*"([^"\\]{{1,200}})"\s*,\s*"(?:{"|".join(_ARGUMENTS)})"\s*:'
)
_INSIDE_TAG = re.compile(r"[{\[]|<(?:function|arg_key|invoke)\b|</(?:tool_call|function_call)")
"""What shows that a tag is used and not only spoken of; templates have forms of their own, too."""


@dataclass(frozen=True, slots=True)
class TextCall:
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text is: calls, something that looks like one and is none, or neither."""

    calls: tuple[TextCall, ...] = ()
    malformed: Phrase | None = None
    """Why it is no call, for the model."""


_PROSE = Reading()


def may_be_call(text: str) -> bool:
    """Tell whether a text that has only begun may become a call."""
    rest, is_tagged = _after_marks(text[:HEAD_CHARS])
    if not rest or is_tagged:
        return True
    if any(tag.startswith(rest) for tag in _TAGS) or _FENCE_BEGUN.fullmatch(rest):
        return True
    if rest.startswith("["):
        rest = rest[1:].lstrip()
        if not rest:
            return True
    key = _KEY_BEGUN.match(rest)
    if key is None:
        return False
    begun, is_whole = key.group(1) or "", bool(key.group(2))
    return begun in _KEYS if is_whole else any(known.startswith(begun) for known in _KEYS)


def read_calls(text: str, offered: Collection[str]) -> Reading:
    """Return what a text is that may be a call of the tools that are offered."""
    if len(text) > MAX_CALL_CHARS or not may_be_call(text.lstrip()):
        return _PROSE
    values: list[Any] = []
    rest, is_tagged = _after_marks(text)
    start = rest
    while rest:
        if len(values) >= MAX_OBJECTS:
            return _PROSE
        try:
            value, end = _DECODER.raw_decode(rest)
        except (ValueError, RecursionError):
            end = _next_mark(rest)
            value = parse_nearly(rest[:end].rstrip())
            if value is None:
                return _broken(start, offered, is_tagged)
        values += value.get("tool_calls", [value]) if isinstance(value, dict) else [value]
        rest, has_tag = _after_marks(rest[end:])
        is_tagged = is_tagged or has_tag
    return _reading(list(_flat(values)), offered, is_tagged)


def _after_marks(text: str) -> tuple[str, bool]:
    """Return a text without the marks and spaces that it begins with, and whether one of them was a tag of calls."""
    is_tagged = False
    while True:
        text = _SPACE.sub("", text, count=1)
        if tag := next((tag for tag in _TAGS if text.startswith(tag)), ""):
            text, is_tagged = text[len(tag) :], True
        elif fence := _FENCE.match(text):
            text = text[fence.end() :]
        else:
            return text, is_tagged


def _next_mark(text: str) -> int:
    ends = [place for tag in (*_TAGS, "```") if (place := text.find(tag)) >= 0]
    return min(ends, default=len(text))


def _flat(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list):
            yield from value
        else:
            yield value


def _broken(text: str, offered: Collection[str], is_tagged: bool) -> Reading:
    begun = _CALL_BEGUN.match(text.lstrip("[ \t\r\n"))
    if not (is_tagged and _INSIDE_TAG.search(text)) and not (begun and begun.group(1) in offered):
        return _PROSE
    return Reading(
        malformed=say(
            "What you wrote looks like a call of a tool, but it cannot be read as one, and nothing was called. Call "
            "the tool again, with whole arguments and no other words, or answer in plain words."
        )
    )


def _reading(values: list[Any], offered: Collection[str], is_tagged: bool) -> Reading:
    calls = [_call(value, is_tagged) for value in values]
    whole = [call for call in calls if call is not None]
    if not calls or len(whole) < len(calls):
        return _broken("{}", offered, is_tagged) if calls else _PROSE
    unknown = next((call.tool for call in whole if call.tool not in offered), None)
    if unknown is None:
        return Reading(tuple(whole))
    refused = say(
        "What you wrote looks like a call of a tool, but there is no tool '{name}' here, and nothing was called.",
        name=unknown,
    )
    advice = say("Call one of the tools that you have, or answer in plain words.")
    return Reading(malformed=layout("{what} {todo}", what=refused, todo=did_you_mean_tool(unknown, offered) or advice))


def _call(value: Any, is_tagged: bool) -> TextCall | None:
    """Return the call that an object is; None if it is something else that has a name."""
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        if not set(value) <= {"function", *_OTHERS}:
            return None
        value = value["function"]
    if not isinstance(value, dict) or not set(value) <= {*_NAMES, *_ARGUMENTS, *_OTHERS}:
        return None
    names = [name for key in _NAMES if isinstance(name := value.get(key), str)]
    given = [value[key] for key in _ARGUMENTS if key in value]
    if len(names) != 1 or len(given) > 1 or not (given or is_tagged):
        return None
    arguments = given[0] if given else {}
    if isinstance(arguments, str):
        arguments = parse_nearly(mend_arguments(arguments) or "{}")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict) or _is_schema(arguments):
        return None
    return TextCall(names[0].strip(), json.dumps(arguments, ensure_ascii=False))


def _is_schema(arguments: dict[str, Any]) -> bool:
    """Tell whether these are the parameters of a tool that is described, not called."""
    return arguments.get("type") == "object" and isinstance(arguments.get("properties"), dict)
