"""Standard input and output for the MCP server, with one thread each way.

The SDK's own files hand every line, every write and every flush to a pool of threads and wait for each, which is a
third of what a small call costs. Here a line in and an answer out cross to another thread once. Messages are still
parsed and written by the SDK.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from mcp.server.stdio import stdio_server

LINES_AHEAD = 64
"""How many lines are read before the server takes them, and how many answers wait for a client that does not read."""


@asynccontextmanager
async def stdio_streams() -> AsyncIterator[tuple[Any, Any]]:
    """Yield the two message streams that `Server.run` takes. What was answered is written before this ends."""
    with _claimed(0, os.open(os.devnull, os.O_RDONLY)) as source, _claimed(1, os.dup(2)) as sink:
        incoming, outgoing = _Lines(source), _Texts(sink)
        async with stdio_server(stdin=incoming, stdout=outgoing) as streams:  # type: ignore[arg-type]  # all it uses
            yield streams
        await outgoing.close()


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


class _Lines:
    """The lines of a file, as far as the SDK iterates over them."""

    def __init__(self, source: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(LINES_AHEAD)
        threading.Thread(target=self._read, args=(source,), name="madang-stdin", daemon=True).start()

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        self._room.release()
        if line is None:
            raise StopAsyncIteration
        return line

    def _read(self, source: int) -> None:
        with suppress(OSError), open(source, "rb", closefd=False) as file:
            for line in file:
                self._room.acquire()
                if not self._pass_on(line.decode(errors="replace")):
                    return
        self._pass_on(None)

    def _pass_on(self, line: str | None) -> bool:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:
            return False  # the loop is closed: nobody listens any more
        return True


class _Texts:
    """A file that texts are written to, as far as the SDK uses it."""

    def __init__(self, sink: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._texts: queue.SimpleQueue[str | asyncio.Future[None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._write, args=(sink,), name="madang-stdout", daemon=True).start()

    async def write(self, text: str) -> None:
        """Write `text` soon; wait only if the client is far behind with reading."""
        self._texts.put(text)
        if self._texts.qsize() > LINES_AHEAD:
            await self._written()

    async def flush(self) -> None:
        """Nothing is held back."""

    async def close(self) -> None:
        """Wait until everything is written."""
        await self._written()
        self._texts.put(None)

    async def _written(self) -> None:
        reached: asyncio.Future[None] = self._loop.create_future()
        self._texts.put(reached)
        await reached

    def _write(self, sink: int) -> None:
        with open(sink, "wb", closefd=False, buffering=0) as file:
            while (text := self._texts.get()) is not None:
                if isinstance(text, asyncio.Future):
                    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                        self._loop.call_soon_threadsafe(_reach, text)
                    continue
                # A client that no longer reads is going away: it closes our input too, and that ends the server.
                with suppress(OSError):
                    rest = memoryview(text.encode())
                    while rest:
                        rest = rest[file.write(rest) :]


def _reach(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
