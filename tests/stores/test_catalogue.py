"""Every key of every table begins with the user, and nobody can reach or attach anything by another user's numbers.

Keys are read from the catalogues of both databases, so a new table is looked at as soon as it has a migration. What
does not begin with the user is on a list here, with its reason.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from madang.app import Madang, open_madang
from madang.core.calls import Call
from madang.core.executor import Executor
from madang.core.ids import UserId
from madang.database.port import Database, Row, Transaction
from madang.records.analysis.analysis import Analysis
from madang.records.events import EventLog, NewEvent
from madang.services.content.domain.contents import Limits, StoreKey
from madang.services.content.store import ContentStore, IndexQueue
from madang.services.content.store.ranking import ServerRanking
from madang.settings import Settings
from madang.text.search.queries import Query, Term
from tests.backends import BACK_ENDS
from tests.postgresql import url_in
from tests.stores.catalogue import Key, all_migration_sets, keys, prepare_all, tables

EVE = UserId("eve")
REFUSED = (apsw.ConstraintError, asyncpg.IntegrityConstraintViolationError)

TABLES_OF_NO_USER = {
    "migration": "which steps were applied: of the database, not of a user",
    "process": "the processes that own runs: ids and when their server started, nothing of a user",
    "notice": "topics for the processes that share a file; the file has one owner",
}
ROW_NUMBERS = ("no", "seq")
"""SQLite draws numbers only for a primary key that is one integer. Such a key may stand alone there: no foreign key
may refer to it, a file has one owner, and nobody is told these numbers."""
EXCEPTIONS = {
    "account: unique (issuer, subject)": "it is looked up to learn who the user is",
}
TIMES = ("at", "expires_at", "wake_at")
"""Columns that are compared with the clock, or by which rows are partitioned."""


@pytest.fixture(params=["disk", "server"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database with every table."""
    async with with_every_table(BACK_ENDS[request.param](tmp_path)) as database:
        yield database


@pytest.fixture
async def server_database(tmp_path: Path) -> AsyncIterator[Database]:
    """The same, on a server alone."""
    async with with_every_table(BACK_ENDS["server"](tmp_path)) as database:
        yield database


@asynccontextmanager
async def with_every_table(database: Database) -> AsyncIterator[Database]:
    try:
        await prepare_all(database)
        yield database
    finally:
        await database.close()


def begins_with_user(key: Key) -> bool:
    ends = [key.columns, key.target_columns] if key.kind == "foreign" else [key.columns]
    return all(columns[0] == "user_id" for columns in ends)


def is_row_number(database: Database, key: Key) -> bool:
    is_one = key.kind == "primary" and len(key.columns) == 1
    return database.dialect == "sqlite" and is_one and key.columns[0] in ROW_NUMBERS


async def test_every_key_begins_with_the_user(database: Database) -> None:
    others = [
        str(key)
        for key in await keys(database)
        if key.table not in TABLES_OF_NO_USER and not begins_with_user(key) and not is_row_number(database, key)
    ]

    assert others == sorted(EXCEPTIONS)


async def test_every_table_has_the_user_and_a_primary_key(database: Database) -> None:
    every_key = await keys(database)
    for table, columns in (await tables(database)).items():
        assert "user_id" in columns or table in TABLES_OF_NO_USER, table
        assert [key for key in every_key if (key.table, key.kind) == (table, "primary")], table


async def test_the_catalogue_is_read_as_it_is(database: Database) -> None:
    """What the other tests rely on: kinds and columns, in their order, on both sides of a reference."""
    names = set(map(str, await keys(database)))

    assert {
        "content: unique (user_id, store_no, sha256)",
        "content: foreign (user_id, store_no) to content_store (user_id, no)",
        "content_chunk: foreign (user_id, store_no, content_no) to content (user_id, store_no, no)",
        "content_chunk: index (user_id, content_no, to_line, number)",
        "plan: primary (user_id, session_id)",
    } <= names
    if database.dialect == "postgresql":
        assert "content_chunk: primary (user_id, store_no, no)" in names
    else:
        assert "content_chunk: primary (no)" in names


def test_sets_without_tables_on_a_server_are_those_that_need_none() -> None:
    only_embedded = {one.name for one in all_migration_sets() if one.sqlite and not one.postgresql}

    assert only_embedded == {"database", "notice"}


async def test_numbers_on_a_server_can_be_brought_along(server_database: Database) -> None:
    """GENERATED ALWAYS would refuse the rows of a user who comes from another server."""
    always = "SELECT attrelid::regclass::text, attname::text FROM pg_attribute WHERE attidentity = 'a'"

    assert await server_database.read(lambda tx: tx.all(always)) == []


async def test_times_that_expire_or_partition_are_times_on_a_server(server_database: Database) -> None:
    columns = (
        "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = 'public' "
        "AND column_name::text = ANY (CAST(?1 AS text[])) AND data_type <> 'timestamp with time zone' ORDER BY 1"
    )

    assert [name for (name,) in await server_database.read(lambda tx: tx.all(columns, TIMES))] == []


# Another user


@pytest.fixture(params=["disk", "server"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Madang]:
    """An open Madang in which a user has something in every service."""
    url = url_in(tmp_path) if request.param == "server" else ""
    async with open_madang(Settings(tmp_path / "data", database=url)) as madang:
        await ask(madang, "create_playbook", goal="Brew tea", workflow=[{"description": "Boil water"}])
        listed = await ask(madang, "list_playbooks")
        await ask(madang, "select_playbook", id=listed["page"]["items"][0]["id"])
        await ask(madang, "create_goal", goal="Tea")
        await ask(madang, "prompt_user", prompt="Milk?", type="text")
        await ask(madang, "wait_for_user", message="Sit down")
        store = await ask(madang, "create_store", metadata={"name": "Leaves"})
        await ask(madang, "add_content", storeId=store["storeId"], content="Oolong and sencha.\nRooibos.")
        log = EventLog(madang.database)
        await log.open()
        await log.append(madang.call("python"), NewEvent("tried", {}))
        yield madang


async def ask(madang: Madang, tool: str, /, **arguments: Any) -> dict[str, Any]:
    reply = await madang.provider.execute_tool(madang.call("python"), tool, arguments)
    assert not reply.is_error, reply.text
    return reply.data


async def own_rows(database: Database, table: str, user_id: str) -> list[Row]:
    sql = f"SELECT * FROM {table} WHERE user_id = ?1"
    return await database.read(lambda tx: tx.all(sql, user_id), user_id=UserId(user_id))


async def test_rows_cannot_be_attached_to_what_belongs_to_another(house: Madang) -> None:
    """Whatever refers to something is tried: the row that its owner has, with another's name on it."""
    database, user = house.database, house.settings.user
    every_table, every_key = await tables(database), await keys(database)
    row_numbers = {key.table: key.columns[0] for key in every_key if is_row_number(database, key)}
    tried = set()
    for table in {key.table for key in every_key if key.kind == "foreign"}:
        columns = every_table[table]
        for row in (await own_rows(database, table, user))[:1]:
            values = {**dict(zip(columns, row, strict=True)), "user_id": str(EVE)}
            values.pop(row_numbers.get(table, ""), None)  # it would collide with the owner's row
            with pytest.raises(REFUSED, match=r"(?i)foreign key"):
                await database.write(lambda tx, t=table, v=values: insert(tx, t, v), user_id=EVE)  # type: ignore[misc]
            tried.add(table)

    assert {"playbook", "playbook_run", "content", "content_chunk", "event"} <= tried
    for table in every_table:
        if table not in TABLES_OF_NO_USER:
            assert await own_rows(database, table, EVE) == [], table


async def insert(tx: Transaction, table: str, values: dict[str, Any]) -> None:
    places = ", ".join(f"?{number}" for number in range(1, len(values) + 1))
    await tx.run(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})", *values.values())


async def test_ids_of_another_find_nothing_and_change_nothing(house: Madang) -> None:
    playbook_id = (await ask(house, "list_playbooks"))["page"]["items"][0]["id"]
    store_id = (await ask(house, "list_stores"))["stores"][0]["storeId"]
    content_id = (await ask(house, "list_content", storeId=store_id))["contents"][0]["contentId"]
    questions = (await ask(house, "list_prompts"))["prompts"]
    wait_id, prompt_id = (one["messageId"] for one in sorted(questions, key=lambda one: one["type"] != "wait"))
    call = replace(house.call("python"), user_id=EVE)

    for tool, arguments in (
        ("get_playbook", {"id": playbook_id}),
        ("select_playbook", {"id": playbook_id}),
        ("update_playbook", {"id": playbook_id, "playbook": {"goal": "Mine"}}),
        ("delete_playbook", {"id": playbook_id}),
        ("list_content", {"storeId": store_id}),
        ("read_content", {"contentId": content_id}),
        ("read_content", {"contentId": content_id, "storeId": store_id}),
        ("keyword_similarity_search", {"query": "oolong", "storeId": store_id}),
        ("add_content", {"content": "Mine", "storeId": store_id}),
        ("delete_content", {"contentId": content_id}),
        ("delete_store", {"storeId": store_id}),
        ("get_prompt", {"messageId": prompt_id}),
        ("reply_prompt", {"messageId": prompt_id, "answer": "Mine"}),
        ("resume_from_wait", {"waitId": wait_id}),
    ):
        reply = await house.provider.execute_tool(call, tool, arguments)
        assert reply.error_code == "not_found", tool

    assert (await ask(house, "get_playbook", id=playbook_id))["playbook"]["goal"] == "Brew tea"
    assert (await ask(house, "list_content", storeId=store_id))["total"] == 1


async def test_numbers_of_another_find_nothing(house: Madang) -> None:
    """The stores below the tools, with the numbers of another's rows under one's own name."""
    database = house.database
    owner, eve = house.call("python"), replace(house.call("python"), user_id=EVE)
    contents = ContentStore(database, Limits())
    [store] = await contents.list_stores(owner)
    [content], _ = await contents.list_contents(store.key, 0, 10)
    mine = StoreKey(store.key.no, store.key.id, EVE)

    assert await contents.list_contents(mine, 0, 10) == ([], 0)
    assert await lines(contents, owner, content) != []
    assert await lines(contents, eve, content) == []
    if database.ranks_text:
        ranking = ServerRanking(database, Analysis(Executor()))
        assert (await ranking.rank(store.key, Query((Term("oolong"),)), 10)).chunks != []
        assert (await ranking.rank(mine, Query((Term("oolong"),)), 10)).chunks == []
        await ranking.close()
    else:
        queue = IndexQueue(database)
        await queue.queue_backlog(mine)
        await queue.queue_backlog(store.key)
        assert await queue.lacks_changes(store.key)
        assert not await queue.lacks_changes(mine)
        assert await queue.backlog(mine, 10) == []
        assert await queue.indexed_chunks(store.key, [content.no], 0, 10) != []
        assert await queue.indexed_chunks(mine, [content.no], 0, 10) == []


async def lines(contents: ContentStore, call: Call, content: Any) -> list[str]:
    return [chunk.text for chunk in await contents.chunks_of_lines(call, content, 1, 2, 10)]
