"""What each client is given: by what it declares, by the name it sends, and by what it has listed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.client import advertise

from madang.app import Madang, open_madang
from madang.core.calls import PageMode
from madang.server import clients
from madang.server.clients import KNOWN_CLIENTS, Delivery, KnownClient, delivery, elicits, known_client
from madang.server.mapping import APP_MIME_TYPE, UI_EXTENSION
from madang.server.mcp import McpServer
from madang.services import builtin_services
from madang.settings import Settings
from tests.asking import NO_FOLDERS
from tests.wires import Wire, open_wire

APPS = {UI_EXTENSION: {"mimeTypes": [APP_MIME_TYPE]}}
NO_EXTENSIONS: dict[str, Any] = {}

both_eras = pytest.mark.parametrize("era", ["auto", "legacy"])
every_row = pytest.mark.parametrize("row", KNOWN_CLIENTS, ids=lambda row: row.prefix)


def session(name: str | None = None, extensions: Any = None, *, elicitation: Any = None) -> SimpleNamespace:
    """Return as much of an MCP session as says who the client is."""
    client = SimpleNamespace(client_info=SimpleNamespace(name=name)) if name is not None else None
    capabilities = SimpleNamespace(extensions=extensions, elicitation=elicitation)
    return SimpleNamespace(client_capabilities=capabilities, client_params=client)


@pytest.mark.parametrize(
    ("name", "extensions", "mode"),
    [
        ("any", APPS, "linked"),
        ("claude-code", {UI_EXTENSION: {"mimeTypes": ["text/x", APP_MIME_TYPE]}}, "linked"),
        ("any", {UI_EXTENSION: {"mimeTypes": ["text/html"]}}, "off"),
        ("any", {UI_EXTENSION: {}}, "off"),
        ("any", {"other": {"mimeTypes": [APP_MIME_TYPE]}}, "off"),
        ("any", None, "off"),
        (None, None, "off"),
        (None, APPS, "linked"),
        ("qwen-cli-mcp-client-madang", APPS, "off"),
    ],
)
def test_pages_are_linked_where_declared_and_drawn_else_there_are_none(
    name: str | None, extensions: Any, mode: PageMode
) -> None:
    assert delivery(session(name, extensions)).pages == mode
    assert delivery(session(name, extensions), "embedded").pages == "embedded"


def test_a_client_without_capabilities_gets_no_pages_and_both_halves() -> None:
    unnamed = SimpleNamespace(client_capabilities=None, client_params=None)

    assert delivery(unnamed) == Delivery("off", sends_data=True)
    assert not elicits(unnamed, always=True)


@pytest.mark.parametrize("settings", [None, [], 5, "x", {"mimeTypes": 5}, {"mimeTypes": None}, {"mimeTypes": {}}])
def test_t37_a_declaration_that_makes_no_sense_is_none(settings: Any) -> None:
    assert delivery(session("any", {UI_EXTENSION: settings})).pages == "off"


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("Claude-Code", "claude-code"),
        ("claude-code (sdk)", "claude-code"),
        ("qwen-cli-mcp-client-my server", "qwen-cli-mcp-client"),
        ("gemini-cli-mcp-client-madang", "gemini-cli-mcp-client"),
        ("Visual Studio Code - Insiders", "visual studio code"),
        ("my-claude-code", ""),
        ("claude", ""),
        ("", ""),
    ],
)
def test_a_row_is_found_by_the_beginning_of_the_name(name: str, prefix: str) -> None:
    assert known_client(session(name)).prefix == prefix


def test_the_longest_prefix_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (KnownClient("a", "1"), KnownClient("a-host", "2", pages="embedded"), KnownClient("a-h", "3"))
    monkeypatch.setattr(clients, "KNOWN_CLIENTS", rows)

    assert known_client(session("a-host-x")).seen_in == "2"
    assert delivery(session("a-host")).pages == "embedded"


def test_every_row_says_where_it_was_seen_and_stands_once() -> None:
    assert all(row.seen_in and row.prefix == row.prefix.lower() for row in KNOWN_CLIENTS)
    assert len({row.prefix for row in KNOWN_CLIENTS}) == len(KNOWN_CLIENTS)


@every_row
def test_forms_are_used_where_they_are_declared_and_known_to_be_drawn(row: KnownClient) -> None:
    assert elicits(session(row.prefix, elicitation={}), always=False) == row.draws_forms
    assert elicits(session(row.prefix, elicitation={}), always=True)
    assert not elicits(session(row.prefix), always=True)


# Through the server


@asynccontextmanager
async def connected(
    folder: Path, name: str, era: str, *, ui: PageMode | None = None, extensions: dict[str, Any] = NO_EXTENSIONS
) -> AsyncIterator[tuple[Client, Madang]]:
    """Connect the official client, under the name of a program."""
    mode: Any = era
    async with (
        open_madang(Settings(folder)) as madang,
        Client(
            McpServer(madang.provider, madang.call("mcp-stdio"), ui).server,
            mode=mode,
            client_info=types.Implementation(name=name, version="1"),
            extensions=[advertise(key, value) for key, value in extensions.items()],
            read_timeout_seconds=60,
        ) as client,
    ):
        yield client, madang


def text_of(result: types.CallToolResult) -> str:
    (part,) = result.content
    assert isinstance(part, types.TextContent)
    return part.text


@both_eras
@pytest.mark.parametrize("name", [*(row.prefix for row in KNOWN_CLIENTS), "some-program"])
async def test_every_client_gets_the_halves_of_its_row_for_answers_errors_and_lists(
    tmp_path: Path, name: str, era: str
) -> None:
    sends_data = delivery(session(name)).sends_data
    async with connected(tmp_path, f"{name}-1", era) as (client, madang):
        before = (await client.list_tools()).tools
        created = await client.call_tool(
            "create_playbook", {"goal": "Ship it", "workflow": [], "initialCommand": None, "successCriteria": None}
        )
        listed = await client.call_tool("list_playbooks", {"page": "1", "pageSize": None, "query": ""})
        shown = await client.call_tool("show_playbooks", {})
        chart = await client.call_tool(
            "visualize_data", {"type": "bar", "data": [{"label": "a", "value": 1}], "series": [], "title": None}
        )
        missing = await client.call_tool("get_playbook", {"id": "none"})
        wrong = await client.call_tool("list_playbooks", {"page": "one"})
        await madang.provider.unregister("planning")
        after = (await client.list_tools(cache_mode="bypass")).tools
        again = await client.call_tool("list_playbooks", {})

    answers = [created, listed, shown, chart, again]
    assert [tool.output_schema is not None for tool in [*before, *after]] == [sends_data] * (len(before) + len(after))
    assert len(after) < len(before)
    assert [answer.structured_content is not None for answer in [*answers, missing, wrong]] == [sends_data] * 7
    assert not any(answer.is_error for answer in answers)
    assert missing.is_error
    assert wrong.is_error
    assert "Found 1 playbook(s)" in text_of(listed)
    assert "'select_playbook'" in text_of(shown)
    assert text_of(missing).startswith("[get_playbook] Error: ")
    assert "\nHint: " in text_of(wrong)
    assert not any("<" in text_of(answer) for answer in answers)


@both_eras
async def test_a_page_declared_by_an_agent_that_reads_data_comes_without_it(tmp_path: Path, era: str) -> None:
    async with connected(tmp_path, "claude-code", era, extensions=APPS) as (client, _):
        await client.call_tool("create_playbook", {"goal": "Ship it", "workflow": []})
        shown = await client.call_tool("show_playbooks", {})

    assert shown.structured_content is None
    assert (shown.meta or {})["madang/html"].startswith("<h1")


@both_eras
async def test_a_tool_that_came_back_with_another_schema_is_listed_with_it(tmp_path: Path, era: str) -> None:
    async with connected(tmp_path, "some-program", era) as (client, madang):
        first = {tool.name for tool in (await client.list_tools()).tools}
        (service,) = [one for one in builtin_services(madang.database, NO_FOLDERS) if one.metadata.name == "planning"]
        await madang.provider.unregister("planning")
        for tool in service.tools:
            object.__setattr__(tool, "description", "Changed.")
        madang.provider.register(service)
        listed = await client.list_tools(cache_mode="bypass")
        second = {tool.name: tool.description for tool in listed.tools}

    assert set(second) == first
    assert second["add_todo"] == "Changed."


@both_eras
async def test_prompts_are_an_empty_list_that_nobody_was_promised(tmp_path: Path, era: str) -> None:
    async with connected(tmp_path, "some-program", era) as (client, _):
        prompts = await client.list_prompts()
        capabilities = client.server_capabilities

    assert prompts.prompts == []
    assert capabilities is not None
    assert capabilities.prompts is None


# What was listed decides what is sent


@asynccontextmanager
async def wired(folder: Path) -> AsyncIterator[Wire]:
    async with (
        open_madang(Settings(folder)) as madang,
        open_wire(McpServer(madang.provider, madang.call("mcp-stdio"))) as wire,
    ):
        yield wire


@pytest.mark.parametrize(("first", "then", "sends_data"), [
    ("claude-code", None, False),
    (None, "claude-code", True),
    ("claude-code", "some-program", False),
    ("some-program", "codex-mcp-client", True),
])  # fmt: skip
async def test_over_one_connection_the_first_list_settles_what_is_sent(
    tmp_path: Path, first: str | None, then: str | None, sends_data: bool
) -> None:
    """Since 2026-07-28 each request brings its own name, or none."""
    async with wired(tmp_path) as wire:
        await wire.discover("another-probe")
        listed = await wire.request("tools/list", {}, client=first)
        called = await wire.request("tools/call", {"name": "list_playbooks"}, client=then)
        refused = await wire.request("tools/call", {"name": "get_playbook", "arguments": {}}, client=then)
        again = await wire.request("tools/list", {}, client=then)

    assert ["outputSchema" in tool for tool in listed["tools"]] == [sends_data] * len(listed["tools"])
    assert again["tools"] == listed["tools"]
    assert ("structuredContent" in called, "structuredContent" in refused) == (sends_data, sends_data)


async def test_over_one_connection_a_call_settles_it_too(tmp_path: Path) -> None:
    async with wired(tmp_path) as wire:
        called = await wire.request("tools/call", {"name": "list_playbooks"}, client="codex-mcp-client")
        listed = await wire.request("tools/list", {}, client=None)

    assert "structuredContent" not in called
    assert not any("outputSchema" in tool for tool in listed["tools"])
