"""Tools that have a JSON Schema alone, as clients see them."""

from __future__ import annotations

from typing import Any

import pytest

from madang.core.results import ToolResult
from madang.server import mapping
from tests.server.serving import Offering, schema_tool, serving
from tests.wires import open_wire

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SUNNY: ToolResult[Any] = ToolResult(["Sunny"], {"sky": "blue"})

both_eras = pytest.mark.parametrize("era", ["auto", "legacy"])


@both_eras
async def test_a_foreign_tool_is_listed_with_what_is_known_of_it(era: str) -> None:
    service = Offering(schema_tool("weather__forecast", SUNNY, CITY, open_world=True), name="weather")
    async with serving(service) as served, served.client(era) as client:
        (listed,) = (await client.list_tools()).tools
        results = [
            await client.call_tool(name, {"city": "서울"})
            for name in ("weather__forecast", "weather__weather__forecast")
        ]

    assert listed.input_schema == CITY
    assert listed.output_schema is None
    assert listed.annotations is not None
    assert listed.annotations.open_world_hint is True
    assert [result.structured_content for result in results] == [{"sky": "blue"}] * 2


def test_a_tool_without_an_output_schema_lists_none() -> None:
    assert "outputSchema" not in mapping.listed_tool(schema_tool("look"), "off")


def test_a_schema_that_does_not_say_that_it_is_an_object_is_listed_as_one() -> None:
    listed = mapping.listed_tool(schema_tool("look", arguments={}, data={"properties": {"a": {}}}), "off")

    assert listed["inputSchema"] == {"type": "object"}
    assert listed["outputSchema"] == {"type": "object", "properties": {"a": {}, "error": {"type": "object"}}}


@both_eras
async def test_a_changed_schema_is_served_at_once(era: str) -> None:
    service = Offering(schema_tool("weather__forecast", SUNNY))
    async with serving(service) as served, served.client(era) as client:
        before = (await client.list_tools()).tools
        service.tools = (schema_tool("weather__forecast", SUNNY, CITY),)
        after = (await client.list_tools()).tools
        refused = await client.call_tool("weather__forecast", {})

    assert [tool.input_schema for tool in (*before, *after)] == [{"type": "object"}, CITY]
    assert refused.is_error


async def test_lists_are_kept_for_a_while_only_where_no_tool_can_change() -> None:
    async with serving(Offering(schema_tool("look"))) as served, open_wire(served.server) as wire:
        foreign = await wire.request("tools/list", {}, client=None)
        served.service.tools = ()
        none = await wire.request("tools/list", {}, client=None)

    assert [tool["name"] for tool in foreign["tools"]] == ["look"]
    assert (foreign["ttlMs"], none["ttlMs"], none["tools"]) == (0, mapping.LIST_TTL_MS, [])


async def test_tools_that_change_all_the_time_are_listed_as_they_are() -> None:
    service = Offering()
    async with serving(service) as served, open_wire(served.server) as wire:
        for number in range(200):
            service.tools = (schema_tool(f"tool_{number}"),)
            (listed,) = (await wire.request("tools/list", {}, client=None))["tools"]
            assert listed["name"] == f"tool_{number}"

        assert len(served.server._listed_tools) <= 64
