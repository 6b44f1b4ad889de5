"""The embedded database: SQLite through apsw, one writer thread with group commit, and a few readers.

Several processes share one file as a matter of course: WAL lets readers go on while a writer commits, every write is a
`BEGIN IMMEDIATE` of its own, and changes are announced in a table that each process polls.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from madang.core.errors import SetupError, Unavailable
from madang.core.ids import UserId
from madang.core.phrases import say
from madang.storage.backups import back_up
from madang.storage.clock import timestamp
from madang.storage.database import Dialect, MigrationSet, ResultT, Row, Work
from madang.storage.liveness import FileLiveness, Liveness, SingleProcess
from madang.storage.notices import NOTICE_MIGRATIONS, Subscriptions
from madang.storage.sqlite_errors import translate_sqlite_error
from madang.storage.subscriptions import check_topic

BUSY_MS = 5_000
READERS = 2
MAX_BATCH_WRITES = 64
OWNERS_FOLDER = "owners"
"""The folder beside the file in which each process that owns something holds a lock."""
# 3.7.0 to 3.51.2 can corrupt a WAL database that two connections write and checkpoint at the same instant.
MIN_SQLITE_VERSION = (3, 51, 3)

_OWN = MigrationSet(
    "database",
    sqlite=(
        "CREATE TABLE migration (set_name TEXT, number INTEGER, applied_at TEXT NOT NULL, "
        "PRIMARY KEY (set_name, number)) WITHOUT ROWID",
    ),
)


class _Statements:
    """A transaction on one connection. Its coroutines never really wait: see `_finish`."""

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


def _finish(work: Work[ResultT], statements: _Statements) -> ResultT:
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


@dataclass(slots=True)
class _Job:
    """A unit of work on its way to a thread and back."""

    work: Work[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        if self.future.done():
            return  # the caller was cancelled; its work may have been done all the same
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class SqliteDatabase:
    """`Database` in one file, or in memory when `path` is None.

    `vfs` names the layer through which SQLite reaches the file; None is the platform's own.
    """

    dialect: Dialect = "sqlite"
    ranks_text = False

    def __init__(self, path: Path | None, *, readers: int = READERS, vfs: str | None = None) -> None:
        self._path = path
        self._vfs = vfs
        # Memory belongs to one connection, so there its writer also reads.
        self._reader_count = readers if path is not None else 0
        self._writes: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._reads: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        # For brief reads in the calling thread; while it is in use, others go to the reader threads.
        self._inline_reader: apsw.Connection | None = None
        self._inline_reader_lock = threading.Lock()
        self._opening = asyncio.Lock()
        self._prepared: set[str] = set()
        self._subscriptions = Subscriptions(self)

    async def prepare(self, migrations: MigrationSet) -> None:
        # Shielded: a first caller that is cancelled must not leave the next one a database that is open by half.
        await asyncio.shield(asyncio.create_task(self._prepare(migrations)))

    async def _prepare(self, migrations: MigrationSet) -> None:
        async with self._opening:
            if not self._threads:
                await asyncio.to_thread(self._open)
            for migration_set in (_OWN, NOTICE_MIGRATIONS, migrations):
                if migration_set.name not in self._prepared:
                    await self._migrate(migration_set)

    async def read(self, work: Work[ResultT], *, user_id: UserId | None = None, brief: bool = False) -> ResultT:
        if brief and self._inline_reader is not None and self._inline_reader_lock.acquire(blocking=False):
            try:
                return _read(self._inline_reader, work)
            except apsw.BusyError:
                pass  # a reader thread can wait for the lock on the file; an event loop must not
            except apsw.Error as error:
                raise translate_sqlite_error(error) from error
            finally:
                self._inline_reader_lock.release()
        return await self._submit(self._reads if self._reader_count else self._writes, work)

    async def find(self, sql: str, *parameters: object, user_id: UserId | None = None) -> list[Row]:
        return await self.read(lambda tx: tx.all(sql, *parameters), brief=True)

    async def write(self, work: Work[ResultT], *, user_id: UserId | None = None) -> ResultT:
        return await self._submit(self._writes, work)

    async def write_across_users(self, work: Work[ResultT]) -> ResultT:
        return await self.write(work)

    def new_liveness(self) -> Liveness:
        return SingleProcess() if self._path is None else FileLiveness(self._path.parent / OWNERS_FOLDER)

    def changes(self, *topics: str) -> AsyncIterator[frozenset[str]]:
        return self._subscriptions.changes(topics)

    async def close(self) -> None:
        async with self._opening:
            await self._close()

    async def _close(self) -> None:
        await self._subscriptions.close()
        threads, self._threads = self._threads, []
        if self._inline_reader is not None:
            self._inline_reader.close()
            self._inline_reader = None
        if threads:  # else the None would stop the threads of the next opening
            self._writes.put(None)
            for _ in range(self._reader_count):
                self._reads.put(None)
        await asyncio.to_thread(_join, threads)
        self._prepared.clear()

    async def _submit(self, jobs: queue.SimpleQueue[_Job | None], work: Work[ResultT]) -> ResultT:
        if not self._threads:
            raise Unavailable(say("The database is closed."))
        loop = asyncio.get_running_loop()
        future: asyncio.Future[ResultT] = loop.create_future()
        jobs.put(_Job(work, loop, future))
        return await future

    def _open(self) -> None:
        if tuple(map(int, apsw.sqlite_lib_version().split("."))) < MIN_SQLITE_VERSION:
            raise SetupError(
                say(
                    "SQLite {found} is too old: it can corrupt shared databases.",
                    found=apsw.sqlite_lib_version(),
                ),
                hint=say("Install a newer apsw: pip install -U apsw"),
            )
        try:
            writer = self._connect()
            readers = [self._connect(reader=True) for _ in range(self._reader_count)]
            if readers:
                self._inline_reader = self._connect(reader=True)
                self._inline_reader.set_busy_timeout(0)
        except (apsw.Error, OSError) as error:
            raise SetupError(
                say("The database {path} cannot be opened: {reason}.", path=str(self._path), reason=str(error)),
                hint=say("Check that the data folder exists, is yours and can be written, or name another one."),
            ) from error
        self._threads = [
            _thread(self._write_loop, writer),
            *(_thread(self._read_loop, reader) for reader in readers),
        ]

    def _connect(self, *, reader: bool = False) -> apsw.Connection:
        if self._path is None:
            connection = apsw.Connection(":memory:")
        else:
            # The file holds chats and plans: other users of the machine must not read it, whatever the umask.
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = apsw.Connection(str(self._path), vfs=self._vfs)
        connection.set_busy_timeout(BUSY_MS)
        # WAL keeps readers going while the writer commits; FULL makes an acknowledged write survive a power cut.
        _use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY")
        if reader:
            connection.execute("PRAGMA query_only = ON")
        return connection

    def _write_loop(self, connection: apsw.Connection) -> None:
        stopping = False
        while not stopping:
            batch = list(_drain(self._writes))
            stopping = batch[-1] is None
            jobs = [job for job in batch if job is not None]
            if jobs:
                has_notices = self._commit(connection, jobs)
                _settle(jobs)
                if has_notices:
                    self._subscriptions.wake()
        connection.close()

    def _commit(self, connection: apsw.Connection, jobs: list[_Job]) -> bool:
        """Run the units of a batch in one transaction, so that they share one flush to disk.

        A savepoint around each keeps a failing unit from taking its neighbours along.
        """
        statements = _Statements(connection)
        try:
            connection.execute("BEGIN IMMEDIATE")
            for job in jobs:
                topic_count = len(statements.topics)
                connection.execute("SAVEPOINT unit")
                try:
                    job.result = _finish(job.work, statements)
                except Exception as error:
                    job.error = error
                    del statements.topics[topic_count:]
                    if isinstance(error, apsw.Error) and not connection.in_transaction:
                        raise  # SQLite has rolled everything back by itself, as it does when the disk is full
                    connection.execute("ROLLBACK TO unit")
                connection.execute("RELEASE unit")
            topics = list(dict.fromkeys(statements.topics))
            if topics:
                connection.executemany("INSERT INTO notice (topic) VALUES (?1)", [(topic,) for topic in topics])
            connection.execute("COMMIT")
        except Exception as error:  # whatever it is: a writer thread that died would leave every later caller waiting
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            for job in jobs:
                if job.error is None or isinstance(job.error, apsw.Error):
                    job.error = translate_sqlite_error(error)
            return False
        for job in jobs:
            if isinstance(job.error, apsw.Error):
                job.error = translate_sqlite_error(job.error)
        return bool(topics)

    def _read_loop(self, connection: apsw.Connection) -> None:
        while (job := self._reads.get()) is not None:
            try:
                job.result = _read(connection, job.work)
            except apsw.Error as error:
                job.error = translate_sqlite_error(error)
            except Exception as error:
                job.error = error
            _settle([job])
        connection.close()

    async def _migrate(self, migrations: MigrationSet) -> None:
        """Apply the steps of a set that are missing, all in one transaction: a kill leaves none of them or all.

        Another process may be doing the same: the write lock decides which goes first, and what is missing is looked up
        again after the lock is held.
        """

        async def applied(tx: Any) -> int:
            if await tx.one("SELECT 1 FROM sqlite_schema WHERE name = 'migration'") is None:
                return 0
            row = await tx.one("SELECT max(number) FROM migration WHERE set_name = ?1", migrations.name)
            return (row and row[0]) or 0

        applied_count = await self.read(applied)
        if applied_count > len(migrations.sqlite):
            raise SetupError(
                say("The database {path} was written by a newer Madang.", path=str(self._path)),
                hint=say("Update Madang, or use another data folder."),
            )
        if 0 < applied_count < len(migrations.sqlite):
            await asyncio.to_thread(self._back_up)

        async def apply_missing(tx: Any) -> None:
            for number in range(await applied(tx) + 1, len(migrations.sqlite) + 1):
                await tx.run(migrations.sqlite[number - 1])
                await tx.run("INSERT INTO migration VALUES (?1, ?2, ?3)", migrations.name, number, timestamp())

        if applied_count < len(migrations.sqlite):
            await self.write(apply_missing)
        self._prepared.add(migrations.name)

    def _back_up(self) -> None:
        if self._path is None:
            return
        try:
            with closing(self._connect()) as source:  # a reader's connection may not even write to another file
                back_up(source, self._path)
        except apsw.Error as error:
            raise translate_sqlite_error(error) from error


def _use_write_ahead_log(connection: apsw.Connection) -> None:
    """Switch to WAL. Of several that switch a new file at once, SQLite refuses some without waiting: they retry."""
    until = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()  # with others in one text they would not run
            return
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def _read(connection: apsw.Connection, work: Work[ResultT]) -> ResultT:
    connection.execute("BEGIN")
    try:
        return _finish(work, _Statements(connection))
    finally:
        if connection.in_transaction:  # SQLite ends it by itself when the disk fails
            connection.execute("COMMIT")


def _thread(loop: Callable[[apsw.Connection], None], connection: apsw.Connection) -> threading.Thread:
    thread = threading.Thread(target=loop, args=(connection,), name="madang-database", daemon=True)
    thread.start()
    return thread


def _join(threads: Iterable[threading.Thread]) -> None:
    for thread in threads:
        thread.join()


def _drain(jobs: queue.SimpleQueue[_Job | None]) -> Iterable[_Job | None]:
    """Wait for one job, then take what else is there, up to a batch; a None ends it."""
    job = jobs.get()
    yield job
    with suppress(queue.Empty):
        for _ in range(MAX_BATCH_WRITES - 1):
            if job is None:
                return
            job = jobs.get_nowait()
            yield job


def _settle(jobs: list[_Job]) -> None:
    """Wake the callers: once per event loop, because each wake-up costs a system call."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, batch in by_loop.items():
        with suppress(RuntimeError):  # that loop is closed, and its callers with it
            loop.call_soon_threadsafe(_settle_all, batch)


def _settle_all(jobs: list[_Job]) -> None:
    for job in jobs:
        job.settle()
