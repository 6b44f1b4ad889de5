"""Bounds on what a caller may send, and validation errors in words a model can act on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from madang.core.errors import InvalidArguments, LimitExceeded
from madang.core.limits import MAX_ARGUMENT_DEPTH, MAX_ARGUMENT_VALUES
from madang.core.phrases import Phrase, layout, say
from madang.core.texts import one_line

MAX_FIELD_NAME_CHARS = 200


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
            text.encode()
        except UnicodeEncodeError:
            raise InvalidArguments(
                say("A text holds half of a surrogate pair, which is no character."),
                hint=say("Send whole characters and call again."),
            ) from None


def invalid_arguments(error: ValidationError, *, fields: Iterable[str] = ()) -> InvalidArguments:
    """Return `error` as one sentence that names each field and what is wrong with it."""
    problems = error.errors(include_url=False, include_input=False)
    message = _problem(problems[0])
    for problem in problems[1:3]:
        message = layout("{first} {next}", first=message, next=_problem(problem))
    if len(problems) > 3:
        message = say("{first} And {count} more.", first=message, count=len(problems) - 3)
    names = ", ".join(fields)
    hint = say("The arguments are: {names}.", names=names) if names else say("This tool takes no arguments.")
    return InvalidArguments(message, hint=hint)


def _problem(problem: Any) -> Phrase:
    # An unknown name is told as it was written: in our spelling it could look like one that is known.
    spelled = str if problem["type"] == "extra_forbidden" else to_camel
    field = ".".join(spelled(part) if isinstance(part, str) else str(part) for part in problem["loc"])
    context = problem.get("ctx", {})
    wording = _WORDINGS.get(problem["type"])
    what = wording(context) if wording else layout("{reason}", reason=str(problem["msg"]).rstrip("."))
    if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
        what = say("is not an argument of this tool")
    return say("{field}: {what}.", field=one_line(field or "arguments", MAX_FIELD_NAME_CHARS), what=what)


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
    "string_too_short": lambda context: say("must have at least {bound} character(s)", bound=context["min_length"]),
    "string_too_long": lambda context: say("must have at most {bound} characters", bound=context["max_length"]),
    "too_short": lambda context: say("must have at least {bound} item(s)", bound=context["min_length"]),
    "too_long": lambda context: say("must have at most {bound} items", bound=context["max_length"]),
    "literal_error": lambda context: say("must be one of {options}", options=context["expected"]),
    "page_size": lambda _: say("must be -1 (all) or 1…1000"),
    "empty_patch": lambda _: say("must name at least one field to change"),
    "blank": lambda _: say("must not be blank"),
    "text_or_texts": lambda _: say("must be a string or a list of strings, and not too long"),
    "not_removable": lambda _: say("cannot be removed"),
}
