"""Units of work on an embedded database: their statements, and their way to a thread and back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import apsw

from madang.database.port import ResultT, Row, Work
from madang.database.subscriptions import check_topic


class SqliteStatements:
    """A transaction on one connection. Its coroutines never really wait: see `finish_unit`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._execute = connection.execute
        self._execute_many = connection.executemany
        self._changes = connection.changes
        self.topics: list[str] = []

    async def all(self, sql: str, *parameters: object) -> list[Row]:
        return self._execute(sql, parameters).fetchall()

    async def one(self, sql: str, *parameters: object) -> Row | None:
        cursor = self._execute(sql, parameters)
        row: Row | None = cursor.fetchone()
        cursor.close()
        return row

    async def run(self, sql: str, *parameters: object) -> int:
        self._execute(sql, parameters).fetchall()
        return self._changes()

    async def run_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        self._execute_many(sql, rows).fetchall()

    async def notify(self, topic: str) -> None:
        self.topics.append(check_topic(topic))


@dataclass(slots=True)
class Job:
    """A unit of work on its way to a thread and back."""

    work: Work[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    deadline: float
    """Until when, on the monotonic clock, it may wait for a lock of another process. It counts from the submission:
    a unit that waited behind others has waited for the same lock."""
    is_optional: bool = False
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        if self.future.done():
            return  # the caller was cancelled; its work may have been done all the same
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


def finish_unit(work: Work[ResultT], statements: SqliteStatements) -> ResultT:
    """Run a unit of work to its end in this thread: its statements answer at once, so one step is all it takes."""
    unit = work(statements)
    assert isinstance(unit, Coroutine)
    try:
        unit.send(None)
    except StopIteration as stop:
        result: ResultT = stop.value
        return result
    unit.close()
    raise RuntimeError("A unit of work awaited something other than its transaction.")


def read_unit(connection: apsw.Connection, work: Work[ResultT]) -> ResultT:
    """Run a unit of work on one snapshot."""
    connection.execute("BEGIN")
    try:
        return finish_unit(work, SqliteStatements(connection))
    finally:
        if connection.in_transaction:  # SQLite ends it by itself when the disk fails
            connection.execute("COMMIT")


def settle_jobs(jobs: Iterable[Job]) -> None:
    """Wake the callers: once per event loop, because each wake-up costs a system call."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, batch in by_loop.items():
        with suppress(RuntimeError):  # that loop is closed, and its callers with it
            loop.call_soon_threadsafe(_settle_all, batch)


def _settle_all(jobs: list[Job]) -> None:
    for job in jobs:
        job.settle()
