"""Tools that have only a JSON Schema, which another server wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from anyio import fail_after

from madang.core import schema_tools
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


async def test_nothing_is_fetched_for_a_reference() -> None:
    """Not even where something would answer: the library fetches unless it is told not to."""
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n"))
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        for address in (f"http://127.0.0.1:{port}/schema.json", f"ftp://127.0.0.1:{port}/a", "file:///etc/hostname"):
            schema = {"properties": {"city": {"$ref": address}}}
            with pytest.raises(Unavailable, match="Unresolvable"):
                await asyncio.to_thread(asyncio.run, weather(schema).run(Call(), {"city": "Seoul"}))

    assert asked == []


async def test_items_are_compared_with_each_other_in_no_time() -> None:
    """The library compares each with each where they cannot be sorted: 30,000 objects would take minutes."""
    schema = {"properties": {"days": {"uniqueItems": True}}}
    days = [{"day": number} for number in range(30_000)]

    with fail_after(20):
        await weather(schema).run(Call(), {"days": days})
        with pytest.raises(InvalidArguments, match="twice"):
            await weather(schema).run(Call(), {"days": [*days, {"day": 0}]})


async def test_steps_that_are_long_are_stopped_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_tools, "MAX_VALIDATION_S", 0.0)

    with pytest.raises(Unavailable, match="it takes more than 0 s"):
        await weather({"properties": {"city": {"type": "string"}}}).run(Call(), {"city": "Seoul"})


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
