"""Schemas as the models of our own runs are sent them: what an argument means, without what is only checked. Pure.

Bounds are a third of the tokens of a list of tools, and a model that passes one is told by the error. Over MCP the
schemas stay whole: a client may check arguments before it sends them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

_ONLY_CHECKED = frozenset(
    {
        "$schema",
        "$id",
        "title",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "unevaluatedProperties",
    }
)
_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Their keys are names that somebody chose: an argument that is called `pattern` must stay."""
_VALUES = frozenset({"const", "default", "enum", "examples"})
_PAUSES = "Pauses: end your turn.", "Its result is what they answered."
"""Elsewhere a call that asks answers at once; a run goes on with the answer."""
_OUTLINE = re.compile(r" ?\([^()]*\{[^()]*\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def sent_schema(schema: Mapping[str, Any], hidden: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of a tool's arguments as a model is sent it, without the optional arguments in `hidden`."""
    sent: dict[str, Any] = _reduce(schema)
    left_out = hidden_arguments(schema, hidden)
    if left_out:
        sent["properties"] = {name: part for name, part in sent["properties"].items() if name not in left_out}
    return sent


def sent_description(description: str, schema: Mapping[str, Any], hidden: Collection[str] = ()) -> str:
    """Return a description without what repeats the schema, and without sentences on arguments that are not sent.

    Some clients show their model no nested schema, so descriptions outline objects in braces: a run's model has both.
    """
    noise = "|".join([r"\{", *(rf"\b{re.escape(name)}\b" for name in hidden_arguments(schema, hidden))])
    sentences = _SENTENCE_END.split(_OUTLINE.sub("", description.replace(*_PAUSES)))
    return " ".join(sentence for sentence in sentences if not re.search(noise, sentence)) or description


def hidden_arguments(schema: Mapping[str, Any], hidden: Collection[str]) -> list[str]:
    """Return those of `hidden` that a tool has and does not require."""
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return [name for name in sorted(hidden) if name in properties and name not in required]


def _reduce(part: Any) -> Any:
    if isinstance(part, list):
        return [_reduce(item) for item in part]
    if not isinstance(part, Mapping):
        return part
    reduced: dict[str, Any] = {}
    for key, value in part.items():
        # A schema there says what the values of a map are; true or false only says whether others are taken.
        if key in _ONLY_CHECKED or (key == "additionalProperties" and isinstance(value, bool)):
            continue
        if key in _NAMED_SCHEMAS and isinstance(value, Mapping):
            reduced[key] = {name: _reduce(inner) for name, inner in value.items()}
        else:
            reduced[key] = value if key in _VALUES else _reduce(value)
    return reduced
