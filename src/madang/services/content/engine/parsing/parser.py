"""Bytes of a file in, its text out: which reader, how many at a time, for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import ceil

from madang.core.errors import Unavailable
from madang.core.executor import Executor, HasOwner, WorkOwner
from madang.core.ids import LOCAL_USER
from madang.services.content.engine.parsing.children import AnswerT, Child
from madang.services.content.engine.parsing.detection import DocumentKind, document_kind
from madang.services.content.engine.parsing.parsed import PageImage, Parsed
from madang.services.content.engine.parsing.refusals import (
    not_a_pdf,
    reader_cannot_start,
    reader_stopped,
    reading_timed_out,
)
from madang.services.content.engine.parsing.text import HTML, read_text

MAX_CHILDREN = 2
SPARE_S = 300.0

DECODE_INLINE_MAX_BYTES = 1 << 18
"""Smaller texts are decoded on the event loop: a thread hop would cost more."""


_NOBODY = WorkOwner(LOCAL_USER, None)


def _do_nothing() -> None:
    """For those who do not ask when a file is begun."""


class Parser:
    """Reads files; documents in child processes, at most two at a time.

    Once a document was read, a spare child stands by with its libraries loaded, for `spare_s` seconds. Use it within
    one event loop, and `close` it there: that kills the children that are still reading.
    """

    def __init__(self, executor: Executor | None = None, *, deadline_s: float = 30.0, spare_s: float = SPARE_S) -> None:
        self._executor = executor or Executor()
        self._deadline_s = deadline_s
        self._cpu_s = ceil(deadline_s)
        self._spare_s = spare_s
        self._slots = asyncio.Semaphore(MAX_CHILDREN)
        self._threads = ThreadPoolExecutor(MAX_CHILDREN, thread_name_prefix="madang-parser")
        self._busy: set[Child] = set()
        self._spare: Child | None = None
        self._spare_timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def parse(
        self,
        data: bytes,
        *,
        filename: str,
        mime_type: str = "",
        owner: HasOwner = _NOBODY,
        begin: Callable[[], None] = _do_nothing,
    ) -> Parsed:
        """Return the text of a file. What it is shows in its bytes; name and type only tell kinds of text apart.

        `begin` is called when the file waits no longer for others.

        Raises:
            InvalidArguments: the file is of no kind that can be read, broken, protected, or has no text.
            LimitExceeded: reading it takes too much time or memory.
            Unavailable: the child could not be started, or was killed from outside.
        """
        if kind := document_kind(data, filename):
            return await self._read(kind, data, filename, begin)
        begin()
        if len(data) <= DECODE_INLINE_MAX_BYTES:
            parsed = read_text(data, filename, mime_type)
        else:
            parsed = await self._executor.slow.run(owner, read_text, data, filename, mime_type)
        if parsed.mime_type != HTML:
            return parsed
        page = await self._read("html", parsed.text.encode(), filename, begin)
        return Parsed(page.text, HTML, parsed.encoding, page.page_lines)

    async def render_page(self, data: bytes, *, filename: str, page: int) -> PageImage:
        """Return a page of a PDF as it looks; pages are counted from 1.

        Raises:
            InvalidArguments: the file is no PDF, or broken, or protected.
            NotFound: it has no such page.
            LimitExceeded: drawing it takes too much time or memory.
            Unavailable: as `parse`.
        """
        if document_kind(data, filename) != "pdf":
            raise not_a_pdf(filename)
        return await self._work(filename, lambda child: child.render(data, filename, page), _do_nothing)

    async def close(self) -> None:
        """Kill what is being read, and wait until every child is gone."""
        self._is_closed = True
        self._drop_spare()
        for child in self._busy:
            child.kill()
        await self._executor.slow.run_accepted(_NOBODY, self._threads.shutdown)

    async def _read(self, kind: DocumentKind, data: bytes, filename: str, begin: Callable[[], None]) -> Parsed:
        return await self._work(filename, lambda child: child.answer(kind, data, filename), begin)

    async def _work(self, filename: str, ask: Callable[[Child], AnswerT], begin: Callable[[], None]) -> AnswerT:
        async with self._slots:
            begin()
            if self._is_closed:
                raise reader_stopped(filename)
            loop = asyncio.get_running_loop()
            child = self._take_child()
            self._busy.add(child)
            is_timed_out = False

            def expire() -> None:
                nonlocal is_timed_out
                is_timed_out = True
                child.kill()

            timer = loop.call_later(self._deadline_s, expire)
            work = self._threads.submit(ask, child)
            try:
                return await asyncio.wrap_future(work)
            except Unavailable:
                if is_timed_out:
                    raise reading_timed_out(filename, self._deadline_s) from None
                raise
            finally:
                # Also when cancelled: the thread sees the pipe close and waits for the process.
                timer.cancel()
                child.kill()
                self._busy.discard(child)
                if work.cancelled():
                    # No thread had begun with it, so none will wait for the process.
                    child.end()
                loop.call_soon(self._start_spare)

    def _take_child(self) -> Child:
        spare, self._spare = self._spare, None
        if spare is not None and spare.is_alive:
            return spare
        if spare is not None:
            spare.end()
        try:
            return Child(cpu_s=self._cpu_s)
        except OSError as error:
            raise reader_cannot_start(error) from error

    def _start_spare(self) -> None:
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
