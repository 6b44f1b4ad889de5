"""The stdio transport: claims fd 0 and 1 and makes message streams of them, with one thread for each direction.

The SDK's transport hands every line, write and flush to a thread pool and waits for it; here a message crosses to
another thread once and nothing waits for it: a small call of ours takes 0.72 to 0.89 of an empty tool there. This
module may go when the SDK's transport is as fast and drains pending requests at the end of input; it claims the
descriptors as this one does (python-sdk#3117).
"""

from __future__ import annotations

import asyncio
import os
import queue
import re
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, NamedTuple, Self

import anyio
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from madang.core.limits import MAX_LINE_BYTES
from madang.server.bodies import INLINE_PARSE_MAX_BYTES
from madang.server.malformed import ID_SCAN_BYTES, malformed_answer, oversized_answer, unanswerable
from madang.server.sdk import MessageStream

DRAIN_TIMEOUT_S = 3.0
"""So long an answer may take after the end of input; the process has 5 s to end, and closing takes the rest."""

MAX_QUEUED_MESSAGES = 64
"""Backpressure: so many messages are read ahead of the server, and so many wait for a client that does not read."""

BUFFER_BYTES = 1024 * 1024
"""Of standard input, and of the pipe if it can be made so large. The thread that reads has to wait for the GIL whenever
it comes to the end of it, and a short message waits until the long ones before it are through."""
SKIP_BYTES = 64 * 1024
BOM = b"\xef\xbb\xbf"

# JSON has these as they are, but Node's `readline` and Python's `splitlines` end a line there, and with it the message.
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


@contextmanager
def stdio_streams(on_end: Callable[[], object] = lambda: None) -> Iterator[tuple[StdinReader, StdoutWriter]]:
    """Claim fd 0 and 1 and yield the two streams that `Server.run` takes; it closes them.

    `on_end` is called from a thread when the client closes either.
    """
    with _claimed(0, os.open(os.devnull, os.O_RDONLY)) as stdin_fd, _claimed(1, os.dup(2)) as stdout_fd:
        pending = PendingRequests()
        writer = StdoutWriter(stdout_fd, pending)
        reader = StdinReader(stdin_fd, pending, writer.send, on_end)
        writer.on_broken = reader.end
        yield reader, writer


@contextmanager
def _claimed(fd: int, diversion_fd: int) -> Iterator[int]:
    """Yield a private duplicate of `fd`, which points at `diversion_fd` meanwhile and is restored at the end.

    Otherwise a stray `print`, or a child process that reads its input, would break into the protocol. The duplicate is
    never closed: a thread may still block on it, and its number must not be reused. Children do not inherit it.
    """
    private_fd = os.dup(fd)
    os.dup2(diversion_fd, fd)
    os.close(diversion_fd)
    _rebind_standard_handle(fd)
    try:
        yield private_fd
    finally:
        os.dup2(private_fd, fd)
        _rebind_standard_handle(fd)


def _rebind_standard_handle(fd: int) -> None:
    """On Windows, point the standard handle, which children inherit, at what `fd` is now: `dup2` does not."""
    if sys.platform == "win32":
        from mcp.os.win32.utilities import rebind_std_handle_to_fd

        with suppress(OSError):
            rebind_std_handle_to_fd(fd)


class PendingRequests:
    """The requests that are not answered yet.

    A client may close our input right after its last request, as a shell does that pipes requests in. The server
    cancels its handlers at the end of input, so the end is held back until the answers are written.
    """

    def __init__(self, timeout_s: float = DRAIN_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._counts: Counter[RequestId] = Counter()  # a client may use an id twice, and gets two answers
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def received(self, message: JSONRPCMessage) -> None:
        # A change stream is answered only when it is cancelled: waiting for it would take the whole timeout.
        if isinstance(message, JSONRPCRequest) and message.method != "subscriptions/listen":
            self._counts[coerce_request_id(message.id)] += 1
            self._is_empty.clear()
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._forget(cancelled_request_id_from_params(message.params))  # it is never answered

    def answered(self, message: JSONRPCMessage) -> None:
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._forget(message.id)

    def _forget(self, id: RequestId | None) -> None:
        if id is None or not self._counts[key := coerce_request_id(id)]:
            return
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]
        if not self._counts:
            self._is_empty.set()

    async def drained(self) -> None:
        """Wait until all requests are answered, or for the timeout."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_empty.wait(), self._timeout_s)


class _OversizedLine(NamedTuple):
    """The two ends of a line that was skipped because it is too long."""

    start: bytes
    end: bytes


_Line = bytes | _OversizedLine


class _ReadAhead:
    """Backpressure between the thread that reads and the event loop: by the number and the size of waiting lines."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = self._size_bytes = 0

    def reserve(self, line: _Line) -> None:
        """Wait until there is room for a line. One that is alone always has room."""
        with self._changed:
            while self._count >= MAX_QUEUED_MESSAGES or (
                self._count and self._size_bytes + _size_bytes(line) > MAX_LINE_BYTES
            ):
                self._changed.wait()
            self._count += 1
            self._size_bytes += _size_bytes(line)

    def release(self, line: _Line) -> None:
        with self._changed:
            self._count -= 1
            self._size_bytes -= _size_bytes(line)
            self._changed.notify()


class _Refused(NamedTuple):
    """A line that is no message, with its answer; a blank one gets none."""

    answer: JSONRPCError | None


class _Parsed(NamedTuple):
    """A line that was parsed by the thread that reads."""

    line: _Line
    message: JSONRPCMessage | _Refused


class StdinReader(MessageStream):
    """The messages that a client writes, one per line. A line that is none is answered with an error by `refuse`.

    The event loop parses short lines, and the thread that reads the long ones: messages stay in order.
    """

    def __init__(
        self,
        fd: int,
        pending: PendingRequests,
        refuse: Callable[[SessionMessage], Awaitable[None]],
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        self._on_end = on_end
        self._pending = pending
        self._refuse = refuse
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[_Line | _Parsed] = asyncio.Queue()
        self._read_ahead = _ReadAhead()
        threading.Thread(target=self._read, args=(fd,), name="madang-stdin", daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        while item := await self._lines.get():
            line, message = item if isinstance(item, _Parsed) else _Parsed(item, _parse(item))
            self._read_ahead.release(line)
            if isinstance(message, _Refused):
                if message.answer is not None:
                    await self._refuse(SessionMessage(message.answer))
                continue
            self._pending.received(message)
            return SessionMessage(message)
        self._lines.put_nowait(b"")  # the end of input stays the end for every later read
        await self._pending.drained()
        raise StopAsyncIteration

    async def receive(self) -> SessionMessage:
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    def _read(self, fd: int) -> None:
        _enlarge_pipe(fd)
        with suppress(RuntimeError):  # the event loop is closed
            with suppress(OSError), open(fd, "rb", buffering=BUFFER_BYTES, closefd=False) as file:
                while line := _read_line(file):
                    self._read_ahead.reserve(line)
                    item = _Parsed(line, _parse(line)) if _size_bytes(line) > INLINE_PARSE_MAX_BYTES else line
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, item)
            self.end()

    def end(self) -> None:
        """End the messages after those that were read: the client is gone. Any thread may call it."""
        self._on_end()
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._lines.put_nowait, b"")


def _parse(line: _Line) -> JSONRPCMessage | _Refused:
    if isinstance(line, _OversizedLine):
        return _Refused(oversized_answer(*line))
    line = line.removeprefix(BOM)  # some shells of Windows begin a pipe with it
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        return _Refused(malformed_answer(line, error) if line.strip() else None)
    if isinstance(message, JSONRPCNotification) and (answer := unanswerable(line)):
        return _Refused(answer)
    return message


def _enlarge_pipe(fd: int) -> None:
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # it is no pipe, or this user has no room for it
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, BUFFER_BYTES)


def _read_line(file: BinaryIO) -> _Line:
    """Read a line; of one that is too long only the ends are kept, so that it takes no memory."""
    line = file.readline(MAX_LINE_BYTES + 1)
    if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
        return line
    start, end = line[:ID_SCAN_BYTES], line[-ID_SCAN_BYTES:]
    del line
    while not end.endswith(b"\n") and (part := file.readline(SKIP_BYTES)):
        end = (end + part)[-ID_SCAN_BYTES:]
    return _OversizedLine(start, end)


def _size_bytes(line: _Line) -> int:
    return len(line) if isinstance(line, bytes) else 2 * ID_SCAN_BYTES


class StdoutWriter(MessageStream):
    """The messages for the client, one per line."""

    def __init__(self, fd: int, pending: PendingRequests) -> None:
        self._pending = pending
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[str | asyncio.Future[None] | None] = queue.SimpleQueue()
        self._is_closed = False
        self.on_broken: Callable[[], object] = lambda: None
        threading.Thread(target=self._write, args=(fd,), name="madang-stdout", daemon=True).start()

    async def send(self, item: SessionMessage, /) -> None:
        """Queue a message; wait only when the client is far behind with reading."""
        if self._is_closed:
            raise anyio.ClosedResourceError
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        self._lines.put(line if line.isascii() else _LINE_ENDS.sub(_json_escape, line))
        self._pending.answered(item.message)
        if self._lines.qsize() > MAX_QUEUED_MESSAGES:
            await self._flush()

    async def aclose(self) -> None:
        """Wait until everything is written. Closing twice is harmless."""
        if not self._is_closed:
            self._is_closed = True
            await self._flush()
            self._lines.put(None)

    async def _flush(self) -> None:
        is_written: asyncio.Future[None] = self._loop.create_future()
        self._lines.put(is_written)
        await is_written

    def _write(self, fd: int) -> None:
        while (item := self._lines.get()) is not None:
            if isinstance(item, asyncio.Future):
                with suppress(RuntimeError):  # the event loop is closed
                    self._loop.call_soon_threadsafe(_resolve, item)
                continue
            unwritten = memoryview(item.encode() + b"\n")
            try:
                while unwritten:
                    unwritten = unwritten[os.write(fd, unwritten) :]
            except OSError:
                self.on_broken()


def _json_escape(sign: re.Match[str]) -> str:
    return f"\\u{ord(sign[0]):04x}"


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
