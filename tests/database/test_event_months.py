"""The months of the event log on a server: made ahead, walled also when named directly, dropped whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import asyncpg
import pytest

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, UserId
from madang.database.port import Row, Transaction
from madang.database.postgresql import event_months
from madang.database.postgresql.database import PostgresDatabase
from madang.database.postgresql.event_months import MONTHS_AHEAD, drop_months_before, make_coming_months
from madang.records.audit import AuditLog
from madang.records.events import EventLog, NewEvent
from madang.records.retention import Retention
from madang.system.clock import now
from tests.postgresql import database_in, url_in

ANN = Call(AssistantId("editor"), SessionId("default"), UserId("ann"))
BOB = replace(ANN, user_id=UserId("bob"))
STEP = NewEvent("STEP", {})


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[PostgresDatabase]:
    database = database_in(tmp_path)
    await EventLog(database).open()
    yield database
    await database.close()


@pytest.fixture
def log(database: PostgresDatabase) -> EventLog:
    return EventLog(database)


async def run(database: PostgresDatabase, sql: str, *parameters: object, call: Call = ANN) -> int:
    async def work(tx: Transaction) -> int:
        return await tx.run(sql, *parameters)

    return await database.write(work, user_id=call.user_id)


async def months(database: PostgresDatabase) -> list[str]:
    rows = await database.find(
        "SELECT relname::text AS name FROM pg_class WHERE relname ~ '^event_' AND relkind = 'r' ORDER BY 1"
    )
    return [row[0] for row in rows]


def month_name(moment: datetime, later: int = 0) -> str:
    count = moment.year * 12 + moment.month - 1 + later
    return f"event_{count // 12}_{count % 12 + 1:02}"


async def where(database: PostgresDatabase, call: Call = ANN) -> list[Row]:
    return await database.find("SELECT seq, tableoid::regclass::text FROM event ORDER BY seq", user_id=call.user_id)


async def test_this_month_and_the_next_ones_are_made_once(database: PostgresDatabase, tmp_path: Path) -> None:
    expected = [month_name(now(), later) for later in range(MONTHS_AHEAD + 1)]

    others = [database_in(tmp_path) for _ in range(3)]
    await asyncio.gather(*(EventLog(other).open() for other in others))
    for other in others:
        await other.close()

    assert await months(database) == [*expected, "event_rest"]


async def test_many_that_open_a_new_database_at_once_make_the_months_once(tmp_path: Path) -> None:
    databases = [database_in(tmp_path) for _ in range(4)]

    await asyncio.gather(*(EventLog(database).open() for database in databases))

    assert len(await months(databases[0])) == MONTHS_AHEAD + 2
    for database in databases:
        await database.close()


async def test_events_are_in_their_month_and_old_months_are_not_looked_at(
    database: PostgresDatabase, log: EventLog
) -> None:
    await log.append(ANN, STEP)
    await run(
        database, "SELECT add_event_partition('event_2020_01', $$FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')$$)"
    )

    assert await where(database) == [(1, month_name(now()))]
    plan = await explain(
        database,
        "SELECT min(seq) FROM event WHERE user_id = 'ann' AND session_no = 1 AND at >= ?1",
        "2026-01-01T00:00:00.000Z",
    )
    assert month_name(now()) in plan
    assert "event_2020_01" not in plan


async def explain(database: PostgresDatabase, sql: str, *parameters: object) -> str:
    async def work(tx: Transaction) -> str:
        return "\n".join(row[0] for row in await tx.all(f"EXPLAIN {sql}", *parameters))

    return await database.read(work, user_id=ANN.user_id)


async def test_every_partition_is_walled_and_vacuumed_early(database: PostgresDatabase) -> None:
    rows = await database.find(
        "SELECT relname::text AS name, relrowsecurity AND relforcerowsecurity AS walled, reloptions::text AS options "
        "FROM pg_class WHERE relname ~ '^event_' AND relkind = 'r'"
    )

    assert len(rows) == MONTHS_AHEAD + 2
    for name, is_walled, options in rows:
        assert is_walled, name
        assert "autovacuum_vacuum_insert_scale_factor=0.05" in options, name


async def test_a_partition_that_is_named_directly_shows_and_takes_nothing(
    database: PostgresDatabase, log: EventLog
) -> None:
    await log.append(ANN, STEP)
    name = month_name(now())

    for call in (ANN, BOB):
        rows = await database.find(f"SELECT count(*) FROM {name}", user_id=call.user_id)
        assert rows == [(0,)]
        assert await run(database, f"DELETE FROM {name}", call=call) == 0
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await run(
                database,
                f"INSERT INTO {name} (user_id, session_no, seq, run_id, kind, payload) VALUES (?1, 1, 9, '', '', '')",
                call.user_id,
                call=call,
            )
    assert await database.find("SELECT count(*) FROM event", user_id=ANN.user_id) == [(1,)]
    assert await database.find("SELECT count(*) FROM event", user_id=BOB.user_id) == [(0,)]
    assert await database.find("SELECT count(*) FROM event") == [(0,)]


async def test_nothing_can_be_attached_to_another_users_session(database: PostgresDatabase, log: EventLog) -> None:
    await log.append(ANN, STEP)
    ((number,),) = await database.find("SELECT no FROM session", user_id=ANN.user_id)
    insert = "INSERT INTO event (user_id, session_no, seq, run_id, kind, payload) VALUES (?1, ?2, 9, '', '', '{}')"

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await run(database, insert, ANN.user_id, number, call=BOB)
    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await run(database, insert, BOB.user_id, number, call=BOB)


async def test_whole_months_are_dropped_and_the_rest_is_deleted(database: PostgresDatabase, log: EventLog) -> None:
    await run(
        database, "SELECT add_event_partition('event_2020_01', $$FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')$$)"
    )
    await log.append(ANN, STEP, STEP, STEP, STEP)
    await run(database, "UPDATE session SET created_at = '2019-01-01T00:00:00Z'")
    for seq, at in ((1, "2019-05-05T00:00:00.000Z"), (2, "2020-01-05T00:00:00.000Z"), (3, "2020-05-05T00:00:00.000Z")):
        await run(database, "UPDATE event SET at = ?1 WHERE seq = ?2", at, seq)
    assert [row[1] for row in await where(database)] == ["event_rest", "event_2020_01", "event_rest", month_name(now())]

    assert await drop_months_before(database, "2020-01-31T00:00:00.000Z") == 0
    assert await drop_months_before(database, "2020-02-01T00:00:00.000Z") == 1
    assert [row[0] for row in await where(database)] == [1, 3, 4]
    await Retention(database, AuditLog(database), events_days=30, audit_days=365).apply()
    assert [event.seq for event in (await log.read(ANN)).events] == [4]
    assert len(await months(database)) == MONTHS_AHEAD + 2


async def test_a_month_whose_events_are_elsewhere_already_is_left_out(
    database: PostgresDatabase, log: EventLog
) -> None:
    """As after a process that ran for months without anybody making partitions."""
    await log.append(ANN, STEP)
    name = month_name(now(), 1)
    await run(database, f"DROP TABLE {name}")
    await run(database, "UPDATE event SET at = date_trunc('month', now()) + INTERVAL '35 days'")

    await make_coming_months(database)

    assert name not in await months(database)
    assert await log.append(ANN, STEP) == 2
    assert len((await log.read(ANN)).events) == 2


async def test_months_come_and_go_under_writers(database: PostgresDatabase, log: EventLog, tmp_path: Path) -> None:
    other = database_in(tmp_path)
    other_log = EventLog(other)
    await other_log.open()

    async def write(log: EventLog) -> None:
        for _ in range(100):
            await log.append(ANN, STEP)

    async def turn() -> None:
        for _ in range(15):
            await run(database, f"DROP TABLE {month_name(now(), 2)}", call=BOB)
            await make_coming_months(database)

    await asyncio.gather(write(log), write(other_log), turn())
    await other.close()

    assert (await log.read(ANN)).last_seq == 200


async def test_a_lock_that_is_held_long_delays_the_months_and_nothing_else(
    database: PostgresDatabase, log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_months, "LOCK_S", 0.2)
    name = month_name(now(), 2)
    await run(database, f"DROP TABLE {name}")
    connection = await asyncpg.connect(url_in(tmp_path))
    async with connection.transaction():
        await connection.execute("LOCK TABLE event IN ACCESS SHARE MODE")
        await log.open()
        assert await drop_months_before(database, "2999-01-01T00:00:00.000Z") == 0
        assert await log.append(ANN, STEP) == 1
    await connection.close()

    assert name not in await months(database)
    await log.open()
    assert name in await months(database)


async def test_the_months_are_the_servers_whatever_zone_it_is_in(tmp_path: Path) -> None:
    connection = await asyncpg.connect(url_in(tmp_path))
    name = await connection.fetchval("SELECT current_database()")
    await connection.execute(f"ALTER DATABASE {name} SET timezone = 'Pacific/Kiritimati'")
    await connection.close()
    database = database_in(tmp_path)
    await EventLog(database).open()

    bounds = await database.find(
        "SELECT pg_get_expr(relpartbound, oid) AS bounds FROM pg_class WHERE relname = ?1", month_name(now())
    )
    await database.close()

    assert f"FROM ('{now():%Y-%m}-01 00:00:00+00')" in bounds[0][0]
