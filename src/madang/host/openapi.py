"""The OpenAPI document, made from the operations and the wire types."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

from pydantic.json_schema import models_json_schema

from madang import __version__
from madang.core.documents import Document
from madang.host import wire
from madang.host.api import STATUSES, Operation

_REFERENCE = "#/components/schemas/{model}"
_PARAMETER = re.compile(r"{(\w+)}")


def openapi_document(operations: Iterable[Operation]) -> dict[str, Any]:
    """Return the document of the JSON API."""
    operations = list(operations)
    keys: dict[Any, Any]
    keys, definitions = models_json_schema(_models(operations), ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, keys)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Madang", "version": __version__},
        "security": [{"browser": []}],
        "paths": paths,
        "components": {
            "schemas": definitions.get("$defs", {}),
            "securitySchemes": {"browser": {"type": "http", "scheme": "bearer"}},
        },
    }


def wire_schema() -> dict[str, Any]:
    """Return the JSON Schemas of every wire type, as it leaves: types of the front end are generated from it."""
    documents = [
        value
        for _, value in inspect.getmembers(wire, inspect.isclass)
        if issubclass(value, Document) and value.__module__ == wire.__name__
    ]
    _, schema = models_json_schema([(one, "serialization") for one in documents], by_alias=True)
    return schema


def _models(operations: Iterable[Operation]) -> list[Any]:
    models: dict[Any, None] = {(wire.ErrorAnswer, "serialization"): None}
    for operation in operations:
        models[operation.answer, "serialization"] = None
        if operation.body is not None:
            models[operation.body, "validation"] = None
    return list(models)


def _operation(operation: Operation, keys: dict[Any, Any]) -> dict[str, Any]:
    answer = keys[operation.answer, "serialization"]
    description: dict[str, Any] = {
        "summary": inspect.cleandoc(operation.handler.__doc__ or "").splitlines()[0],
        "operationId": _name(operation),
        "parameters": [*_path_parameters(operation), *_query_parameters(operation)],
        "responses": {
            str(operation.status): {"description": "Done.", "content": {operation.media_type: {"schema": answer}}},
            **{str(status): _error(keys) for status in sorted({400, 401, 413, 415, 421, *STATUSES.values()})},
        },
    }
    if not operation.needs_token:
        description["security"] = []
    if operation.body is not None:
        schema = keys[operation.body, "validation"]
        description["requestBody"] = {"required": True, "content": {operation.body_media_type: {"schema": schema}}}
    return description


def _name(operation: Operation) -> str:
    name: str = getattr(operation.handler, "__qualname__", operation.path)
    return name.replace(".<locals>", "").replace(".", "_")


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(operation.path)
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    schema = operation.query.model_json_schema(by_alias=True)
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": part}
        for name, part in schema["properties"].items()
    ]


def _error(keys: dict[Any, Any]) -> dict[str, Any]:
    schema = keys[wire.ErrorAnswer, "serialization"]
    return {"description": "Why not.", "content": {"application/json": {"schema": schema}}}
