"""A server of models on loopback that plays what it is told, over the real wires, faults included.

`python -m tests.model_server` serves 10,000 deltas to whoever asks, with `turns` three calls and a text, and prints its
port: for measuring clients.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from tests.model_wires import Ask, Finish, Piece, Say, Wire, error_body, render

MANY_DELTAS = 10_000


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request as the server got it; names of headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes = field(repr=False)

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def asks_window(self) -> bool:
        if self.path in ("/props", "/api/v0/models", "/api/ps", "/api/show"):
            return True
        return self.path == "/v1/models" and self.headers.get("accept") == "application/json"

    @property
    def wire(self) -> Wire:
        if self.path.endswith("/messages"):
            return "anthropic"
        if self.path.endswith("/responses"):
            return "responses"
        return "google" if "GenerateContent" in self.path else "chat"

    @property
    def answers_before(self) -> int:
        """How many answers of the model are in the history that was sent."""
        body = self.body
        if self.wire == "responses":
            # One answer is several items; what is not the model's stands between two of them.
            own = [item.get("role") == "assistant" or item.get("type") in _OWN_ITEMS for item in body["input"]]
            return sum(is_own and not before for is_own, before in zip(own, [False, *own], strict=False))
        messages = body["contents"] if self.wire == "google" else body["messages"]
        return sum(message["role"] in ("assistant", "model") for message in messages)


_OWN_ITEMS = ("reasoning", "function_call", "message")

Play = Callable[["Exchange"], Awaitable[None]]
"""Answers one request."""


class Exchange:
    """One request and the way to answer it."""

    def __init__(self, request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self.wire = request.wire
        self._writer = writer

    async def head(self, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Begin an answer of unknown length."""
        lines = {"content-type": "text/event-stream", "transfer-encoding": "chunked", **(headers or {})}
        self._writer.write(f"HTTP/1.1 {status} X\r\n".encode())
        self._writer.write("".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode() + b"\r\n")
        await self._writer.drain()

    async def send(self, data: bytes) -> None:
        self._writer.write(b"%x\r\n" % len(data) + data + b"\r\n")
        await self._writer.drain()

    async def end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def whole(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Answer at once."""
        lines = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        self._writer.write(f"HTTP/1.1 {status} X\r\n".encode())
        self._writer.write("".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode() + b"\r\n" + body)
        await self._writer.drain()

    def reset(self) -> None:
        """Break the connection off."""
        self._writer.transport.abort()


def answers(*pieces: Piece, finish: Finish | None = None) -> Play:
    """Answer with these pieces, in the wire of the request."""

    async def play(exchange: Exchange) -> None:
        await stream(render(exchange.wire, pieces, finish))(exchange)

    return play


def story(*turns: Sequence[Piece]) -> Play:
    """Answer with the turn that comes next: the number of answers in the request says which; the last one repeats."""

    async def play(exchange: Exchange) -> None:
        turn = turns[min(exchange.request.answers_before, len(turns) - 1)]
        await stream(render(exchange.wire, turn))(exchange)

    return play


def stream(events: Sequence[bytes], *, reset: bool = False) -> Play:
    """Answer with these bytes, and end; cleanly, or by a reset."""

    async def play(exchange: Exchange) -> None:
        await exchange.head()
        for event in events:
            await exchange.send(event)
        if reset:
            exchange.reset()
        else:
            await exchange.end()

    return play


def refuses(status: int, message: str = "no", kind: str = "error", headers: dict[str, str] | None = None) -> Play:
    """Answer with an error status."""

    async def play(exchange: Exchange) -> None:
        await exchange.whole(status, error_body(exchange.wire, message, kind, status), headers)

    return play


class ModelServer:
    """Plays one answer a request, in their order; the last one again and again."""

    def __init__(self, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self._tls = tls
        self._at_port = port
        self.requests: list[SeenRequest] = []
        self.windows: dict[str, Any] = {}
        """What is answered to the questions for a model's window, by path; 404 to all others."""
        self.probes: list[SeenRequest] = []
        """Those questions: no test counts them as requests."""
        self.asked = asyncio.Event()
        """Set when a request has come."""
        self.dropped = asyncio.Event()
        """Set when a client leaves before its answer ended."""
        self.connections = 0
        self._plays: deque[Play] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    def plays(self, *plays: Play) -> None:
        self._plays = deque(plays)

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", self._at_port, limit=2**20, ssl=self._tls
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        try:
            while True:
                request = await _read(reader)
                if request.asks_window:
                    self.probes.append(request)
                    told = self.windows.get(request.path)
                    await Exchange(request, writer).whole(200 if told else 404, json.dumps(told or {}).encode())
                    continue
                self.requests.append(request)
                self.asked.set()
                play = self._plays.popleft() if len(self._plays) > 1 else self._plays[0]
                await self._play(play, Exchange(request, writer), reader)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _play(self, play: Play, exchange: Exchange, reader: asyncio.StreamReader) -> None:
        playing = asyncio.ensure_future(play(exchange))
        leaving = asyncio.ensure_future(_left(reader))
        try:
            await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not playing.done():
                self.dropped.set()
                raise ConnectionError
            playing.result()
        except ConnectionError:
            self.dropped.set()
            raise
        finally:
            for task in (playing, leaving):
                task.cancel()
            await asyncio.gather(playing, leaving, return_exceptions=True)


async def _left(reader: asyncio.StreamReader) -> None:
    """Return when the client has closed its side; it sends nothing while it waits for an answer."""
    # Reading a byte would take it from the next request.
    while not reader.at_eof() and reader.exception() is None:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


async def _read(reader: asyncio.StreamReader) -> SeenRequest:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    method, path, _ = first.split(" ")
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return SeenRequest(method, path.partition("?")[0], headers, body)


TURNS: list[list[Piece]] = [[Ask("list_playbooks")], [Ask("get_current_state")], [Ask("list_content")], [Say("Done.")]]


async def _serve(what: str) -> None:
    async with ModelServer() as server:
        text = " ".join(f"word{number}" for number in range(MANY_DELTAS))

        async def play(exchange: Exchange) -> None:
            await exchange.head()
            events = render(exchange.wire, [Say(text)])
            for start in range(0, len(events), 100):  # 100 events in one write, as a fast server's socket holds them
                for event in events[start : start + 100]:
                    exchange._writer.write(b"%x\r\n" % len(event) + event + b"\r\n")
                await exchange._writer.drain()
            await exchange.end()

        server.plays(story(*TURNS) if what == "turns" else play)
        print(server.port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:] or ["deltas"]))
