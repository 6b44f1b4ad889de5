"""A store of one user on a database server, below the tools: rows, parts and ranking."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from madang.core.calls import Call
from madang.core.executor import Executor
from madang.core.ids import SessionId, UserId
from madang.database.port import Row
from madang.database.postgresql.database import PostgresDatabase
from madang.records.analysis.analysis import Analysis
from madang.services.content.domain.contents import Chunk, Limits, NewContent, StoreKey
from madang.services.content.domain.search import RankedChunk
from madang.services.content.store import ContentStore, maintenance, parts
from madang.services.content.store.parts import Parts
from madang.services.content.store.ranking import ServerRanking
from madang.text.search.queries import Query, Term, Tokens
from tests.postgresql import database_in

ANN = Call(session_id=SessionId("default"), user_id=UserId("ann"))
NAME = "current/1"
CHUNKS = 8
"""In a part, here."""


class NamedAnalysis(Analysis):
    """An analysis with a name of its own, which cuts at spaces; a word that begins with a tilde is weak."""

    def __init__(self, name: str = NAME) -> None:
        super().__init__(Executor())
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    async def tokenize(self, owner: object, texts: Any) -> list[Tokens]:
        return [tokens(text) for text in texts]


def tokens(text: str) -> Tokens:
    cut = text.split()
    return Tokens([word for word in cut if word[0] != "~"], [word[1:] for word in cut if word[0] == "~"])


@dataclass
class House:
    """A store of one user, below the tools."""

    database: PostgresDatabase
    contents: ContentStore
    ranking: ServerRanking
    parts: Parts
    store: StoreKey

    async def add(self, *texts: str, name: str = NAME) -> str:
        """Add a content with a chunk of each text, and return its id."""
        chunks = [Chunk(number, number, number, text) for number, text in enumerate(texts, start=1)]
        new = NewContent(
            sha256=" ".join(texts),
            filename="untitled.txt",
            mime_type="text/plain",
            size=1,
            line_count=len(texts),
            preview="",
            page_lines=(),
            chunks=chunks,
            tokens=[tokens(text) for text in texts],
            analysis=name,
        )
        return (await self.contents.add(ANN, self.store.id, new)).content.id

    async def delete(self, id: str) -> None:
        await self.contents.delete_content(ANN, self.store.id, id)

    async def fold(self) -> int:
        """Make parts of all that is due, and return how many."""
        fence, count = await self.parts.find_fence(self.store), 0
        while await self.parts.fold_next(self.store, fence, NAME):
            count += 1
        return count

    async def rebuild(self, name: str = NAME) -> None:
        after: int | None = 0
        while after is not None:
            after = await self.parts.rebuild_next(self.store, after, name)

    async def rank(self, *terms: str | Term, limit: int = 10, store: StoreKey | None = None) -> list[RankedChunk]:
        query = Query(tuple(term if isinstance(term, Term) else Term(term) for term in terms))
        return (await self.ranking.rank(store or self.store, query, limit)).chunks

    async def texts(self, *terms: str | Term, limit: int = 10) -> list[str]:
        ranked = await self.rank(*terms, limit=limit)
        passages, _ = await self.contents.passages(self.store, ranked)
        return [passage.chunk.text for passage in passages]

    async def rows(self, sql: str, user: str = "ann") -> list[Row]:
        return await self.database.find(sql, user_id=UserId(user))


@asynccontextmanager
async def open_house(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str = NAME) -> AsyncIterator[House]:
    monkeypatch.setattr(parts, "PART_CHUNKS", CHUNKS)
    monkeypatch.setattr(maintenance, "DELAY_S", 60.0)  # what a test wants done it does itself
    monkeypatch.setattr(maintenance, "PAUSE_S", 0.0)
    database = database_in(folder)
    contents = ContentStore(database, Limits())
    await contents.open()
    stores = await contents.list_stores(ANN)
    store = stores[0].key if stores else (await contents.create_store(ANN, "Leaves", "")).key
    ranking = ServerRanking(database, NamedAnalysis(name))
    try:
        yield House(database, contents, ranking, Parts(database), store)
    finally:
        await ranking.close()
        await database.close()
