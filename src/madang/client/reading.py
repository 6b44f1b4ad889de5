"""Reading what a tool answered, ours or anybody's, whichever library carried it here; and its errors as ours."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast, overload

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from madang.client.answers import Answer, Fields, plain
from madang.core import errors
from madang.core.errors import MadangError, RequestError, ToolError
from madang.core.phrases import Phrase
from madang.core.results import Reply

T = TypeVar("T")
FamilyT = TypeVar("FamilyT", bound=MadangError)

NO_REASON = "The tool failed and did not say why."


@dataclass(frozen=True, slots=True)
class Reading:
    """The two halves of an answer: what a model reads and what a program reads."""

    text: str
    data: Any
    is_structured: bool = True
    """Whether the data came as data; otherwise it was found in the text, or is the text."""


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
    reading = read(response)
    return reading.data if kind is None else _validated(reading, kind)


def read(response: object) -> Reading:
    """Return both halves of an answer; raises as `unwrap` does."""
    if isinstance(response, Fields):
        data = plain(response)
        return Reading(response.text if isinstance(response, Answer) else "", data, not isinstance(data, str))
    if isinstance(response, Reply):
        if response.is_error:
            raise _tool_error(response.text, response.data)
        return Reading(response.text, response.data)
    # Some carry the data beside `result` and the text inside it, so each part is looked for in both.
    layers = [response, *(inner for inner in (_part(response, "result"),) if inner is not None)]
    content = _first(layers, "content")
    structured = _first(layers, "structuredResult", "structured_result")
    if structured is None:
        structured = _first(layers, "structuredContent", "structured_content")
    if content is None and structured is None:
        raise _no_answer(response)
    texts = list(_texts(content))
    text = "\n".join(texts)
    reading = Reading(text, structured)
    if structured is None:
        # An image and nothing else is better handed on than lost.
        found = _json_in(texts)
        reading = Reading(text, content if not texts and content else text if found is None else found, False)
    if any(_part(layer, name) is True for layer in layers for name in ("isError", "is_error")):
        raise _tool_error(text, reading.data)
    return reading


def request_error(code: int, message: str, data: Any = None) -> RequestError:
    """Return a JSON-RPC error as an exception; ours carry their code and hint in `data`."""
    told = data if isinstance(data, Mapping) else {}
    return _error(RequestError, str(told.get("code") or code), message, str(told.get("hint") or ""))


def _part(holder: object, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _first(layers: list[object], *names: str) -> Any:
    values = (_part(layer, name) for name in names for layer in layers)
    return next((value for value in values if value is not None), None)


def _texts(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, (list, tuple)) else ():
        text = _part(part, "text")
        if _part(part, "type") == "text" and isinstance(text, str):
            yield text


def _json_in(texts: list[str]) -> Any:
    """Return the object or list in the text parts; several objects and nothing else are a list, as FastMCP sends one.

    A bare number or word stays text: what a tool says must not change its type with what it happens to say.
    """
    found = [value for value in map(_parsed, texts) if value is not None]
    if len(found) > 1 and len(found) == len(texts):
        return found
    return found[0] if found else None


def _parsed(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _no_answer(response: object) -> Exception:
    error = _part(response, "error")
    code, message = _part(error, "code"), _part(error, "message")
    if isinstance(code, int) and isinstance(message, str):
        return request_error(code, message, _part(error, "data"))
    if inspect.isawaitable(response):
        if inspect.iscoroutine(response):
            response.close()
        return TypeError("This answer is not there yet: await it first.")
    return TypeError(f"This is no answer of a tool: {type(response).__name__} without content or structuredContent.")


def _tool_error(text: str, data: Any) -> ToolError:
    told = data.get("error", data) if isinstance(data, Mapping) else None
    if isinstance(told, str):
        told = {"message": told}
    elif not isinstance(told, Mapping):
        told = {}
    message = told.get("message")
    return _error(
        ToolError,
        str(told.get("code") or ""),
        message if isinstance(message, str) and message else text or NO_REASON,
        str(told.get("hint") or ""),
    )


def _error(family: type[FamilyT], code: str, message: str, hint: str) -> FamilyT:
    """Return an error of the class that has this code; one of a code that is not ours is of the family itself."""
    kinds = (kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, family))
    kind = next((kind for kind in kinds if kind.code == code), family)
    # The words are the server's, in its language: they are values, not templates of our catalogue.
    error = kind(_quoted(message), hint=_quoted(hint) if hint else None)
    error.code = code or error.code
    if hint:
        error.add_note(f"Hint: {hint}")
    return error


def _quoted(words: str) -> Phrase:
    return Phrase("{words}", {"words": words})


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _validated(reading: Reading, kind: Any) -> Any:
    adapter = kind if isinstance(kind, TypeAdapter) else _adapter(kind)
    first: ValidationError | None = None
    for candidate in _candidates(reading):
        try:
            # As JSON, not as Python values: strict documents take a date from a text only there.
            return adapter.validate_json(candidate)
        except ValidationError as error:
            first = first or error
    raise cast("ValidationError", first)


def _candidates(reading: Reading) -> Iterator[bytes | str]:
    """Yield, as JSON, what may have been meant, the likeliest first."""
    data = reading.data
    yield to_json(data)
    if isinstance(data, Mapping) and list(data) == ["result"]:
        yield to_json(data["result"])  # FastMCP puts lists and scalars under this name, because MCP wants an object
    if not reading.is_structured:
        yield reading.text  # a number or a truth value, where one is asked for
        yield to_json(reading.text)
