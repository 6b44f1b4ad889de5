"""Tools that have only a JSON Schema, which another server wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from anyio import fail_after

from madang.core.calls import Call
from madang.core.errors import InvalidArguments, LimitExceeded, Unavailable
from madang.core.results import ToolResult
from madang.core.schema_tools import SchemaTool

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
}


async def _answer(call: Call, arguments: Mapping[str, Any]) -> ToolResult[Mapping[str, Any]]:
    return ToolResult(["sunny"], {"sky": "blue", **arguments})


def weather(schema: Mapping[str, Any]) -> SchemaTool:
    return SchemaTool(
        name="weather__forecast", description="Tell the weather.", effect="read", arguments=schema, handler=_answer
    )


async def test_arguments_that_fit_reach_the_handler() -> None:
    result = await weather(CITY).run(Call(), {"city": "서울", "days": 2})

    assert result.data == {"sky": "blue", "city": "서울", "days": 2}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "'city' is a required property"),
        ({"city": 1}, "city: 1 is not of type 'string'"),
        ({"city": "Seoul", "days": 0}, "days: 0 is less than the minimum of 1"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_by_name(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        await weather(CITY).run(Call(), arguments)

    assert str(caught.value) == reason
    assert caught.value.hint is not None


async def test_arguments_have_the_bounds_of_every_tool() -> None:
    deep: Any = "end"
    for _ in range(200):
        deep = [deep]
    with pytest.raises(LimitExceeded):
        await weather({"type": "object"}).run(Call(), {"deep": deep})


def doubling(depth: int) -> dict[str, Any]:
    """Return a schema that is small to write and takes 2^depth steps to apply."""
    definitions = {
        f"d{number}": {"anyOf": [{"$ref": f"#/$defs/d{number + 1}"}, {"$ref": f"#/$defs/d{number + 1}"}]}
        for number in range(depth)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{depth}": {"type": "string"}}}


HOSTILE = {
    "doubling": doubling(30),
    "endless": {"$ref": "#"},
    "a remote reference": {"$ref": "https://example.invalid/schema.json"},
    "no such place": {"$ref": "#/$defs/nothing"},
    "no schema": {"type": "no such type"},
    "not even an object": {"properties": ["city"]},
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_schema_that_cannot_be_applied_ends_at_once(name: str) -> None:
    with fail_after(20), pytest.raises(Unavailable, match="schema of 'weather__forecast' cannot be used"):
        await weather(HOSTILE[name]).run(Call(), {"city": "Seoul"})


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"city": {"type": "string", "pattern": "^(a+)+$"}}},
        {"patternProperties": {"^(c+)+y$": {"type": "integer"}}, "additionalProperties": False},
        {"properties": {"city": {"anyOf": [{"type": "integer"}, {"pattern": "^(a+)+$"}]}}},
    ],
)
async def test_foreign_regular_expressions_are_left_to_their_server(schema: dict[str, Any]) -> None:
    with fail_after(20):
        result = await weather(schema).run(Call(), {"city": "a" * 60 + "!"})

    assert result.data["sky"] == "blue"


async def test_a_property_may_be_called_pattern() -> None:
    schema = {"properties": {"pattern": {"type": "string"}, "format": {"enum": ["short"]}}}

    with pytest.raises(InvalidArguments, match="pattern: 1 is not of type 'string'"):
        await weather(schema).run(Call(), {"pattern": 1})
