"""One name in two spellings: Python writes `page_size`, JSON mostly `pageSize`; the schema says which is meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from pydantic.alias_generators import to_snake

MAX_SUGGESTIONS = 3


@lru_cache(maxsize=4096)
def snake(name: str) -> str:
    """Return `name` as Python would write it: `pageSize`, `page-size` and `page.size` are `page_size`."""
    return to_snake(re.sub(r"\W", "_", name))


def spelled(name: str, known: Collection[str]) -> str | None:
    """Return the one of `known` that `name` means: itself, or the only one that differs in spelling alone."""
    if name in known:
        return name
    alike = [one for one in known if snake(one) == snake(name)]
    return alike[0] if len(alike) == 1 else None


def near(name: str, known: Iterable[str]) -> str:
    """Return the names that look like `name`, as the end of a sentence; empty when none does."""
    found = [repr(one) for one in get_close_matches(snake(name), {snake(one) for one in known}, n=MAX_SUGGESTIONS)]
    if not found:
        return ""
    *others, last = found
    return f" Did you mean {', '.join(others)} or {last}?" if others else f" Did you mean {last}?"


def properties_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties a schema names; none when it is no such schema: what other servers list is not checked."""
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def arguments_for(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return `arguments` under the names of a tool's input schema; what it does not name stays as it was given.

    Raises:
        TypeError: one argument was given in two spellings.
    """
    fitted: dict[str, Any] = _fitted(arguments, schema, schema)
    return fitted


def _fitted(value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    schema = _resolved(schema, root)
    if isinstance(value, list):
        return [_fitted(item, schema.get("items"), root) for item in value]
    if not isinstance(value, Mapping):
        return value
    properties = properties_of(schema)
    fitted: dict[str, Any] = {}
    for key, part in value.items():
        name = spelled(key, properties) or key
        if name in fitted:
            raise TypeError(f"The argument {name!r} is given twice, in two spellings.")
        fitted[name] = _fitted(part, properties.get(name), root)
    return fitted


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a schema says of properties and items, through a reference or the one option that is not null."""
    for _ in range(8):  # a reference may lead to another, but a circle of them must end
        if not isinstance(schema, Mapping):
            return {}
        options = schema.get("anyOf")
        options = [one for one in options if one != {"type": "null"}] if isinstance(options, list) else []
        if "$ref" in schema:
            place, schema = str(schema["$ref"]).removeprefix("#/"), root
            for step in place.split("/"):
                schema = schema.get(step) if isinstance(schema, Mapping) else None
        elif len(options) == 1:
            schema = options[0]
        else:
            return schema
    return {}
