"""Streams of changes: how many there may be, for how long they are watched, and what a client may make us keep."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from madang.core.calls import Call
from madang.core.phrases import say
from madang.core.resources import ResourceTemplate
from madang.core.service import Service, ServiceMetadata
from madang.server.change_streams import (
    MAX_ALL_SUBSCRIPTIONS_CHARS,
    MAX_STREAMS,
    MAX_SUBSCRIPTION_CHARS,
    MAX_SUBSCRIPTIONS,
)
from madang.server.mcp import McpServer
from tests.doors import TOKEN
from tests.server.serving import serving, serving_http
from tests.wires import Wire, envelope, initialize_params, open_wire


class Watched(Service):
    """Counts who watches its one resource, which changes when a test says so."""

    metadata = ServiceMetadata("watched", say("Watched"), say("Is watched."), "1")
    resource_templates = (ResourceTemplate("test://{id}", "test", "Test"),)

    def __init__(self) -> None:
        self._change = asyncio.Event()
        self._changes = 0
        self._is_counted = asyncio.Event()
        self.watchers = 0

    async def resource_changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        self._count(1)
        seen = self._changes
        try:
            yield frozenset()
            while True:
                while seen == self._changes:
                    await self._change.wait()
                seen = self._changes
                yield frozenset({"test://1"})
        finally:
            self._count(-1)

    def change(self) -> None:
        self._changes += 1
        self._change.set()
        self._change = asyncio.Event()

    async def counts(self, watchers: int) -> None:
        """Wait until there are so many."""
        with anyio.fail_after(60):
            while self.watchers != watchers:
                self._is_counted.clear()
                await self._is_counted.wait()

    def _count(self, more: int) -> None:
        self.watchers += more
        self._is_counted.set()


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
async def server(watched: Watched) -> AsyncIterator[McpServer]:
    async with serving(watched) as served:
        yield served.server


@pytest.fixture
async def http(server: McpServer) -> AsyncIterator[Http]:
    headers = {"authorization": f"Bearer {TOKEN}", "accept": "application/json, text/event-stream"}
    limits = httpx2.Limits(max_connections=None)
    async with (
        serving_http(server) as url,
        httpx2.AsyncClient(headers=headers, timeout=60, verify=False, limits=limits) as client,
    ):
        yield Http(client, url)


class Http:
    """Requests of both eras, as they are written."""

    def __init__(self, client: httpx2.AsyncClient, url: str) -> None:
        self._client = client
        self._url = url

    async def begin(self, *, says_so: bool = True) -> str:
        """Begin a session of the older era; return its id."""
        session: str = (await self._post("initialize", initialize_params("old"), id=1)).headers["mcp-session-id"]
        if says_so:
            assert (await self.initialized(session)).status_code == 202
        return session

    async def initialized(self, session: str) -> httpx2.Response:
        return await self._post("notifications/initialized", {}, mcp_session_id=session)

    @asynccontextmanager
    async def reading(self, session: str) -> AsyncIterator[AsyncIterator[str]]:
        async with self._client.stream("GET", self._url, headers={"mcp-session-id": session}) as answer:
            assert answer.status_code == 200
            yield answer.aiter_lines()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[AsyncIterator[str]]:
        """Open a stream of changes of the newer era; the lines of the answer, which may be a refusal."""
        params = {"notifications": {"resourcesListChanged": True}, "_meta": envelope("new")}
        message = {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params}
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen"}
        async with self._client.stream("POST", self._url, json=message, headers=headers) as answer:
            yield answer.aiter_lines()

    async def _post(
        self, method: str, params: dict[str, Any], *, id: int | None = None, **headers: str
    ) -> httpx2.Response:
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({} if id is None else {"id": id})}
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self._client.post(self._url, json=message, headers=changed)


async def line_with(lines: AsyncIterator[str], text: str) -> None:
    with anyio.fail_after(60):
        async for line in lines:
            if text in line:
                return
    raise AssertionError(f"The stream ended without {text}")


async def test_an_older_client_over_http_is_watched_for_while_it_reads(http: Http, watched: Watched) -> None:
    session = await http.begin()
    for _ in range(2):
        async with http.reading(session) as lines:
            await watched.counts(1)
            watched.change()
            await line_with(lines, "notifications/resources/list_changed")
        await watched.counts(0)


async def test_one_that_reads_before_it_says_that_it_is_initialized_is_told_too(http: Http, watched: Watched) -> None:
    session = await http.begin(says_so=False)
    async with http.reading(session) as lines:
        assert watched.watchers == 0
        await http.initialized(session)
        await watched.counts(1)
        watched.change()
        await line_with(lines, "notifications/resources/list_changed")
    await watched.counts(0)


async def test_saying_it_again_and_again_opens_no_further_streams(http: Http, watched: Watched) -> None:
    session = await http.begin()
    async with http.reading(session):
        for _ in range(20):
            await http.initialized(session)
        await watched.counts(1)


async def test_over_a_pipe_there_is_one_stream_however_often_the_client_is_initialized(
    server: McpServer, watched: Watched
) -> None:
    async with open_wire(server) as wire:
        await wire.exchange("initialize", initialize_params("old"))
        for _ in range(20):
            await wire.write("notifications/initialized")
        await wire.exchange("ping", {})
        await watched.counts(1)
        assert watched.watchers == 1


async def test_streams_are_counted_while_they_are_open(http: Http, watched: Watched) -> None:
    """Sessions that were left have none, and one that was closed makes room."""
    for _ in range(20):
        await http.begin()
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(http.listening()) for _ in range(MAX_STREAMS)]
        for lines in streams:
            await line_with(lines, "acknowledged")
        await watched.counts(MAX_STREAMS)
        async with http.listening() as lines:
            await line_with(lines, "Too many change streams")
    await watched.counts(0)
    async with http.listening() as lines:
        await line_with(lines, "acknowledged")
        watched.change()
        await line_with(lines, "notifications/resources/list_changed")


@asynccontextmanager
async def older_wire(server: McpServer) -> AsyncIterator[Wire]:
    async with open_wire(server) as wire:
        await wire.exchange("initialize", initialize_params("old"))
        yield wire


async def subscribe(wire: Wire, uri: str) -> str:
    """Subscribe; return the message of the error, if there is one."""
    answer = await wire.exchange("resources/subscribe", {"uri": uri})
    return str(answer.get("error", {}).get("message", ""))


async def test_the_address_of_a_subscription_is_bounded(server: McpServer) -> None:
    async with older_wire(server) as wire:
        assert not await subscribe(wire, "test://" + "x" * (MAX_SUBSCRIPTION_CHARS - 7))
        assert "characters at most" in await subscribe(wire, "test://" + "x" * MAX_SUBSCRIPTION_CHARS)
        assert "characters at most" in await subscribe(wire, "test://" + "x" * 4_000_000)


async def test_the_subscriptions_of_a_connection_are_bounded(server: McpServer) -> None:
    async with older_wire(server) as wire:
        for number in range(MAX_SUBSCRIPTIONS):
            assert not await subscribe(wire, f"test://{number}")
        assert not await subscribe(wire, "test://0")
        assert await subscribe(wire, "test://more") == "Too many subscriptions"
        await wire.exchange("resources/unsubscribe", {"uri": "test://0"})
        assert not await subscribe(wire, "test://more")


async def test_what_the_subscriptions_of_a_connection_hold_is_bounded(server: McpServer) -> None:
    async with older_wire(server) as wire:
        for number in range(MAX_ALL_SUBSCRIPTIONS_CHARS // MAX_SUBSCRIPTION_CHARS):
            assert not await subscribe(wire, f"test://{number}".ljust(MAX_SUBSCRIPTION_CHARS, "x"))
        assert await subscribe(wire, "test://more") == "Too many subscriptions"


@pytest.mark.parametrize(
    "uris",
    [["x" * (MAX_SUBSCRIPTION_CHARS + 1)], [f"test://{number}" for number in range(MAX_SUBSCRIPTIONS + 1)]],
    ids=["long", "many"],
)
async def test_a_stream_takes_no_more_than_a_connection(server: McpServer, uris: list[str]) -> None:
    params = {"notifications": {"resourceSubscriptions": uris}, "_meta": envelope("new")}
    async with open_wire(server) as wire:
        answer = await wire.exchange("subscriptions/listen", params)

    assert "error" in answer, json.dumps(answer)[:200]
