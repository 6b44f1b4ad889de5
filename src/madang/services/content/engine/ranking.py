"""Ranking with an index beside the database, shared by all processes on one data folder.

The rows have a queue of the contents that the index lacks. Each addition, deletion and search works it off first, so
that the next call repairs what a killed process left undone; nothing runs in the background.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, TypeVar

from madang.core.errors import Unavailable
from madang.core.executor import Executor, WorkOwner
from madang.core.ids import LOCAL_USER
from madang.core.phrases import say
from madang.services.content.domain import IndexedRows, Ranked, StoreKey
from madang.services.content.engine.index import IndexBusy, IndexUnusable, StoreIndex
from madang.storage.database import LOCK_WAIT_S
from madang.storage.locks import FairFileLock
from madang.storage.memory import release_memory
from madang.storage.search.analysis import Analysis
from madang.storage.search.queries import Query

IDLE_RELEASE_S = 2.0
"""How long a writer stays open after its last use: opening one is expensive."""

WAITER_POLL_S = 0.05
MAX_OPEN_INDEXES = 64
MAX_CHUNKS_PER_READ = 500

Rest = ParamSpec("Rest")
ResultT = TypeVar("ResultT")

_INDEX_WORK = WorkOwner(LOCAL_USER, "index")
"""Owns what belongs to no call: the sweep at the start, and closing."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _OpenIndex:
    """A store's index in this process: one task at a time writes to it, any number search.

    `write_lock` is between the tasks of this process, `process_lock` between processes; an index in memory needs none.
    """

    index: StoreIndex
    process_lock: FairFileLock | None
    write_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    used_at: float = 0.0
    release_task: asyncio.Task[None] | None = None
    is_closing: asyncio.Event = field(default_factory=asyncio.Event)


class IndexRanking:
    """Ranks with indexes in `folder`, one folder for each store; without it, in memory."""

    needs_stored_tokens: ClassVar[bool] = False

    def __init__(
        self, folder: Path | None, rows: IndexedRows, analysis: Analysis, executor: Executor | None = None
    ) -> None:
        self._folder = folder
        self._rows = rows
        self._analysis = analysis
        self._executor = executor or Executor()
        self._open_indexes: dict[StoreKey, _OpenIndex] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def open(self) -> None:
        """Remove the folders of deleted stores; a new store has its row before its folder."""
        if self._folder is None:
            return
        names = await self._in_thread(_INDEX_WORK, _names, self._folder)
        if names:
            for name in names - set(await self._rows.all_store_ids()):
                await self._in_thread(_INDEX_WORK, shutil.rmtree, self._folder / name, ignore_errors=True)

    async def update(self, store: StoreKey, timeout_s: float | None = None) -> bool:
        task = self._start(self._update(store))
        done, _ = await asyncio.wait({task}, timeout=timeout_s)
        if not done:
            return False  # it goes on
        try:
            await task
        except (IndexBusy, TimeoutError):
            logger.warning("The search index of store %s is locked by another process", store.id)
            return False
        return True

    async def rank(self, store: StoreKey, query: Query, limit: int, *, may_wait: bool = True) -> Ranked:
        for _ in range(2):
            opened = self._get(store)
            try:
                chunks = opened.index.search_inline(query, limit)
                if chunks is None:
                    chunks = await self._executor.slow.run(_owner(store), opened.index.search, query, limit)
                return Ranked(chunks)
            except IndexBusy:
                if not opened.index.is_open:
                    raise _index_locked() from None
                stale = partial(opened.index.search, is_reloaded=False)
                return Ranked(await self._executor.slow.run(_owner(store), stale, query, limit), is_current=False)
            except IndexUnusable as error:
                if not may_wait:
                    raise _index_locked() from error
                if error.args:
                    logger.warning("The search index of store %s is recreated: %s", store.id, error)
            try:
                await asyncio.shield(self._start(self._repair(store)))
            except (IndexBusy, TimeoutError):
                raise _index_locked() from None
        raise _index_unavailable()

    async def drop(self, store: StoreKey) -> None:
        try:
            await asyncio.shield(self._start(self._drop(store)))
        except (IndexBusy, TimeoutError):
            logger.warning("The search index of store %s is locked; the next start removes it", store.id)

    async def close(self) -> None:
        """Wait for running updates, and close every index."""
        while self._tasks:
            await asyncio.wait(self._tasks)
        for opened in list(self._open_indexes.values()):
            await self._close_index(opened)
        self._open_indexes.clear()

    async def _in_thread(
        self, owner: WorkOwner, work: Callable[Rest, ResultT], *args: Rest.args, **kwargs: Rest.kwargs
    ) -> ResultT:
        return await self._executor.slow.run_accepted(owner, work, *args, **kwargs)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work` to its end even if the caller is cancelled: half of it would leave a lock or a writer open."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # marks it as retrieved, or asyncio logs it after a caller that did not wait for the end

    async def _update(self, store: StoreKey) -> None:
        async with self._locked(store) as opened:
            for is_last in (False, True):
                try:
                    await self._ensure_open(store, opened)
                    await self._apply_changes(store, opened.index)
                    return
                except IndexBusy:
                    await self._in_thread(_owner(store), opened.index.discard_writer)
                    raise
                except IndexUnusable as error:
                    # tantivy reports a full disk and a damaged file alike; recreating the index tells them apart.
                    logger.warning("The search index of store %s cannot be written: %s", store.id, error)
                    await self._in_thread(_owner(store), opened.index.discard_writer)
                    if is_last:
                        raise _index_unavailable() from error
                    await self._recreate(store, opened)

    async def _repair(self, store: StoreKey) -> None:
        async with self._locked(store) as opened:
            # Another process may have recreated it already; then it only has to be opened again.
            await self._in_thread(_owner(store), opened.index.close)
            await self._ensure_open(store, opened)
        await self._update(store)

    async def _ensure_open(self, store: StoreKey, opened: _OpenIndex) -> None:
        if opened.index.is_open:
            return
        try:
            await self._in_thread(_owner(store), opened.index.open)
        except IndexUnusable:
            await self._recreate(store, opened)

    async def _recreate(self, store: StoreKey, opened: _OpenIndex) -> None:
        """Replace the index by an empty one; every content is queued before it may be used."""
        try:
            await self._in_thread(_owner(store), opened.index.create)
            await self._rows.queue_all(store)
            await self._in_thread(_owner(store), opened.index.write_version)
        except IndexUnusable as error:
            raise _index_unavailable() from error

    async def _apply_changes(self, store: StoreKey, index: StoreIndex) -> None:
        changes = await self._rows.pending_changes(store)
        if not changes:
            return
        for content_no in dict.fromkeys(change.content_no for change in changes):
            is_first, after = True, 0
            while True:
                chunks = await self._rows.indexed_chunks(content_no, after, MAX_CHUNKS_PER_READ)
                tokens = await self._analysis.tokenize(_owner(store), [text for _, _, text in chunks])
                numbered = [(no, of_chunk) for (_, no, _), of_chunk in zip(chunks, tokens, strict=True)]
                await self._in_thread(_owner(store), index.add, content_no, numbered, replaces=is_first)
                if len(chunks) < MAX_CHUNKS_PER_READ:
                    break
                is_first, after = False, chunks[-1][0]
        await self._in_thread(_owner(store), index.commit)
        with suppress(Unavailable):  # then they are made again, which changes nothing: the index has them
            await self._rows.remove_changes(changes)

    @asynccontextmanager
    async def _locked(self, store: StoreKey) -> AsyncIterator[_OpenIndex]:
        """Hold a store's index for writing. Other processes get it after `IDLE_RELEASE_S`, or when they wait for it.

        Raises:
            TimeoutError: another process has held it for `LOCK_WAIT_S`, counted from here: those of this process that
                wait for one another wait for the same lock.
        """
        opened = self._get(store)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + LOCK_WAIT_S
        async with opened.write_lock:
            if opened.process_lock is not None:
                try:
                    await opened.process_lock.acquire(max(0.0, deadline - loop.time()))
                except TimeoutError:
                    raise  # which is an OSError as well
                except OSError as error:
                    raise _index_unavailable() from error
            try:
                yield opened
            finally:
                opened.used_at = asyncio.get_running_loop().time()
                if opened.process_lock is not None and opened.release_task is None:
                    opened.release_task = asyncio.create_task(self._release_when_idle(opened, opened.process_lock))

    async def _release_when_idle(self, opened: _OpenIndex, lock: FairFileLock) -> None:
        loop = asyncio.get_running_loop()
        while (
            loop.time() - opened.used_at < IDLE_RELEASE_S and not lock.has_waiter() and not opened.is_closing.is_set()
        ):
            with suppress(TimeoutError):
                await asyncio.wait_for(opened.is_closing.wait(), WAITER_POLL_S)
        async with opened.write_lock:
            opened.release_task = None
            await self._release(opened)

    async def _release(self, opened: _OpenIndex) -> None:
        try:
            await self._in_thread(_INDEX_WORK, opened.index.close_writer)
        except (IndexUnusable, IndexBusy) as error:
            logger.warning("A merge of a search index failed: %s", error)
        finally:
            if opened.process_lock is not None:
                opened.process_lock.release()
        # A while after the last of many changes: parsing, tokenizing and the writer's heap took it, in several threads.
        await self._in_thread(_INDEX_WORK, release_memory)

    async def _drop(self, store: StoreKey) -> None:
        opened = self._get(store)
        async with self._locked(store):
            self._open_indexes.pop(store, None)
            await self._in_thread(_owner(store), opened.index.close)
            if self._folder is not None:
                await self._in_thread(_owner(store), shutil.rmtree, self._folder / store.id, ignore_errors=True)
        await self._close_index(opened)

    async def _close_index(self, opened: _OpenIndex) -> None:
        opened.is_closing.set()
        if opened.release_task is not None:
            await opened.release_task
        async with opened.write_lock:
            await self._release(opened)
            await self._in_thread(_INDEX_WORK, opened.index.close)

    def _get(self, store: StoreKey) -> _OpenIndex:
        opened = self._open_indexes.pop(store, None)
        if opened is None:
            folder = self._folder / store.id if self._folder else None
            opened = _OpenIndex(StoreIndex(folder, self._analysis.name), FairFileLock(folder) if folder else None)
            self._evict()
        self._open_indexes[store] = opened  # at the end: the most recently used
        return opened

    def _evict(self) -> None:
        """Forget the least recently used index that is not being written to, but none in memory: it has no files."""
        if self._folder is None or len(self._open_indexes) < MAX_OPEN_INDEXES:
            return
        for store, opened in list(self._open_indexes.items()):
            if not opened.write_lock.locked() and opened.release_task is None:
                del self._open_indexes[store]
                return


def _owner(store: StoreKey) -> WorkOwner:
    return WorkOwner(store.user_id, store.id)


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def _index_locked() -> Unavailable:
    return Unavailable(
        say("Another process keeps the search index locked, and there is none to read yet. What was added is kept."),
        hint=say("Call again in a moment, or use 'read_content' to read what is there."),
    )


def _index_unavailable() -> Unavailable:
    return Unavailable(
        say("The search index cannot be written or read. What was added is kept."),
        hint=say("Look for free space in the data folder, then call again."),
    )
