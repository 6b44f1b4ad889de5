"""The OpenAPI document, made from the operations and the wire types."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

from pydantic.json_schema import models_json_schema

from madang import __version__
from madang.core.documents import Document
from madang.host import wire, wire_assistants, wire_events, wire_inbox, wire_panels, wire_settings, wire_views
from madang.host.api import STATUSES, Endpoint

WIRE_MODULES = (wire, wire_events, wire_inbox, wire_assistants, wire_panels, wire_settings, wire_views)
SENT_SUFFIXES = ("Body", "Query", "Patch")
_REFERENCE = "#/components/schemas/{model}"
_BINARY = {"type": "string", "format": "binary"}
_PARAMETER = re.compile(r"{(\w+)}")


def openapi_document(operations: Iterable[Endpoint]) -> dict[str, Any]:
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
    """Return the JSON Schemas of every wire type: types of the front end are generated from it.

    What a browser sends may leave out what has a default; what it gets is whole, but for what events leave out.
    """
    documents = [
        value
        for module in WIRE_MODULES
        for _, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, Document) and value.__module__ == module.__name__ and not value.__name__.startswith("_")
    ]
    sent = [(one, "validation") for one in documents if one.__name__.endswith(SENT_SUFFIXES)]
    definitions = _definitions(sent)
    told = [one for one in documents if one.__name__ not in definitions]
    rest = [(one, "serialization") for one in (*told, wire_events.StreamEvent)]
    return {"$defs": {**_definitions(rest), **definitions}}


def _definitions(models: list[Any]) -> dict[str, Any]:
    _, schema = models_json_schema(models, by_alias=True)
    definitions: dict[str, Any] = schema["$defs"]
    return definitions


def _models(operations: Iterable[Endpoint]) -> list[Any]:
    models: dict[Any, None] = {(wire.ErrorAnswer, "serialization"): None}
    for operation in operations:
        if operation.answer is not None:
            models[operation.answer, "serialization"] = None
        if operation.body is not None:
            models[operation.body, "validation"] = None
    return list(models)


def _operation(operation: Endpoint, keys: dict[Any, Any]) -> dict[str, Any]:
    answer = _BINARY if operation.answer is None else keys[operation.answer, "serialization"]
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
    elif operation.body_media_type != "application/json":
        description["requestBody"] = {"required": True, "content": {operation.body_media_type: {"schema": _BINARY}}}
    return description


def _name(operation: Endpoint) -> str:
    name: str = getattr(operation.handler, "__qualname__", operation.path)
    return operation.id or name.replace(".<locals>", "").replace(".", "_")


def _path_parameters(operation: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(operation.path)
    ]


def _query_parameters(operation: Endpoint) -> list[dict[str, Any]]:
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
