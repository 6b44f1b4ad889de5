"""Reading the schemas of tools: Python writes `page_size`, JSON mostly `pageSize`, and the schema decides."""

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


class SchemaReader:
    """One schema of a tool, foreign and unchecked: the fields it declares, by which arguments and answers are read."""

    __slots__ = ("_items", "_root", "fields")

    def __init__(self, schema: Any = None, root: Any = None) -> None:
        self._root = schema if root is None else root
        resolved = _resolve(schema, self._root)
        fields = resolved.get("properties")
        self.fields: Mapping[str, Any] = fields if isinstance(fields, Mapping) else {}
        self._items = resolved.get("items")

    def field(self, name: str) -> SchemaReader:
        """Return the schema of a field; one that tells nothing if the field is not declared."""
        return SchemaReader(self.fields.get(name), self._root)

    @property
    def item(self) -> SchemaReader:
        """The schema of each item of a list."""
        return SchemaReader(self._items, self._root)

    def spell(self, value: Any) -> Any:
        """Return a JSON value with the names of the schema, at every depth; unknown names stay as they are.

        Raises:
            TypeError: one argument was given in two spellings.
        """
        if isinstance(value, list):
            item = self.item
            return [item.spell(part) for part in value]
        if not isinstance(value, Mapping):
            return value
        spelled: dict[str, Any] = {}
        for key, part in value.items():
            name = match_name(key, self.fields) or key
            if name in spelled:
                raise TypeError(f"The argument {name!r} is given twice, in two spellings.")
            spelled[name] = self.field(name).spell(part)
        return spelled


def _resolve(schema: Any, root: Any) -> Mapping[str, Any]:
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
