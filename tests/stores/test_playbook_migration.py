"""Playbooks of earlier versions on every back end: before totals became a column, and before keys held the user."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import asyncpg
import pytest

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.ids import AssistantId, SessionId, UserId
from madang.database.port import Database, MigrationSet, Row, Transaction
from madang.services.playbook.domain import PlaybookContent
from madang.services.playbook.store import MIGRATIONS, PageRequest, PlaybookStore
from tests.backends import BACK_ENDS

ANN = Call(AssistantId("default"), SessionId("default"), UserId("ann"))
BOB = Call(AssistantId("default"), SessionId("default"), UserId("bob"))
CARL = Call(AssistantId("default"), SessionId("default"), UserId("carl"))
_OWNER = "SELECT no FROM playbook_owner WHERE user_id = ?1 AND assistant_id = ?2"
_OLD_PLAYBOOK = """
INSERT INTO playbook (id, owner_no, version, created_at, updated_at, goal, initial_command, steps, sort_key,
  search_text, workflow, success_criteria)
VALUES (?1, ?2, 1, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', ?3, '', 0, ?3, ?3, '[]', '{"description": ""}')
"""
_OLD_RUN = """
INSERT INTO playbook_run (id, owner_no, playbook_id, goal, version, session_id, selected_at)
VALUES (?1, ?2, ?3, 'Goal 1', 1, 'default', '2026-01-01T00:00:00Z')
"""


def contents(count: int) -> list[PlaybookContent]:
    return [PlaybookContent(goal=f"Goal {number}", workflow=[]) for number in range(count)]


async def add_as_before(database: Database, call: Call, count: int) -> None:
    """Write what an older version wrote, with the triggers that counted then; its first and last are deleted again."""

    async def work(tx: Transaction) -> None:
        await tx.run("INSERT INTO playbook_owner (user_id, assistant_id) VALUES (?1, ?2)", call.user_id, call.assistant)
        owner = await tx.one(_OWNER, call.user_id, call.assistant)
        assert owner is not None
        for number in range(count):
            await tx.run(_OLD_PLAYBOOK, f"{call.user_id} {number}", owner[0], f"Goal {number}")
        await tx.run(_OLD_RUN, f"{call.user_id} run", owner[0], f"{call.user_id} 1")
        for number in (0, count - 1):
            await tx.run("DELETE FROM playbook WHERE id = ?1", f"{call.user_id} {number}")

    await database.write(work, user_id=call.user_id)


@pytest.fixture(params=[1, 2], ids=["with buckets", "with totals"])
def before(request: pytest.FixtureRequest) -> MigrationSet:
    """The tables of an older version."""
    return MigrationSet(MIGRATIONS.name, MIGRATIONS.sqlite[: request.param], MIGRATIONS.postgresql[: request.param])


@pytest.fixture(params=["disk", "server"])
async def older(request: pytest.FixtureRequest, tmp_path: Path, before: MigrationSet) -> AsyncIterator[Database]:
    """A database that an older version has open."""
    database: Database = BACK_ENDS[request.param](tmp_path)
    await database.prepare(before)
    await add_as_before(database, ANN, 6)
    await add_as_before(database, BOB, 4)
    yield database
    await database.close()


async def test_playbooks_totals_and_selections_survive(older: Database) -> None:
    await older.close()
    store = PlaybookStore(older)
    await store.open()

    await store.add(ANN, contents(1))
    await store.add(CARL, contents(1))
    page = await store.list_page(ANN, PageRequest(2, 2))
    runs = await store.selections(ANN, 1, 10)

    assert [await store.total(call) for call in (ANN, BOB, CARL)] == [5, 2, 1]
    assert [item.goal for item in page.items] == ["Goal 3", "Goal 4"]
    assert (page.total_items, page.total_pages) == (5, 3)
    assert [run.playbook_id for run in runs.items] == ["ann 1"]
    assert (await store.get(ANN, "ann 1")).goal == "Goal 1"
    with pytest.raises(NotFound):
        await store.get(BOB, "ann 1")
    await store.select(BOB, "bob 1")
    await store.delete(BOB, "bob 1")
    assert await store.total(BOB) == 1


async def test_a_number_that_was_given_away_is_not_given_again(older: Database) -> None:
    """The newest playbook was deleted before the tables were changed."""
    await older.close()
    store = PlaybookStore(older)
    await store.open()
    await store.add(BOB, contents(1))

    async def numbers(tx: Transaction) -> list[Row]:
        return await tx.all("SELECT seq FROM playbook WHERE user_id = 'bob' ORDER BY seq")

    assert await older.read(numbers, user_id=BOB.user_id) == [(8,), (9,), (11,)]


async def test_a_process_of_the_older_version_that_has_it_open_can_attach_nothing_wrong(
    older: Database, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """On a server the user of a row is filled in; a file refuses a row without one."""
    newer = BACK_ENDS[request.node.callspec.params["older"]](tmp_path)
    store = PlaybookStore(newer)
    await store.open()

    async def add_to(owner_no: int) -> None:
        async def work(tx: Transaction) -> None:
            await tx.run(_OLD_PLAYBOOK, "new", owner_no, "Goal")

        await older.write(work, user_id=BOB.user_id)

    with pytest.raises((apsw.ConstraintError, asyncpg.ForeignKeyViolationError)):
        await add_to(1)
    if older.dialect == "postgresql":
        await add_to(2)
    assert await store.total(ANN) == 4
    assert await store.total(BOB) == (3 if older.dialect == "postgresql" else 2)
    await newer.close()
