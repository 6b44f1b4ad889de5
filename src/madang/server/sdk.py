"""The MCP SDK as we use it: its private parts, and its public parts where we change them. Nothing else touches these.

The SDK is pinned to the minor version these were written against. `tests/server/test_sdk.py` has a test for each, which
says what to change here when the SDK moves on.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import cached_property
from http import HTTPStatus
from importlib.util import find_spec
from typing import Any, Self

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

OnRead = Callable[[str], AbstractAsyncContextManager[None]]
"""Entered with the id of a session while a client of the older era reads its stream of notifications over HTTP."""

RequestContext = ServerRequestContext[Any, Any]
"""What the SDK hands to each handler: the client's session, the protocol version, the request's id and `_meta`."""

TRACING_MIDDLEWARE = "OpenTelemetryMiddleware"
"""By name: the class is in a private module, and a failing import would keep the server from starting."""

PROBE = "server/discover"
"""The request by which a client of both protocol eras finds out which of them is served."""

MAX_HTTP_SESSIONS = 256
HTTP_SESSION_IDLE_S = 30 * 60.0

MAX_HANDSHAKE_CHARS = 64 * 1024

MAX_EARLY_MESSAGES = 8
"""So many messages before the first request are kept; the SDK keeps as many."""


class SdkServer(Server[Any]):
    """The SDK's server, with the capabilities we keep and less work per message."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.on_read: OnRead | None = None
        if find_spec("opentelemetry.sdk") is None:
            # Without OpenTelemetry's SDK the spans are not received, and making one takes a tenth of a small call.
            self.middleware = [one for one in self.middleware if type(one).__name__ != TRACING_MIDDLEWARE]
        self.middleware.append(_bound_handshake)

    async def run(
        self,
        read_stream: Any,
        write_stream: Any,
        initialization_options: InitializationOptions,
        raise_exceptions: bool = False,
    ) -> None:
        """Serve one connection, in the era of the first request that is no probe.

        The SDK takes the first request for the client's choice of era. A client whose probe is answered late goes on
        with `initialize` on the same pipe, and would be refused from then on; so each probe gets a loop of its own.
        """
        early: deque[Any] = deque(maxlen=MAX_EARLY_MESSAGES)
        async for item in read_stream:
            request = item.message if isinstance(item, SessionMessage) else None
            if isinstance(request, types.JSONRPCRequest) and request.method == PROBE:
                exchange = _Exchange(item, request.id, write_stream)
                await super().run(exchange, exchange.writer, initialization_options, raise_exceptions)
                continue
            early.append(item)
            if isinstance(request, types.JSONRPCRequest):
                break
        await super().run(_Replayed(early, read_stream), write_stream, initialization_options, raise_exceptions)

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *arguments: Any, **options: Any
    ) -> InitializationOptions:
        notification_options = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(notification_options, *arguments, **options)

    def get_capabilities(self, *arguments: Any, **options: Any) -> types.ServerCapabilities:
        capabilities = super().get_capabilities(*arguments, **options)
        # Where `subscriptions/listen` is served, the SDK declares `listChanged` of every kind; we notify of resources.
        for capability in (capabilities.tools, capabilities.prompts):
            if capability is not None:
                capability.list_changed = False
        if self.get_request_handler("prompts/get") is None:
            # `prompts/list` alone is an empty list for clients that ask without looking here.
            capabilities.prompts = None
        return capabilities

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """The `serverInfo` of each result. The SDK makes a deep copy each time; ours holds nothing but texts."""
        return self._stamp.copy()

    @cached_property
    def _stamp(self) -> dict[str, Any]:
        return self.server_info.model_dump(by_alias=True, mode="json", exclude_none=True)


class HttpSessions(StreamableHTTPSessionManager):
    """The sessions of older clients over HTTP. Most clients leave without ending theirs, so they end when idle.

    Where there are too many, the one that was idle for longest makes room for a new one; its client, should it come
    back, is told that the session is over (404) and begins another. A session is idle while no request of it is served,
    an open stream included.
    """

    def __init__(
        self,
        server: SdkServer,
        security: TransportSecuritySettings,
        max_body_bytes: int,
        *,
        max_sessions: int = MAX_HTTP_SESSIONS,
        idle_s: float = HTTP_SESSION_IDLE_S,
    ) -> None:
        super().__init__(
            server,
            security_settings=security,
            max_request_body_size=max_body_bytes,
            max_sessions=max_sessions,
            session_idle_timeout=idle_s,
        )
        self._on_read = server.on_read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; the server is told for how long a session's stream of notifications is read."""
        session_id = Headers(scope=scope).get(MCP_SESSION_ID_HEADER)
        on_read = self._on_read
        if scope["method"] != "GET" or session_id is None or on_read is None:
            return await self.asgi_app(scope, receive, send)

        async with AsyncExitStack() as reading:

            async def send_to_reader(message: Message) -> None:
                if message["type"] == "http.response.start" and message["status"] == HTTPStatus.OK:
                    await reading.enter_async_context(on_read(session_id))
                await send(message)

            return await self.asgi_app(scope, receive, send_to_reader)

    def _admit_session(self, requestor: Any) -> StreamableHTTPServerTransport | None:
        if self.max_sessions is not None and len(self._server_instances) >= self.max_sessions:
            self._end_longest_idle()
        return super()._admit_session(requestor)

    def _end_longest_idle(self) -> None:
        idle = {
            id: transport.idle_scope
            for id, transport in self._server_instances.items()
            # The deadline counts from the end of the last request; while one is served it is infinite.
            if transport.idle_scope is not None and transport.idle_scope.deadline < math.inf
        }
        if idle:
            id = min(idle, key=lambda id: idle[id].deadline)
            # Forgotten at once, as the SDK does; the session's own task cleans up after it.
            del self._server_instances[id]
            idle[id].cancel()


class MessageStream:
    """The asynchronous context manager that the SDK expects of a stream in either direction."""

    async def aclose(self) -> None:
        """Nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def _bound_handshake(ctx: RequestContext, call_next: Any) -> Any:
    """Refuse a handshake that says too much: what a client says of itself is kept for as long as its session."""
    if ctx.method == "initialize" and len(json.dumps(ctx.params)) > MAX_HANDSHAKE_CHARS:
        raise MCPError(code=types.INVALID_PARAMS, message=f"initialize takes {MAX_HANDSHAKE_CHARS} characters at most")
    return await call_next(ctx)


class _Incoming(MessageStream):
    """A stream of messages from the client, by its `receive`."""

    async def receive(self) -> Any:
        raise NotImplementedError

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class _Replayed(_Incoming):
    """The messages that were read already, then the rest of their stream."""

    def __init__(self, early: deque[Any], stream: Any) -> None:
        self._early = early
        self._stream = stream

    @property
    def last_context(self) -> Any:
        """The context of the sender, for streams inside one process."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        return self._early.popleft() if self._early else await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Exchange(_Incoming):
    """One request and its answer, as a connection that ends when the answer is written; the pipe stays open."""

    def __init__(self, item: SessionMessage, id: types.RequestId, stream: Any) -> None:
        self._items = deque([item])
        self._is_answered = anyio.Event()
        self.writer = _ExchangeWriter(id, stream, self._is_answered)

    async def receive(self) -> Any:
        if self._items:
            return self._items.popleft()
        # The SDK cancels its handlers at the end of input.
        await self._is_answered.wait()
        raise anyio.EndOfStream


class _ExchangeWriter(MessageStream):
    def __init__(self, id: types.RequestId, stream: Any, is_answered: anyio.Event) -> None:
        self._id = id
        self._stream = stream
        self._is_answered = is_answered

    async def send(self, item: SessionMessage, /) -> None:
        try:
            await self._stream.send(item)
        finally:
            if isinstance(item.message, (types.JSONRPCResponse, types.JSONRPCError)) and item.message.id == self._id:
                self._is_answered.set()


def connection_of(context: RequestContext) -> Connection:
    """Return the connection of a request, with its state and teardown: handlers have no public way to it."""
    return context.session._connection
