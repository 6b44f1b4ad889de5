"""What we use of the MCP SDK beyond its promises. Each test says what to change in `server/sdk.py` when one fails."""

from __future__ import annotations

import asyncio
import importlib.metadata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.transport_security import TransportSecuritySettings

from madang.server.sdk import (
    MAX_HANDSHAKE_CHARS,
    TRACING_MIDDLEWARE,
    HttpSessions,
    RequestContext,
    SdkServer,
    connection_of,
)
from tests.wires import initialize_params

VERSION = importlib.metadata.version("mcp")


def test_the_sdk_is_of_the_minor_version_that_the_adapter_was_written_for() -> None:
    assert VERSION.startswith("2.3."), f"mcp {VERSION}: run these tests, then raise the pin in pyproject.toml"


async def test_a_session_keeps_its_connection_where_the_adapter_looks() -> None:
    seen: list[Any] = []

    async def remember(context: RequestContext, _: types.RequestParams) -> dict[str, Any]:
        session: Any = context.session
        assert isinstance(session, ServerSession)
        assert hasattr(session, "_connection"), f"mcp {VERSION} keeps no ServerSession._connection: see connection_of"
        seen.append(connection_of(context))
        return {}

    server = SdkServer("test")
    server.add_request_handler("ping", types.RequestParams, remember)
    async with Client(server, mode="legacy") as client:
        await client.session.send_ping()

    (connection,) = seen
    assert isinstance(connection, Connection), f"mcp {VERSION} keeps something else in ServerSession._connection"
    assert connection.has_standalone_channel
    assert (connection.state, type(connection.exit_stack).__name__) == ({}, "AsyncExitStack")


@pytest.mark.skipif(find_spec("opentelemetry.sdk") is not None, reason="spans are received here, so they are made")
def test_the_tracing_middleware_has_the_name_by_which_it_is_dropped() -> None:
    names = [type(one).__name__ for one in Server[Any]("test").middleware]

    assert TRACING_MIDDLEWARE in names, f"mcp {VERSION} traces with {names}: see TRACING_MIDDLEWARE"
    *kept, _ = [type(one).__name__ for one in SdkServer("test").middleware]  # the last is ours
    assert kept == [name for name in names if name != TRACING_MIDDLEWARE]


async def test_results_carry_the_stamp_of_our_server_which_is_the_sdks_own() -> None:
    ours, theirs = SdkServer("test", version="1", title="Test"), Server[Any]("test", version="1", title="Test")

    async def answer(_: RequestContext, __: types.RequestParams) -> dict[str, Any]:
        return {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}

    ours.add_request_handler("tools/list", types.PaginatedRequestParams, answer)
    async with Client(ours) as client:
        result = await client.list_tools()

    assert ours.server_info_stamp == theirs.server_info_stamp, f"mcp {VERSION} stamps results otherwise: see _stamp"
    assert ours.server_info_stamp is not ours.server_info_stamp
    assert ours.server_info_stamp in (result.meta or {}).values(), f"mcp {VERSION} does not read server_info_stamp"


async def test_capabilities_promise_changes_of_resources_alone() -> None:
    async def answer(_: RequestContext, __: types.RequestParams) -> dict[str, Any]:
        return {}

    server = SdkServer("test", on_subscriptions_listen=answer)
    for method in ("tools/list", "prompts/list", "prompts/get", "resources/list"):
        server.add_request_handler(method, types.PaginatedRequestParams, answer)

    modern = server.get_capabilities(protocol_version="2026-07-28")
    legacy = server.create_initialization_options().capabilities
    for capabilities in (modern, legacy):
        assert capabilities.tools is not None
        assert capabilities.prompts is not None
        assert capabilities.resources is not None
        promised = (
            capabilities.tools.list_changed,
            capabilities.prompts.list_changed,
            capabilities.resources.list_changed,
        )
        assert promised == (False, False, True), f"mcp {VERSION} derives capabilities otherwise: see get_capabilities"


async def test_prompts_that_can_only_be_listed_are_not_declared() -> None:
    async def answer(_: RequestContext, __: types.RequestParams) -> dict[str, Any]:
        return {}

    server = SdkServer("test")
    server.add_request_handler("prompts/list", types.PaginatedRequestParams, answer)

    assert server.get_capabilities(protocol_version="2026-07-28").prompts is None
    assert server.create_initialization_options().capabilities.prompts is None


# Sessions over HTTP


SECURITY = TransportSecuritySettings(enable_dns_rebinding_protection=False)
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params("a-client")}


@asynccontextmanager
async def http_sessions(server: SdkServer | None = None, **limits: Any) -> AsyncIterator[Http]:
    sessions = HttpSessions(server or SdkServer("test"), SECURITY, 1_000_000, **limits)
    transport = httpx2.ASGITransport(app=sessions)
    async with sessions.run(), httpx2.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client:
        yield Http(client)


class Http:
    """A client of the older era, in bare requests."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def post(self, message: dict[str, Any], session: str | None = None) -> httpx2.Response:
        headers = {"accept": "application/json, text/event-stream"}
        if session is not None:
            headers["mcp-session-id"] = session
        return await self._client.post("/mcp", json=message, headers=headers)

    async def begin(self) -> str:
        answer = await self.post(INITIALIZE)
        assert answer.status_code == 200, answer.text
        session: str = answer.headers["mcp-session-id"]
        return session

    async def is_open(self, session: str) -> bool:
        answer = await self.post({"jsonrpc": "2.0", "id": 2, "method": "ping"}, session)
        assert answer.status_code in (200, 404)
        return answer.status_code == 200


async def test_the_session_that_was_idle_for_longest_makes_room() -> None:
    async with http_sessions(max_sessions=3) as http:
        first, second, third = [await http.begin() for _ in range(3)]
        assert await http.is_open(first)
        fourth = await http.begin()

        assert not await http.is_open(second), f"mcp {VERSION} decides on new sessions elsewhere: see HttpSessions"
        assert [await http.is_open(session) for session in (first, third, fourth)] == [True] * 3


async def test_an_idle_session_ends_by_itself() -> None:
    async with http_sessions(idle_s=0.1) as http:
        session = await http.begin()
        with anyio.fail_after(60):
            await anyio.sleep(0.2)

        assert not await http.is_open(session)


async def test_a_hundred_sessions_that_were_left_leave_no_task_behind() -> None:
    async with http_sessions(max_sessions=5) as http:
        for _ in range(5):
            await http.begin()
        await anyio.wait_all_tasks_blocked()
        tasks = len(asyncio.all_tasks())
        for _ in range(100):
            await http.begin()
        await anyio.wait_all_tasks_blocked()

        assert len(asyncio.all_tasks()) <= tasks


async def test_a_handshake_that_says_too_much_is_refused_and_not_kept() -> None:
    async with http_sessions() as http:
        params = {**initialize_params("x" * MAX_HANDSHAKE_CHARS)}
        answer = await http.post({**INITIALIZE, "params": params})

        assert "characters at most" in answer.text
        assert await http.begin()
