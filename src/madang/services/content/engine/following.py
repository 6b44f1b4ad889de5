"""One store's search index in this process, and the task that brings it up to the rows.

Rows are durable before the index has them: their queue says what it lacks. The task starts soon after a change, and at
once when a search waits for it; what a killed process left undone is in the queue for the next one.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

from madang.core.background import Background
from madang.core.errors import ToolError, Unavailable
from madang.core.executor import Executor, Lane, WorkOwner, WorkStopped
from madang.database.port import LOCK_WAIT_S
from madang.records.analysis.analysis import Analysis
from madang.services.content.domain.contents import StoreKey
from madang.services.content.domain.jobs import Job, JobPlace
from madang.services.content.domain.search import IndexChange, IndexedRows
from madang.services.content.engine.index import IndexBusy, IndexUnusable, StoreIndex, index_unavailable
from madang.services.content.engine.jobs import Jobs
from madang.services.content.engine.writer_lock import WriterLock, WriterSlots
from madang.system.memory import release_memory
from madang.text.search.queries import Tokens

FOLLOW_DELAY_S = 0.25
"""How long changes are collected for one commit of the index, unless a search waits for them."""

CLOSE_S = 0.5
"""How long closing works off the queue, and then waits for each thing that has begun. All services have 2 s to close.
What is left is in the queue still."""

MAX_REBUILD_WAIT_S = 1.0
"""How long searches wait for a new index while one of an older version can answer: as long as a small store takes."""

MAX_CONTENTS_PER_READ = 100
MAX_CHUNKS_PER_READ = 100
MAX_CHUNKS_PER_COMMIT = 4_000
MAX_CONTENTS_PER_STEP = 100

Rest = ParamSpec("Rest")
ResultT = TypeVar("ResultT")

logger = logging.getLogger(__name__)


class IndexFollower:
    """Brings the index of one store up to its rows. One task at a time writes to it, any number search.

    While an index is made anew, the contents it has yet to add are the backlog, and `older` answers beside it.
    """

    def __init__(
        self,
        store: StoreKey,
        folder: Path | None,
        rows: IndexedRows,
        analysis: Analysis,
        executor: Executor,
        background: Background,
        jobs: Jobs,
        slots: WriterSlots,
        room: Callable[[], Awaitable[None]],
        on_idle: Callable[[], None],
    ) -> None:
        self.index = StoreIndex(folder, analysis.name)
        self.older = self.index.older()
        self._store = store
        self._folder = folder
        self._rows = rows
        self._analysis = analysis
        self._executor = executor
        self._background = background
        self._jobs = jobs
        self._room = room
        self._on_idle = on_idle
        self._lock = WriterLock(folder, self._close_writer, background, slots, on_idle)
        # Not the owner of the store's searches: they would wait behind what is done here.
        self._owner = WorkOwner(store.user_id, f"index of {store.id}")
        self._is_closing = asyncio.Event()
        self._closing_at = self._older_answers_at = 0.0
        self._is_dropped = False
        self._task: asyncio.Task[None] | None = None
        self._tokenizing: asyncio.Future[list[Tokens]] | None = None

        self._requested = self._completed = self._failed = 0  # numbers of requests to follow
        self._failure: Unavailable | None = None
        self._waiting = self._users = 0
        self._is_hurried = asyncio.Event()
        self._is_unusable = self._has_backlog = False
        self._advanced = asyncio.Event()

    @property
    def is_idle(self) -> bool:
        return self._task is None and not self._users and not self._lock.is_held

    @contextmanager
    def used(self) -> Iterator[Self]:
        """Keep the index open while it is searched."""
        self._users += 1
        try:
            yield self
        finally:
            self._users -= 1
            self._on_idle()

    def close_files(self) -> None:
        """Close the index until it is used again."""
        self.index.close()
        if self.older is not None:
            self.older.close()

    def follow(self) -> None:
        """Have the index brought up to the rows soon."""
        self._requested += 1
        if self._task is None and not self._is_dropped:
            self._task = self._background.start(self._run(), f"search index of store {self._store.id}")

    async def catch_up(self, timeout_s: float, *, is_unusable: bool = False) -> bool:
        """Wait until the index has what is committed now, and tell whether it has.

        It has not after `timeout_s`, or earlier if another process keeps it locked, or if it is made anew and an older
        one can answer meanwhile. `is_unusable` has it opened again, or recreated.

        Raises:
            Unavailable: it cannot be written.
        """
        if self._is_answered_by_older() and not await self._rows.pending_changes(self._store):
            self.follow()
            return False
        self._is_unusable |= is_unusable
        self._is_hurried.set()
        self.follow()
        self._waiting += 1
        try:
            return await self._wait_for(self._requested, timeout_s)
        finally:
            self._waiting -= 1

    def _is_answered_by_older(self) -> bool:
        is_late = asyncio.get_running_loop().time() >= self._older_answers_at
        return self._has_backlog and is_late and self.older is not None and self.older.exists

    async def _wait_for(self, number: int, timeout_s: float) -> bool:
        loop = asyncio.get_running_loop()
        latest = loop.time() + timeout_s
        while True:
            if self._completed >= number and not self._has_backlog:
                return True
            if self._failed >= number > self._completed:
                if self._failure is not None:
                    raise self._failure
                return False
            deadline = latest
            if self._completed >= number:
                if self._is_answered_by_older():
                    return False
                if self.older is not None and self.older.exists:
                    deadline = min(deadline, self._older_answers_at)
            if self._task is None or loop.time() >= deadline:
                return False
            with suppress(TimeoutError):
                await asyncio.wait_for(self._advanced.wait(), deadline - loop.time())

    async def drop(self) -> None:
        """Remove the folder of a deleted store.

        Raises:
            TimeoutError: another process keeps it locked.
        """
        self._is_dropped = True
        async with self._lock.hold(LOCK_WAIT_S):
            await self._run_native(self.close_files)
            if self._folder is not None:
                await self._run_native(shutil.rmtree, self._folder, ignore_errors=True)
        await self.close()

    async def close(self) -> None:
        """Work off the queue for a moment, and close the index. What is still busy then is left alone."""
        self._closing_at = asyncio.get_running_loop().time()
        self._is_closing.set()
        self._is_hurried.set()
        if self._task is not None:
            task = self._task
            if (await asyncio.wait({task}, timeout=CLOSE_S))[1]:
                # Not the task itself: a thread that writes would go on, without the lock.
                if self._tokenizing is not None:
                    self._tokenizing.cancel()
                if (await asyncio.wait({task}, timeout=CLOSE_S))[1]:
                    return
        if await self._lock.close(CLOSE_S):
            await self._run_native(self.close_files)

    async def _run(self) -> None:
        """Follow until nothing is left to do; a failure is told to those who wait, and the next request tries again."""
        try:
            with self._jobs.doing(Job("indexing", JobPlace.of_store(self._store), state="running")) as job:
                await self._follow_rows(job)
        finally:
            self._task = None
            self._advance()
            self._on_idle()

    async def _follow_rows(self, job: Job) -> None:
        while not self._is_dropped:
            await self._pause()
            number = self._requested
            try:
                self._has_backlog = await self._step()
            except Exception as error:
                self._fail(error)
                if self._failure is not None:
                    job.fail(self._failure)
                return
            self._completed = number
            self._advance()
            is_left_over = self._is_closing.is_set() and (self._has_backlog or self._is_late())
            if is_left_over or (self._requested == number and not self._has_backlog):
                return

    async def _pause(self) -> None:
        if not self._has_backlog and not self._is_closing.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_hurried.wait(), FOLLOW_DELAY_S)
        self._is_hurried.clear()

    def _is_late(self) -> bool:
        return self._is_closing.is_set() and asyncio.get_running_loop().time() > self._closing_at + CLOSE_S

    def _check_time(self) -> None:
        if self._is_late():
            raise WorkStopped

    def _advance(self) -> None:
        advanced, self._advanced = self._advanced, asyncio.Event()
        advanced.set()

    def _fail(self, error: Exception) -> None:
        self._failed = self._requested
        is_locked = isinstance(error, IndexBusy | TimeoutError)
        self._failure = index_unavailable() if isinstance(error, IndexUnusable | OSError) and not is_locked else None
        if is_locked:
            if self._completed < self._requested:  # else another process works off the backlog
                logger.warning("The search index of store %s is locked by another process", self._store.id)
        elif isinstance(error, IndexUnusable | ToolError | OSError):
            logger.warning("The search index of store %s cannot be written: %s", self._store.id, error)
        elif not isinstance(error, WorkStopped):
            logger.error("The search index of store %s cannot be written", self._store.id, exc_info=error)

    async def _step(self) -> bool:
        """Apply the changes of the queue, or a part of the backlog, and tell whether there is a backlog left."""
        if not self._is_unusable and not await self._rows.lacks_changes(self._store):
            await self._drop_older()
            return False
        # The backlog alone is not worth waiting for: the process that holds the lock works it off.
        is_wanted = self._waiting > 0 or self._completed < self._requested
        async with self._lock.hold(LOCK_WAIT_S if is_wanted else 0.0):
            for is_last in (False, True):
                if self._is_dropped:
                    return False
                try:
                    await self._ensure_open()
                    return await self._work_off()
                except IndexUnusable as error:
                    # tantivy reports a full disk and a damaged file alike; recreating the index tells them apart.
                    await self._run_native(self.index.discard_writer)
                    if is_last:
                        raise
                    logger.warning("The search index of store %s is recreated: %s", self._store.id, error)
                    await self._recreate()
                except BaseException:
                    await self._run_native(self.index.discard_writer)
                    raise
        return False

    async def _work_off(self) -> bool:
        changes = await self._rows.pending_changes(self._store)
        if changes:
            await self._apply(changes)
        backlog = await self._rows.backlog(self._store, MAX_CONTENTS_PER_STEP)
        if not backlog:
            await self._drop_older()
            return False
        if not changes:
            await self._apply(backlog)
        return True

    async def _ensure_open(self) -> None:
        if self._is_unusable:
            # Another process may have recreated it already; then it only has to be opened again.
            await self._run_native(self.index.close)
            self._is_unusable = False
        if not self.index.is_open:
            await self._room()
        try:
            await self._run_native(self.index.open_for_writing)
        except IndexUnusable:
            await self._recreate()

    async def _recreate(self) -> None:
        """Replace the index by an empty one; every content is queued before it may be used."""
        await self._run_native(self.index.set_aside)
        await self._run_native(self.index.create)
        await self._rows.queue_backlog(self._store)
        await self._run_native(self.index.write_version)
        self._older_answers_at = asyncio.get_running_loop().time() + MAX_REBUILD_WAIT_S

    async def _apply(self, changes: Sequence[IndexChange]) -> None:
        """Replace what the index has of the changed contents by the chunks they have now, and commit."""
        uncommitted: list[IndexChange] = []
        chunk_count = 0
        for group in _groups(changes):
            chunk_count += await self._replace(list(dict.fromkeys(change.content_no for change in group)))
            uncommitted += group
            if chunk_count >= MAX_CHUNKS_PER_COMMIT or self._is_late():
                await self._commit(uncommitted)
                uncommitted, chunk_count = [], 0
                self._check_time()
        if uncommitted:
            await self._commit(uncommitted)

    async def _replace(self, content_nos: Sequence[int]) -> int:
        """Replace what the index has of contents by their chunks, and return how many these are."""
        after = chunk_count = 0
        while True:
            chunks = await self._rows.indexed_chunks(self._store, content_nos, after, MAX_CHUNKS_PER_READ)
            tokens = await self._tokens([chunk.text for chunk in chunks])
            documents = [(chunk.content_no, chunk.no, of_chunk) for chunk, of_chunk in zip(chunks, tokens, strict=True)]
            removed = () if after else content_nos
            await self._run_in(self._executor.slow, self.index.replace, removed, documents)
            self._advance()
            chunk_count += len(chunks)
            if len(chunks) < MAX_CHUNKS_PER_READ:
                return chunk_count
            after = chunks[-1].number
            self._check_time()

    async def _tokens(self, texts: Sequence[str]) -> list[Tokens]:
        if not texts:
            return []
        self._tokenizing = asyncio.ensure_future(self._analysis.tokenize(self._owner, texts))
        try:
            return await self._tokenizing
        except asyncio.CancelledError:
            if self._is_closing.is_set():
                raise WorkStopped from None
            raise
        finally:
            self._tokenizing = None

    async def _commit(self, changes: Sequence[IndexChange]) -> None:
        await self._run_native(self.index.commit)
        self._advance()
        try:
            await self._rows.remove_changes(changes)
        except Unavailable:
            # They are made again, which changes nothing: the index has them. A backlog would be made again for ever.
            if self._has_backlog:
                raise TimeoutError from None

    async def _drop_older(self) -> None:
        if self.older is not None and self.older.exists:
            await self._run_native(self.older.remove)

    async def _close_writer(self) -> None:
        try:
            await self._run_native(self.index.close_writer)
        except (IndexUnusable, IndexBusy) as error:
            logger.warning("A merge of a search index failed: %s", error)
        # A while after the last of many changes: parsing, tokenizing and the writer's heap took it, in several threads.
        await self._run_native(release_memory)

    async def _run_native(self, work: Callable[Rest, ResultT], *args: Rest.args, **kwargs: Rest.kwargs) -> ResultT:
        return await self._run_in(self._executor.native, work, *args, **kwargs)

    async def _run_in(
        self, lane: Lane, work: Callable[Rest, ResultT], *args: Rest.args, **kwargs: Rest.kwargs
    ) -> ResultT:
        return await lane.run_accepted(self._owner, work, *args, **kwargs)


def _groups(changes: Sequence[IndexChange]) -> Iterator[list[IndexChange]]:
    """Split changes into groups that are read at once; a content of many chunks is alone in its group."""
    group: list[IndexChange] = []
    chunk_count = 0
    for change in sorted(changes, key=lambda change: change.content_no):
        is_another = not group or group[-1].content_no != change.content_no
        is_full = chunk_count + change.chunk_count >= MAX_CHUNKS_PER_READ or len(group) >= MAX_CONTENTS_PER_READ
        if group and is_another and is_full:
            yield group
            group, chunk_count = [], 0
        group.append(change)
        chunk_count += change.chunk_count if is_another else 0
    if group:
        yield group
