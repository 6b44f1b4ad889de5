"""Ranking with indexes beside the database, one for each store, shared by all processes on one data folder.

An index follows its rows in the background (`following`). A search asks for what it lacks first.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections import deque
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar

from madang.core.background import Background
from madang.core.errors import Unavailable
from madang.core.executor import Executor, WorkOwner
from madang.core.ids import LOCAL_USER
from madang.core.phrases import say
from madang.records.analysis.analysis import Analysis
from madang.services.content.domain.contents import StoreKey
from madang.services.content.domain.search import MAX_UPDATE_S, IndexedRows, Ranked, RankedChunk
from madang.services.content.engine.following import IndexFollower
from madang.services.content.engine.index import IndexBusy, IndexUnusable, index_unavailable
from madang.services.content.engine.jobs import Jobs
from madang.services.content.engine.writer_lock import WRITER_THREADS, WriterSlots
from madang.text.search.queries import Query

MAX_OPEN_INDEXES = 24
"""Each costs a thread that wakes twice a second: tantivy's Python package watches the files of every index it opens,
whatever its reader is set to, for as long as the index is open. Opening one again takes some milliseconds."""

MAX_INDEX_THREADS = 64
"""Of tantivy: one for each open index, those of writers, and those of closed indexes that have not ended yet."""
THREAD_END_S = 0.5
"""How long tantivy's thread takes to notice that its index is closed."""

IDLE_CLOSE_S = 60.0
"""For how long an index stays open that nobody searches or changes."""

_INDEX_WORK = WorkOwner(LOCAL_USER, "index")
"""Owns what belongs to no call: the sweep at the start."""

logger = logging.getLogger(__name__)


class IndexRanking:
    """Ranks with indexes in `folder`, one folder for each store; without it, in memory."""

    needs_stored_tokens: ClassVar[bool] = False

    def __init__(
        self,
        folder: Path | None,
        rows: IndexedRows,
        analysis: Analysis,
        executor: Executor | None = None,
        jobs: Jobs | None = None,
    ) -> None:
        self._folder = folder
        self._rows = rows
        self._analysis = analysis
        self._executor = executor or Executor()
        self._jobs = jobs or Jobs()
        self._background = Background()
        self._slots = WriterSlots()
        self._followers: dict[StoreKey, IndexFollower] = {}
        self._used_at: dict[StoreKey, float] = {}
        self._ending: deque[float] = deque()
        """When the threads end of indexes that were closed."""
        self._closing_idle: asyncio.Task[None] | None = None
        self._drops: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Remove the folders of deleted stores; a new store has its row before its folder."""
        if self._folder is None:
            return
        names = await self._executor.slow.run_accepted(_INDEX_WORK, _names, self._folder)
        if names:
            for name in names - set(await self._rows.all_store_ids()):
                remove = partial(shutil.rmtree, self._folder / name, ignore_errors=True)
                await self._executor.slow.run_accepted(_INDEX_WORK, remove)

    def follow(self, store: StoreKey) -> None:
        self._get(store).follow()

    async def update(self, store: StoreKey, timeout_s: float) -> bool:
        with self._get(store).used() as follower:
            return await follower.catch_up(timeout_s)

    async def rank(self, store: StoreKey, query: Query, limit: int, *, may_wait: bool = True) -> Ranked:
        with self._get(store).used() as follower:
            if not follower.index.is_open:
                await self._wait_for_threads()
            return await self._rank(store, follower, query, limit, may_wait=may_wait)

    async def _rank(
        self, store: StoreKey, follower: IndexFollower, query: Query, limit: int, *, may_wait: bool
    ) -> Ranked:
        failure = _index_locked()
        ranked = await self._search(store, follower, query, limit) if may_wait else None
        is_current = ranked is not None
        if may_wait and ranked is None:
            try:
                is_current = await follower.catch_up(MAX_UPDATE_S, is_unusable=True)
            except Unavailable as error:
                failure = error
            if is_current:
                ranked = await self._search(store, follower, query, limit)
        if ranked is not None:
            return ranked
        # The older one first: what it loses meanwhile is in the new one.
        older = await self._search_older(store, follower, query, limit)
        ranked = await self._search(store, follower, query, limit)
        if ranked is None and older is None:
            raise index_unavailable() if is_current else failure
        return Ranked(_merged(ranked.chunks if ranked else [], older or [], limit), is_current=False)

    async def drop(self, store: StoreKey) -> None:
        task = asyncio.create_task(self._get(store).drop())
        self._drops.add(task)
        task.add_done_callback(self._drops.discard)
        self._forget(store)
        try:
            await asyncio.shield(task)  # half of it would leave a lock or a writer open
        except OSError as error:
            logger.warning("The search index of store %s stays until the next start: %r", store.id, error)

    async def close(self) -> None:
        """Close every index. What the queue still has is worked off by the next process that needs it."""
        await asyncio.gather(*self._drops, return_exceptions=True)
        await asyncio.gather(*(follower.close() for follower in self._followers.values()))
        await self._background.close()
        self._followers.clear()
        self._used_at.clear()

    async def _search(self, store: StoreKey, follower: IndexFollower, query: Query, limit: int) -> Ranked | None:
        """Search the index as it is; None says that it is missing, damaged or of another version.

        Raises:
            Unavailable: another process keeps it locked, and nothing of it is loaded.
        """
        index = follower.index
        try:
            chunks = index.search_inline(query, limit)
            if chunks is None:
                chunks = await self._executor.slow.run(_owner(store), index.search, query, limit)
            return Ranked(chunks)
        except IndexBusy:
            if not index.is_open:
                raise _index_locked() from None
            stale = partial(index.search, is_reloaded=False)
            return Ranked(await self._executor.slow.run(_owner(store), stale, query, limit), is_current=False)
        except IndexUnusable as error:
            if error.args:
                logger.warning("The search index of store %s cannot be read: %s", store.id, error)
            return None

    async def _search_older(
        self, store: StoreKey, follower: IndexFollower, query: Query, limit: int
    ) -> list[RankedChunk] | None:
        older = follower.older
        if older is None or not older.exists:
            return None
        try:
            return await self._executor.slow.run(_owner(store), older.search, query, limit)
        except (IndexUnusable, IndexBusy) as error:
            if older.exists:  # else the new one has just become complete
                logger.warning("The older search index of store %s cannot be read: %s", store.id, error)
            return None

    def _get(self, store: StoreKey) -> IndexFollower:
        follower = self._followers.pop(store, None)
        if follower is None:
            folder = self._folder / store.id if self._folder else None
            follower = IndexFollower(
                store,
                folder,
                self._rows,
                self._analysis,
                self._executor,
                self._background,
                self._jobs,
                self._slots,
                self._wait_for_threads,
                self._evict,
            )
            if follower.older is not None and follower.older.exists:
                follower.follow()  # a killed process left it
        self._followers[store] = follower  # at the end: the most recently used
        self._used_at[store] = asyncio.get_running_loop().time()
        self._evict()
        if self._closing_idle is None and self._folder is not None:
            self._closing_idle = self._background.start(self._close_idle(), "closing idle search indexes")
        return follower

    def _evict(self) -> None:
        """Close the least recently used indexes that are beyond the limit, and forget them.

        Not those that are at work, which are as few as there are slots for writers, nor the last one, which is about to
        be used. Nor any in memory: it has no files.
        """
        if self._folder is None or len(self._followers) <= MAX_OPEN_INDEXES:
            return
        excess = len(self._followers) - MAX_OPEN_INDEXES
        idle = (store for store, follower in list(self._followers.items())[:-1] if follower.is_idle)
        for store in list(islice(idle, excess)):
            self._close(store)

    async def _close_idle(self) -> None:
        """Close indexes that nobody uses for a while, until there are none."""
        loop = asyncio.get_running_loop()
        while self._used_at:
            await asyncio.sleep(max(0.0, min(self._used_at.values()) + IDLE_CLOSE_S - loop.time()))
            for store, used_at in list(self._used_at.items()):
                if used_at + IDLE_CLOSE_S > loop.time():
                    continue
                if self._followers[store].is_idle:
                    self._close(store)
                else:
                    self._used_at[store] = loop.time()
        self._closing_idle = None

    def _close(self, store: StoreKey) -> None:
        """Close an idle index, and forget it. Not in a thread: nobody can begin to use it meanwhile."""
        follower = self._forget(store)
        ends_at = asyncio.get_running_loop().time() + THREAD_END_S
        self._ending.extend([ends_at] * _open_count(follower))
        follower.close_files()

    async def _wait_for_threads(self) -> None:
        """Before one more index is opened, wait for threads of closed ones to end where they are too many."""
        loop = asyncio.get_running_loop()
        while self._ending and self._thread_count() >= MAX_INDEX_THREADS:
            await asyncio.sleep(max(0.0, self._ending[0] - loop.time()))
            while self._ending and self._ending[0] <= loop.time():
                self._ending.popleft()

    def _thread_count(self) -> int:
        open_count = sum(_open_count(follower) for follower in self._followers.values())
        return open_count + len(self._ending) + WRITER_THREADS * self._slots.used

    def _forget(self, store: StoreKey) -> IndexFollower:
        del self._used_at[store]
        return self._followers.pop(store)


def _open_count(follower: IndexFollower) -> int:
    return follower.index.is_open + (follower.older is not None and follower.older.is_open)


def _owner(store: StoreKey) -> WorkOwner:
    return WorkOwner(store.user_id, store.id)


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def _merged(chunks: list[RankedChunk], older: list[RankedChunk], limit: int) -> list[RankedChunk]:
    """Return the best of both; where both have a chunk, the first counts."""
    by_no = {chunk.chunk_no: chunk for chunk in (*older, *chunks)}
    return sorted(by_no.values(), key=lambda chunk: -chunk.relevance)[:limit]


def _index_locked() -> Unavailable:
    return Unavailable(
        say("Another process keeps the search index locked, and there is none to read yet. What was added is kept."),
        hint=say("Call again in a moment, or use 'read_content' to read what is there."),
    )
