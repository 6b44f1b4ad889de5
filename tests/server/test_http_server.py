"""The limits of connections over HTTP, on a real socket in this process, with clocks that run fast."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from madang.server.gate import EVENT_STREAM, JSON_API, STATIC, Gate, PolicyRoute
from madang.server.http import listening_socket, local_policy
from madang.server.http_server import ACCEPTS_PER_TURN, Clocks, HttpServer, max_connections

TOKEN = "t" * 32
STRANGERS = ACCEPTS_PER_TURN * 8
FAST = Clocks(head_s=0.3, refused_body_s=0.3, unread_s=0.3, idle_s=1, shutdown_s=1)
PATIENT = Clocks(head_s=60, refused_body_s=60, unread_s=60, idle_s=60, shutdown_s=1)
IMPATIENT_WRITER = replace(PATIENT, unread_s=0.5)
LARGE_BYTES = 1 << 20


@dataclass
class Served:
    """A server with a few routes, which a test talks to in bytes."""

    port: int
    release: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0
    ended_streams: int = 0
    has_changed: asyncio.Event = field(default_factory=asyncio.Event)
    wires: list[Wire] = field(default_factory=list)
    server: HttpServer = field(init=False)

    async def connect(self, buffer_bytes: int | None = None) -> Wire:
        client = socket.socket()
        if buffer_bytes is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", self.port))
        wire = Wire(*await asyncio.open_connection(sock=client), self.port)
        self.wires.append(wire)
        return wire

    async def answer(self, _: Request) -> Response:
        return JSONResponse({})

    async def answer_at_length(self, _: Request) -> Response:
        return Response(b"x" * LARGE_BYTES)

    async def stream(self, _: Request) -> Response:
        async def events() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"x" * 10_000
                    await asyncio.sleep(0)
            finally:
                self.ended_streams += 1

        return StreamingResponse(events())

    async def wait(self, _: Request) -> Response:
        self.waiting += 1
        self.has_changed.set()
        await self.release.wait()
        return JSONResponse({})


@dataclass
class Wire:
    """One connection to it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    port: int

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    def request(self, path: str = "/api", *, token: bool = True, method: str = "GET", **headers: str) -> None:
        lines = [f"{method} {path} HTTP/1.1", f"host: 127.0.0.1:{self.port}"]
        lines += [f"authorization: Bearer {TOKEN}"] if token else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.write("\r\n".join([*lines, "", ""]).encode())

    async def status(self) -> int:
        """Return the status of the next answer, or 0 if the connection was closed without one."""
        with anyio.fail_after(60):
            try:
                head = await self.reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                return 0
            lines = head.lower().split(b"\r\n")
            (length,) = [int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length")]
            await self.reader.readexactly(length)
        return int(head.split()[1])

    async def closed(self) -> bytes:
        """Wait until the server has closed it; return what was read before."""
        with anyio.fail_after(60):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""


@asynccontextmanager
async def serving(clocks: Clocks = FAST, connections: int = 2 * STRANGERS) -> AsyncIterator[Served]:
    with listening_socket("127.0.0.1", 0) as listening:
        # Small buffers, of every connection: it takes less to fill them.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
        port = listening.getsockname()[1]
        served = Served(port)
        routes = [
            PolicyRoute("/api", served.answer, policy=JSON_API),
            PolicyRoute("/wait", served.wait, policy=EVENT_STREAM),
            PolicyRoute("/open", served.wait, policy=STATIC),
            PolicyRoute("/large", served.answer_at_length, policy=JSON_API),
            PolicyRoute("/stream", served.stream, policy=EVENT_STREAM),
        ]
        app = Gate(Starlette(routes=routes), local_policy(TOKEN, "127.0.0.1", port), routes)
        served.server = HttpServer(app, connections=connections, clocks=clocks)
        running = asyncio.create_task(served.server.serve(sockets=[listening]))
        try:
            yield served
        finally:
            served.release.set()
            for wire in served.wires:
                wire.writer.close()
            served.server.should_exit = True
            await running


async def until(served: Served, waiting: int) -> None:
    with anyio.fail_after(60):
        while served.waiting < waiting:
            served.has_changed.clear()
            await served.has_changed.wait()


async def eventually(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


async def test_a_connection_that_says_nothing_is_closed() -> None:
    async with serving() as served:
        wire = await served.connect()
        assert await wire.closed() == b""
        assert len(served.server.connection_limit) == 0


async def test_a_head_that_does_not_end_is_answered_with_408() -> None:
    async with serving() as served:
        wire = await served.connect()
        for part in (b"GET /api", b" HTTP/1.1\r\n", b"x"):
            wire.write(part)
            await asyncio.sleep(0)
        assert (await wire.closed()).startswith(b"HTTP/1.1 408 ")


async def test_the_head_of_a_later_request_has_a_clock_too() -> None:
    async with serving() as served:
        wire = await served.connect()
        wire.request()
        assert await wire.status() == 200
        wire.write(b"GET /api HT")
        assert (await wire.closed()).startswith(b"HTTP/1.1 408 ")


async def test_a_connection_is_closed_when_it_is_idle() -> None:
    async with serving() as served:
        wire = await served.connect()
        for _ in range(3):
            wire.request()
            assert await wire.status() == 200
        assert await wire.closed() == b""


async def test_a_request_that_is_served_has_no_clock_of_the_connection() -> None:
    async with serving() as served:
        wire = await served.connect()
        wire.request("/wait")
        await until(served, 1)
        await asyncio.sleep(3 * FAST.head_s)
        served.release.set()
        assert await wire.status() == 200


@pytest.mark.parametrize("framing", [{"content_length": "100000"}, {"transfer_encoding": "chunked"}])
async def test_the_body_of_a_refused_request_is_not_waited_for(framing: dict[str, str]) -> None:
    async with serving() as served:
        wire = await served.connect()
        wire.request(token=False, method="POST", **framing)
        assert await wire.status() == 401
        assert await wire.closed() == b""


async def test_a_refused_body_that_comes_leaves_the_connection_to_the_next_request() -> None:
    async with serving(PATIENT) as served:
        wire = await served.connect()
        wire.request(token=False, method="POST", content_length="10")
        assert await wire.status() == 401
        wire.write(b"0123456789")
        wire.request()
        assert await wire.status() == 200


async def test_a_client_that_does_not_read_its_refusals_is_closed() -> None:
    async with serving() as served:
        wire = await served.connect(buffer_bytes=4096)
        wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
        with anyio.fail_after(60), suppress(ConnectionError):
            while not wire.writer.is_closing():
                for _ in range(100):
                    wire.request(token=False)
                await wire.writer.drain()
        assert len(served.server.connection_limit) == 0


@pytest.mark.parametrize("path", ["/large", "/stream"])
@pytest.mark.parametrize("connection", ["keep-alive", "close"])
async def test_a_client_with_the_token_that_does_not_read_its_answer_is_closed(path: str, connection: str) -> None:
    async with serving(IMPATIENT_WRITER) as served:
        wire = await served.connect(buffer_bytes=4096)
        wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
        wire.request(path, connection=connection)

        await eventually(lambda: len(served.server.connection_limit) == 1)
        await eventually(lambda: not served.server.server_state.connections)
        await eventually(lambda: served.ended_streams == (path == "/stream"))
        assert len(served.server.connection_limit) == 0


async def test_an_answer_that_is_read_slowly_is_read_to_its_end() -> None:
    clocks = replace(PATIENT, unread_s=2)
    async with serving(clocks) as served:
        wire = await served.connect(buffer_bytes=4096)
        wire.request("/large", connection="close")

        size = 0
        with anyio.fail_after(60):
            while part := await wire.reader.read(LARGE_BYTES // 10):
                size += len(part)
                await asyncio.sleep(clocks.unread_s / 8)
        assert size > LARGE_BYTES


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with serving() as served:
        wire = await served.connect()
        for number in range(20):
            wire.request("/api" if number % 2 else "/nothing")
        assert [await wire.status() for _ in range(20)] == [404, 200] * 10


async def test_what_is_no_http_is_refused_also_in_the_middle_of_a_body(capsys: pytest.CaptureFixture[str]) -> None:
    async with serving(PATIENT) as served:
        wire = await served.connect()
        wire.write(b"\x16\x03\x01 not http\r\n\r\n")
        assert (await wire.closed()).startswith(b"HTTP/1.1 400 ")

        wire = await served.connect()
        wire.request(token=False, method="POST", transfer_encoding="chunked")
        assert await wire.status() == 401
        wire.write(b"no chunk\r\n")
        assert await wire.closed() == b""
    assert "Traceback" not in capsys.readouterr().err


async def test_a_head_that_is_too_long_is_answered_with_431() -> None:
    async with serving(PATIENT) as served:
        wire = await served.connect()
        wire.write(b"GET /api HTTP/1.1\r\nx: " + b"x" * 40_000)
        assert (await wire.closed()).startswith(b"HTTP/1.1 431 ")


async def test_the_oldest_stranger_makes_room_for_the_newest_and_no_client_does() -> None:
    async with serving(PATIENT) as served:
        client = await served.connect()
        client.request()
        assert await client.status() == 200
        strangers = [await served.connect() for _ in range(3 * STRANGERS)]

        for stranger in strangers[: 2 * STRANGERS]:
            assert await stranger.closed() == b""
        assert len(served.server.connection_limit) == STRANGERS + 1
        newcomer = await served.connect()
        for wire in (client, newcomer):
            wire.request()
            assert await wire.status() == 200


async def test_a_stranger_who_is_served_makes_room_last() -> None:
    """As one who downloads: its address is its permission."""
    async with serving(PATIENT) as served:
        downloading = await served.connect()
        downloading.request("/open", token=False)
        await until(served, 1)
        for _ in range(3):
            strangers = [await served.connect() for _ in range(STRANGERS)]
        assert await strangers[0].closed() == b""
        served.release.set()
        assert await downloading.status() == 200


async def test_an_idle_client_makes_room_for_one_that_asks() -> None:
    async with serving(PATIENT) as served:
        clients = [await served.connect() for _ in range(STRANGERS)]
        for client in clients:
            client.request()
            assert await client.status() == 200
        clients[0].request()
        assert await clients[0].status() == 200
        newcomer = await served.connect()
        newcomer.request()
        assert await newcomer.status() == 200

        assert await clients[1].closed() == b""
        clients[0].request()
        assert await clients[0].status() == 200


async def test_where_all_are_being_served_the_next_is_told_so() -> None:
    async with serving(PATIENT) as served:
        busy = [await served.connect() for _ in range(STRANGERS)]
        for number, client in enumerate(busy, 1):
            client.request("/wait")
            await until(served, number)
        newcomer = await served.connect()
        newcomer.request()
        assert await newcomer.status() == 503

        served.release.set()
        assert {await client.status() for client in busy} == {200}
        newcomer.request()
        assert await newcomer.status() == 200


async def test_a_server_stops_though_a_request_is_being_served(capsys: pytest.CaptureFixture[str]) -> None:
    async with serving(PATIENT) as served:
        wire = await served.connect()
        wire.request("/wait")
        await until(served, 1)
        served.server.should_exit = True
        assert await wire.status() == 503
    assert "Traceback" not in capsys.readouterr().err


def test_connections_leave_descriptors_for_the_rest() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for descriptors, connections in [(256, 128), (1024, 768), (4096, 768)]:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, hard))
            assert max_connections() == connections
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_errors_of_accept_are_told_once_and_others_as_before(caplog: pytest.LogCaptureFixture) -> None:
    others: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    accept = {"message": "socket.accept() out of system resource", "exception": OSError(24, "Too many open files")}
    handler = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: others.append(context))
    try:
        async with serving() as served:
            wire = await served.connect()
            wire.request()
            assert await wire.status() == 200
            for _ in range(1000):
                loop.call_exception_handler(accept)
            loop.call_exception_handler({"message": "another"})
    finally:
        loop.set_exception_handler(handler)

    assert caplog.messages == ["Connections cannot be accepted: [Errno 24] Too many open files"]
    assert others == [{"message": "another"}]


async def test_what_anybody_can_make_us_log_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as served:
        for _ in range(20):
            wire = await served.connect()
            wire.write(b"no http\r\n\r\n")
            assert (await wire.closed()).startswith(b"HTTP/1.1 400 ")

    assert caplog.text.count("Invalid HTTP request") == 1


async def test_a_connection_that_was_dropped_is_not_counted_when_its_request_is_let_in() -> None:
    async with serving(PATIENT) as served:
        wires = [await served.connect() for _ in range(4 * STRANGERS)]
        for wire in wires:
            wire.request()
        for wire in wires:
            await wire.status()
            wire.writer.close()
        with anyio.fail_after(60):
            for wire in wires:
                with suppress(ConnectionError):
                    await wire.writer.wait_closed()
        last = await served.connect()
        last.request()
        assert await last.status() == 200
        assert len(served.server.connection_limit) <= STRANGERS + 1
