"""Contents and plans that were written before every key began with the user, on every back end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.ids import SessionId, UserId
from madang.database.port import Database, MigrationSet, Row, Transaction
from madang.services.content import store as content
from madang.services.content.domain.contents import Limits
from madang.services.content.domain.search import IndexedChunk
from madang.services.content.store.tables import MIGRATIONS as CONTENT_MIGRATIONS
from madang.services.planning import store as planning
from madang.services.planning.domain import Plan
from tests.backends import BACK_ENDS

ANN = Call(session_id=SessionId("default"), user_id=UserId("ann"))
BOB = Call(session_id=SessionId("default"), user_id=UserId("bob"))
_NEW_STORE = """
INSERT INTO content_store (id, user_id, session_id, name, description, is_own, created_at)
VALUES (?1, ?2, 'default', ?1, '', 0, '')
"""
_NEW_CONTENT = """
INSERT INTO content (id, store_no, sha256, filename, mime_type, size, line_count, chunk_count, preview, page_lines,
  uploaded_at) VALUES (?1, ?2, ?1, ?1, 'text/plain', 10, 2, 2, '', '[]', '')
"""


def first_steps(migrations: MigrationSet, sqlite: int, postgresql: int) -> MigrationSet:
    return MigrationSet(migrations.name, migrations.sqlite[:sqlite], migrations.postgresql[:postgresql])


@pytest.fixture(params=["disk", "server"])
async def older(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database with the tables of before, open."""
    database: Database = BACK_ENDS[request.param](tmp_path)
    await database.prepare(first_steps(CONTENT_MIGRATIONS, 1, 2))
    await database.prepare(first_steps(planning.MIGRATIONS, 1, 1))
    yield database
    await database.close()


async def number_of(tx: Transaction, table: str, id: str) -> int:
    row = await tx.one(f"SELECT no FROM {table} WHERE id = ?1", id)
    assert row is not None
    return int(row[0])


async def add_content(tx: Transaction, dialect: str, store_no: int, id: str) -> None:
    await tx.run(_NEW_CONTENT, id, store_no)
    content_no = await number_of(tx, "content", id)
    for number in (0, 1):
        if dialect == "sqlite":
            await tx.run(
                "INSERT INTO content_chunk (content_no, number, from_line, to_line, text) VALUES (?1, ?2, ?3, ?3, ?4)",
                content_no,
                number,
                number + 1,
                f"{id} line {number}",
            )
        else:
            await tx.run(
                "INSERT INTO content_chunk (content_no, number, from_line, to_line, text, store_no, words) "
                "VALUES (?1, ?2, ?3, ?3, CAST(?4 AS text), ?5, to_tsvector('simple', CAST(?4 AS text)))",
                content_no,
                number,
                number + 1,
                f"{id} line {number}",
                store_no,
            )
    if dialect == "sqlite":
        await tx.run("INSERT INTO content_change (store_no, content_no) VALUES (?1, ?2)", store_no, content_no)


async def fill(database: Database, call: Call) -> None:
    """Give a user a store with three contents, and delete the last of them and a later store."""
    user = call.user_id

    async def work(tx: Transaction) -> None:
        await tx.run(_NEW_STORE, f"{user} store", user)
        store_no = await number_of(tx, "content_store", f"{user} store")
        for name in ("first", "second", "deleted"):
            await add_content(tx, database.dialect, store_no, f"{user} {name}")
        await tx.run("DELETE FROM content WHERE id = ?1", f"{user} deleted")
        await tx.run(_NEW_STORE, f"{user} deleted", user)
        await tx.run("DELETE FROM content_store WHERE id = ?1", f"{user} deleted")

    await database.write(work, user_id=user)


async def all_rows(database: Database, call: Call, sql: str) -> list[Row]:
    return await database.read(lambda tx: tx.all(sql), user_id=call.user_id)


async def test_contents_survive_with_their_numbers_and_texts(older: Database) -> None:
    await fill(older, ANN)
    await fill(older, BOB)
    await older.close()
    store = content.ContentStore(older, Limits())
    await store.open()

    for call, first_no in ((ANN, 1), (BOB, 4)):
        [listed] = await store.list_stores(call)
        assert (listed.key.id, listed.contents) == (f"{call.user_id} store", 2)
        contents, total = await store.list_contents(listed.key, 0, 10)
        assert total == 2
        assert [(one.no, one.id) for one in contents] == [
            (first_no, f"{call.user_id} first"),
            (first_no + 1, f"{call.user_id} second"),
        ]
        chunks = await store.chunks_of_lines(call, contents[1], 1, 2, 10)
        assert [chunk.text for chunk in chunks] == [f"{call.user_id} second line {number}" for number in (0, 1)]
    with pytest.raises(NotFound):
        await store.get(BOB, "", "ann first")
    if older.dialect == "sqlite":
        queue = content.IndexQueue(older)
        [listed] = await store.list_stores(BOB)
        assert [change.content_no for change in await queue.pending_changes(listed.key)] == [4, 5, 6]
        assert await queue.indexed_chunks(listed.key, [5], 0, 10) == [
            IndexedChunk(5, 1, 10, "bob second\nbob second line 1")
        ]


async def test_numbers_that_were_given_away_are_not_given_again(older: Database) -> None:
    await fill(older, ANN)
    await older.close()
    store = content.ContentStore(older, Limits())
    await store.open()
    created = await store.create_store(ANN, "new", "")

    async def work(tx: Transaction) -> None:
        row = "'new', 'ann', ?1, '', 'f', 't', 1, 1, 1, '', '[]', ''"
        await tx.run(
            "INSERT INTO content (id, user_id, store_no, sha256, filename, mime_type, size, line_count, chunk_count, "
            f"preview, page_lines, uploaded_at) VALUES ({row})",
            created.key.no,
        )

    await older.write(work, user_id=ANN.user_id)
    assert created.key.no == 3
    assert await all_rows(older, ANN, "SELECT no FROM content ORDER BY no") == [(1,), (2,), (4,)]


async def test_what_refers_goes_with_what_it_refers_to(older: Database) -> None:
    await fill(older, ANN)
    await fill(older, BOB)
    await older.close()
    store = content.ContentStore(older, Limits())
    await store.open()

    await store.delete_content(ANN, "", "ann first")
    assert len(await all_rows(older, ANN, "SELECT 1 FROM content_chunk WHERE user_id = 'ann'")) == 2
    await content.SessionRows(older, Limits()).delete_stores(ANN)

    tables = ("content_store", "content", "content_chunk", *(["content_change"] * (older.dialect == "sqlite")))
    for table in tables:
        assert await all_rows(older, ANN, f"SELECT 1 FROM {table} WHERE user_id = 'ann'") == [], table
        assert await all_rows(older, BOB, f"SELECT 1 FROM {table} WHERE user_id = 'bob'"), table


async def test_what_hung_under_another_users_store_goes_and_the_store_stays(tmp_path: Path) -> None:
    """A server with the keys of before lets it in; nobody could see it, and the new keys do not hold with it."""
    database = BACK_ENDS["server"](tmp_path)
    await database.prepare(first_steps(CONTENT_MIGRATIONS, 1, 2))
    await fill(database, ANN)

    async def intrude(tx: Transaction) -> None:
        await add_content(tx, "postgresql", 1, "eve's")

    await database.write(intrude, user_id=UserId("eve"))
    await database.close()
    store = content.ContentStore(database, Limits())
    await store.open()

    [listed] = await store.list_stores(ANN)
    assert listed.contents == 2
    eve = Call(session_id=SessionId("default"), user_id=UserId("eve"))
    assert await all_rows(database, eve, "SELECT id FROM content") == []
    assert await all_rows(database, eve, "SELECT no FROM content_chunk") == []
    await database.close()


async def test_plans_of_the_main_thread_survive_and_others_go(older: Database) -> None:
    async def work(tx: Transaction) -> None:
        for session, thread in (("default", "main"), ("default", "side"), ("other", "main"), ("third", "side")):
            document = Plan().with_goal(f"{session} {thread}").model_dump_json()
            await tx.run("INSERT INTO plan VALUES ('ann', ?1, ?2, ?3)", session, thread, document)

    await older.write(work, user_id=ANN.user_id)
    await older.close()
    store = planning.PlanStore(older)
    await store.open()

    assert (await store.get(ANN)).state.goal == "default main"
    assert await all_rows(older, ANN, "SELECT user_id, session_id FROM plan ORDER BY 2") == [
        ("ann", "default"),
        ("ann", "other"),
    ]
    await store.change(ANN, lambda plan: (plan.with_goal("changed"), None))
    assert (await store.get(ANN)).state.goal == "changed"
