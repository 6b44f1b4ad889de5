"""Telling clients that what they read has changed, in the way of each protocol era.

Since 2026-07-28 a client asks for a stream of changes; before, it was told on its connection without asking, and
subscribed to single resources.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError

from madang.core.calls import Call
from madang.provider.provider import Provider

MAX_STREAMS = 256
MAX_SUBSCRIPTIONS = 1000

Context = ServerRequestContext[Any, Any]


class Live:
    """Keeps the streams of changes to clients. Each belongs to one request or connection and ends with it."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._streams = 0

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams, call: Call
    ) -> types.SubscriptionsListenResult:
        """Serve one `subscriptions/listen` request until its client goes away."""
        # A bus of its own for each request, because whose changes it hears is the request's matter.
        bus = InMemorySubscriptionBus()

        async def told(changed: frozenset[str]) -> None:
            await bus.publish(ResourcesListChanged())
            for uri in changed:
                await bus.publish(ResourceUpdated(uri))

        async with self._watching(call, told):
            return await ListenHandler(bus)(context, params)

    async def connected(self, context: Context, call: Call) -> None:
        """Tell a client of the older era about changes for as long as its connection lasts."""
        connection = _connection(context)
        if connection is None or not connection.has_standalone_channel:
            return

        async def told(changed: frozenset[str]) -> None:
            await connection.send_resource_list_changed()
            for uri in changed & connection.state.get(_SUBSCRIBED, frozenset()):
                await connection.send_resource_updated(uri)

        await connection.exit_stack.enter_async_context(self._watching(call, told))

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        subscribed = _subscribed(context)
        if len(subscribed) >= MAX_SUBSCRIPTIONS:
            raise MCPError(code=types.INVALID_REQUEST, message="Too many subscriptions")
        subscribed.add(params.uri)
        return types.EmptyResult()

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        _subscribed(context).discard(params.uri)
        return types.EmptyResult()

    @asynccontextmanager
    async def _watching(self, call: Call, told: Any) -> AsyncIterator[None]:
        if self._streams >= MAX_STREAMS:
            raise MCPError(code=types.INTERNAL_ERROR, message="Too many streams of changes")
        self._streams += 1
        watching = asyncio.Event()

        async def watch() -> None:
            first = True
            async for changed in self._provider.watch_resources(call):
                if not first:
                    await told(changed)
                first = False
                watching.set()

        watcher = asyncio.create_task(watch())
        watcher.add_done_callback(lambda _: watching.set())
        try:
            # Who was told that we listen must not miss what happens right after.
            await watching.wait()
            yield
        finally:
            self._streams -= 1
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher


_SUBSCRIBED = "madang/subscribed"


def _connection(context: Context) -> Any:
    # The SDK keeps the connection, with its teardown and scratch state, behind the session and has no public way to it
    # from a handler yet.
    return getattr(context.session, "_connection", None)


def _subscribed(context: Context) -> set[str]:
    state: dict[str, Any] = _connection(context).state
    subscribed: set[str] = state.setdefault(_SUBSCRIBED, set())
    return subscribed
