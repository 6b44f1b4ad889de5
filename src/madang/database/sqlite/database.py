"""The embedded database: SQLite through apsw, one writer thread with group commit, and a few readers.

Several processes share one file as a matter of course: WAL lets readers go on while a writer commits, every write is a
`BEGIN IMMEDIATE` of its own, and changes are announced in a table that each process reads when the file is written.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw

from madang.core.errors import SetupError, Unavailable
from madang.core.ids import UserId
from madang.core.phrases import say
from madang.database.liveness import FileLiveness, Liveness, SingleProcess
from madang.database.notices import NOTICE_MIGRATIONS, Subscriptions
from madang.database.port import LOCK_WAIT_S, OPTIONAL_WAIT_S, Dialect, MigrationSet, ResultT, Row, Work
from madang.database.sqlite.backups import back_up
from madang.database.sqlite.errors import translate_sqlite_error
from madang.database.sqlite.units import Job, read_unit, settle_jobs
from madang.database.sqlite.writer import SqliteWriter
from madang.system.clock import timestamp

READERS = 2
WAL_RETRY_S = 0.01
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
        self._writes: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._reads: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        # For brief reads in the calling thread; while it is in use, others go to the reader threads.
        self._inline_reader: apsw.Connection | None = None
        self._inline_reader_lock = threading.Lock()
        self._opening = asyncio.Lock()
        self._preparing: set[asyncio.Task[None]] = set()
        self._migrating: dict[str, asyncio.Lock] = {}
        self._prepared: set[str] = set()
        self._subscriptions = Subscriptions(self, path)

    async def prepare(self, migrations: MigrationSet) -> None:
        # Shielded: a first caller that is cancelled must not leave the next one a database that is open by half.
        task = asyncio.create_task(self._prepare(migrations))
        self._preparing.add(task)
        task.add_done_callback(self._preparing.discard)
        await asyncio.shield(task)

    async def _prepare(self, migrations: MigrationSet) -> None:
        # From here, and not from the lock below: several that wait for one another wait for the same locked file.
        deadline = time.monotonic() + LOCK_WAIT_S
        async with self._opening:
            if not self._threads:
                await asyncio.to_thread(self._open, deadline)
            for migration_set in (_OWN, NOTICE_MIGRATIONS):
                await self._migrate(migration_set, deadline)
        # One set at a time, but none behind another: those that are up to date need no lock on the file.
        async with self._migrating.setdefault(migrations.name, asyncio.Lock()):
            await self._migrate(migrations, deadline)

    async def read(self, work: Work[ResultT], *, user_id: UserId | None = None, brief: bool = False) -> ResultT:
        if brief and self._inline_reader is not None and self._inline_reader_lock.acquire(blocking=False):
            try:
                return read_unit(self._inline_reader, work)
            except apsw.BusyError:
                pass  # a reader thread can wait for the lock on the file; an event loop must not
            except apsw.Error as error:
                raise translate_sqlite_error(error) from error
            finally:
                self._inline_reader_lock.release()
        return await self._submit(self._reads if self._reader_count else self._writes, work, _deadline())

    async def find(self, sql: str, *parameters: object, user_id: UserId | None = None) -> list[Row]:
        return await self.read(lambda tx: tx.all(sql, *parameters), brief=True)

    async def write(self, work: Work[ResultT], *, user_id: UserId | None = None, is_optional: bool = False) -> ResultT:
        return await self._submit(self._writes, work, _deadline(is_optional=is_optional), is_optional=is_optional)

    async def write_alone(self, work: Work[ResultT], *, user_id: UserId | None = None) -> ResultT:
        return await self.write(work)

    async def write_across_users(self, work: Work[ResultT]) -> ResultT:
        return await self.write(work)

    async def check_for_agents(self) -> None:
        return  # a file that was opened has everything

    def new_liveness(self) -> Liveness:
        return SingleProcess() if self._path is None else FileLiveness(self._path.parent / OWNERS_FOLDER)

    def changes(self, *topics: str) -> AsyncGenerator[frozenset[str], None]:
        return self._subscriptions.changes(topics)

    async def close(self) -> None:
        if self._preparing:
            await asyncio.wait(self._preparing)
        async with self._opening:
            await self._close()

    async def _close(self) -> None:
        await self._subscriptions.close()
        threads, self._threads = self._threads, []
        if self._inline_reader is not None:
            with suppress(apsw.Error):
                self._inline_reader.close()
            self._inline_reader = None
        if threads:  # else the None would stop the threads of the next opening
            self._writes.put(None)
            for _ in range(self._reader_count):
                self._reads.put(None)
        await asyncio.to_thread(_join, threads)
        self._prepared.clear()

    async def _submit(
        self, jobs: queue.SimpleQueue[Job | None], work: Work[ResultT], deadline: float, *, is_optional: bool = False
    ) -> ResultT:
        if not self._threads:
            raise Unavailable(say("The database is closed."))
        loop = asyncio.get_running_loop()
        future: asyncio.Future[ResultT] = loop.create_future()
        jobs.put(Job(work, loop, future, deadline, is_optional))
        return await future

    def _open(self, deadline: float) -> None:
        if tuple(map(int, apsw.sqlite_lib_version().split("."))) < MIN_SQLITE_VERSION:
            raise SetupError(
                say(
                    "SQLite {found} is too old: it can corrupt shared databases.",
                    found=apsw.sqlite_lib_version(),
                ),
                hint=say("Install a newer apsw: pip install -U apsw"),
            )
        try:
            writer = self._connect(deadline)
            readers = [self._connect(deadline, reader=True) for _ in range(self._reader_count)]
            if readers:
                self._inline_reader = self._connect(deadline, reader=True)
                self._inline_reader.set_busy_timeout(0)
        except (apsw.Error, OSError) as error:
            raise SetupError(
                say("The database {path} cannot be opened: {reason}.", path=str(self._path), reason=str(error)),
                hint=say("Check that the data folder exists, is yours and can be written, or name another one."),
            ) from error
        self._threads = [
            _thread(SqliteWriter(writer, self._writes, self._subscriptions.committed).run),
            *(_thread(self._read_loop, reader) for reader in readers),
        ]

    def _connect(self, deadline: float, *, reader: bool = False) -> apsw.Connection:
        if self._path is None:
            connection = apsw.Connection(":memory:")
        else:
            _create_private(self._path)
            connection = apsw.Connection(str(self._path), vfs=self._vfs)
        # WAL keeps readers going while the writer commits; FULL makes an acknowledged write survive a power cut.
        _use_write_ahead_log(connection, deadline)
        connection.set_busy_timeout(_remaining_ms(deadline))
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY")
        if reader:
            connection.execute("PRAGMA query_only = ON")
        return connection

    def _read_loop(self, connection: apsw.Connection) -> None:
        while (job := self._reads.get()) is not None:
            try:
                connection.set_busy_timeout(_remaining_ms(job.deadline))
                job.result = read_unit(connection, job.work)
            except apsw.Error as error:
                job.error = translate_sqlite_error(error)
            except Exception as error:
                job.error = error
            settle_jobs([job])
        with suppress(apsw.Error):  # whoever is last writes a checkpoint, for which a full disk has no room
            connection.close()

    async def _migrate(self, migrations: MigrationSet, deadline: float) -> None:
        """Apply the steps of a set that are missing, all in one transaction: a kill leaves none of them or all.

        Another process may be doing the same: the write lock decides which goes first, and what is missing is looked up
        again after the lock is held.
        """
        if migrations.name in self._prepared:
            return

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
            await self._submit(self._writes, apply_missing, deadline)
        self._prepared.add(migrations.name)

    def _back_up(self) -> None:
        if self._path is None:
            return
        try:
            with closing(
                self._connect(_deadline())
            ) as source:  # a reader's connection may not even write to another file
                back_up(source, self._path)
        except apsw.Error as error:
            raise translate_sqlite_error(error) from error


def _create_private(path: Path) -> None:
    """Make the file, if there is none: it holds chats and plans, which no other user of the machine may read.

    A file that is there is never opened here. Closing any descriptor of it would drop the POSIX locks of all
    connections that this process has to it, without their knowing: the next process that leaves would take itself for
    the last one, and delete the write-ahead log under us, with everything that is written afterwards.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _use_write_ahead_log(connection: apsw.Connection, deadline: float) -> None:
    """Switch to WAL. Of several that switch a new file at once, SQLite refuses some without waiting: they retry."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()  # with others in one text they would not run
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(WAL_RETRY_S)


def _deadline(*, is_optional: bool = False) -> float:
    return time.monotonic() + (OPTIONAL_WAIT_S if is_optional else LOCK_WAIT_S)


def _remaining_ms(deadline: float) -> int:
    return max(0, int(1000 * (deadline - time.monotonic())))


def _thread(loop: Callable[..., None], *args: apsw.Connection) -> threading.Thread:
    thread = threading.Thread(target=loop, args=args, name="madang-database", daemon=True)
    thread.start()
    return thread


def _join(threads: Iterable[threading.Thread]) -> None:
    for thread in threads:
        thread.join()
