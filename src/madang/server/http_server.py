"""uvicorn as we use it: how many connections there may be, and how long a client may take over the head of a request or
without reading anything of its answer.

What a request may do is the gate's matter (`server/gate.py`). Private parts of uvicorn are used here and nowhere else;
`tests/server/test_http_server.py` has a test for each.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from madang.server.gate import CONNECTION_KEY, MAX_HEAD_BYTES

MAX_CONNECTIONS = 768
RESERVED_DESCRIPTORS = 256
"""For the database, files, and the pipes of children."""

ACCEPTS_PER_TURN = 4
"""Connections that are accepted in one turn of the event loop. A new one that sends its request at once is read two
turns later; so many must not come in between that it is closed before as the oldest of the strangers."""
BACKLOG = 2048

LOOK_EVERY_S = 0.5
"""For clients that do not read, and at the clock for the date of answers."""
UVICORN_TICKS_PER_LOOK = 5
"""It counts tenths of a second, and dates answers anew at each tenth of them."""

REPEATED_MESSAGE_S = 60.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Clocks:
    """How long a connection may take."""

    head_s: float = 8.0
    """Until the head of a request is there, from the connection or from its first byte."""
    refused_body_s: float = 5.0
    """For the rest of a body after its answer. If it were closed at once, the answer might not reach the client.
    For reading refusals, too, where a client asks for many and reads none."""
    unread_s: float = 30.0
    """Without a byte of what waits for the client being taken, whether it was let in or not."""
    idle_s: int = 5
    """Between two requests."""
    shutdown_s: int = 3
    """For requests that are served when the server stops."""


def max_connections() -> int:
    """Return how many connections the process can have with the descriptors that it may open."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return min(MAX_CONNECTIONS, max(soft - RESERVED_DESCRIPTORS, soft // 2))


class ConnectionLimit:
    """Counts connections, and closes some of them to make room.

    Strangers, who have not shown the token, have a share of their own: however many come, they never take the place of
    a client that has shown it. Where the share is used up, the oldest stranger makes room for the newest, because a
    client with the token is a stranger only until its first request is read.
    """

    def __init__(self, max_connections: int) -> None:
        self._max_strangers = min(max(ACCEPTS_PER_TURN * 8, max_connections // 4), max_connections // 2)
        self._max_known = max(1, max_connections - self._max_strangers)
        self._strangers: dict[BoundedProtocol, None] = {}
        self._known: dict[BoundedProtocol, None] = {}

    def __len__(self) -> int:
        return len(self._strangers) + len(self._known)

    def add(self, connection: BoundedProtocol) -> None:
        if len(self._strangers) >= self._max_strangers:
            # One that the gate let in without a token, for a download, is closed only if there are no others.
            oldest = next((one for one in self._strangers if not one.is_served), next(iter(self._strangers)))
            self._drop(oldest)
        self._strangers[connection] = None

    def discard(self, connection: BoundedProtocol) -> None:
        self._strangers.pop(connection, None)
        self._known.pop(connection, None)

    def promote(self, connection: BoundedProtocol) -> bool:
        """Count a connection among those that have shown the token; return whether there is room for it."""
        if connection in self._known:
            # The first is the one that was used least recently.
            self._known[connection] = self._known.pop(connection)
            return True
        if len(self._known) >= self._max_known:
            idle = next((one for one in self._known if not one.is_served), None)
            if idle is None:
                return False
            self._drop(idle)
        self._strangers.pop(connection, None)
        self._known[connection] = None
        return True

    def drop_idle(self) -> None:
        """Close all that are not being served: there are fewer descriptors than was thought."""
        for connection in [*self._strangers, *self._known]:
            if not connection.is_served:
                self._drop(connection)

    def drop_unread(self) -> None:
        """Close those whose clients have read nothing for too long of what waits for them."""
        for connection in [*self._strangers, *self._known]:
            if connection.is_left_unread():
                self._drop(connection)

    def _drop(self, connection: BoundedProtocol) -> None:
        # Not at its end, which comes a turn later: until then it would be counted.
        self.discard(connection)
        connection.transport.abort()


class BoundedProtocol(H11Protocol):
    """A connection that is counted, and whose heads and unread bodies have a clock."""

    def __init__(self, *arguments: Any, limit: ConnectionLimit, clocks: Clocks, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._limit = limit
        self._clocks = clocks
        self._timer: asyncio.TimerHandle | None = None
        self._awaited: str = ""
        self.app_state = {**self.app_state, CONNECTION_KEY: self}
        self._was_admitted = False
        self.is_served = False
        self._unsent_bytes = 0
        self._taken_at = 0.0

    def admit(self, *, has_token: bool) -> bool:
        """Tell that the gate lets a request in; return whether there is room for it."""
        if self.transport.is_closing():
            # Dropped after its head was read: it would be counted for ever.
            return True
        is_admitted = not has_token or self._limit.promote(self)
        self.is_served = is_admitted
        self._was_admitted = self._was_admitted or is_admitted
        return is_admitted

    def abort(self) -> None:
        """End the connection at once, whatever was not read of it."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit.add(self)
        self._await("head", self._clocks.head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limit.discard(self)
        self._await("", 0)
        # uvicorn leaves its own timer, and with it the connection, where the client was the one to break off.
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        self.is_served = False
        super().on_response_complete()
        if self.conn.their_state is not h11.IDLE:
            self._look()

    def is_left_unread(self) -> bool:
        """Tell whether the client has taken nothing for too long of what was written for it.

        This has to be asked regularly: a transport tells when its buffer is full and when it is nearly empty, and
        nothing once it was closed, though it stays until the client has taken the rest.
        """
        unsent_bytes = self.transport.get_write_buffer_size()
        if not unsent_bytes or not self._unsent_bytes or unsent_bytes < self._unsent_bytes:
            self._taken_at = time.monotonic()
        self._unsent_bytes = unsent_bytes
        return bool(unsent_bytes) and time.monotonic() - self._taken_at > self._clocks.unread_s

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unsent_bytes = 0  # what comes next is counted anew
        self._look()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP. uvicorn would always say 400, and fail where an answer was begun already."""
        if self.cycle is not None and self.conn.our_state is not h11.IDLE:
            self.transport.close()
            return
        error = sys.exception()
        is_too_large = isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431
        self._answer(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if is_too_large else HTTPStatus.BAD_REQUEST)

    def _look(self) -> None:
        """Set the clock for what is awaited of the client; uvicorn has one for the time between two requests."""
        if self.transport.is_closing():
            return
        if self.flow.write_paused and not self._was_admitted:
            self._await("reader", self._clocks.refused_body_s)
        elif self.conn.their_state is h11.IDLE:
            self._await("head", self._clocks.head_s)
        elif self.conn.their_state is h11.SEND_BODY and self.cycle.response_complete:
            self._await("rest", self._clocks.refused_body_s)
        else:
            self._await("", 0)

    def _await(self, awaited: str, seconds: float) -> None:
        if awaited == self._awaited:
            # Each byte would set it back.
            return
        if self._timer is not None:
            self._timer.cancel()
        self._awaited = awaited
        self._timer = self.loop.call_later(seconds, self._time_out) if awaited else None

    def _time_out(self) -> None:
        if self.transport.is_closing():
            return
        if self._awaited == "head" and self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            self._answer(HTTPStatus.REQUEST_TIMEOUT)
        else:
            # Not an orderly close, which would wait for a client that does not read.
            self.transport.abort()

    def _answer(self, status: HTTPStatus) -> None:
        text = f"{status.phrase}\n".encode()
        headers = [("content-type", "text/plain"), ("content-length", str(len(text))), ("connection", "close")]
        events = (
            h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
            h11.Data(data=text),
            h11.EndOfMessage(),
        )
        self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        self.transport.close()


def _answering_when_stopped(app: ASGIApp) -> ASGIApp:
    """Return the app with an answer for requests that uvicorn cancels when it stops; it would log a traceback each."""

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False

        async def watched(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await app(scope, receive, watched)
        except asyncio.CancelledError:
            if not has_started and scope["type"] == "http":
                await PlainTextResponse("The server is stopping.\n", 503)(scope, receive, send)

    return answering


class HttpServer(uvicorn.Server):
    """uvicorn's server with our limits."""

    def __init__(self, app: ASGIApp, *, connections: int | None = None, clocks: Clocks | None = None) -> None:
        self._is_stopping = False
        self._woken = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        clocks = clocks or Clocks()
        self.connection_limit = ConnectionLimit(max_connections() if connections is None else connections)
        protocol: Any = partial(BoundedProtocol, limit=self.connection_limit, clocks=clocks)
        super().__init__(
            uvicorn.Config(
                _answering_when_stopped(app),
                # h11 by name: another parser, if one is installed, normalises the target before the gate sees it.
                http=protocol,
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
                ws="none",
                log_config=None,  # ours: uvicorn's own writes what clients send as it is
                log_level="warning",
                access_log=False,
                server_header=False,
                # asyncio accepts so many at once.
                backlog=ACCEPTS_PER_TURN,
                timeout_keep_alive=clocks.idle_s,
                timeout_graceful_shutdown=clocks.shutdown_s,
            )
        )

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = loop = asyncio.get_running_loop()
        handler = loop.get_exception_handler()
        loop.set_exception_handler(AcceptErrors(handler, self.connection_limit))
        loggers, repeats = (logger, logging.getLogger("uvicorn.error")), RepeatFilter()
        for one in loggers:
            one.addFilter(repeats)
        try:
            await super().serve(sockets)
        finally:
            loop.set_exception_handler(handler)
            for one in loggers:
                one.removeFilter(repeats)

    @property
    def should_exit(self) -> bool:
        """Whether the server ends. Setting it wakes the server, also from a signal handler."""
        return self._is_stopping

    @should_exit.setter
    def should_exit(self, is_stopping: bool) -> None:
        self._is_stopping = is_stopping
        if is_stopping and self._loop is not None:
            self._loop.call_soon_threadsafe(self._woken.set)

    async def main_loop(self) -> None:
        # uvicorn would look ten times a second whether to end, also when nobody asks for anything.
        counter = 0
        while not await self.on_tick(counter):
            counter = (counter + UVICORN_TICKS_PER_LOOK) % 864_000
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), LOOK_EVERY_S)

    async def on_tick(self, counter: int) -> bool:
        self.connection_limit.drop_unread()
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(BACKLOG)


class RepeatFilter(logging.Filter):
    """Drops what was logged in the last minute already: whoever can connect can make us say it."""

    def __init__(self) -> None:
        super().__init__()
        self._logged_at: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now - self._logged_at.get(record.msg, float("-inf")) < REPEATED_MESSAGE_S:
            return False
        self._logged_at[record.msg] = now
        return True


@dataclass(frozen=True, slots=True)
class AcceptErrors:
    """An exception handler of an event loop that makes room when accept() fails, and says so in one line.

    While there are no descriptors, asyncio reports each attempt with a traceback. Other errors are left as they are.
    """

    _handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None
    _limit: ConnectionLimit

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not context["message"].startswith(("socket.accept()", "Accept failed")):
            if self._handler is None:
                loop.default_exception_handler(context)
            else:
                self._handler(loop, context)
        else:
            self._limit.drop_idle()
            logger.error("Connections cannot be accepted: %s", context.get("exception"))
