"""Old events and audit rows go, whole months at once where there are months; what is left has no gap."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, UserId
from madang.database.port import Database, Transaction
from madang.files.folders import Folders
from madang.files.folders.recording import journal_name
from madang.files.folders.undo import FileHistory
from madang.records import events as events_module
from madang.records.audit import AuditEntry, AuditLog
from madang.records.events import EventLog, NewEvent
from madang.records.retention import Retention
from madang.system.clock import format_timestamp, now
from tests.backends import BACK_ENDS

ANN = Call(AssistantId("editor"), SessionId("default"), UserId("ann"))
BOB = replace(ANN, user_id=UserId("bob"))


@pytest.fixture(params=BACK_ENDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database = BACK_ENDS[request.param](tmp_path)
    await EventLog(database).open()
    yield database
    await database.close()


@pytest.fixture
def log(database: Database) -> EventLog:
    return EventLog(database)


def ago(days: float) -> str:
    return format_timestamp(now() - timedelta(days=days))


def retention(database: Database) -> Retention:
    return Retention(database, AuditLog(database), events_days=30, audit_days=365)


async def run(database: Database, call: Call, sql: str, *parameters: object) -> None:
    async def work(tx: Transaction) -> None:
        await tx.run(sql, *parameters)

    await database.write(work, user_id=call.user_id)


async def write_at(database: Database, call: Call, *days: float) -> None:
    """Write one event for each age, as if it had happened then; the session began before."""
    log = EventLog(database)
    last = await log.append(call, *(NewEvent("STEP", {}) for _ in days))
    await run(database, call, "UPDATE session SET created_at = ?1", ago(max(days) + 1))
    for seq, age in enumerate(days, last - len(days) + 1):
        await run(database, call, "UPDATE event SET at = ?1 WHERE seq = ?2", ago(age), seq)


async def left(log: EventLog, call: Call) -> list[int]:
    return [event.seq for event in (await log.read(call)).events]


async def test_old_events_go_and_the_numbers_go_on(database: Database, log: EventLog) -> None:
    await write_at(database, ANN, 400, 70, 31, 29, 0)
    await write_at(database, BOB, 45, 40)
    other = replace(ANN, session_id=SessionId("young"))
    await log.append(other, NewEvent("STEP", {}))

    await retention(database).apply()

    assert await left(log, ANN) == [4, 5]
    assert await left(log, BOB) == []
    assert await left(log, other) == [1]
    page = await log.read(BOB, after=1)
    assert (page.first_seq, page.last_seq, page.has_gap) == (3, 2, True)
    assert await log.append(BOB, NewEvent("STEP", {})) == 3


async def test_many_old_events_of_many_sessions_go_in_batches(
    database: Database, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "EXPIRY_BATCH_EVENTS", 3)
    monkeypatch.setattr(events_module, "EXPIRY_BATCH_SESSIONS", 2)
    sessions = [replace(ANN, session_id=SessionId(f"s{number}")) for number in range(5)]
    for call in sessions:
        await log.append(call, *(NewEvent("STEP", {}) for _ in range(10)))
    await run(database, ANN, "UPDATE session SET created_at = ?1", ago(50))
    await run(database, ANN, "UPDATE event SET at = ?1 WHERE seq <= 8", ago(40))

    assert await log.expire(ANN.user_id, ago(30)) == 40
    assert await log.expire(ANN.user_id, ago(30)) == 0
    for call in sessions:
        assert await left(log, call) == [9, 10]


async def test_a_clock_that_was_wrong_leaves_no_gap(database: Database, log: EventLog) -> None:
    """Only the oldest of a session ever go: an event behind one that is kept stays, whatever its date."""
    await write_at(database, ANN, 40, 1, 40, 0)

    await log.expire(ANN.user_id, ago(30))

    assert await left(log, ANN) == [2, 3, 4]


async def test_it_is_applied_to_each_user_once_a_day(database: Database, log: EventLog) -> None:
    await write_at(database, ANN, 40)
    await retention(database).apply()
    await write_at(database, ANN, 40)

    await retention(database).apply()
    assert await left(log, ANN) == [2]
    await run(database, ANN, "UPDATE account SET swept_at = ?1", ago(1.01))
    await retention(database).apply()
    assert await left(log, ANN) == []


async def test_old_audit_rows_go_also_of_users_without_a_session(database: Database) -> None:
    audit = AuditLog(database)
    for call in (ANN, BOB):
        for tool in ("old", "new"):
            audit.record(AuditEntry(call, tool, "read", {}, "ok", 0, 1.0))
    await audit.close()
    for call in (ANN, BOB):
        await run(database, call, "UPDATE audit SET at = ?1 WHERE tool = 'old'", ago(366))

    await retention(database).apply()

    for call in (ANN, BOB):
        rows = await database.find("SELECT tool FROM audit WHERE user_id = ?1", call.user_id, user_id=call.user_id)
        assert rows == [("new",)]


async def test_copies_of_files_go_with_the_days_of_their_own(database: Database, tmp_path: Path) -> None:
    folders = Folders(tmp_path / "workspaces")
    for run_id, age in (("old", 31), ("new", 29)):
        with folders.of(replace(ANN, run_id=run_id)) as session, session.files.locked():
            session.files.write("a", [run_id.encode()])
        journal = folders.path(ANN) / "copies" / "runs" / journal_name(run_id)
        os.utime(journal, (time.time() - age * 86400,) * 2)
    history = FileHistory(folders)

    await Retention(database, AuditLog(database), events_days=30, audit_days=365, copies=history).apply()

    assert [run.run_id for run in history.runs(ANN)] == ["new"]
