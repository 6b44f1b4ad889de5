"""The way from the bytes of a file to its text."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import ceil

from madang.core.errors import Unavailable
from madang.services.content.engine.parsing.children import Child
from madang.services.content.engine.parsing.detection import DocumentKind, document_kind
from madang.services.content.engine.parsing.parsed import Parsed
from madang.services.content.engine.parsing.refusals import cannot_start, stopped, too_large, took_too_long
from madang.services.content.engine.parsing.text import HTML, read_text

MAX_FILE_BYTES = 25 << 20
MAX_CHILDREN = 2
SPARE_S = 300.0

_SOON = 1 << 18
"""As many bytes are decoded in so short a time that a thread is not worth it."""


class Parser:
    """Reads files, documents of them in children of this process: at most two at a time, others wait.

    Once a document was read a spare child stands by with its libraries loaded, for `spare_s` seconds. Use it within
    one event loop, and `close` it there: it kills what is still being read.
    """

    def __init__(self, *, deadline_s: float = 30.0, spare_s: float = SPARE_S) -> None:
        self._deadline_s = deadline_s
        self._cpu_s = ceil(deadline_s)
        self._spare_s = spare_s
        self._turns = asyncio.Semaphore(MAX_CHILDREN)
        self._threads = ThreadPoolExecutor(MAX_CHILDREN, thread_name_prefix="madang-parser")
        self._busy: set[Child] = set()
        self._spare: Child | None = None
        self._spare_timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def parse(self, data: bytes, *, filename: str, mime_type: str = "") -> Parsed:
        """Return the text of a file. What it is shows in its bytes; name and type only tell kinds of text apart.

        Raises:
            InvalidArguments: the file is of no kind that can be read, broken, protected, or has no text.
            LimitExceeded: it is too large, or reading it takes too much time or memory.
            Unavailable: the child could not be started, or was killed by somebody else.
        """
        if len(data) > MAX_FILE_BYTES:
            raise too_large(filename, len(data), MAX_FILE_BYTES)
        if kind := document_kind(data, filename):
            return await self._read(kind, data, filename)
        if len(data) <= _SOON:
            parsed = read_text(data, filename, mime_type)
        else:
            parsed = await asyncio.to_thread(read_text, data, filename, mime_type)
        if parsed.mime_type != HTML:
            return parsed
        page = await self._read("html", parsed.text.encode(), filename)
        return Parsed(page.text, HTML, parsed.encoding, page.page_lines)

    async def close(self) -> None:
        """Kill what is being read, and wait until every child is gone."""
        self._is_closed = True
        self._drop_spare()
        for child in self._busy:
            child.kill()
        await asyncio.to_thread(self._threads.shutdown)

    async def _read(self, kind: DocumentKind, data: bytes, filename: str) -> Parsed:
        async with self._turns:
            if self._is_closed:
                raise stopped(filename)
            loop = asyncio.get_running_loop()
            child = self._take()
            self._busy.add(child)
            is_late = False

            def expire() -> None:
                nonlocal is_late
                is_late = True
                child.kill()

            clock = loop.call_later(self._deadline_s, expire)
            work = self._threads.submit(child.answer, kind, data, filename)
            try:
                return await asyncio.wrap_future(work)
            except Unavailable:
                if is_late:
                    raise took_too_long(filename, self._deadline_s) from None
                raise
            finally:
                # On every way out, cancellation too: the thread sees the pipe close and waits for the process.
                clock.cancel()
                child.kill()
                self._busy.discard(child)
                if work.cancelled():
                    # No thread had begun with it, so none will wait for the process.
                    child.end()
                loop.call_soon(self._prepare)

    def _take(self) -> Child:
        spare, self._spare = self._spare, None
        if spare is not None and spare.is_alive:
            return spare
        if spare is not None:
            spare.end()
        try:
            return Child(cpu_s=self._cpu_s)
        except OSError as error:
            raise cannot_start(error) from error

    def _prepare(self) -> None:
        """Start the spare, so that the next document need not wait for a Python and its libraries."""
        if self._is_closed or self._spare is not None:
            return
        # The next document starts its own and says why that fails.
        with suppress(OSError):
            self._spare = Child(cpu_s=self._cpu_s, is_spare=True)
        if self._spare_timer is not None:
            self._spare_timer.cancel()
        self._spare_timer = asyncio.get_running_loop().call_later(self._spare_s, self._drop_spare)

    def _drop_spare(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.end()
        if self._spare_timer is not None:
            self._spare_timer.cancel()
