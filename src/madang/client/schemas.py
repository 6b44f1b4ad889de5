"""Matching names across spellings: Python writes `page_size`, JSON mostly `pageSize`; the schema decides."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from pydantic.alias_generators import to_snake

from madang.core.suggestions import did_you_mean

MAX_REFERENCES = 8
"""Ends a cycle of references in a foreign schema."""


@lru_cache(maxsize=4096)
def snake_case(name: str) -> str:
    """Return `name` as Python would write it: `pageSize`, `page-size` and `page.size` are `page_size`."""
    return to_snake(re.sub(r"\W", "_", name))


def match_name(name: str, known: Collection[str]) -> str | None:
    """Return the known name that `name` means: itself, or the only one that differs in spelling alone."""
    if name in known:
        return name
    candidates = [one for one in known if snake_case(one) == snake_case(name)]
    return candidates[0] if len(candidates) == 1 else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence, after a space, with the known names that look like `name`; empty when none does."""
    sentence = did_you_mean(snake_case(name), map(snake_case, known))
    return f" {sentence}" if sentence else ""


def properties_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of an object schema; empty for any other value, because foreign schemas are not checked."""
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def spell_arguments(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return `arguments` with the names of a tool's input schema, at every depth; unknown names stay as they are.

    Raises:
        TypeError: one argument was given in two spellings.
    """
    respelled: dict[str, Any] = _respell(arguments, schema, schema)
    return respelled


def _respell(value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    schema = _resolve(schema, root)
    if isinstance(value, list):
        return [_respell(item, schema.get("items"), root) for item in value]
    if not isinstance(value, Mapping):
        return value
    properties = properties_of(schema)
    respelled: dict[str, Any] = {}
    for key, part in value.items():
        name = match_name(key, properties) or key
        if name in respelled:
            raise TypeError(f"The argument {name!r} is given twice, in two spellings.")
        respelled[name] = _respell(part, properties.get(name), root)
    return respelled


def _resolve(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow `$ref`, and `anyOf` with a single option that is not null, to the schema that has properties or items."""
    for _ in range(MAX_REFERENCES):
        if not isinstance(schema, Mapping):
            return {}
        options = schema.get("anyOf")
        options = [one for one in options if one != {"type": "null"}] if isinstance(options, list) else []
        if "$ref" in schema:
            pointer, schema = str(schema["$ref"]).removeprefix("#/"), root
            for key in pointer.split("/"):
                schema = schema.get(key) if isinstance(schema, Mapping) else None
        elif len(options) == 1:
            schema = options[0]
        else:
            return schema
    return {}
