"""What every service's state promises: it is a document of the type that the service declared, and of its schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from madang.core.documents import Document
from madang.core.schemas import state_schema
from madang.core.service import NoState
from tests.asking import Asker
from tests.promises import PROMISES, SERVICES

STATEFUL = [name for name, service in SERVICES.items() if service.state_type is not NoState]


async def state_of(asker: Asker, name: str) -> Document:
    return (await asker.provider.service_contexts(asker.call))[name].structured_state


def check(name: str, state: Document) -> None:
    """Check a state as a reader of its JSON would: against the schema, and by reading it back."""
    declared = SERVICES[name].state_type
    assert type(state) is declared
    data = json.loads(state.model_dump_json())
    Draft202012Validator(_closed(state_schema(declared))).validate(data)
    assert declared.model_validate_json(json.dumps(data)) == state


def _closed(schema: Any) -> Any:
    """Return a schema whose objects have all their fields and no others."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(part) for key, part in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        assert schema["additionalProperties"] is False, schema["title"]
        closed["required"] = [*schema["properties"]]
    return closed


def test_every_service_with_a_context_declares_its_state() -> None:
    assert STATEFUL == ["playbook", "planning", "ui", "content", "workspace"]
    assert len({SERVICES[name].state_type for name in STATEFUL}) == len(STATEFUL)


@pytest.mark.parametrize("name", STATEFUL)
def test_the_schema_of_a_state_has_no_object_without_fields(name: str) -> None:
    def visit(part: Any) -> None:
        if isinstance(part, list):
            for inner in part:
                visit(inner)
        elif isinstance(part, dict):
            assert part.get("type") != "object" or part.get("properties"), part
            visit(list(part.values()))

    visit(state_schema(SERVICES[name].state_type))


@pytest.mark.parametrize("name", STATEFUL)
async def test_the_state_fits_its_schema_after_each_tool(asker: Asker, name: str) -> None:
    check(name, await state_of(asker, name))
    promises = PROMISES[name]
    for tool, promise in promises.tools.items():
        ids = await promises.prepare(asker)
        check(name, await state_of(asker, name))
        await asker.ask(tool, **promise.example_arguments(ids))
        check(name, await state_of(asker, name))


@pytest.mark.parametrize("name", STATEFUL)
async def test_the_largest_state_fits_its_schema(asker: Asker, name: str) -> None:
    await PROMISES[name].fill(asker)

    check(name, await state_of(asker, name))


@pytest.mark.parametrize("name", STATEFUL)
async def test_an_unknown_field_of_a_state_fails(asker: Asker, name: str) -> None:
    data = json.loads((await state_of(asker, name)).model_dump_json())

    with pytest.raises(ValidationError, match="surprise"):
        SERVICES[name].state_type.model_validate_json(json.dumps({**data, "surprise": 1}))
