"""Notices on every back end: what reaches the subscribers, and publishing what is not in the database."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from anyio import fail_after

from madang.core.ids import UserId
from madang.database.notices import Notices
from madang.database.port import Database, Transaction
from madang.database.sqlite.database import SqliteDatabase
from madang.database.subscriptions import MAX_TOPIC_BYTES
from tests.backends import EMBEDDED, NUMBERS, insert, numbers

if TYPE_CHECKING:
    pass

USER = UserId("local")


async def test_a_published_change_reaches_the_subscribers_of_its_topic(database: Database) -> None:
    notices = Notices(database)
    await notices.open()

    changes = notices.changes("files/")
    async with aclosing(changes):
        with fail_after(60):
            assert await anext(changes) == frozenset()
            await notices.publish("other/", user_id=USER)
            await notices.publish("files/a/", user_id=USER)
            assert await anext(changes) == {"files/a/"}


async def test_a_database_that_is_away_does_not_make_the_change_fail(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "madang.db")
    notices = Notices(database)
    await notices.open()
    await database.close()

    await notices.publish("files/a/", user_id=USER)


@pytest.mark.parametrize(
    "topic", ["'; DROP TABLE number; --/", "a\\/", '"$1?1%00/', "한글/😀/", "x" * MAX_TOPIC_BYTES, "\n\t/", "{}/%s/"]
)
async def test_a_topic_arrives_as_it_is(database: Database, topic: str) -> None:
    changes = database.changes(topic)
    async with aclosing(changes):
        with fail_after(60):
            assert await anext(changes) == frozenset()
            await insert(database, 1, topic=topic)
            assert await anext(changes) == {topic}


@pytest.mark.parametrize("topic", ["x" * (MAX_TOPIC_BYTES + 1), "a\0b/"])
async def test_a_topic_that_cannot_be_sent_fails_its_unit_before_the_commit(database: Database, topic: str) -> None:
    outcomes = await asyncio.gather(
        insert(database, 1, topic=topic), insert(database, 2, topic="good/"), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [ValueError, type(None)]
    assert await numbers(database) == [2]


async def test_a_unit_with_many_topics_tells_each_once(database: Database) -> None:
    async def notify_twice(tx: Transaction) -> None:
        for _ in range(2):
            for number in range(500):
                await tx.notify(f"many/{number}/")

    changes = database.changes("many/")
    async with aclosing(changes):
        with fail_after(60):
            assert await anext(changes) == frozenset()
            await database.write(notify_twice)
            topics: set[str] = set()
            while len(topics) < 500:
                topics |= await anext(changes)
    assert topics == {f"many/{number}/" for number in range(500)}


@pytest.mark.parametrize("database", EMBEDDED, indirect=True)
async def test_units_that_share_a_flush_leave_one_notice_a_topic(database: Database) -> None:
    flushed = threading.Event()

    async def hold_writer(_: Transaction) -> None:
        flushed.wait(60)

    held = asyncio.create_task(database.write(hold_writer))
    await asyncio.sleep(0.1)  # the writer is busy now, and the next ones wait together
    writes = [asyncio.create_task(insert(database, value, topic=f"topic/{value % 2}/")) for value in range(40)]
    await asyncio.sleep(0)
    flushed.set()
    await asyncio.gather(held, *writes)

    rows = await database.find("SELECT topic FROM notice ORDER BY topic")
    assert rows == [("topic/0/",), ("topic/1/",)]


class _CountedDatabase(SqliteDatabase):
    reads = 0

    async def read(self, *arguments: Any, **options: Any) -> Any:
        self.reads += 1
        return await super().read(*arguments, **options)


async def test_what_this_process_commits_is_published_without_a_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("madang.database.notices.POLL_S", 3600.0)
    database = _CountedDatabase(tmp_path / "madang.db")
    await database.prepare(NUMBERS)
    async with aclosing(database.changes("files/")) as changes:
        with fail_after(60):
            assert await anext(changes) == frozenset()
            before = database.reads
            for number in (1, 2, 3):
                await insert(database, number, topic=f"files/{number}/")
                assert await anext(changes) == {f"files/{number}/"}
            assert database.reads == before
    await database.close()


async def test_what_another_process_committed_before_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("madang.database.notices.POLL_S", 3600.0)
    ours, theirs = SqliteDatabase(tmp_path / "madang.db"), SqliteDatabase(tmp_path / "madang.db")
    for database in (ours, theirs):
        await database.prepare(NUMBERS)
    async with aclosing(ours.changes("files/")) as changes:
        with fail_after(60):
            assert await anext(changes) == frozenset()
            await insert(theirs, 1, topic="files/theirs/")
            await insert(ours, 2, topic="files/ours/")
            assert await anext(changes) == {"files/theirs/", "files/ours/"}
            await insert(ours, 3, topic="files/later/")
            assert await anext(changes) == {"files/later/"}
    for database in (ours, theirs):
        await database.close()
