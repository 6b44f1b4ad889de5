"""Every order of a listing against a plain model, with deletes in between, and pages from both ends."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.ids import AssistantId
from madang.database.sqlite.database import SqliteDatabase
from madang.services.playbook.domain import PlaybookContent, PlaybookPatch, PlaybookSummary, fold, sort_key
from madang.services.playbook.store import PageRequest, PlaybookStore, SortBy, SortOrder
from tests.asking import CALL

ORDERS: list[tuple[SortBy, SortOrder]] = [
    (sort_by, order) for sort_by in ("createdAt", "updatedAt", "goal") for order in ("asc", "desc")
]


class Model:
    """What the store should answer: a list, filtered and sorted in Python."""

    def __init__(self, store: PlaybookStore, call: Call) -> None:
        self._store = store
        self._call = call
        self.rows: list[PlaybookSummary] = []

    async def add(self, goals: list[str]) -> None:
        added = await self._store.add(self._call, [PlaybookContent(goal=goal, workflow=[]) for goal in goals])
        self.rows += [
            PlaybookSummary(
                id=playbook.id,
                agent_id=playbook.agent_id,
                goal=playbook.goal,
                initial_command="",
                steps=0,
                created_at=playbook.created_at,
                updated_at=playbook.updated_at,
                version=playbook.version,
            )
            for playbook in added
        ]

    async def delete(self, ids: list[str]) -> None:
        await asyncio.gather(*(self._store.delete(self._call, id) for id in ids))
        gone = set(ids)
        self.rows = [row for row in self.rows if row.id not in gone]

    async def update(self, id: str, goal: str) -> None:
        changed = await self._store.update(self._call, id, PlaybookPatch(goal=goal), None)
        self.rows = [
            replace(row, goal=goal, updated_at=changed.updated_at, version=changed.version) if row.id == id else row
            for row in self.rows
        ]

    def sorted(self, sort_by: SortBy, order: SortOrder, query: str = "") -> list[str]:
        numbered = [(number, row) for number, row in enumerate(self.rows) if fold(query) in fold(row.goal)]
        keys = {
            "createdAt": lambda pair: (pair[0],),
            "updatedAt": lambda pair: (pair[1].updated_at, pair[0]),
            "goal": lambda pair: (sort_key(pair[1].goal), pair[0]),
        }
        ordered = sorted(numbered, key=keys[sort_by], reverse=order == "desc")
        return [row.id for _, row in ordered]

    async def check(self, page_size: int, pages: list[int], query: str = "") -> None:
        """Compare these pages, in every order, with the store's."""
        for sort_by, order in ORDERS:
            expected = self.sorted(sort_by, order, query)
            total_pages = -(-len(expected) // page_size)
            for number in sorted({min(max(page, 1), max(total_pages, 1)) for page in (*pages, total_pages)}):
                page = await self._store.list_page(self._call, PageRequest(number, page_size, query, sort_by, order))
                first = (number - 1) * page_size
                assert [row.id for row in page.items] == expected[first : first + page_size], (sort_by, order, number)
                assert (page.total_items, page.total_pages) == (len(expected), total_pages)


async def open_store() -> tuple[SqliteDatabase, PlaybookStore]:
    database = SqliteDatabase(None)
    store = PlaybookStore(database)
    await store.open()
    return database, store


@pytest.mark.parametrize("seed", range(4))
async def test_every_order_is_that_of_a_plain_list_with_changes_in_between(seed: int) -> None:
    chance = random.Random(seed)
    words = ["apple", "Apple", "배포", "배포", "zebra", "100%", "a_b", "é", "É"]
    database, store = await open_store()
    mine, other = Model(store, CALL), Model(store, replace(CALL, assistant_id=AssistantId("other")))

    for _ in range(12):
        await mine.add([f"{chance.choice(words)} {chance.randrange(9)}" for _ in range(chance.randrange(9))])
        await other.add(["noise"] * chance.randrange(4))
        if mine.rows:
            await mine.update(chance.choice(mine.rows).id, f"{chance.choice(words)} changed")
            await mine.delete([row.id for row in chance.sample(mine.rows, chance.randrange(len(mine.rows) // 3 + 1))])
        await mine.check(chance.randrange(1, 8), list(range(1, 12)))
        await mine.check(3, [1, 2], query=chance.choice(["배포", "apple", "%", "_", "nothing", "é"]))
    await other.check(5, [1, 2])
    await database.close()


@pytest.mark.parametrize("total", [999, 1000, 1001, 2001])
async def test_pages_from_both_ends_and_around_the_middle(total: int) -> None:
    database, store = await open_store()
    mine, other = Model(store, CALL), Model(store, replace(CALL, assistant_id=AssistantId("other")))
    await other.add(["noise"] * 700)
    await mine.add([f"Goal {number % 7}" for number in range(total // 2)])
    await other.add(["noise"] * 700)
    await mine.add([f"Goal {number % 7}" for number in range(total - total // 2)])

    for page_size in (1, 7, 1000):
        middle, thousand = total // page_size // 2, 1000 // page_size
        await mine.check(page_size, [1, 2, middle, middle + 1, thousand, thousand + 1, total])
    await mine.delete([row.id for row in mine.rows[100:200]])
    await mine.delete([mine.rows[0].id, mine.rows[-1].id])
    for page_size in (1, 10):
        await mine.check(page_size, [1, 2, 500 // page_size, 900 // page_size, total])
    await database.close()


async def test_a_failing_unit_adds_nothing() -> None:
    database, store = await open_store()

    with pytest.raises(NotFound):
        await store.delete(CALL, "nothing")
    await asyncio.gather(
        *(store.add(CALL, [PlaybookContent(goal="Good", workflow=[])]) for _ in range(10)),
        *(store.update(CALL, "nothing", PlaybookPatch(goal="x"), None) for _ in range(10)),
        return_exceptions=True,
    )

    assert await store.total(CALL) == 10
    await database.close()
