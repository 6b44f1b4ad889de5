"""Notices on a server are sent after the commit: they delay nobody, and nothing that was committed stays untold.

A flush to disk takes a tenth of a second here, so that a test can do something between a commit and its notices.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from madang.core.errors import SetupError, Unavailable
from madang.core.ids import new_id
from madang.database.port import Transaction
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from tests.backends import NUMBERS, insert, numbers
from tests.postgresql import server
from tests.stores.children import child

FLUSH_S = 0.1
WITHIN_S = 60
ATTEMPTS = 20
"""At what has to happen within a flush. On a busy machine the moment may be missed."""
TOPIC = "number/ann/"


@pytest.fixture
def slow_url() -> str:
    """The URL of a database whose commits wait; a server that flushes nothing would not."""
    running = server(fsync=True)
    name = f"slow{new_id()[-12:]}"
    url = running.new_database(name)
    for setting, value in (("commit_delay", int(FLUSH_S * 1e6)), ("commit_siblings", 0)):
        running.sql(f"ALTER DATABASE {name} SET {setting} = {value}")
    return url


@pytest.fixture
async def database(slow_url: str) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(parse_database_url(slow_url))
    await database.prepare(NUMBERS)
    yield database
    await database.close()


@pytest.fixture
async def changes(database: PostgresDatabase, slow_url: str) -> AsyncIterator[AsyncIterator[frozenset[str]]]:
    """What another process hears."""
    other = PostgresDatabase(parse_database_url(slow_url))
    await other.prepare(NUMBERS)
    changes = other.changes("number/")
    async with aclosing(changes):
        assert await anext(changes) == frozenset()
        yield changes
    await other.close()


async def commit_begun(database: PostgresDatabase) -> tuple[asyncio.Task[None], int]:
    """Start a unit and return it while its commit waits for the disk, with the process id of its connection."""
    for value in range(ATTEMPTS):
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def work(tx: Transaction, value: int = value, ready: asyncio.Future[int] = ready) -> None:
            row = await tx.one("SELECT pg_backend_pid()")
            assert row is not None
            await tx.run("INSERT INTO number (value) VALUES (?1)", value)
            await tx.notify(f"number/{value}/")
            ready.set_result(row[0])

        unit = asyncio.create_task(database.write(work))
        backend = await ready
        await asyncio.sleep(FLUSH_S / 5)
        if not unit.done():
            return unit, backend
    raise AssertionError("This machine is too busy to catch a commit.")


async def heard(changes: AsyncIterator[frozenset[str]], database: PostgresDatabase) -> None:
    """Return when all committed numbers have been told; each must be seen by the time it is."""
    untold: set[str] | None = None
    with anyio.fail_after(WITHIN_S):
        told: set[str] = set()
        while untold is None or untold:
            told |= await anext(changes)
            stored = {f"number/{value}/" for value in await numbers(database)}
            assert told <= stored
            untold = stored - told


async def test_commits_with_notices_share_a_flush(database: PostgresDatabase) -> None:
    await asyncio.gather(*(insert(database, value) for value in range(10)))  # connections are open now

    took_s = 10 * FLUSH_S
    for first in range(10, 10 * ATTEMPTS, 10):
        started = time.monotonic()
        await asyncio.gather(*(insert(database, first + n, topic=f"number/{n}/") for n in range(10)))
        took_s = min(took_s, time.monotonic() - started)
        if took_s < 6 * FLUSH_S:  # one after another they always take ten
            break

    assert took_s < 6 * FLUSH_S


async def test_notices_come_after_their_commit(
    database: PostgresDatabase, changes: AsyncIterator[frozenset[str]]
) -> None:
    for value in range(5):
        unit = asyncio.create_task(insert(database, value, topic=TOPIC))
        with anyio.fail_after(WITHIN_S):
            assert await anext(changes) == {TOPIC}
        assert value in await numbers(database)
        await unit


async def test_a_process_that_is_killed_while_it_commits_has_told(
    database: PostgresDatabase, changes: AsyncIterator[frozenset[str]], slow_url: str, tmp_path: Path
) -> None:
    async with child("die_while_committing", tmp_path, slow_url, TOPIC) as process:
        await process.line()
        await process.go()
        with anyio.fail_after(60):
            assert await process.process.wait() == -signal.SIGKILL
            with anyio.fail_after(WITHIN_S):
                assert await anext(changes) == {TOPIC}
    assert len(await numbers(database)) == 1


async def test_a_caller_that_is_cancelled_while_its_unit_commits_has_told(
    database: PostgresDatabase, changes: AsyncIterator[frozenset[str]]
) -> None:
    unit, _ = await commit_begun(database)

    unit.cancel()

    await heard(changes, database)
    with pytest.raises(asyncio.CancelledError):
        await unit


async def test_a_connection_that_is_lost_while_a_unit_commits_has_told(
    database: PostgresDatabase, changes: AsyncIterator[frozenset[str]]
) -> None:
    await asyncio.gather(numbers(database), numbers(database))  # there is a second connection now
    unit, backend = await commit_begun(database)

    assert await database.find("SELECT pg_terminate_backend(?1)", backend) == [(True,)]

    await heard(changes, database)
    with pytest.raises(Unavailable, match="while the change was being saved"):
        await unit


async def test_a_commit_that_takes_longer_than_its_caller_waits_is_told_when_it_is_done(
    database: PostgresDatabase,
    changes: AsyncIterator[frozenset[str]],
    slow_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("madang.database.postgresql.database.STATEMENT_S", FLUSH_S / 2)
    impatient = PostgresDatabase(parse_database_url(slow_url))
    outcomes = []
    for value in range(ATTEMPTS):
        try:
            await impatient.prepare(NUMBERS)
            await insert(impatient, value, topic=f"number/{value}/")
        except (SetupError, Unavailable) as error:
            outcomes.append(str(error))
            if "while the change was being saved" in outcomes[-1]:
                break
    else:
        pytest.fail(f"No commit was too slow: {outcomes}")

    try:
        await heard(changes, database)
    finally:
        await impatient.close()


async def test_closing_sends_what_has_not_been_sent(
    database: PostgresDatabase, changes: AsyncIterator[frozenset[str]], slow_url: str
) -> None:
    closing = PostgresDatabase(parse_database_url(slow_url))
    await closing.prepare(NUMBERS)
    unit, _ = await commit_begun(closing)
    unit.cancel()
    await asyncio.sleep(0)

    with anyio.fail_after(WITHIN_S):
        await closing.close()
    await heard(changes, database)


async def test_a_unit_that_goes_on_after_a_failed_statement_is_refused_and_tells_nothing(
    database: PostgresDatabase, changes: AsyncIterator[frozenset[str]]
) -> None:
    async def careless(tx: Transaction) -> None:
        await tx.run("INSERT INTO number (value) VALUES (1)")
        await tx.notify("number/careless/")
        with suppress(Exception):
            await tx.run("SELECT 1 / 0")

    with pytest.raises(Unavailable, match="Nothing was written"):
        await database.write(careless)

    assert await numbers(database) == []
    await insert(database, 2, topic=TOPIC)
    with anyio.fail_after(WITHIN_S):
        assert await anext(changes) == {TOPIC}


async def test_a_full_queue_of_notices_does_not_make_a_committed_unit_fail(
    database: PostgresDatabase, changes: AsyncIterator[frozenset[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's queue has eight gigabytes; this raises the same error at the same moment."""
    refuse = "DO $$ BEGIN RAISE EXCEPTION 'too many notifications' USING ERRCODE = '54000'; END $$"
    monkeypatch.setattr("madang.database.postgresql.database.commit_sql", lambda _: f"COMMIT; {refuse}")

    await insert(database, 1, topic=TOPIC)

    assert await numbers(database) == [1]
    with anyio.fail_after(WITHIN_S):
        assert await anext(changes) == {TOPIC}


async def test_notices_are_sent_again_until_the_server_is_back(
    database: PostgresDatabase, changes: AsyncIterator[frozenset[str]]
) -> None:
    attempts = 0

    async def fail_twice(attempt: Callable[[Any], Awaitable[None]]) -> None:
        nonlocal attempts
        attempts += 1
        if attempts <= 2:
            raise ConnectionResetError
        assert database._pool is not None
        await database._on_connection(database._pool, attempt)

    database._notifier.open(fail_twice)
    for topic in ("number/1/", "number/2/"):
        database._notifier.resend([topic])

    topics: set[str] = set()
    with anyio.fail_after(WITHIN_S):
        while len(topics) < 2:
            topics |= await anext(changes)
    assert attempts == 3


async def test_a_connection_waits_for_the_disk_again_after_its_notices(database: PostgresDatabase) -> None:
    await insert(database, 1, topic=TOPIC)

    for value in (2, 3):
        started = time.monotonic()
        await insert(database, value)
        assert time.monotonic() - started > FLUSH_S * 0.9
