"""A request as chat completions have it. Pure; the same messages give the same bytes, which servers cache."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from madang.llm.base import ModelOptions, ModelRequest, OfferedTool
from madang.llm.messages import CallPart, ImagePart, Message, ResultPart, TextPart, ThinkingPart, sendable

INVALID_ARGUMENTS = "invalid_json"
"""Under this name a model sees again what it wrote as arguments that were no JSON."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which of the fields that servers do not agree on one server takes."""

    takes_usage_option: bool = True
    tokens_field: str = "max_tokens"
    forbids_keeping: bool = False
    """Whether the server is told to keep nothing, where it would otherwise."""
    wants_signatures: bool = False
    """Whether calls need a signature also where another model has made them."""
    unknown_keywords: frozenset[str] = frozenset()
    """Words of JSON Schema that the server does not know; Gemini refuses the whole request for one."""

    def after(self, refusal: str) -> Dialect:
        """Return the dialect of a server that refused a request with these words; the same if they tell nothing."""
        if "stream_options" in refusal:
            return replace(self, takes_usage_option=False)
        if "max_completion_tokens" in refusal:
            return replace(self, tokens_field="max_completion_tokens")
        if self.forbids_keeping and _STORE.search(refusal):
            return replace(self, forbids_keeping=False)
        unknown = _UNKNOWN_KEYWORD.findall(refusal)
        return replace(self, unknown_keywords=self.unknown_keywords.union(unknown)) if unknown else self


_UNKNOWN_KEYWORD = re.compile(r'Unknown name "([$\w]+)" at \'[\w.]*tools\[')
_STORE = re.compile(r"\bstore\b")
DEFAULT_DIALECT = Dialect()
OPENAI_DIALECT = Dialect(forbids_keeping=True)
GEMINI_DIALECT = Dialect(wants_signatures=True)
CALL_EXTRA = "extra_content"
"""Where Gemini's compatible address has the signature of a call, and wants it back."""
NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""What it takes for a call that it has not made itself."""


def chat_body(provider: str, model: str, request: ModelRequest, dialect: Dialect = DEFAULT_DIALECT) -> bytes:
    """Return the body of a request; what `provider` and `model` want back goes with it."""
    body: dict[str, Any] = {"model": model, "stream": True}
    if dialect.takes_usage_option:
        body["stream_options"] = {"include_usage": True}
    if dialect.forbids_keeping:
        body["store"] = False
    if request.tools:
        body["tools"] = [_tool(tool, dialect.unknown_keywords) for tool in request.tools]
    body |= _options(request.options, dialect)
    # Last: everything before is the same in each turn.
    body["messages"] = _chat_messages(provider, model, request, dialect)
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return sendable(text).encode()


def _tool(tool: OfferedTool, unknown: frozenset[str]) -> dict[str, Any]:
    # OpenAI refuses an object without `properties`.
    schema = {"type": "object", "properties": {}, **tool.schema}
    schema = _without(schema, unknown) if unknown else schema
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": schema},
    }


def _without(schema: Any, unknown: frozenset[str]) -> Any:
    """Return a schema without these keywords; properties may have the same names."""
    if isinstance(schema, list):
        return [_without(item, unknown) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        keyword: {name: _without(one, unknown) for name, one in value.items()}
        if keyword in ("properties", "$defs") and isinstance(value, dict)
        else _without(value, unknown)
        for keyword, value in schema.items()
        if keyword not in unknown
    }


def _options(options: ModelOptions, dialect: Dialect) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if options.top_p is not None:
        body["top_p"] = options.top_p
    if options.max_output_tokens is not None:
        body[dialect.tokens_field] = options.max_output_tokens
    if options.thinking is not None:
        body["reasoning_effort"] = "none" if options.thinking == "off" else options.thinking
    if options.parallel_calls is not None:
        body["parallel_tool_calls"] = options.parallel_calls
    reserved = ("model", "messages", "stream", "tools")
    return body | {name: value for name, value in options.body.items() if name not in reserved}


def _chat_messages(provider: str, model: str, request: ModelRequest, dialect: Dialect) -> list[dict[str, Any]]:
    chat: list[dict[str, Any]] = []
    if request.instructions:
        chat.append({"role": "system", "content": request.instructions})
    history, end = request.parted()
    for message in (*history, *end):
        if message.role == "assistant":
            chat.append(_assistant(message, provider, model, dialect))
        elif message.role == "tool":
            _add_results(chat, message)
        else:
            _add_user(chat, _content(message))
    return chat


def _add_user(chat: list[dict[str, Any]], content: list[dict[str, Any]]) -> None:
    """Add what the user says; to their last message if nothing came between.

    Chat templates of several local models refuse two messages of the same role.
    """
    if not content:
        return
    if chat and chat[-1]["role"] == "user":
        earlier = chat.pop()["content"]
        content = [*([{"type": "text", "text": earlier}] if isinstance(earlier, str) else earlier), *content]
    is_text = all(part["type"] == "text" for part in content)
    # Servers without images often take a plain string only.
    chat.append({"role": "user", "content": "\n\n".join(part["text"] for part in content) if is_text else content})


def _content(message: Message) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, TextPart) and part.text:
            content.append({"type": "text", "text": part.text})
        elif isinstance(part, ImagePart):
            content.append(_image(part))
    return content


def _image(image: ImagePart) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{image.mime_type};base64,{data}"}}


def _assistant(message: Message, provider: str, model: str, dialect: Dialect) -> dict[str, Any]:
    text = message.text
    chat: dict[str, Any] = {"role": "assistant", "content": text or None}
    calls = [part for part in message.parts if isinstance(part, CallPart)]
    if calls:
        chat["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.tool, "arguments": json_arguments(call.arguments)},
                **_call_extra(call, provider, model),
            }
            for call in calls
        ]
        if dialect.wants_signatures:
            chat["tool_calls"][0].setdefault(CALL_EXTRA, NO_SIGNATURE)
    elif not text:
        chat["content"] = ""  # null is taken only beside calls
    return chat | _thinking(message, provider, model)


def _call_extra(call: CallPart, provider: str, model: str) -> dict[str, Any]:
    extra = call.extra.values.get(CALL_EXTRA) if call.extra and call.extra.fits(provider, model) else None
    return {CALL_EXTRA: extra} if extra else {}


def _thinking(message: Message, provider: str, model: str) -> dict[str, Any]:
    """Return what a model thought under the name it came by, for this model alone."""
    fields: dict[str, Any] = {}
    for part in message.parts:
        if isinstance(part, ThinkingPart) and part.extra and part.extra.fits(provider, model):
            field = part.extra.values.get("field")
            if isinstance(field, str) and field in THINKING_FIELDS and part.text:
                fields[field] = fields.get(field, "") + part.text
            details = part.extra.values.get("details")
            if isinstance(details, list):
                fields["reasoning_details"] = [*fields.get("reasoning_details", ()), *details]
    return fields


THINKING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put what a model thinks; where both are there, they are the same."""


def json_arguments(arguments: str) -> str:
    """Return arguments of an earlier call as a JSON object.

    Servers parse them again to fill in a template, and answer 400 or 500 to every later request if they cannot.
    """
    if not arguments.strip():
        return "{}"
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    return json.dumps({INVALID_ARGUMENTS: arguments}, ensure_ascii=False)


def _add_results(chat: list[dict[str, Any]], message: Message) -> None:
    results = [part for part in message.parts if isinstance(part, ResultPart)]
    for result in results:
        # Some servers refuse an empty text.
        chat.append({"role": "tool", "tool_call_id": result.call_id, "content": result.text or "(no text)"})
    # The API takes images from the user only.
    for result in results:
        if result.images:
            _add_user(chat, [_image_heading(result), *map(_image, result.images)])


def _image_heading(result: ResultPart) -> dict[str, Any]:
    names: Sequence[str] = [image.alt for image in result.images if image.alt]
    return {"type": "text", "text": f"[{result.tool}] {', '.join(names) or 'image'}:"}
