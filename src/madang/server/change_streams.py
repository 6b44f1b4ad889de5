"""Notifying clients of changed resources, in the way of each protocol era.

Since 2026-07-28 a client opens a stream with `subscriptions/listen`; before, the server notified over the connection
unasked, and the client subscribed to single resources.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress

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
"""That clients opened with `subscriptions/listen`. Older ones have one for each connection, which are bounded."""

# Of one connection or stream, which we keep for as long as it lasts.
MAX_SUBSCRIPTIONS = 1000
MAX_SUBSCRIPTION_CHARS = 2000
MAX_ALL_SUBSCRIPTIONS_CHARS = 200_000

_SUBSCRIPTIONS_KEY = "madang/subscribed"
_IS_NOTIFIED_KEY = "madang/notified"


class ChangeStreams:
    """The change streams to all clients. Each belongs to one request or connection and ends with it."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._open_streams = 0
        self._notifications: dict[str, Callable[[], AbstractAsyncContextManager[None]]] = {}
        self._readers: dict[str, AsyncExitStack] = {}

    async def listen(
        self, context: RequestContext, params: types.SubscriptionsListenRequestParams, call: Call
    ) -> types.SubscriptionsListenResult:
        """Serve one `subscriptions/listen` request until its client disconnects."""
        _check_subscriptions(params.notifications.resource_subscriptions or ())
        if self._open_streams >= MAX_STREAMS:
            raise MCPError(code=types.INTERNAL_ERROR, message="Too many change streams")
        # One bus per request: which changes it carries depends on the request's user and session.
        bus = InMemorySubscriptionBus()

        async def publish(uris: frozenset[str]) -> None:
            await bus.publish(ResourcesListChanged())
            for uri in uris:
                await bus.publish(ResourceUpdated(uri))

        self._open_streams += 1
        try:
            async with self._watching(call, publish):
                return await ListenHandler(bus)(context, params)
        finally:
            self._open_streams -= 1

    async def notify_connection(self, context: RequestContext, call: Call) -> None:
        """Notify a client of the older era for as long as its connection lasts; over HTTP, while it reads."""
        connection = connection_of(context)
        if not connection.has_standalone_channel or _IS_NOTIFIED_KEY in connection.state:
            return
        connection.state[_IS_NOTIFIED_KEY] = True

        async def notify(uris: frozenset[str]) -> None:
            await connection.send_resource_list_changed()
            for uri in uris & connection.state.get(_SUBSCRIPTIONS_KEY, frozenset()):
                await connection.send_resource_updated(uri)

        session_id = connection.session_id
        if session_id is None:
            await connection.exit_stack.enter_async_context(self._watching(call, notify))
            return
        self._notifications[session_id] = lambda: self._watching(call, notify)
        connection.exit_stack.callback(self._notifications.pop, session_id, None)
        # The client may have begun to read already: it does not wait until this notification of it is handled.
        if (reader := self._readers.get(session_id)) is not None:
            await self._notify_reader(session_id, reader)

    @asynccontextmanager
    async def reading(self, session_id: str) -> AsyncIterator[None]:
        """Notify a client of the older era over HTTP while it reads the stream of its session.

        A session outlives its client by far, and what nobody reads would be made for nothing.
        """
        async with AsyncExitStack() as reader:
            self._readers[session_id] = reader
            reader.callback(self._readers.pop, session_id, None)
            if session_id in self._notifications:
                await self._notify_reader(session_id, reader)
            yield

    async def _notify_reader(self, session_id: str, reader: AsyncExitStack) -> None:
        await reader.enter_async_context(self._notifications[session_id]())
        if self._readers.get(session_id) is not reader:
            # It stopped reading in the meantime.
            await reader.aclose()

    async def subscribe(self, context: RequestContext, params: types.SubscribeRequestParams) -> types.EmptyResult:
        subscriptions = _subscriptions(context)
        _check_subscriptions(subscriptions | {params.uri})
        subscriptions.add(params.uri)
        return types.EmptyResult()

    async def unsubscribe(self, context: RequestContext, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        _subscriptions(context).discard(params.uri)
        return types.EmptyResult()

    @asynccontextmanager
    async def _watching(
        self, call: Call, on_change: Callable[[frozenset[str]], Awaitable[None]]
    ) -> AsyncIterator[None]:
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
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher


def _check_subscriptions(uris: Collection[str]) -> None:
    if any(len(uri) > MAX_SUBSCRIPTION_CHARS for uri in uris):
        raise MCPError(code=types.INVALID_PARAMS, message=f"A uri has {MAX_SUBSCRIPTION_CHARS} characters at most")
    if len(uris) > MAX_SUBSCRIPTIONS or sum(map(len, uris)) > MAX_ALL_SUBSCRIPTIONS_CHARS:
        raise MCPError(code=types.INVALID_REQUEST, message="Too many subscriptions")


def _subscriptions(context: RequestContext) -> set[str]:
    subscriptions: set[str] = connection_of(context).state.setdefault(_SUBSCRIPTIONS_KEY, set())
    return subscriptions
