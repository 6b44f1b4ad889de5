"""What notices of changes cost: the writers that cause them, and a process with many subscriptions that hears them."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from functools import partial

from benchmarks.harness import Effort, Finding, Goal, Sample, Side, compare, interleave
from benchmarks.postgresql import start_server
from madang.core.ids import UserId
from madang.database.port import MigrationSet, Transaction, private_rows
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.database.subscriptions import Subscription, SubscriptionIndex, topic

WRITERS = 64
FLUSH_US = 2_000
SUBSCRIPTIONS = (10, 100, 1_000)
MAX_NOTICE_US = 20.0

# A session draws the next number and adds an event: the smallest unit that people wait for another process to see.
_TABLES = MigrationSet(
    "notices_benchmark",
    sqlite=(),
    postgresql=(
        f"""
        CREATE TABLE counter (user_id TEXT PRIMARY KEY, last_seq BIGINT NOT NULL);
        CREATE TABLE entry (user_id TEXT, seq BIGINT, payload TEXT NOT NULL, PRIMARY KEY (user_id, seq));
        {private_rows("counter", "entry")}
        """,
    ),
)
_NEXT = "UPDATE counter SET last_seq = last_seq + 1 WHERE user_id = ?1 RETURNING last_seq"


async def notices(effort: Effort) -> list[Finding]:
    """Writers that tell against writers that do not, and a notice among many subscriptions against one among few."""
    return [*await _writes(effort), *await _hearing(effort)]


async def _writes(effort: Effort) -> list[Finding]:
    server = start_server()
    if server is None:
        return []
    url = server.new_database("notices")
    # Waiting before each flush imitates a disk that needs so long; others that commit meanwhile share it, as on a disk.
    for setting, value in (("commit_delay", FLUSH_US), ("commit_siblings", 0)):
        server.sql(f"ALTER DATABASE notices SET {setting} = {value}")
    database = PostgresDatabase(parse_database_url(f"{url}&pool_size={WRITERS}"))
    await database.prepare(_TABLES)
    for number in range(WRITERS):
        await database.write(_begin, user_id=_user(number))
    sides: dict[str, Side] = {
        "told": partial(_write_all, database, effort.calls // 3, tells=True),
        "silent": partial(_write_all, database, effort.calls // 3, tells=False),
    }
    changes = database.changes(_topic(0))
    async with aclosing(changes):
        await anext(changes)
        for side in sides.values():
            await side()
        samples = await interleave(effort.rounds, sides)
    await database.close()
    what = f"PostgreSQL, {WRITERS} writers at {FLUSH_US / 1000:g} ms a flush, with notices vs without"
    return [compare(what, "rate", "writes/s", samples["told"], samples["silent"], Goal(0.8, at_least=True))]


async def _write_all(database: PostgresDatabase, times: int, *, tells: bool) -> Sample:
    async def write(number: int) -> None:
        async def append(tx: Transaction) -> None:
            row = await tx.one(_NEXT, _user(number))
            assert row is not None
            await tx.run("INSERT INTO entry (seq, payload) VALUES (?1, ?2)", row[0], "{}")
            if tells:
                await tx.notify(_topic(number))

        for _ in range(times):
            await database.write(append, user_id=_user(number))

    started = time.perf_counter()
    await asyncio.gather(*(write(number) for number in range(WRITERS)))
    return {"rate": WRITERS * times / (time.perf_counter() - started)}


async def _begin(tx: Transaction) -> None:
    await tx.run("INSERT INTO counter (last_seq) VALUES (0)")


def _user(number: int) -> UserId:
    return UserId(f"user-{number}")


def _topic(number: int) -> str:
    return topic("event", _user(number), "session")


async def _hearing(effort: Effort) -> list[Finding]:
    """A notice for one of the subscriptions, until its consumer has it."""
    samples = await interleave(effort.rounds, {count: _hear(count, effort.calls * 10) for count in SUBSCRIPTIONS})
    fewest, *more = SUBSCRIPTIONS
    findings = [
        compare(
            f"notice for one of {count:,} subscriptions vs one of {fewest}",
            "cpu",
            "µs CPU",
            samples[count],
            samples[fewest],
            Goal(2),
        )
        for count in more
    ]
    bound = [{"cpu": MAX_NOTICE_US}] * effort.rounds
    what = f"notice for one of {more[-1]:,} subscriptions vs {MAX_NOTICE_US:g} µs"
    return [*findings, compare(what, "cpu", "µs CPU", samples[more[-1]], bound, Goal(1))]


def _hear(count: int, times: int) -> Side:
    async def side() -> Sample:
        index = SubscriptionIndex()
        subscriptions = [Subscription((_topic(number),)) for number in range(count)]
        for subscription in subscriptions:
            index.add(subscription)
        consumers = [subscription.changes() for subscription in subscriptions]
        for consumer in consumers:
            await anext(consumer)
        published = [_topic(number) + "1/" for number in range(count)]
        started = time.process_time()
        for number in range(times):
            index.publish(published[number % count])
            await anext(consumers[number % count])
        return {"cpu": (time.process_time() - started) / times * 1e6}

    return side
