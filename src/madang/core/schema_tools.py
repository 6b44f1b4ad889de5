"""A tool that has only JSON Schemas: one of another server, whose code and documents are not ours.

Its schema is not trusted either. It is checked against a budget of steps, because references that double themselves
would hold the event loop, and without its patterns, because a regular expression can take for ever: the server that
wrote them applies them itself. Nothing is ever fetched for a reference.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from madang.core.arguments import check_shape
from madang.core.calls import Call
from madang.core.errors import InvalidArguments, Unavailable
from madang.core.phrases import layout, say
from madang.core.results import ToolResult
from madang.core.texts import one_line
from madang.core.tools import Tool

MAX_VALIDATION_STEPS = 20_000
"""Keywords that are applied, in all. A hundred arguments of an honest schema take a few hundred."""
MAX_VALIDATION_S = 0.5
"""A step may be long, for a long list. They are made on the event loop."""
MAX_SHOWN_REASON_CHARS = 300

_PATTERNS = frozenset({"pattern", "patternProperties", "format"})
_SCHEMAS_BY_NAME = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_VALUES = frozenset({"const", "enum", "default", "examples"})

SchemaHandler = Callable[[Call, Mapping[str, Any]], Awaitable[ToolResult[Any]]]


@dataclass(frozen=True, kw_only=True)
class SchemaTool(Tool):
    """A tool described by JSON Schemas alone. `handler` gets arguments that fit, and answers for their meaning."""

    arguments: Mapping[str, Any]
    """The schema of the arguments, as its server wrote it."""
    data: Mapping[str, Any] | None = None
    handler: SchemaHandler

    @property
    def input_schema(self) -> dict[str, Any]:
        return dict(self.arguments)

    @property
    def output_schema(self) -> dict[str, Any] | None:
        return dict(self.data) if self.data is not None else None

    @cached_property
    def _validator(self) -> _BoundedValidator:
        return _BoundedValidator(self.arguments)

    async def run(self, call: Call, arguments: Mapping[str, Any]) -> ToolResult[Any]:
        check_shape(arguments)
        try:
            problem = self._validator.problem(arguments)
        except Exception as error:  # whatever a foreign schema can make the library do
            reason = one_line(str(error), MAX_SHOWN_REASON_CHARS) or type(error).__name__
            raise Unavailable(
                say("The schema of '{tool}' cannot be used: {reason}", tool=self.name, reason=reason),
                hint=say("Ask the person to look at the server that this tool comes from."),
            ) from error
        if problem:
            raise InvalidArguments(
                layout("{problem}", problem=problem),
                hint=say("Look at the arguments of '{tool}' and call again.", tool=self.name),
            )
        return await self.handler(call, arguments)


class _BoundedValidator:
    """Checks arguments against one schema. The library is imported on first use: it takes as long as a small call."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        from jsonschema import Draft202012Validator, validators
        from referencing import Registry

        self._steps = 0
        self._until = 0.0
        checks = {**Draft202012Validator.VALIDATORS, "uniqueItems": _check_unique_items}
        keywords = {name: self._counted(check) for name, check in checks.items()}
        # With a registry: without one, the library fetches what a reference names, from anywhere.
        self._validator = validators.extend(Draft202012Validator, keywords)(
            _without_patterns(schema), registry=Registry()
        )

    def problem(self, arguments: Mapping[str, Any]) -> str:
        """Return where the arguments do not fit, and why; nothing if they do."""
        self._steps = 0
        self._until = time.monotonic() + MAX_VALIDATION_S
        error = next(self._validator.iter_errors(dict(arguments)), None)
        if error is None:
            return ""
        place = ".".join(str(part) for part in error.absolute_path)
        return one_line(f"{place}: {error.message}" if place else error.message, MAX_SHOWN_REASON_CHARS)

    def _counted(self, check: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*details: Any) -> Any:
            self._steps += 1
            if self._steps > MAX_VALIDATION_STEPS:
                raise RecursionError(f"it takes more than {MAX_VALIDATION_STEPS} steps")
            if time.monotonic() > self._until:
                raise TimeoutError(f"it takes more than {MAX_VALIDATION_S:g} s")
            return check(*details)

        return checked


def _check_unique_items(validator: Any, is_unique: Any, instance: Any, _: Any) -> Iterator[Exception]:
    """Replace the library's own check, which compares each item with each where they cannot be sorted."""
    if is_unique and validator.is_type(instance, "array"):
        from jsonschema import ValidationError

        if len({json.dumps(item, sort_keys=True) for item in instance}) < len(instance):
            yield ValidationError("an item is there twice")


def _without_patterns(schema: Any) -> Any:
    """Return a schema without what would run its author's regular expressions."""
    if isinstance(schema, list):
        return [_without_patterns(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    dropped = _PATTERNS
    if "patternProperties" in schema:
        dropped |= {"additionalProperties", "unevaluatedProperties"}  # they are about the names that it leaves
    return {
        key: value if key in _VALUES else _by_name(value) if key in _SCHEMAS_BY_NAME else _without_patterns(value)
        for key, value in schema.items()
        if key not in dropped
    }


def _by_name(schemas: Any) -> Any:
    if not isinstance(schemas, Mapping):
        return schemas
    return {name: _without_patterns(schema) for name, schema in schemas.items()}
