"""Deleting, copying, exporting and importing all contents of a session. Texts are cut and indexed anew where they come.

In an archive each text is a plain file, beside the lists of stores and contents.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import IO, Protocol

from madang.core.archives import ArchiveReader, ArchiveWriter
from madang.core.calls import Call
from madang.core.errors import InvalidArguments, LimitExceeded
from madang.core.executor import Executor, StopSignal
from madang.core.phrases import say
from madang.services.content.domain.contents import AddedContent, SavedContent, SavedStore, StoreKey
from madang.services.content.domain.search import Ranking

STORES = "stores.jsonl"
CONTENTS = "contents.jsonl"
CONTENTS_PER_READ = 200
CHUNKS_PER_READ = 500
MAX_TEXT_BYTES = 128 * 1024**2


class WholeRows(Protocol):
    """The rows of whole sessions: `SessionRows`."""

    async def delete_stores(self, call: Call) -> list[StoreKey]: ...
    async def stores(self, call: Call) -> list[tuple[int, SavedStore]]: ...
    async def contents(self, call: Call, after: int, limit: int) -> list[tuple[int, int, SavedContent]]: ...
    async def texts(self, call: Call, content_no: int, after: int, limit: int) -> list[str]: ...
    async def add_store(self, call: Call, store: SavedStore) -> StoreKey: ...
    async def set_time(self, call: Call, content_no: int, uploaded_at: str) -> None: ...


class TextWriter(Protocol):
    """What adds a text that was stored before: a `ContentWriter`."""

    async def add_saved(self, call: Call, store: StoreKey, saved: SavedContent, text: str) -> AddedContent: ...


class SessionContents:
    """The contents of whole sessions."""

    def __init__(self, rows: WholeRows, writer: TextWriter, ranking: Ranking, executor: Executor | None = None) -> None:
        self._rows = rows
        self._writer = writer
        self._ranking = ranking
        self._lane = (executor or Executor()).native

    async def forget(self, call: Call) -> None:
        """Delete the rows at once, then what the ranking has of them."""
        for store in await self._rows.delete_stores(call):
            await self._ranking.drop(store)
        await self._ranking.open()  # it removes what an earlier call was killed over

    async def copy(self, call: Call, target: Call) -> None:
        stores = {no: await self._rows.add_store(target, store) for no, store in await self._rows.stores(call)}
        async for no, store_no, saved in self._all(call):
            if store_no in stores:  # else it was made meanwhile
                text = "".join([part async for part in self._text(call, no)])
                await self._add(target, stores[store_no], saved, text)
        self._follow(stores.values())

    async def export(self, call: Call, archive: ArchiveWriter) -> None:
        stores = await self._rows.stores(call)
        numbers = {no: number for number, (no, _) in enumerate(stores)}
        contents: list[SavedContent] = []
        async for no, store_no, saved in self._all(call):
            if store_no not in numbers:
                continue
            name = f"texts/{len(contents) + 1:06}.txt"
            with archive.create(name) as file:
                async for part in self._text(call, no):
                    await self._lane.run_to_end(call, partial(_write, file, part.encode()))
            contents.append(saved.model_copy(update={"store": numbers[store_no], "text": name}))
        await self._lane.run_to_end(call, lambda _: archive.add_all(STORES, [store for _, store in stores]))
        await self._lane.run_to_end(call, lambda _: archive.add_all(CONTENTS, contents))

    async def import_(self, call: Call, archive: ArchiveReader) -> None:
        """Add all contents.

        Raises:
            ToolError: a text is missing or none, or there are more than a session may have.
        """
        saved_stores = await self._lane.run_to_end(call, lambda _: list(archive.read_all(STORES, SavedStore)))
        stores = [await self._rows.add_store(call, store) for store in saved_stores]
        contents = archive.read_all(CONTENTS, SavedContent)
        while (saved := await self._lane.run_to_end(call, lambda _: next(contents, None))) is not None:
            if not 0 <= saved.store < len(stores):
                raise InvalidArguments(say("The archive has no store {number}.", number=saved.store))
            text = await self._lane.run_to_end(call, partial(_read_text, archive, saved.text))
            await self._add(call, stores[saved.store], saved, text)
        self._follow(stores)

    async def _add(self, call: Call, store: StoreKey, saved: SavedContent, text: str) -> None:
        added = await self._writer.add_saved(call, store, saved, text)
        await self._rows.set_time(call, added.content.no, saved.uploaded_at)

    def _follow(self, stores: Iterable[StoreKey]) -> None:
        for store in stores:
            self._ranking.follow(store)

    async def _all(self, call: Call) -> AsyncIterator[tuple[int, int, SavedContent]]:
        after = 0
        while rows := await self._rows.contents(call, after, CONTENTS_PER_READ):
            for row in rows:
                yield row
            after = rows[-1][0]

    async def _text(self, call: Call, content_no: int) -> AsyncIterator[str]:
        after = 0
        while texts := await self._rows.texts(call, content_no, after, CHUNKS_PER_READ):
            yield "".join(texts)
            after += len(texts)


def _write(file: IO[bytes], data: bytes, _: StopSignal) -> None:
    file.write(data)


def _read_text(archive: ArchiveReader, name: str, _: StopSignal) -> str:
    file: IO[bytes]
    with archive.open(name) as file:
        data = file.read(MAX_TEXT_BYTES + 1)
        if len(data) > MAX_TEXT_BYTES:
            raise LimitExceeded(say("A text in the archive is larger than {max} MiB.", max=MAX_TEXT_BYTES // 1024**2))
        return data.decode()
