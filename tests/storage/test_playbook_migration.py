"""Playbooks written before totals became a column and buckets went, on every back end."""

from __future__ import annotations

from pathlib import Path

import pytest

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, UserId
from madang.services.playbook.domain import PlaybookContent
from madang.services.playbook.store import MIGRATIONS, PageRequest, PlaybookStore
from madang.storage.database import Database, MigrationSet, Row, Transaction
from tests.storage.backends import BACK_ENDS

ANN = Call(AssistantId("default"), SessionId("default"), UserId("ann"))
BOB = Call(AssistantId("default"), SessionId("default"), UserId("bob"))
BEFORE = MigrationSet(MIGRATIONS.name, MIGRATIONS.sqlite[:1], MIGRATIONS.postgresql[:1])


def contents(count: int) -> list[PlaybookContent]:
    return [PlaybookContent(goal=f"Goal {number}", workflow=[]) for number in range(count)]


async def old_folder(back_end: str, folder: Path) -> None:
    """Leave what an older version wrote: rows of two users, some deleted, with the counts of its triggers."""
    database = BACK_ENDS[back_end](folder)
    await database.prepare(BEFORE)
    store = PlaybookStore(database)
    first, *_ = await store.add(ANN, contents(5))
    await store.add(BOB, contents(2))
    await store.delete(ANN, first.id)
    assert await buckets(database, ANN)
    await database.close()


async def buckets(database: Database, call: Call) -> list[Row]:
    """Ask as an older process does before it walks to a page."""

    async def work(tx: Transaction) -> list[Row]:
        return await tx.all("SELECT bucket, total FROM playbook_bucket WHERE bits IN (10, 15) AND total > 0")

    return await database.read(work, user_id=call.user_id)


@pytest.fixture(params=["disk", "server"])
async def migrated(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    await old_folder(request.param, tmp_path)
    database: Database = BACK_ENDS[request.param](tmp_path)
    return database


async def test_totals_and_pages_survive_the_step(migrated: Database) -> None:
    store = PlaybookStore(migrated)
    await store.open()

    await store.add(ANN, contents(1))
    page = await store.list_page(ANN, PageRequest(2, 2))

    assert [await store.total(call) for call in (ANN, BOB)] == [5, 2]
    assert [item.goal for item in page.items] == ["Goal 3", "Goal 4"]
    assert (page.total_items, page.total_pages) == (5, 3)
    await migrated.close()


async def test_a_process_of_the_older_version_goes_on_working(migrated: Database) -> None:
    """It has the database open already: it remembers page sizes, and without buckets it walks the index."""
    store = PlaybookStore(migrated)
    await store.open()

    async def remember(tx: Transaction) -> int:
        return await tx.run("INSERT INTO playbook_view (owner_no, session_id, page_size) VALUES (1, 'default', 5)")

    assert await migrated.write(remember, user_id=ANN.user_id) == 1
    assert await buckets(migrated, ANN) == []
    await store.add(ANN, contents(1))
    assert await buckets(migrated, ANN) == []
    await migrated.close()
