"""JSON Schemas of tools and states.

Those of tools are as every client takes them: no `$ref`, no `anyOf` with null, no titles.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from pydantic import BaseModel


def flat_schema(model: type[BaseModel], mode: Literal["validation", "serialization"] = "validation") -> dict[str, Any]:
    """Return the schema of `model` with every reference put in place.

    Several clients refuse `$ref` and `anyOf`, and titles only cost tokens.
    """
    schema = model.model_json_schema(by_alias=True, mode=mode)
    flat: dict[str, Any] = _flatten(schema, schema.get("$defs", {}))
    flat.setdefault("properties", {})
    flat.pop("description", None)
    return flat


def state_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a service's state as it leaves, whole: types of a front end are generated from it.

    With references and `null`, unlike what clients of tools are sent.
    """
    return model.model_json_schema(by_alias=True, mode="serialization")


@cache
def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the outline of a tool's data. Several tools share a model, so it is cached.

    Any result may bring `next`, the sentences its text ends with, and `pause`: the renderer adds them to the data.
    """
    schema = outline(flat_schema(model, mode="serialization"))
    return {**schema, "properties": {**schema["properties"], "next": {"type": "string"}, "pause": {"type": "object"}}}


def outline(schema: dict[str, Any], depth: int = 2) -> dict[str, Any]:
    """Return `schema` without the insides of objects deeper than `depth`. The fields of a list's items always stay.

    Output schemas are sent with every tool list; a client needs the shape, not every object in every item.
    """
    kept: dict[str, Any] = {key: value for key, value in schema.items() if key in ("type", "enum")}
    if "items" in schema:
        kept["items"] = outline(schema["items"], max(depth - 1, 1))
    if "properties" in schema and depth > 0:
        kept["properties"] = {name: outline(part, depth - 1) for name, part in schema["properties"].items()}
        if "required" in schema:
            kept["required"] = schema["required"]
    return kept


def _flatten(part: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_flatten(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        name = part["$ref"].rsplit("/", 1)[-1]
        beside = {key: value for key, value in part.items() if key != "$ref"}
        # A type's docstring is for people who read the code; what a model needs stands at the field.
        named = {key: value for key, value in definitions[name].items() if key != "description"}
        return _flatten({**named, **beside}, definitions)
    if "anyOf" in part:
        options = [option for option in part["anyOf"] if option.get("type") != "null"]
        beside = {key: value for key, value in part.items() if key != "anyOf"}
        if len(options) == 1:
            return _flatten({**options[0], **beside}, definitions)
    flat = {}
    for key, value in part.items():
        if key in ("title", "$defs") or (key == "default" and (not value or isinstance(value, dict))):
            continue
        if key == "properties":
            # Names of properties are data, not keywords: one called `title` must stay.
            flat[key] = {name: _flatten(inner, definitions) for name, inner in value.items()}
        else:
            flat[key] = _flatten(value, definitions)
    return flat
