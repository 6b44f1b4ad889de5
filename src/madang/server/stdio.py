"""Standard input and output as message streams for the MCP server, with one thread each way.

The SDK's own take every line, write and flush to a pool of threads and wait for each, which is a good part of what a
small call costs. Here a line in and an answer out cross to another thread once, and nothing waits for the crossing.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

LAST_ANSWERS_S = 5.0
MESSAGES_AHEAD = 64
"""How many messages are read before the server takes them, and how many wait for a client that does not read."""


@contextmanager
def stdio_streams() -> Iterator[tuple[Incoming, Outgoing]]:
    """Yield the two streams that `Server.run` takes; it closes them."""
    with _claimed(0, os.open(os.devnull, os.O_RDONLY)) as source, _claimed(1, os.dup(2)) as sink:
        owed = Owed()
        yield Incoming(source, owed), Outgoing(sink, owed)


@contextmanager
def _claimed(number: int, instead: int) -> Iterator[int]:
    """Take a standard stream for the protocol alone: whoever else uses its number gets `instead`.

    A stray `print` anywhere, or a child process that reads its input, would otherwise break into the protocol. The copy
    that is ours is not closed, because a thread may still wait on it; children do not inherit it.
    """
    own = os.dup(number)
    os.dup2(instead, number)
    os.close(instead)
    try:
        yield own
    finally:
        os.dup2(own, number)


class _Stream:
    """What the SDK expects of a stream in either direction."""

    async def aclose(self) -> None:
        """Nothing to do."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Owed:
    """The requests that have not been answered yet.

    A client that wrote its last request may close our input at once, as a shell does that pipes requests in. The server
    ends with its input and cancels what is under way, so the end is kept from it until the answers are out.
    """

    def __init__(self, patience_s: float = LAST_ANSWERS_S) -> None:
        self._patience_s = patience_s
        self._ids: set[int | str] = set()
        self._settled = asyncio.Event()
        self._settled.set()

    def came(self, message: JSONRPCMessage) -> None:
        # A stream of changes has no end of its own: nobody waits for it.
        if isinstance(message, JSONRPCRequest) and message.method != "subscriptions/listen":
            self._ids.add(message.id)
            self._settled.clear()

    def went(self, message: JSONRPCMessage) -> None:
        if isinstance(message, (JSONRPCResponse, JSONRPCError)) and message.id is not None:
            self._ids.discard(message.id)
            if not self._ids:
                self._settled.set()

    async def settled(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), self._patience_s)


class Incoming(_Stream):
    """The messages that a client writes, one per line; a line that is none comes as the error it is."""

    def __init__(self, source: int, owed: Owed) -> None:
        self._owed = owed
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._room = threading.Semaphore(MESSAGES_AHEAD)
        threading.Thread(target=self._read, args=(source,), name="madang-stdin", daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        line = await self._lines.get()
        self._room.release()
        if not line:
            self._lines.put_nowait(b"")  # whoever asks again is told again
            await self._owed.settled()
            raise StopAsyncIteration
        try:
            # As the SDK does: a byte that is not UTF-8 spoils one character and not the connection.
            message = jsonrpc_message_adapter.validate_json(line.decode(errors="replace"), by_name=False)
        except ValueError as error:
            return error
        self._owed.came(message)
        return SessionMessage(message)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    def _read(self, source: int) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            with suppress(OSError), open(source, "rb", closefd=False) as file:
                for line in file:
                    self._room.acquire()
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, b"")


class Outgoing(_Stream):
    """The messages for the client, one per line."""

    def __init__(self, sink: int, owed: Owed) -> None:
        self._owed = owed
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[str | asyncio.Future[None] | None] = queue.SimpleQueue()
        self._is_closed = False
        threading.Thread(target=self._write, args=(sink,), name="madang-stdout", daemon=True).start()

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message soon; wait only for a client that is far behind with reading."""
        if self._is_closed:
            raise anyio.ClosedResourceError
        self._lines.put(item.message.model_dump_json(by_alias=True, exclude_unset=True))
        self._owed.went(item.message)
        if self._lines.qsize() > MESSAGES_AHEAD:
            await self._written()

    async def aclose(self) -> None:
        """Wait until everything is written. Closing twice is harmless."""
        if not self._is_closed:
            self._is_closed = True
            await self._written()
            self._lines.put(None)

    async def _written(self) -> None:
        reached: asyncio.Future[None] = self._loop.create_future()
        self._lines.put(reached)
        await reached

    def _write(self, sink: int) -> None:
        while (line := self._lines.get()) is not None:
            if isinstance(line, asyncio.Future):
                with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    self._loop.call_soon_threadsafe(_reach, line)
                continue
            rest = memoryview(line.encode() + b"\n")
            # A client that no longer reads is going away: it closes our input too, and that ends the server.
            with suppress(OSError):
                while rest:
                    rest = rest[os.write(sink, rest) :]


def _reach(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
