"""Parses the answer of a tool, ours or another server's; its errors become our exceptions."""

from __future__ import annotations

import base64
import binascii
import inspect
import json
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast, overload

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from madang.client.answers import Answer, JsonView, wire_data
from madang.core import errors
from madang.core.errors import MadangError, RequestError, ToolError
from madang.core.phrases import Phrase
from madang.core.results import ALT_KEY, ENVELOPE_FIELDS, PAUSE_KEY, Image, Reply

T = TypeVar("T")
FamilyT = TypeVar("FamilyT", bound=MadangError)

NO_REASON = "The tool failed without a message."


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """The two halves of an answer: the text for a model and the data for a program."""

    text: str
    data: Any
    is_structured: bool = True
    """Whether the data came as structured data; otherwise it was parsed from the text, or is the text."""
    pause: str = ""
    """The kind of pause that the answer declares beside its data; only Madang's do."""
    images: tuple[Image, ...] = ()


@overload
def unwrap(response: object) -> Any: ...
@overload
def unwrap(response: object, kind: type[T] | TypeAdapter[T]) -> T: ...
def unwrap(response: object, kind: Any = None) -> Any:
    """Return the data of an answer: structuredResult, structuredContent, JSON in the text, or the text.

    `response` is a `Reply`, a `CallToolResult` of any version of the MCP SDK, a dict off the wire (bare, or under
    `result`), or what a `ServerProxy` answered. With `kind`, the data is validated into that type.

    Raises:
        ToolError, RequestError: the answer is an error; its own class where the code is one of ours.
        pydantic.ValidationError: the data does not fit `kind`.
        TypeError: `response` is no answer.
    """
    answer = parse_answer(response)
    return answer.data if kind is None else _validated(answer, kind)


def parse_answer(response: object) -> ParsedAnswer:
    """Return both halves of an answer; raises as `unwrap` does."""
    if isinstance(response, JsonView):
        data = wire_data(response)
        if not isinstance(response, Answer):
            return ParsedAnswer("", data, not isinstance(data, str))
        return ParsedAnswer(response.text, data, not isinstance(data, str), images=response.images)
    if isinstance(response, Reply):
        if response.is_error:
            raise _tool_error(response.text, response.data)
        return ParsedAnswer(response.text, response.data, pause=response.pause or "", images=response.images)
    layers = _layers(response)
    content = _first(layers, "content")
    structured = _first(layers, "structuredResult", "structured_result")
    if structured is None:
        structured = _first(layers, "structuredContent", "structured_content")
    if content is None and structured is None:
        raise _no_answer(response)
    texts = list(_texts(content))
    text = "\n".join(texts)
    pause, images = _declared_pause(layers), tuple(_images(content))
    answer = ParsedAnswer(text, structured, pause=pause, images=images)
    if structured is None:
        # Content without any text (an image) is handed on rather than lost.
        parsed = _json_in(texts)
        data = content if not texts and content else text if parsed is None else parsed
        answer = ParsedAnswer(text, data, False, pause, images)
    if any(member(layer, name) is True for layer in layers for name in ("isError", "is_error")):
        raise _tool_error(text, answer.data)
    return answer


def model_text(response: object, seen: Container[str] = ()) -> str:
    """Return what a model is to read of a response: the text of each part that is for it, else the data as JSON.

    Images of the MIME types in `seen` reach the model by themselves; others are named.
    """
    if isinstance(response, Reply):
        unseen = (image.mime_type for image in response.images if image.mime_type not in seen)
        return "\n".join([response.text, *map(_left_out, dict.fromkeys(unseen))])
    layers = _layers(response)
    content = _first(layers, "content")
    parts: list[str] = []
    for part in content if isinstance(content, (list, tuple)) else ():
        text = "" if _is_image(part) and _mime_type(part) in seen else _part_text(part)
        if text and not any(text in earlier for earlier in parts):
            parts.append(text)
    if parts:
        return "\n".join(parts)
    structured = _first(layers, "structuredResult", "structured_result", "structuredContent", "structured_content")
    return "" if structured is None else to_json(structured).decode()


def _part_text(part: object) -> str:
    """Return the text of one part of the content. An image or a sound is named, so that it is not just missing."""
    audience = member(member(part, "annotations"), "audience")
    if isinstance(audience, (list, tuple)) and audience and "assistant" not in audience:
        return ""
    resource = member(part, "resource")
    text = member(part, "text") or member(resource, "text")
    if isinstance(text, str):
        return text
    uri = member(part, "uri")
    if uri:
        return str(uri)
    return _left_out(_mime_type(part) or _mime_type(resource) or member(part, "type"))


def _left_out(kind: object) -> str:
    return f"[{kind}: not a text, left out]"


def request_error(code: int, message: str, data: Any = None) -> RequestError:
    """Return a JSON-RPC error as an exception; ours carry their code and hint in `data`."""
    details = data if isinstance(data, Mapping) else {}
    return _error(RequestError, str(details.get("code") or code), message, str(details.get("hint") or ""))


def _layers(response: object) -> list[object]:
    # Some responses carry the data beside `result` and the text inside it, so each member is looked up in both.
    result = member(response, "result")
    return [response] if result is None else [response, result]


def member(holder: object, name: str) -> Any:
    """Return a member of a dict off the wire or of an SDK's object; None when it has none."""
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _first(layers: list[object], *names: str) -> Any:
    values = (member(layer, name) for name in names for layer in layers)
    return next((value for value in values if value is not None), None)


def _declared_pause(layers: list[object]) -> str:
    meta = _first(layers, "_meta", "meta")
    declared = meta.get(PAUSE_KEY) if isinstance(meta, Mapping) else None
    kind = declared.get("kind") if isinstance(declared, Mapping) else None
    return kind if isinstance(kind, str) else ""


def _texts(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, (list, tuple)) else ():
        text = member(part, "text")
        if member(part, "type") == "text" and isinstance(text, str):
            yield text


def _images(content: Any) -> Iterator[Image]:
    for part in content if isinstance(content, (list, tuple)) else ():
        if _is_image(part):
            meta = member(part, "_meta") or member(part, "meta")
            alt = meta.get(ALT_KEY) if isinstance(meta, Mapping) else None
            # What is no base64 is no image, and the rest of the answer is as good as before.
            with suppress(binascii.Error, TypeError, ValueError):
                data = base64.b64decode(member(part, "data"), validate=True)
                yield Image(data, _mime_type(part) or "image/*", alt if isinstance(alt, str) else "")


def _is_image(part: object) -> bool:
    return bool(member(part, "type") == "image")


def _mime_type(holder: object) -> str:
    mime_type = member(holder, "mimeType") or member(holder, "mime_type")
    return mime_type if isinstance(mime_type, str) else ""


def _json_in(texts: list[str]) -> Any:
    """Return the object or list in the text parts; several objects and nothing else are a list, as FastMCP sends one.

    A bare number or word stays text: the type of an answer must not depend on its value.
    """
    values = [value for value in map(_parse_container, texts) if value is not None]
    if len(values) > 1 and len(values) == len(texts):
        return values
    return values[0] if values else None


def _parse_container(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _no_answer(response: object) -> Exception:
    error = member(response, "error")
    code, message = member(error, "code"), member(error, "message")
    if isinstance(code, int) and isinstance(message, str):
        return request_error(code, message, member(error, "data"))
    if inspect.isawaitable(response):
        if inspect.iscoroutine(response):
            response.close()
        return TypeError("This is not an answer yet: await it first.")
    return TypeError(f"This is not the answer of a tool: a {type(response).__name__} without content or data.")


def _tool_error(text: str, data: Any) -> ToolError:
    details = data.get("error", data) if isinstance(data, Mapping) else None
    if isinstance(details, str):
        details = {"message": details}
    elif not isinstance(details, Mapping):
        details = {}
    message = details.get("message")
    return _error(
        ToolError,
        str(details.get("code") or ""),
        message if isinstance(message, str) and message else text or NO_REASON,
        str(details.get("hint") or ""),
    )


def _error(family: type[FamilyT], code: str, message: str, hint: str) -> FamilyT:
    """Return an error of the class with this code; a foreign code gives one of the family's own class."""
    kinds = (kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, family))
    kind = next((kind for kind in kinds if kind.code == code), family)
    # The texts are the server's, in its language: values, and no templates of our catalogue.
    error = kind(_verbatim(message), hint=_verbatim(hint) if hint else None)
    error.code = code or error.code
    if hint:
        error.add_note(f"Hint: {error.hint}")
    return error


def _verbatim(text: str) -> Phrase:
    return Phrase("{text}", {"text": text})


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _validated(answer: ParsedAnswer, kind: Any) -> Any:
    adapter = kind if isinstance(kind, TypeAdapter) else _adapter(kind)
    first_error: ValidationError | None = None
    for candidate in _candidates(answer):
        try:
            # As JSON, not as Python values: strict documents take a date from a text only there.
            return adapter.validate_json(candidate)
        except ValidationError as error:
            first_error = first_error or error
    raise cast("ValidationError", first_error)


def _candidates(answer: ParsedAnswer) -> Iterator[bytes | str]:
    """Yield the JSON values that the answer may stand for, the likeliest first."""
    data = answer.data
    yield to_json(data)
    if isinstance(data, Mapping) and not ENVELOPE_FIELDS.isdisjoint(data):
        yield to_json({name: value for name, value in data.items() if name not in ENVELOPE_FIELDS})
    if isinstance(data, Mapping) and list(data) == ["result"]:
        yield to_json(data["result"])  # FastMCP puts lists and scalars under this name, because MCP wants an object
    if not answer.is_structured:
        yield answer.text  # a number or a boolean, where one is asked for
        yield to_json(answer.text)
