"""Bounds on what a caller may send, arguments as models write them, and validation errors in words they can act on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from madang.core.documents import Document
from madang.core.errors import InvalidArguments, LimitExceeded
from madang.core.limits import MAX_ARGUMENT_DEPTH, MAX_ARGUMENT_VALUES
from madang.core.phrases import Phrase, layout, say
from madang.core.schemas import flat_schema
from madang.core.suggestions import MAX_COMPARED_NAME_CHARS, did_you_mean
from madang.core.texts import one_line

MAX_FIELD_NAME_CHARS = 200
MAX_INTEGER_DIGITS = 18
ENCODED_BLOCK_CHARS = 16 * 1024

DocumentT = TypeVar("DocumentT", bound=Document)

Location = tuple[int | str, ...]
"""Where a value stands in the arguments: names of fields and numbers of items, from the outside in."""

_DIGITS = re.compile(rf"[0-9]{{1,{MAX_INTEGER_DIGITS}}}")
_NO_VALUE = object()


def check_shape(arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that no tool could mean: too deep, too many, or texts that cannot be stored.

    NUL and lone surrogates pass JSON parsers but neither databases nor UTF-8 take them, so they are stopped here, where
    the model can still be told, rather than half-way into a write.

    Raises:
        InvalidArguments, LimitExceeded: with the reason.
    """
    level: list[Any] = [arguments]
    seen = 0
    for _ in range(MAX_ARGUMENT_DEPTH):
        below: list[Any] = []
        for value in level:
            if isinstance(value, str):
                _check_text(value)
            elif isinstance(value, Mapping):
                below.extend(value)
                below.extend(value.values())
            elif isinstance(value, (list, tuple)):
                below.extend(value)
            # Counted as we go: one list that stands in many places must not be unfolded in all of them first.
            if seen + len(below) > MAX_ARGUMENT_VALUES:
                raise LimitExceeded(say("The arguments hold more than {limit} values.", limit=MAX_ARGUMENT_VALUES))
        seen += len(below)
        if not below:
            return
        level = below
    raise LimitExceeded(say("The arguments are nested deeper than {limit} levels.", limit=MAX_ARGUMENT_DEPTH))


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise InvalidArguments(say("A text holds a NUL character."), hint=say("Remove it and call again."))
    if not text.isascii():
        try:
            # In blocks: a copy of a whole text takes as long as the rest of a small call.
            for start in range(0, len(text), ENCODED_BLOCK_CHARS):
                text[start : start + ENCODED_BLOCK_CHARS].encode()
        except UnicodeEncodeError:
            raise InvalidArguments(
                say("A text holds half of a surrogate pair, which is no character."),
                hint=say("Send whole characters and call again."),
            ) from None


def parse_document(kind: type[DocumentT], arguments: Mapping[str, Any]) -> DocumentT:
    """Return what a caller sent as a document.

    Raises:
        InvalidArguments, LimitExceeded: it does not fit; the message names the field.
    """
    check_shape(arguments)
    try:
        return kind.model_validate(arguments)
    except ValidationError as error:
        raise invalid_arguments(error, flat_schema(kind)) from None


def without_empty(arguments: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """Return `arguments` without those of `names` that are empty texts or lists.

    For arguments that exclude each other: where a schema makes each of them required, a model leaves one empty.
    """
    if not isinstance(arguments, Mapping):
        return arguments
    spellings = {*names, *map(to_camel, names)}
    return {key: value for key, value in arguments.items() if key not in spellings or value not in ("", [])}


def coerced(
    arguments: Mapping[str, Any], error: ValidationError, schema: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return refused `arguments` as they were meant, or None if nothing in them can be taken otherwise.

    Models write null for what they leave out, and numbers, lists and objects as strings. A null is dropped where the
    field is optional, a string of digits becomes an integer where one is asked for, and JSON in a string what it says
    where a list or an object is. Only refused values are touched: a null that a field takes keeps its meaning there,
    and arguments that fit are never walked through.

    Raises:
        InvalidArguments, LimitExceeded: what the JSON says is no argument of any tool.
    """
    copies: dict[Location, Any] = {}
    for problem in error.errors(include_url=False, include_input=False, include_context=False):
        location = problem["loc"]
        value = _value_at(arguments, location)
        if problem["type"] == "not_removable" or not location:
            continue
        if value is None and _is_optional(schema, location):
            _copied(arguments, location[:-1], copies).pop(location[-1], None)
        elif (
            isinstance(value, str)
            and _DIGITS.fullmatch(value)
            and _schema_at(schema, location).get("type") == "integer"
        ):
            _copied(arguments, location[:-1], copies)[location[-1]] = int(value)
        elif isinstance(value, str) and (meant := _parsed(value, _schema_at(schema, location).get("type"))) is not None:
            _copied(arguments, location[:-1], copies)[location[-1]] = meant
    return copies.get(())


def _parsed(text: str, wanted: Any) -> list[Any] | dict[str, Any] | None:
    """Return the list or object that a text is the JSON of, if that is wanted."""
    kind = {"array": list, "object": dict}.get(wanted)
    if kind is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, kind):
        return None
    check_shape({"": value})
    return value


def _value_at(arguments: Any, location: Location) -> Any:
    value = arguments
    for part in location:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return _NO_VALUE
    return value


def _copied(arguments: Any, location: Location, copies: dict[Location, Any]) -> Any:
    """Return the copy of the container at `location`, inside copies of all around it."""
    if location not in copies:
        if not location:
            copies[location] = dict(arguments)
        else:
            around = _copied(arguments, location[:-1], copies)
            inner = around[location[-1]]
            copies[location] = around[location[-1]] = list(inner) if isinstance(inner, list) else dict(inner)
    return copies[location]


def _schema_at(schema: Mapping[str, Any], location: Location) -> Mapping[str, Any]:
    """Return the part of a flat schema that describes the value at `location`; empty where there is none."""
    for part in location:
        inner = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(to_camel(part))
        schema = inner or {}
    return schema


def _is_optional(schema: Mapping[str, Any], location: Location) -> bool:
    around, name = _schema_at(schema, location[:-1]), location[-1]
    if not isinstance(name, str):
        return False
    return to_camel(name) in around.get("properties", {}) and to_camel(name) not in around.get("required", ())


def invalid_arguments(
    error: ValidationError, schema: Mapping[str, Any] | None = None, *, hint: Phrase | None = None
) -> InvalidArguments:
    """Return `error` as one sentence that names each field and what is wrong with it.

    The hint is `hint`, or else says what `schema` has where the first mistake is.
    """
    problems = error.errors(include_url=False, include_input=False)
    message = _problem(problems[0])
    for problem in problems[1:3]:
        message = layout("{first} {next}", first=message, next=_problem(problem))
    if len(problems) > 3:
        message = say("{first} And {count} more.", first=message, count=len(problems) - 3)
    if hint is None and schema is not None:
        hint = _hint(problems[:3], schema)
    return InvalidArguments(message, hint=hint)


def _hint(problems: Sequence[Any], schema: Mapping[str, Any]) -> Phrase:
    """Return which names there are where one is wrong or missing; for a wrong value, that it is to be corrected."""
    for problem in problems:
        location = problem["loc"]
        if problem["type"] == "missing":
            return _takes(schema, location[:-1])
        if problem["type"] == "extra_forbidden":
            names = _takes(schema, location[:-1])
            known = _schema_at(schema, location[:-1]).get("properties", {})
            offer = did_you_mean(to_camel(str(location[-1])[: MAX_COMPARED_NAME_CHARS + 1]), known)
            return layout("{first} {next}", first=offer, next=names) if offer else names
        if "properties" in _schema_at(schema, location):
            return _takes(schema, location)
    return say("Correct {field} and call again.", field=_spelled(problems[0]["loc"]))


def _takes(schema: Mapping[str, Any], location: Location) -> Phrase:
    """Return which fields the object at `location` has: the arguments themselves, an item of a list, or one object."""
    around = _schema_at(schema, location)
    required = around.get("required", ())
    fields = [*required, *(name for name in around.get("properties", {}) if name not in required)]
    if not fields:
        return say("This tool takes no arguments.")
    phrases = [
        say("{name} (required)", name=name) if name in required else layout("{name}", name=name) for name in fields
    ]
    names = reduce(lambda first, following: layout("{first}, {next}", first=first, next=following), phrases)
    if not location:
        return say("The arguments are: {names}.", names=names)
    field = ".".join(to_camel(part) for part in location if isinstance(part, str))
    if isinstance(location[-1], int):
        return say("An item of {field} takes {names}.", field=field, names=names)
    return say("{field} takes {names}.", field=field, names=names)


def _spelled(location: Location) -> str:
    field = ".".join(to_camel(part) if isinstance(part, str) else str(part) for part in location)
    return one_line(field or "arguments", MAX_FIELD_NAME_CHARS)


def _problem(problem: Any) -> Phrase:
    # An unknown name is told as it was written: in our spelling it could look like one that is known.
    is_unknown = problem["type"] == "extra_forbidden"
    field = ".".join(map(str, problem["loc"])) if is_unknown else _spelled(problem["loc"])
    context = problem.get("ctx", {})
    wording = _WORDINGS.get(problem["type"])
    what = wording(context) if wording else layout("{reason}", reason=str(problem["msg"]).rstrip("."))
    if is_unknown and len(problem["loc"]) == 1:
        what = say("is not an argument of this tool")
    return say("{field}: {what}.", field=one_line(field, MAX_FIELD_NAME_CHARS), what=what)


_WORDINGS: dict[str, Callable[[Mapping[str, Any]], Phrase]] = {
    "missing": lambda _: say("is required"),
    "extra_forbidden": lambda _: say("is not a field of this object"),
    "int_type": lambda _: say("must be an integer"),
    "int_from_float": lambda _: say("must be an integer"),
    "float_type": lambda _: say("must be a number"),
    "finite_number": lambda _: say("must be a finite number"),
    "bool_type": lambda _: say("must be true or false"),
    "string_type": lambda _: say("must be a string"),
    "string_unicode": lambda _: say("must be a string of whole characters"),
    "list_type": lambda _: say("must be a list"),
    "dict_type": lambda _: say("must be an object"),
    "model_type": lambda _: say("must be an object"),
    "model_attributes_type": lambda _: say("must be an object"),
    "greater_than_equal": lambda context: say("must be at least {bound}", bound=context["ge"]),
    "less_than_equal": lambda context: say("must be at most {bound}", bound=context["le"]),
    "string_too_short": lambda context: say(
        "must have at least {bound} {bound|character|characters}", bound=context["min_length"]
    ),
    "string_too_long": lambda context: say(
        "must have at most {bound} {bound|character|characters}", bound=context["max_length"]
    ),
    "too_short": lambda context: say("must have at least {bound} {bound|item|items}", bound=context["min_length"]),
    "too_long": lambda context: say("must have at most {bound} {bound|item|items}", bound=context["max_length"]),
    "literal_error": lambda context: say("must be one of {options}", options=context["expected"].replace(" or ", ", ")),
    "page_size": lambda _: say("must be -1 (all) or 1…1000"),
    "empty_patch": lambda _: say("must name at least one field to change"),
    "blank": lambda _: say("must not be blank"),
    "text_or_texts": lambda _: say("must be a string or a list of strings, and not too long"),
    "not_removable": lambda _: say("cannot be removed"),
}
