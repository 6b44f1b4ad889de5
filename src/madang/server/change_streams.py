"""Notifying clients of changed resources, in the way of each protocol era.

Since 2026-07-28 a client opens a stream with `subscriptions/listen`; before, the server notified over the connection
unasked, and the client subscribed to single resources.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import mcp_types as types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError

from madang.core.calls import Call
from madang.provider.provider import Provider
from madang.server.sdk import RequestContext, connection_of

MAX_STREAMS = 256
MAX_SUBSCRIPTIONS = 1000

_SUBSCRIPTIONS_KEY = "madang/subscribed"


class ChangeStreams:
    """The change streams to all clients. Each belongs to one request or connection and ends with it."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._open_streams = 0

    async def listen(
        self, context: RequestContext, params: types.SubscriptionsListenRequestParams, call: Call
    ) -> types.SubscriptionsListenResult:
        """Serve one `subscriptions/listen` request until its client disconnects."""
        # One bus per request: which changes it carries depends on the request's user and session.
        bus = InMemorySubscriptionBus()

        async def publish(uris: frozenset[str]) -> None:
            await bus.publish(ResourcesListChanged())
            for uri in uris:
                await bus.publish(ResourceUpdated(uri))

        async with self._watching(call, publish):
            return await ListenHandler(bus)(context, params)

    async def notify_connection(self, context: RequestContext, call: Call) -> None:
        """Notify a client of the older era for as long as its connection lasts."""
        connection = connection_of(context)
        if not connection.has_standalone_channel:
            return

        async def notify(uris: frozenset[str]) -> None:
            await connection.send_resource_list_changed()
            for uri in uris & connection.state.get(_SUBSCRIPTIONS_KEY, frozenset()):
                await connection.send_resource_updated(uri)

        await connection.exit_stack.enter_async_context(self._watching(call, notify))

    async def subscribe(self, context: RequestContext, params: types.SubscribeRequestParams) -> types.EmptyResult:
        subscriptions = _subscriptions(context)
        if len(subscriptions) >= MAX_SUBSCRIPTIONS:
            raise MCPError(code=types.INVALID_REQUEST, message="Too many subscriptions")
        subscriptions.add(params.uri)
        return types.EmptyResult()

    async def unsubscribe(self, context: RequestContext, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        _subscriptions(context).discard(params.uri)
        return types.EmptyResult()

    @asynccontextmanager
    async def _watching(
        self, call: Call, on_change: Callable[[frozenset[str]], Awaitable[None]]
    ) -> AsyncIterator[None]:
        if self._open_streams >= MAX_STREAMS:
            raise MCPError(code=types.INTERNAL_ERROR, message="Too many change streams")
        self._open_streams += 1
        has_begun = asyncio.Event()

        async def watch() -> None:
            async for uris in self._provider.watch_resources(call):
                # The first value is empty and says that watching has begun.
                if has_begun.is_set():
                    await on_change(uris)
                has_begun.set()

        watcher = asyncio.create_task(watch())
        watcher.add_done_callback(lambda _: has_begun.set())
        try:
            # A client that was told we listen must not miss a change made right after.
            await has_begun.wait()
            yield
        finally:
            self._open_streams -= 1
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher


def _subscriptions(context: RequestContext) -> set[str]:
    subscriptions: set[str] = connection_of(context).state.setdefault(_SUBSCRIPTIONS_KEY, set())
    return subscriptions
