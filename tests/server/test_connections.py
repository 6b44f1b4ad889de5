"""Which client a request comes from, whether it relays answers, and the session that it is in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client import advertise
from mcp.client.streamable_http import streamable_http_client

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.service import ActiveSession, Service, ServiceMetadata
from madang.provider.provider import Provider
from madang.server.connections import client_name
from madang.server.mapping import APP_MIME_TYPE, UI_EXTENSION
from madang.server.mcp import SESSION_KEY, McpServer
from tests.doors import TOKEN
from tests.server.serving import CALL, Served, schema_tool, serving, serving_http
from tests.wires import Wire, envelope, open_wire

DEFAULT = ActiveSession(CALL.assistant_id, CALL.session_id)

both_eras = pytest.mark.parametrize("era", ["auto", "legacy"])


class Observer(Service):
    """Notes the calls that reach it, and where its clients go. Its switches can be held up."""

    metadata = ServiceMetadata("observer", say("Observer"), say("Looks on."), "1")

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.moves: list[ActiveSession | None] = []
        self.has_moved = asyncio.Event()
        self.may_switch = asyncio.Event()
        self.may_switch.set()
        self.tools = (schema_tool("look", self._look),)

    async def switch_context(self, active: ActiveSession | None) -> None:
        self.moves.append(active)
        self.has_moved.set()
        await self.may_switch.wait()

    async def _look(self, call: Call, arguments: Mapping[str, Any]) -> ToolResult[Mapping[str, Any]]:
        self.calls.append(call)
        return ToolResult(["Seen"], {})

    @property
    def client_ids(self) -> list[str]:
        return [call.client_id for call in self.calls]


@pytest.fixture
def observer() -> Observer:
    return Observer()


@pytest.fixture
async def served(observer: Observer) -> AsyncIterator[Served]:
    async with serving(observer) as served:
        yield served


@pytest.fixture
def server(served: Served) -> McpServer:
    return served.server


@pytest.fixture
def provider(served: Served) -> Provider:
    return served.provider


def client(server: Any, era: Any, **options: Any) -> Client:
    info = types.Implementation(name="a-client", version="7")
    return Client(server, mode=era, client_info=info, read_timeout_seconds=60, **options)


@asynccontextmanager
async def http(server: McpServer) -> AsyncIterator[Callable[[], Any]]:
    """The server over HTTP; what it gives makes a transport to it."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        serving_http(server) as url,
        httpx2.AsyncClient(headers=headers, timeout=60, verify=False) as http_client,
    ):
        yield lambda: streamable_http_client(url, http_client=http_client)


async def moved(observer: Observer, count: int) -> None:
    with anyio.fail_after(60):
        while len(observer.moves) < count:
            observer.has_moved.clear()
            await observer.has_moved.wait()


async def look(wire: Wire, client: str | None = None, **meta: str) -> None:
    await wire.exchange("tools/call", {"name": "look", "arguments": {}, "_meta": {**envelope(client), **meta}})


# Ids


@both_eras
async def test_two_clients_of_one_server_are_two_askers(server: McpServer, observer: Observer, era: str) -> None:
    async with client(server.server, era) as one, client(server.server, era) as other:
        for _ in range(2):
            await one.call_tool("look", {})
            await other.call_tool("look", {})

    first, second = observer.client_ids[:2]
    assert observer.client_ids == [first, second, first, second]
    assert first != second
    assert UUID(first).version == UUID(second).version == 7
    assert observer.calls[0].asker == f"client:{first} {observer.calls[0].client_name}"


async def test_over_a_pipe_the_connection_counts_and_not_the_name(server: McpServer, observer: Observer) -> None:
    async with open_wire(server) as wire:
        await look(wire, "one")
        await look(wire, "other")
        await look(wire, None)

    assert len(set(observer.client_ids)) == 1
    assert UUID(observer.client_ids[0])


async def test_over_http_a_session_is_a_connection_and_a_request_of_its_own_has_a_name(
    server: McpServer, observer: Observer
) -> None:
    async with http(server) as transport:
        for era in ("legacy", "legacy", "auto", "auto"):
            async with client(transport(), era) as one:
                await one.call_tool("look", {})
                await one.call_tool("look", {})

    first, _, second = observer.client_ids[:3]
    assert observer.client_ids == [first, first, second, second, *[""] * 4]
    assert {call.client_name for call in observer.calls} == {"a-client"}
    assert observer.calls[-1].asker == "client: a-client"
    assert UUID(first) != UUID(second)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("x\x00\n[tool] y\ud800", "x\\u0000 [tool] y\\ud800"),
        ("n" * 300, "n" * 199 + "…"),
        (None, ""),
    ],
)
def test_a_name_is_inert_and_bounded(name: str | None, shown: str) -> None:
    params = SimpleNamespace(client_info=SimpleNamespace(name=name, version="1")) if name is not None else None
    request: Any = SimpleNamespace(session=SimpleNamespace(client_params=params))

    assert client_name(request) == shown


# Relayed answers


@both_eras
@pytest.mark.parametrize(
    ("options", "always", "relays"),
    [
        ({}, False, True),
        ({"extensions": [advertise(UI_EXTENSION, {"mimeTypes": [APP_MIME_TYPE]})]}, False, False),
        ({"elicits": True}, True, False),
        ({"elicits": True}, False, True),
    ],
    ids=["neither", "pages", "forms", "forms that are not used"],
)
async def test_a_client_with_neither_pages_nor_forms_relays_what_the_person_said(
    provider: Provider, observer: Observer, era: str, options: dict[str, Any], always: bool, relays: bool
) -> None:
    async def decline(*_: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    server = McpServer(provider, CALL, always_elicit=always)
    if options.get("elicits"):
        options = {"elicitation_callback": decline}
    async with client(server.server, era, **options) as one:
        await one.call_tool("look", {})

    assert [call.relays for call in observer.calls] == [relays]


# Moves


@both_eras
async def test_services_are_told_of_the_first_session_of_each_move_and_of_the_end(
    server: McpServer, observer: Observer, era: str
) -> None:
    async with client(server.server, era) as one:

        async def look(**meta: str) -> None:
            request_meta: Any = {key.replace("_", "/"): value for key, value in meta.items()}
            await one.call_tool("look", {}, meta=request_meta)

        await look()
        await look()
        await moved(observer, 1)
        await look(madang_sessionId="other")
        await look(madang_sessionId="other")
        await moved(observer, 2)
        await look(madang_sessionId="other", madang_assistantId="editor")
        await moved(observer, 3)
        await look()
        await moved(observer, 4)
        assert None not in observer.moves
    await moved(observer, 5)

    assert observer.moves == [
        DEFAULT,
        ActiveSession(CALL.assistant_id, SessionId("other")),
        ActiveSession(AssistantId("editor"), SessionId("other")),
        DEFAULT,
        None,
    ]


async def test_a_slow_service_delays_no_call_and_is_told_the_last_move_only(
    server: McpServer, observer: Observer
) -> None:
    observer.may_switch.clear()
    async with open_wire(server) as wire:
        for session in ("a", "b", "c"):
            await look(wire, **{SESSION_KEY: session})
        assert [move.session_id for move in observer.moves if move] == ["a"]
        observer.may_switch.set()
        await moved(observer, 2)

    assert [move and move.session_id for move in observer.moves] == ["a", "c", None]


async def test_the_end_of_a_connection_does_not_wait_for_a_move(server: McpServer, observer: Observer) -> None:
    observer.may_switch.clear()
    with anyio.fail_after(60):
        async with open_wire(server) as wire:
            await look(wire)
            await moved(observer, 1)
            await wire.close()
            await moved(observer, 2)
            observer.may_switch.set()

    assert observer.moves == [DEFAULT, None]


async def test_a_service_that_fails_to_move_fails_no_call(
    server: McpServer, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: ActiveSession | None) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(observer, "switch_context", fail)
    async with open_wire(server) as wire:
        await look(wire)
        await look(wire, **{SESSION_KEY: "other"})

    assert len(observer.calls) == 2


async def test_a_client_that_only_probes_goes_nowhere(server: McpServer, observer: Observer) -> None:
    async with open_wire(server) as wire:
        await wire.discover("some-program")

    assert observer.moves == []


async def test_over_http_the_end_comes_with_the_last_session_and_single_requests_do_not_move(
    server: McpServer, observer: Observer
) -> None:
    async with http(server) as transport:
        async with client(transport(), "auto") as one:
            await one.call_tool("look", {})
        assert observer.moves == []
        async with client(transport(), "legacy") as one:
            await one.call_tool("look", {})
            async with client(transport(), "legacy") as other:
                await other.call_tool("look", {})
            await one.call_tool("look", {})
            assert None not in observer.moves
        await moved(observer, 3)

    assert observer.moves == [DEFAULT, DEFAULT, None]


async def test_sessions_that_are_open_when_the_server_stops_are_ended(server: McpServer, observer: Observer) -> None:
    async with http(server) as transport:
        one = client(transport(), "legacy")
        await one.__aenter__()
        await one.call_tool("look", {})
        await moved(observer, 1)
    await moved(observer, 2)

    assert observer.moves == [DEFAULT, None]
    with suppress(Exception):
        await one.__aexit__(None, None, None)
