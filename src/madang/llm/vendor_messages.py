"""Our messages as pydantic-ai has them, and its events and parts as ours. Imported by `vendors` on first use."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic_ai import messages as pai
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from madang.llm.base import ModelDelta, ModelOptions, ModelRequest, OfferedTool
from madang.llm.chat_request import json_arguments
from madang.llm.mending import mend_arguments
from madang.llm.messages import (
    CallPart,
    Extra,
    ImagePart,
    Message,
    Part,
    ResultPart,
    TextPart,
    ThinkingPart,
    UnknownPart,
    sendable,
)

EXTRA_FIELDS = ("id", "signature", "provider_name", "provider_details")
"""What a part of theirs may carry for its provider."""


def history(request: ModelRequest, provider: str, model: str) -> list[pai.ModelMessage]:
    """Return the messages of a request."""
    messages: list[pai.ModelMessage] = []
    history, end = request.parted()
    for message in history:
        if message.role == "assistant":
            parts = [theirs for part in message.parts if (theirs := _their_part(part, provider, model)) is not None]
            if parts:
                messages.append(
                    pai.ModelResponse(parts=parts, provider_name=provider.partition("-")[0], model_name=model)
                )
        else:
            asked = _request_parts(message)
            if asked:
                messages.append(pai.ModelRequest(parts=asked))
    for message in end:
        _add_asked(messages, _request_parts(message))
    if not messages or not isinstance(messages[-1], pai.ModelRequest):
        messages.append(pai.ModelRequest(parts=[]))
    last = messages[-1]
    assert isinstance(last, pai.ModelRequest)
    last.instructions = sendable(request.instructions) or None
    return messages


def _add_asked(messages: list[pai.ModelMessage], parts: list[pai.ModelRequestPart]) -> None:
    """Add what is asked; to the last request if nothing was answered since."""
    if not messages or not isinstance(messages[-1], pai.ModelRequest):
        messages.append(pai.ModelRequest(parts=[]))
    last = messages[-1]
    assert isinstance(last, pai.ModelRequest)
    last.parts = [*last.parts, *parts]


def _request_parts(message: Message) -> list[pai.ModelRequestPart]:
    results: list[pai.ModelRequestPart] = [_tool_return(part) for part in message.parts if isinstance(part, ResultPart)]
    content: list[pai.UserContent] = []
    for part in message.parts:
        if isinstance(part, TextPart) and part.text:
            content.append(sendable(part.text))
        elif isinstance(part, ImagePart):
            content.append(_binary(part))
    return [*results, pai.UserPromptPart(content=content)] if content else results


def _tool_return(result: ResultPart) -> pai.ToolReturnPart:
    text = sendable(result.text) or "(no text)"
    content: Any = [text, *map(_binary, result.images)] if result.images else text
    outcome: Any = "failed" if result.is_error else "success"
    return pai.ToolReturnPart(result.tool, content, result.call_id, outcome=outcome)


def _binary(image: ImagePart) -> pai.BinaryContent:
    return pai.BinaryContent(image.data, media_type=image.mime_type)


def _their_part(part: Part, provider: str, model: str) -> pai.ModelResponsePart | None:
    extra = getattr(part, "extra", None)
    fields = dict(extra.values) if extra and extra.fits(provider, model) else {}
    match part:
        case TextPart(text):
            return pai.TextPart(sendable(text), **_known(fields, pai.TextPart)) if text else None
        case ThinkingPart(text):
            # Thoughts without what proves them are refused, or taken for something that the model said.
            return pai.ThinkingPart(sendable(text), **_known(fields, pai.ThinkingPart)) if fields else None
        case CallPart(id, tool, arguments):
            return pai.ToolCallPart(tool, sendable(json_arguments(arguments)), id, **_known(fields, pai.ToolCallPart))
        case _:
            return None


def _known(fields: dict[str, Any], kind: Any) -> dict[str, Any]:
    return {name: fields[name] for name in EXTRA_FIELDS if name in fields and name in kind.__dataclass_fields__}


def settings(options: ModelOptions, provider: str, headers: Mapping[str, str]) -> ModelSettings:
    """Return the settings of a request."""
    values: dict[str, Any] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_tokens": options.max_output_tokens,
        "parallel_tool_calls": options.parallel_calls,
        "thinking": False if options.thinking == "off" else options.thinking,
        "extra_body": dict(options.body) or None,
        "extra_headers": dict(headers),
    }
    if provider == "openai-responses":
        # Nothing is kept there: the next request brings what the model thought along.
        values |= {"openai_store": False}
    return cast(ModelSettings, {name: value for name, value in values.items() if value is not None})


def parameters(tools: Sequence[OfferedTool]) -> ModelRequestParameters:
    """Return the tools of a request."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=sendable(tool.description),
                parameters_json_schema={"type": "object", "properties": {}, **tool.schema},
                strict=False,
            )
            for tool in tools
        ],
        allow_text_output=True,
    )


def deltas(event: Any, id_of: Callable[[int, str], str]) -> Iterator[ModelDelta]:
    """Yield the deltas of an event; `id_of` gives our id of the call at an index."""
    if isinstance(event, pai.PartStartEvent):
        part, index = event.part, event.index
        if isinstance(part, pai.TextPart):
            if part.content:
                yield ModelDelta("text", part.content, index)
        elif isinstance(part, pai.ThinkingPart):
            if part.content:
                yield ModelDelta("thinking", part.content, index)
        elif isinstance(part, pai.ToolCallPart):
            id = id_of(index, part.tool_call_id)
            yield ModelDelta("call", part.tool_name, index, id, part.tool_name)
            if part.args:
                yield ModelDelta("arguments", _raw(part.args), index, id, part.tool_name)
        elif isinstance(part, pai.FilePart):
            yield ModelDelta("image", index=index)
    elif isinstance(event, pai.PartDeltaEvent):
        change, index = event.delta, event.index
        if isinstance(change, pai.TextPartDelta):
            yield ModelDelta("text", change.content_delta, index)
        elif isinstance(change, pai.ThinkingPartDelta):
            if change.content_delta:
                yield ModelDelta("thinking", change.content_delta, index)
        elif isinstance(change, pai.ToolCallPartDelta) and change.args_delta:
            yield ModelDelta("arguments", _raw(change.args_delta), index, id_of(index, change.tool_call_id or ""))


def _raw(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def raw_finish(answer: pai.ModelResponse) -> str:
    """Return the server's own word for the end of an answer; empty if it gave none."""
    raw = (answer.provider_details or {}).get("finish_reason")
    if isinstance(raw, str) and raw:
        return raw
    # A refusal is told in other fields. Nothing is done with such an answer, so their word for it will do.
    return "content_filter" if answer.finish_reason == "content_filter" else ""


def parts(theirs: Sequence[Any], provider: str, model: str, call_ids: Sequence[str]) -> tuple[Part, ...]:
    """Return the parts of an answer. `call_ids` are our ids of its calls, in their order."""
    ids = iter(call_ids)
    return tuple(_our_part(part, provider, model, ids) for part in theirs)


def _our_part(part: Any, provider: str, model: str, ids: Iterator[str]) -> Part:
    values = {name: value for name in EXTRA_FIELDS if (value := getattr(part, name, None))}
    extra = Extra(provider, model, values) if values else None
    if isinstance(part, pai.TextPart):
        return TextPart(part.content, extra)
    if isinstance(part, pai.ThinkingPart):
        return ThinkingPart(part.content, extra)
    if isinstance(part, pai.ToolCallPart):
        arguments = mend_arguments(_raw(part.args or ""))
        return CallPart(next(ids, "") or part.tool_call_id, part.tool_name, arguments, extra)
    if isinstance(part, pai.FilePart) and part.content.media_type.startswith("image/"):
        return ImagePart(part.content.data, part.content.media_type)
    return UnknownPart({"type": f"{provider}/{getattr(part, 'part_kind', 'unknown')}"})
