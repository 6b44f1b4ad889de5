"""The audit trail."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, UserId
from madang.database.port import Database, MigrationSet, ResultT, Row, Transaction, Work
from madang.database.sqlite.database import SqliteDatabase
from madang.records.audit import AUDIT_MIGRATIONS, HASHED_APART_MIN_CHARS, KEPT_ROWS, AuditEntry, AuditLog
from madang.system.clock import parse_timestamp
from tests.backends import BACK_ENDS
from tests.stores.children import child

CALL = Call(
    AssistantId("helper"), SessionId("monday"), door="mcp-stdio", actor="model", run_id="run 1", call_id="call 1"
)
ENTRY = AuditEntry(CALL, "add_todo", "write", {"name": "x"}, "ok", 12, 3.14159)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    database = SqliteDatabase(tmp_path / "madang.db")
    yield database
    await database.close()


@pytest.fixture(params=["disk", "server"])
async def each_database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database: Database = BACK_ENDS[request.param](tmp_path)
    yield database
    await database.close()


async def rows(database: Database, columns: str = "*", user_id: UserId = CALL.user_id) -> list[Row]:
    sql = f"SELECT {columns} FROM audit WHERE user_id = ?1 ORDER BY seq"
    return await database.read(lambda tx: tx.all(sql, user_id), user_id=user_id)


async def recorded(database: Database, arguments: Mapping[str, Any]) -> Row:
    """Record a call with these arguments and return what the trail has of them, and their hash."""
    log = AuditLog(database)
    log.record(replace(ENTRY, arguments=arguments))
    await log.close()
    return (await rows(database, "arguments, arguments_sha256"))[-1]


async def test_a_call_becomes_one_row(database: SqliteDatabase) -> None:
    log = AuditLog(database)
    log.record(replace(ENTRY, call=replace(ENTRY.call, client_name="Cursor"), decision="allow"))
    await log.close()

    (row,) = await rows(database)
    assert row[2:] == (
        "local",
        "helper",
        "monday",
        "mcp-stdio",
        "add_todo",
        "write",
        '{"name": "x"}',
        hashlib.sha256(b'{"name": "x"}').hexdigest(),
        "ok",
        12,
        3.142,
        "model",
        "run 1",
        "call 1",
        "allow",
        "Cursor",
    )
    assert row[1].endswith("Z")


async def test_rows_are_on_disk_a_moment_after_the_call_without_closing(database: SqliteDatabase) -> None:
    log = AuditLog(database)
    await database.prepare(MigrationSet("any", sqlite=()))
    log.record(ENTRY)

    with anyio.fail_after(60):
        while True:
            await asyncio.sleep(0.01)
            table = await database.read(lambda tx: tx.one("SELECT 1 FROM sqlite_schema WHERE name = 'audit'"))
            if table and await rows(database):
                break
    await log.close()
    assert len(await rows(database)) == 1


async def test_long_values_are_cut_and_the_hash_stands_for_the_whole(database: SqliteDatabase) -> None:
    arguments = {"text": "가" * 500, "list": list(range(21)), "deep": {"a": {"b": {"c": {"d": 1}}}}, "few": [1, None]}

    shortened, digest = await recorded(database, arguments)

    assert json.loads(shortened) == {
        "text": "가" * 120 + "… (500 characters)",
        "list": "[21 items]",
        "deep": {"a": {"b": "{1 fields}"}},
        "few": [1, None],
    }
    assert digest == hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()


async def test_a_long_text_stands_in_the_hash_by_its_own(database: SqliteDatabase) -> None:
    """Written out as JSON, megabytes would hold up every other thread."""
    text = "가" * HASHED_APART_MIN_CHARS

    shortened, digest = await recorded(database, {"text": text, "a": 1})

    inner = {"sha256": hashlib.sha256(text.encode()).hexdigest()}
    assert digest == hashlib.sha256(json.dumps({"a": 1, "text": inner}).encode()).hexdigest()
    assert json.loads(shortened)["text"] == "가" * 120 + f"… ({HASHED_APART_MIN_CHARS} characters)"


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


HOSTILE: dict[str, Callable[[], Any]] = {
    "deep": lambda: nested(200_000),
    "long integer": lambda: {"n": 10**5000},
    "not a number": lambda: {"n": float("nan")},
    "infinity": lambda: {"n": float("inf")},
    "half a pair": lambda: {"text": "\ud800"},
    "half a pair as key": lambda: {"\ud800": 1},
    "keys of two types": lambda: {1: "a", "b": 2},
    "a tuple as key": lambda: {(1, 2): 3},
    "not JSON": lambda: {"bytes": b"\xff", "set": {1}},
    "many keys": lambda: {f"key {n}": n for n in range(1000)},
    "a long key": lambda: {"k" * 100_000: 1},
    "a list": lambda: [1, 2],
    "nothing": lambda: None,
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_t37_whatever_the_arguments_were_they_are_noted_and_small(database: SqliteDatabase, kind: str) -> None:
    arguments = HOSTILE[kind]()

    shortened, digest = await recorded(database, arguments)

    assert len(shortened) < 10_000
    json.loads(shortened)
    assert digest == "" or len(digest) == 64


async def test_only_the_newest_rows_are_kept(database: SqliteDatabase) -> None:
    await recorded(database, {})

    async def multiply(tx: Transaction) -> None:
        await tx.run(
            "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?1) "
            "INSERT INTO audit SELECT NULL, '', 'local', '', '', '', '', '', '', '', '', 0, 0, '', '', '', '', '' "
            "FROM counted",
            KEPT_ROWS + 50,
        )

    await database.write(multiply)
    await recorded(database, {"last": 1})

    ((count, newest),) = await rows(database, "count(*), max(seq)")
    assert (count, newest) == (KEPT_ROWS, KEPT_ROWS + 52)


async def test_a_full_trail_of_trouble_stops_nothing_but_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = SqliteDatabase(tmp_path / "missing" / "madang.db")
    log = AuditLog(database)
    log.record(ENTRY)
    log.record(ENTRY)

    await log.close()

    assert "2 audit row(s) were lost" in caplog.text


class SlowDatabase:
    """Writes only when it is let."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.asked = asyncio.Event()
        self.let = asyncio.Event()

    async def write(self, work: Work[ResultT], *, user_id: UserId | None = None, is_optional: bool = False) -> ResultT:
        self.asked.set()
        await self.let.wait()
        return await self._database.write(work, user_id=user_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


async def test_closing_waits_for_rows_that_are_being_written(database: SqliteDatabase) -> None:
    slow = SlowDatabase(database)
    log = AuditLog(slow)
    log.record(ENTRY)
    with anyio.fail_after(60):
        await slow.asked.wait()
    closing = asyncio.create_task(log.close())
    await asyncio.wait([closing], timeout=0.1)

    assert not closing.done()
    slow.let.set()
    with anyio.fail_after(60):
        await closing
    assert len(await rows(database)) == 1


async def test_rows_that_cannot_be_written_now_are_written_later(tmp_path: Path) -> None:
    (tmp_path / "later").write_text("in the way of the folder")
    database = SqliteDatabase(tmp_path / "later" / "madang.db")
    log = AuditLog(database)
    log.record(replace(ENTRY, tool="first"))
    await log._flush()

    (tmp_path / "later").unlink()
    (tmp_path / "later").mkdir()
    log.record(replace(ENTRY, tool="second"))
    await log.close()

    assert await rows(database, "tool") == [("first",), ("second",)]
    await database.close()


BAD_NAMES = {
    "half a surrogate pair": ("\ud800", "\\ud800"),
    "NUL": ("a\0b", "a\\u0000b"),
    "a line and a terminal's control": ("a\n\x1b[2Jb", "a\\u000a\\u001b[2Jb"),
    "C1": ("\x9b2J", "\\u009b2J"),
    "direction": ("txt.\u202eexe", "txt.\\u202eexe"),
    "line of its own": ("a\u2028b", "a\\u2028b"),
    "nothing to see": ("a\u200bb", "a\\u200bb"),
}


@pytest.mark.parametrize("kind", BAD_NAMES)
async def test_a_row_holds_no_control_whatever_the_names_in_it_are(each_database: Database, kind: str) -> None:
    name, visible = BAD_NAMES[kind]
    call = replace(CALL, assistant_id=AssistantId(name), session_id=SessionId(name), run_id=name, call_id=name)
    log = AuditLog(each_database)
    log.record(replace(ENTRY, call=call, tool=name, arguments={name: name}))
    log.record(ENTRY)
    await log.close()

    bad, good = await rows(each_database, "assistant_id, session_id, tool, run_id, call_id")
    noted, _ = await rows(each_database, "arguments")
    assert noted[0].isprintable()
    assert json.loads(noted[0])
    assert good == ("helper", "monday", "add_todo", "run 1", "call 1")
    assert set(bad) == {visible}


async def test_the_name_of_a_tool_that_there_is_not_is_bounded(database: SqliteDatabase) -> None:
    log = AuditLog(database)
    log.record(replace(ENTRY, tool="x" * 4_000_000))
    await log.close()

    assert len((await rows(database, "tool"))[0][0]) == 301


class Unreadable(Mapping[str, Any]):
    """Arguments of which no row can be made."""

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Any:
        raise RuntimeError("not to be read")

    def __len__(self) -> int:
        return 1


async def test_one_bad_row_costs_no_other_and_is_not_retried(
    each_database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    log = AuditLog(each_database)
    nobody = replace(CALL, user_id=UserId("\ud800"))
    for number in range(20):
        log.record(replace(ENTRY, tool=f"tool {number}"))
        if number in (3, 4, 11):
            log.record(replace(ENTRY, arguments=Unreadable()))
        log.record(replace(ENTRY, call=replace(CALL, user_id=UserId("bob")), tool=f"tool {number}"))
    log.record(replace(ENTRY, call=nobody))
    log.record(replace(ENTRY, tool="last"))

    await log._flush()

    assert log._queue == []
    names = [(f"tool {number}",) for number in range(20)]
    assert await rows(each_database, "tool") == [*names, ("last",)]
    assert await rows(each_database, "tool", UserId("bob")) == names
    assert "3 audit row(s) were lost: the database refuses their values" in caplog.text
    assert "1 audit row(s) were lost: the database refuses their values" in caplog.text
    await log.close()


async def test_rows_of_before_are_kept_and_say_nothing_of_who_acted(each_database: Database) -> None:
    before = MigrationSet(AUDIT_MIGRATIONS.name, AUDIT_MIGRATIONS.sqlite[:1], AUDIT_MIGRATIONS.postgresql[:1])
    await each_database.prepare(before)

    async def insert(tx: Transaction) -> None:
        await tx.run(
            "INSERT INTO audit (at, user_id, door, tool, effect, arguments, arguments_sha256, outcome, answer_bytes, "
            "took_ms) VALUES ('2026-01-02T03:04:05.678Z', 'local', 'python', 'old', 'read', '{}', '', 'ok', 1, 1.0)"
        )

    await each_database.write(insert, user_id=CALL.user_id)
    await each_database.close()
    log = AuditLog(each_database)
    log.record(ENTRY)
    await log.close()

    old, new = await rows(each_database, "at, tool, actor, run_id, call_id, decision")
    assert old == ("2026-01-02T03:04:05.678Z", "old", "", "", "", "")
    assert new[1:] == ("add_todo", "model", "run 1", "call 1", "")
    assert parse_timestamp(new[0]) > parse_timestamp(old[0])


async def test_a_session_is_stripped_by_whatever_name_its_rows_have(each_database: Database) -> None:
    log = AuditLog(each_database)
    call = replace(CALL, session_id=SessionId("one\u200btwo"))
    for one in (call, CALL):
        log.record(replace(ENTRY, call=one, decision="allow"))

    await log.strip_session(call)

    columns = "session_id, actor, tool, outcome, decision, arguments, arguments_sha256, run_id, call_id"
    stripped, other = await rows(each_database, columns)
    assert stripped == (None, "model", "add_todo", "ok", "allow", "", "", "", "")
    assert other[:6] == ("monday", "model", "add_todo", "ok", "allow", '{"name": "x"}')
    assert (len(other[6]), *other[7:]) == (64, "run 1", "call 1")
    await log.close()


async def test_rows_that_wait_for_the_database_hold_none_of_the_arguments(tmp_path: Path) -> None:
    class Arguments(dict[str, Any]):
        """A dictionary that can be referred to weakly."""

    database = SqliteDatabase(tmp_path / "madang.db")
    log = AuditLog(database)
    log.record(replace(ENTRY, tool="first"))
    await log._flush()
    async with child("hold_write_lock", tmp_path / "madang.db") as other:
        assert await other.line() == "held"
        arguments = Arguments(content="x" * 1_000_000)
        gone = weakref.ref(arguments)
        log.record(replace(ENTRY, tool="waits", arguments=arguments))
        del arguments
        await log._flush()
        gc.collect()
        assert gone() is None
        await other.go()
        assert await other.line() == "released"
        await other.end()
    await log.close()
    assert await rows(database, "tool") == [("first",), ("waits",)]
    await database.close()
