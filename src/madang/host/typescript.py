"""JSON Schemas of wire types as TypeScript, for the front end. Pure, and used by `scripts/generate` alone."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]


def declarations(definitions: Mapping[str, Schema]) -> str:
    """Return the declarations of types by their names, in alphabetical order."""
    return "\n".join(_declaration(name, definitions[name]) for name in sorted(definitions))


def _declaration(name: str, schema: Schema) -> str:
    comment = _comment(schema.get("description", ""), "")
    if not schema.get("properties") and "oneOf" not in schema and "anyOf" not in schema:
        return f"{comment}export type {name} = Record<string, never>\n"
    if "properties" not in schema:
        alternatives = "".join(f"\n  | {one}" for one in _alternatives(schema))
        return f"{comment}export type {name} ={alternatives}\n"
    required = schema.get("required", ())
    fields = (_field(field, part, field in required) for field, part in schema["properties"].items())
    return f"{comment}export interface {name} {{\n{''.join(fields)}}}\n"


def _field(name: str, schema: Schema, is_required: bool) -> str:
    # What may be left out is left out where there is none; it is never null.
    kind = type_of(schema) if is_required else type_of(_without_null(schema))
    return f"{_comment(schema.get('description', ''), '  ')}  {name}{'' if is_required else '?'}: {kind}\n"


def type_of(schema: Schema) -> str:
    """Return the type of the values of a schema."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    if "anyOf" in schema or "oneOf" in schema:
        return " | ".join(_alternatives(schema))
    match schema.get("type"):
        case "array":
            item = type_of(schema.get("items", {}))
            return f"({item})[]" if " | " in item else f"{item}[]"
        case "object":
            values = schema.get("additionalProperties")
            return f"Record<string, {type_of(values) if isinstance(values, dict) else 'unknown'}>"
        case "integer" | "number":
            return "number"
        case "string" | "boolean" | "null" as plain:
            return str(plain)
        case _:
            return "unknown"


def _alternatives(schema: Schema) -> list[str]:
    parts = schema.get("anyOf") or schema["oneOf"]
    return list(dict.fromkeys(one for part in parts for one in type_of(part).split(" | ")))


def _without_null(schema: Schema) -> Schema:
    if "anyOf" not in schema:
        return schema
    return {**schema, "anyOf": [part for part in schema["anyOf"] if part.get("type") != "null"]}


def _comment(text: str, indent: str) -> str:
    lines = inspect.cleandoc(text).splitlines()
    if not lines:
        return ""
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return "".join([f"{indent}/**\n", *(f"{indent} * {line}".rstrip() + "\n" for line in lines), f"{indent} */\n"])
