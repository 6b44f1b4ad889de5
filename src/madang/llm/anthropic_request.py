"""A request as Anthropic's Messages have it. Pure; the same messages give the same bytes, which the server caches."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from madang.llm.base import ModelOptions, ModelRequest, OfferedTool
from madang.llm.chat_request import json_arguments
from madang.llm.messages import CallPart, ImagePart, Message, Part, ResultPart, TextPart, ThinkingPart, sendable

DEFAULT_MAX_TOKENS = 32_000
"""The API wants a number. A model that allows less says so, and is believed."""
MAX_TOKENS = 10_000_000
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
CACHED = {"type": "ephemeral"}
MARKABLE = ("text", "image", "tool_use", "tool_result")
"""Blocks that may carry a mark of caching; thoughts may not."""

BEGUN, GO_ON = "(The session begins here.)", "(Go on.)"
"""What stands for the person, from whom the API wants the first word and the last."""

MIN_BUDGET = 1024
_BUDGETS = {"low": 2048, "medium": 8192, "high": 24_576}
"""Tokens of thinking, for models that are told a number."""

_MAX_TOKENS = re.compile(r"max_tokens: \d+ > (\d+)")
_ADAPTIVE = re.compile(r"adaptive|output_config|\beffort\b")
_ID_LETTERS = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class MessagesDialect:
    """What one model takes of what they do not agree on."""

    max_tokens: int | None = None
    """The most that it allows, once it has said so."""
    thinks_by_effort: bool = True
    """How much it thinks is told as an effort; older models are told a number of tokens."""
    takes_display: bool = True

    def after(self, refusal: str) -> MessagesDialect:
        """Return the dialect of a model that refused a request with these words; the same if they tell nothing."""
        if limit := _MAX_TOKENS.search(refusal):
            return replace(self, max_tokens=min(int(limit.group(1)), self.max_tokens or MAX_TOKENS))
        if self.takes_display and "display" in refusal:
            return replace(self, takes_display=False)
        if self.thinks_by_effort and _ADAPTIVE.search(refusal):
            return replace(self, thinks_by_effort=False)
        return self


DEFAULT_MESSAGES_DIALECT = MessagesDialect()


def messages_body(
    provider: str, model: str, request: ModelRequest, dialect: MessagesDialect = DEFAULT_MESSAGES_DIALECT
) -> bytes:
    """Return the body of a request; what `provider` and `model` want back goes with it."""
    messages = _messages(provider, model, request)
    body: dict[str, Any] = {"model": model, "stream": True}
    body |= _options(request, dialect, messages)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["tools"][-1]["cache_control"] = CACHED
    if request.instructions.strip():
        body["system"] = [{"type": "text", "text": request.instructions, "cache_control": CACHED}]
    # Last: everything before is the same in each turn.
    body["messages"] = messages
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return sendable(text).encode()


def _tool(tool: OfferedTool) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}, **tool.schema}
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _options(request: ModelRequest, dialect: MessagesDialect, messages: list[dict[str, Any]]) -> dict[str, Any]:
    options = request.options
    max_tokens = min(options.max_output_tokens or DEFAULT_MAX_TOKENS, dialect.max_tokens or MAX_TOKENS)
    body: dict[str, Any] = {"max_tokens": max_tokens}
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if options.top_p is not None:
        body["top_p"] = options.top_p
    if options.parallel_calls is False and request.tools:
        body["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
    body |= _thinking(options, dialect, max_tokens, messages)
    reserved = ("model", "messages", "stream", "tools", "system")
    return body | {name: value for name, value in options.body.items() if name not in reserved}


def _thinking(
    options: ModelOptions, dialect: MessagesDialect, max_tokens: int, messages: list[dict[str, Any]]
) -> dict[str, Any]:
    if options.thinking is None:
        return {}
    if options.thinking == "off":
        return {"thinking": {"type": "disabled"}}
    # Models of late hide their thoughts unless asked, and are silent for minutes while they think.
    display = {"display": "summarized"} if dialect.takes_display else {}
    if dialect.thinks_by_effort:
        return {"thinking": {"type": "adaptive", **display}, "output_config": {"effort": options.thinking}}
    budget = min(_BUDGETS[options.thinking], max_tokens // 2)
    # With a budget, calls that were made without a thought (by another model) may not be the last ones.
    if budget < MIN_BUDGET or _calls_without_thought(messages):
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget, **display}}


def _calls_without_thought(messages: list[dict[str, Any]]) -> bool:
    if not messages or not any(block["type"] == "tool_result" for block in messages[-1]["content"]):
        return False
    answers = [message["content"] for message in messages if message["role"] == "assistant"]
    return bool(answers) and answers[-1][0]["type"] not in ("thinking", "redacted_thinking")


def _messages(provider: str, model: str, request: ModelRequest) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    history, end = request.parted()
    for message in history:
        if message.role == "assistant":
            blocks = [block for part in message.parts if (block := _own_block(part, provider, model)) is not None]
            _add(messages, "assistant", blocks)
        else:
            _add(messages, "user", _user_blocks(message))
    if messages and messages[0]["role"] == "assistant":
        # As where the person began without a model, with a tool.
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": BEGUN}]})
    _mark(messages)
    for message in end:
        _add(messages, "user", _user_blocks(message))
    if messages and messages[-1]["role"] == "assistant":
        # Taken for the beginning of the answer, which models of late refuse.
        _add(messages, "user", [{"type": "text", "text": GO_ON}])
    return messages


def _add(messages: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    """Add blocks; to the last message if it is of the same role, as one turn of each is expected."""
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


def _mark(messages: list[dict[str, Any]]) -> None:
    """Mark up to where the server caches: the end of what is stored, and that of the request before.

    It looks for an earlier prefix only some twenty blocks back, and one turn may have more.
    """
    ends = [message for message in messages if message["role"] == "user"][-2:]
    if messages and messages[-1]["role"] == "assistant":
        ends = [*ends[-1:], messages[-1]]
    for message in ends:
        last = message["content"][-1]
        if last["type"] in MARKABLE:
            last["cache_control"] = CACHED


def _user_blocks(message: Message) -> list[dict[str, Any]]:
    results = [_result(part) for part in message.parts if isinstance(part, ResultPart)]
    others = [block for part in message.parts if (block := _user_block(part)) is not None]
    return [*results, *others]  # results have to come first


def _user_block(part: Part) -> dict[str, Any] | None:
    if isinstance(part, TextPart) and part.text.strip():
        return {"type": "text", "text": part.text}
    return _image(part) if isinstance(part, ImagePart) else None


def _result(result: ResultPart) -> dict[str, Any]:
    # An empty text is refused.
    content: Sequence[dict[str, Any]] = [
        {"type": "text", "text": result.text if result.text.strip() else "(no text)"},
        *map(_image, result.images),
    ]
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": _id(result.call_id), "content": content}
    return block | {"is_error": True} if result.is_error else block


def _image(image: ImagePart) -> dict[str, Any]:
    if image.mime_type not in IMAGE_TYPES:
        return {"type": "text", "text": f"[image: {image.alt or image.mime_type}; this kind cannot be shown to you]"}
    data = base64.b64encode(image.data).decode("ascii")
    return {"type": "image", "source": {"type": "base64", "media_type": image.mime_type, "data": data}}


def _own_block(part: Part, provider: str, model: str) -> dict[str, Any] | None:
    """Return a block of an earlier answer; thoughts word for word, with what proves them, and for this model alone."""
    match part:
        case TextPart(text) if text.strip():
            return {"type": "text", "text": text}
        case ThinkingPart(text, extra) if extra and extra.fits(provider, model):
            if redacted := extra.values.get("redacted"):
                return {"type": "redacted_thinking", "data": redacted}
            if signature := extra.values.get("signature"):
                return {"type": "thinking", "thinking": text, "signature": signature}
        case CallPart(id, tool, arguments):
            return {"type": "tool_use", "id": _id(id), "name": tool, "input": json.loads(json_arguments(arguments))}
    return None


def _id(id: str) -> str:
    """Return the id of a call with the letters that are taken: another server's ids may have more."""
    return _ID_LETTERS.sub("_", id)
