"""Ranking with an index beside the database: keeps the index of each store up to its rows, in whatever process.

The rows say which contents the index does not know yet. Whoever adds, deletes or searches first brings the index up to
them; so whatever was killed at whatever point, the next call heals it.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from madang.core.errors import Unavailable
from madang.core.phrases import say
from madang.services.content.domain import Hit, IndexedRows, StoreKey
from madang.services.content.engine.index import BrokenIndex, StoreIndex
from madang.storage.locks import FairFileLock
from madang.storage.search.tokens import Tokenizer

LINGER_S = 2.0
LOOK_S = 0.05
MAX_OPEN_INDEXES = 64
CHUNKS_AT_ONCE = 500

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Opened:
    """A store's index in this process: one task at a time writes to it, any number search."""

    index: StoreIndex
    lock: FairFileLock | None
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    used_at: float = 0.0
    closer: asyncio.Task[None] | None = None
    is_over: asyncio.Event = field(default_factory=asyncio.Event)


class IndexRanking:
    """Indexes in `folder`, a folder for each store; without a folder, in memory."""

    def __init__(self, folder: Path | None, rows: IndexedRows, tokenizer: Tokenizer) -> None:
        self._folder = folder
        self._rows = rows
        self._tokenizer = tokenizer
        self._opened: dict[StoreKey, _Opened] = {}
        self._begun: set[asyncio.Task[Any]] = set()

    async def open(self) -> None:
        """Remove the folders of stores that are gone: a store is a row before it is a folder."""
        if self._folder is None:
            return
        names = await asyncio.to_thread(_names, self._folder)
        if names:
            gone = names - set(await self._rows.all_stores())
            for name in gone:
                await asyncio.to_thread(shutil.rmtree, self._folder / name, ignore_errors=True)

    async def update(self, store: StoreKey) -> None:
        await self._to_its_end(self._update(store))

    async def rank(self, store: StoreKey, terms: Sequence[str], limit: int) -> list[Hit]:
        for _ in range(2):
            opened = self._of(store)
            try:
                hits = opened.index.search_briefly(terms, limit)
                return await asyncio.to_thread(opened.index.search, terms, limit) if hits is None else hits
            except BrokenIndex as broken:
                if broken.args:
                    logger.warning("The search index of store %s is made anew: %s", store.id, broken)
                await self._to_its_end(self._mend(store))
        raise _unusable()

    async def drop(self, store: StoreKey) -> None:
        await self._to_its_end(self._drop(store))

    async def close(self) -> None:
        """Finish what was begun, and close every index."""
        while self._begun:
            await asyncio.wait(self._begun)
        for opened in list(self._opened.values()):
            await self._shut(opened)
        self._opened.clear()

    async def _to_its_end(self, work: Coroutine[Any, Any, None]) -> None:
        """Do `work` also when the caller is cancelled: half of it would leave a lock or a writer behind."""
        task = asyncio.create_task(work)
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        await asyncio.shield(task)

    async def _update(self, store: StoreKey) -> None:
        async with self._written(store) as opened:
            for is_last in (False, True):
                try:
                    await self._ready(store, opened)
                    await self._bring_up(store, opened.index)
                    return
                except BrokenIndex as error:
                    # What tantivy says of a full disk and of a damaged file is the same; a new index tells which.
                    logger.warning("The search index of store %s cannot be written: %s", store.id, error)
                    await asyncio.to_thread(opened.index.discard_writer)
                    if is_last:
                        raise _unusable() from error
                    await self._make_anew(store, opened)

    async def _mend(self, store: StoreKey) -> None:
        async with self._written(store) as opened:
            # Another process may have been faster; then opening is all there is to do.
            await asyncio.to_thread(opened.index.close)
            await self._ready(store, opened)
        await self._update(store)

    async def _ready(self, store: StoreKey, opened: _Opened) -> None:
        if opened.index.is_open:
            return
        try:
            await asyncio.to_thread(opened.index.open)
        except BrokenIndex:
            await self._make_anew(store, opened)

    async def _make_anew(self, store: StoreKey, opened: _Opened) -> None:
        """Begin an empty index; everything is noted as missing before anybody may use it."""
        try:
            await asyncio.to_thread(opened.index.make)
            await self._rows.change_all(store)
            await asyncio.to_thread(opened.index.finish)
        except BrokenIndex as error:
            raise _unusable() from error

    async def _bring_up(self, store: StoreKey, index: StoreIndex) -> None:
        changes = await self._rows.changes(store)
        if not changes:
            return
        for content_no in dict.fromkeys(change.content_no for change in changes):
            is_new, after = True, 0
            while True:
                chunks = await self._rows.indexed_chunks(content_no, after, CHUNKS_AT_ONCE)
                await asyncio.to_thread(index.put, content_no, [(no, text) for _, no, text in chunks], anew=is_new)
                if len(chunks) < CHUNKS_AT_ONCE:
                    break
                is_new, after = False, chunks[-1][0]
        await asyncio.to_thread(index.commit)
        await self._rows.forget(changes)

    @asynccontextmanager
    async def _written(self, store: StoreKey) -> AsyncIterator[_Opened]:
        """Hold the turn at a store's index. It is given back a moment after the last use: opening it has its price."""
        opened = self._of(store)
        async with opened.writing:
            if opened.lock is not None:
                try:
                    await opened.lock.acquire()
                except OSError as error:
                    raise _unusable() from error
            try:
                yield opened
            finally:
                opened.used_at = asyncio.get_running_loop().time()
                if opened.lock is not None and opened.closer is None:
                    opened.closer = asyncio.create_task(self._let_go(opened))

    async def _let_go(self, opened: _Opened) -> None:
        """Give the turn back when nobody here has used it for a while, or another process wants it."""
        loop = asyncio.get_running_loop()
        assert opened.lock is not None
        while loop.time() - opened.used_at < LINGER_S and not opened.lock.has_waiter() and not opened.is_over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(opened.is_over.wait(), LOOK_S)
        async with opened.writing:
            opened.closer = None
            await self._release(opened)

    async def _release(self, opened: _Opened) -> None:
        try:
            await asyncio.to_thread(opened.index.close_writer)
        except BrokenIndex as error:
            logger.warning("A merge of a search index failed: %s", error)
        finally:
            if opened.lock is not None:
                opened.lock.release()

    async def _drop(self, store: StoreKey) -> None:
        opened = self._of(store)
        async with self._written(store):
            self._opened.pop(store, None)
            await asyncio.to_thread(opened.index.close)
            if self._folder is not None:
                await asyncio.to_thread(shutil.rmtree, self._folder / store.id, ignore_errors=True)
        await self._shut(opened)

    async def _shut(self, opened: _Opened) -> None:
        opened.is_over.set()
        if opened.closer is not None:
            await opened.closer
        async with opened.writing:
            await self._release(opened)
            await asyncio.to_thread(opened.index.close)

    def _of(self, store: StoreKey) -> _Opened:
        opened = self._opened.pop(store, None)
        if opened is None:
            folder = self._folder / store.id if self._folder else None
            opened = _Opened(StoreIndex(folder, self._tokenizer), FairFileLock(folder) if folder else None)
            self._close_some()
        self._opened[store] = opened  # at the end: the one used last
        return opened

    def _close_some(self) -> None:
        """Forget indexes that were not used for long; those in memory are all there is."""
        if self._folder is None or len(self._opened) < MAX_OPEN_INDEXES:
            return
        for store, opened in list(self._opened.items()):
            if not opened.writing.locked() and opened.closer is None:
                del self._opened[store]
                return


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def _unusable() -> Unavailable:
    return Unavailable(
        say("The search index cannot be written or read. What was added is kept."),
        hint=say("Look for free space in the data folder, then call again."),
    )
