"""Words on a database server that another version of the analysis made: they are made anew, and answer until then."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from madang.core.ids import UserId
from madang.database.port import MigrationSet, Transaction
from madang.services.content.domain.contents import Limits, StoreKey
from madang.services.content.store import ContentStore, maintenance
from madang.services.content.store.retokenizing import CHUNKS_PER_STEP, Retokenizer
from madang.services.content.store.tables import MIGRATIONS
from madang.text.search.queries import Tokens
from tests.postgresql import database_in
from tests.services.content.parts import CHUNKS, NAME, House, NamedAnalysis, open_house, tokens

NEXT = "current/2"
STEPS_BEFORE_PARTS = 3


class UpperCase(NamedAnalysis):
    """A later version: its words are in capitals. It can be made to fail after some steps."""

    def __init__(self, steps: int = 10**6) -> None:
        super().__init__(NEXT)
        self.texts = 0
        self._steps = steps

    async def tokenize(self, owner: object, texts: Any) -> list[Tokens]:
        await asyncio.sleep(0)
        if not self._steps:
            raise KeyboardInterrupt
        self._steps -= 1
        self.texts += len(texts)
        return [Tokens([word.upper() for word in tokens(text).words], []) for text in texts]


async def test_contents_of_another_version_are_found_by_its_words_until_they_are_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_house(tmp_path, monkeypatch) as house:
        for number in range(2 * CHUNKS):
            await house.add(f"tea n{number}")
        await house.fold()
        await house.add("young tea", name=NEXT)

        analysis = UpperCase()
        assert len(await house.rank("tea", limit=50)) == 2 * CHUNKS + 1
        await Retokenizer(house.database, analysis).run(house.store)
        assert analysis.texts == 2 * CHUNKS  # not the one that is current
        assert await house.rows("SELECT DISTINCT analysis FROM content_part") == [("",)]
        assert len(await house.rank("tea", limit=50)) == 2 * CHUNKS + 1  # the parts still answer

        await house.rebuild(NEXT)
        assert await house.rows("SELECT DISTINCT analysis FROM content_part") == [(NEXT,)]
        assert await house.texts("N3", limit=50) == ["tea n3"]
        assert len(await house.rank("TEA", limit=50)) == 2 * CHUNKS
        assert await house.texts("tea") == ["young tea"]


async def test_it_goes_on_where_another_process_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 3 * CHUNKS_PER_STEP + 5
    async with open_house(tmp_path, monkeypatch) as house:
        await house.add(*(f"tea n{number}" for number in range(count)))
        first, second = UpperCase(steps=2), UpperCase()

        with pytest.raises(KeyboardInterrupt):
            await Retokenizer(house.database, first).run(house.store)
        assert await house.rows("SELECT analysis, analyzed_to FROM content") == [(NEXT, 2 * CHUNKS_PER_STEP)]
        await house.fold()  # by a process that knows nothing of it
        assert await house.rows("SELECT DISTINCT analysis FROM content_part") == [("",)]
        await Retokenizer(house.database, second).run(house.store)

        assert (first.texts, second.texts) == (2 * CHUNKS_PER_STEP, count - 2 * CHUNKS_PER_STEP)
        assert await house.rows("SELECT analysis, analyzed_to FROM content") == [(NEXT, None)]
        await house.rebuild(NEXT)
        assert len(await house.rank("TEA", limit=count)) == count
        assert await house.rank("tea", limit=count) == []


async def test_several_processes_at_once_and_deletions_are_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_house(tmp_path, monkeypatch) as house:
        ids = [await house.add(*(f"tea n{number}x{line}" for line in range(3))) for number in range(30)]
        others = [database_in(tmp_path) for _ in range(2)]
        for other in others:
            await ContentStore(other, Limits()).open()

        async def delete() -> None:
            for id in ids[::5]:
                await house.delete(id)

        await asyncio.gather(*(Retokenizer(other, UpperCase()).run(house.store) for other in others), delete())
        for other in others:
            await other.close()

        assert await house.rows("SELECT DISTINCT analysis, analyzed_to FROM content") == [(NEXT, None)]
        assert len(await house.rank("TEA", limit=200)) == 24 * 3


async def test_data_of_before_is_retokenized_and_folded_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that were written before there were parts, on first use by a process of now."""
    database = database_in(tmp_path)
    await database.prepare(MigrationSet(MIGRATIONS.name, MIGRATIONS.sqlite, MIGRATIONS.postgresql[:STEPS_BEFORE_PARTS]))
    count = 3 * CHUNKS + 2

    async def fill(tx: Transaction) -> None:
        await tx.run(
            "INSERT INTO content_store (id, user_id, session_id, name, description, is_own, created_at) "
            "VALUES ('leaves', 'ann', 'default', '', '', 0, '')"
        )
        await tx.run(
            "INSERT INTO content (id, store_no, sha256, filename, mime_type, size, line_count, chunk_count, preview, "
            "page_lines, uploaded_at) VALUES ('c', 1, '', 'Old.txt', 'text/plain', 1, 1, ?1, '', '[]', '')",
            count,
        )
        for number in range(1, count + 1):
            await tx.run(
                "INSERT INTO content_chunk (content_no, number, from_line, to_line, text, store_no, words) "
                "VALUES (1, ?1, ?1, ?1, CAST(?2 AS text), 1, to_tsvector('simple', CAST(?2 AS text)))",
                number,
                f"tea n{number}",
            )

    await database.write(fill, user_id=UserId("ann"))
    await database.close()

    async with open_house(tmp_path, monkeypatch, NEXT) as house:
        assert house.store == StoreKey(1, "leaves", UserId("ann"))
        assert len(await house.rank("tea", limit=50)) == count  # the old words, before anything was done
    async with open_house(tmp_path, monkeypatch, NEXT) as house:
        monkeypatch.setattr(maintenance, "DELAY_S", 0.01)
        monkeypatch.setattr(NamedAnalysis, "tokenize", UpperCase().tokenize)
        await house.rank("tea")
        await until_folded(house, 3)

        assert await house.rows("SELECT analysis, analyzed_to FROM content") == [(NEXT, None)]
        assert len(await house.rank("TEA", limit=50)) == count
        assert await house.texts("OLD") == ["tea n1"]
        assert await house.rows("SELECT count(*) FROM content_chunk WHERE word_count IS NULL") == [(0,)]


async def test_a_current_store_is_looked_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_house(tmp_path, monkeypatch) as house:
        looks: list[StoreKey] = []

        async def look(_: Retokenizer, store: StoreKey) -> None:
            looks.append(store)

        monkeypatch.setattr(Retokenizer, "run", look)
        monkeypatch.setattr(maintenance, "DELAY_S", 0.01)
        for number in range(CHUNKS):
            await house.add(f"tea n{number}")
            house.ranking.follow(house.store)
            await house.rank("tea")
        await until_folded(house, 1)

        assert looks == [house.store]
        assert await house.rows("SELECT analysis FROM content_part") == [(NAME,)]


async def until_folded(house: House, count: int) -> None:
    for _ in range(1_000):
        if await house.rows("SELECT count(*) FROM content_part") == [(count,)]:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("nothing was folded")
