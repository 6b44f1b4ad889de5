"""Statements of the stores go through an index that narrows them to more than one user's rows.

On a file nearly everything belongs to one user: an index that is used for the user alone reads the whole table.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.database.port import Row
from madang.database.sqlite import units as sqlite_units
from madang.database.sqlite import writer as sqlite_writer
from madang.database.sqlite.database import SqliteDatabase
from madang.services.content.domain.contents import Chunk, Limits, NewContent
from madang.services.content.domain.search import RankedChunk
from madang.services.content.store import ContentStore, IndexQueue
from madang.services.playbook.domain import PlaybookContent
from madang.services.playbook.store import PageRequest, PlaybookStore

CALL = Call(AssistantId("default"), SessionId("default"))
CONTENT = NewContent(
    sha256="0",
    filename="tea.txt",
    mime_type="text/plain",
    size=1,
    line_count=2,
    preview="",
    page_lines=(),
    chunks=(Chunk(1, 1, 1, "Oolong"), Chunk(2, 2, 2, "Sencha")),
    tokens=(),
)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    database = SqliteDatabase(tmp_path / "madang.db")
    yield database
    await database.close()


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """How SQLite goes about each statement, by the statement."""
    plans: dict[str, list[str]] = {}

    class Explained(sqlite_units.SqliteStatements):
        async def all(self, sql: str, *parameters: object) -> list[Row]:
            self._explain(sql, parameters)
            return await super().all(sql, *parameters)

        async def one(self, sql: str, *parameters: object) -> Row | None:
            self._explain(sql, parameters)
            return await super().one(sql, *parameters)

        async def run(self, sql: str, *parameters: object) -> int:
            self._explain(sql, parameters)
            return await super().run(sql, *parameters)

        def _explain(self, sql: str, parameters: tuple[object, ...]) -> None:
            if re.match(r"\s*(SELECT|UPDATE|DELETE|INSERT)\b", sql) and "migration" not in sql:
                rows = self._execute(f"EXPLAIN QUERY PLAN {sql}", parameters).fetchall()
                plans[sql] = [str(detail) for *_, detail in rows]

    for module in (sqlite_units, sqlite_writer):
        monkeypatch.setattr(module, "SqliteStatements", Explained)
    return plans


def wide_steps(plans: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Return the steps that read a whole table, or all that a user has in one."""
    return [
        (sql, step)
        for sql, steps in plans.items()
        for step in steps
        if (step.startswith("SCAN") and step != "SCAN CONSTANT ROW") or step.endswith("(user_id=?)")
    ]


async def test_playbooks_are_found_by_more_than_their_user(
    database: SqliteDatabase, plans: dict[str, list[str]]
) -> None:
    store = PlaybookStore(database)
    await store.open()
    first, second = await store.add(CALL, [PlaybookContent(goal=goal, workflow=[]) for goal in ("Tea", "Coffee")])
    for request in (
        PageRequest(1, 10),
        PageRequest(2, 1),
        PageRequest(1, 10, sort_by="goal"),
        PageRequest(1, 10, sort_by="updatedAt", sort_order="desc"),
        PageRequest(1, 10, query="tea"),
    ):
        await store.list_page(CALL, request)
    await store.get(CALL, first.id)
    await store.get_many(CALL, [first.id, second.id])
    await store.list_after(CALL, 0, 10)
    await store.all_ids(CALL, 10)
    await store.select(CALL, first.id)
    await store.selections(CALL, 1, 10)
    await store.selections(CALL, 1, 10, first.id)
    await store.delete(CALL, first.id)

    assert len(plans) > 10
    assert wide_steps(plans) == []


async def test_contents_are_found_by_more_than_their_user(
    database: SqliteDatabase, plans: dict[str, list[str]]
) -> None:
    contents, queue = ContentStore(database, Limits()), IndexQueue(database)
    await contents.open()
    store = (await contents.create_store(CALL, "Leaves", "")).key
    content = (await contents.add(CALL, store.id, CONTENT)).content
    await contents.list_stores(CALL)
    await contents.find_store(CALL, "")
    await contents.find_store_and_lag(CALL, store.id)
    await contents.find_duplicate(store, CONTENT.sha256)
    await contents.list_contents(store, 0, 10)
    await contents.newest(CALL, 5)
    await contents.get(CALL, "", content.id)
    assert len(await contents.chunks_of_lines(CALL, content, 1, 2, 10)) == 2
    await contents.chunk(CALL, content, 1)
    passages, _ = await contents.passages(store, [RankedChunk(number, 1.0) for number in range(1, 31)])
    assert len(passages) == 2
    assert await queue.lacks_changes(store)
    await queue.remove_changes(await queue.pending_changes(store))
    await queue.queue_backlog(store)
    assert [change.content_no for change in await queue.backlog(store, 10)] == [content.no]
    assert await queue.pending_changes(store) == []
    assert len(await queue.indexed_chunks(store, [content.no, content.no + 1], 0, 10)) == 2
    assert len(await queue.indexed_chunks(store, [content.no], 1, 10)) == 1
    await contents.delete_content(CALL, "", content.id)
    await contents.delete_store(CALL, store.id)

    assert len(plans) > 15
    assert wide_steps(plans) == []
