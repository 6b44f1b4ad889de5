"""What only the embedded database has: files, locks, other processes, full disks."""

from __future__ import annotations

import asyncio
import os
import resource
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path

import anyio
import apsw
import pytest

from madang.core.errors import SetupError, Unavailable
from madang.database import notices
from madang.database.port import MigrationSet, Transaction
from madang.database.sqlite import database as sqlite
from madang.database.sqlite import writer as sqlite_writer
from madang.database.sqlite.database import SqliteDatabase
from madang.settings import prepare_data_dir
from tests.backends import NUMBERS, insert, numbers, opened
from tests.database.test_database import told, watching
from tests.stores.children import SLOW_STEPS, Child, child

WITHIN_S = 60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "madang.db"


def commits(path: Path) -> int:
    """Return how many transactions the write-ahead log holds: the last frame of each tells the size of the file."""
    log = path.with_name(f"{path.name}-wal").read_bytes()
    page_size, salt = struct.unpack(">I", log[8:12])[0], log[16:24]
    frames = (log[at : at + 24] for at in range(32, len(log), 24 + page_size))
    return sum(frame[8:16] == salt and frame[4:8] != bytes(4) for frame in frames)


def check_integrity(path: Path) -> str:
    connection = apsw.Connection(str(path))
    try:
        return str(connection.execute("PRAGMA integrity_check").get)
    finally:
        connection.close()


LOOK = """
import sys, sqlite3
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
connection.close()
"""


async def test_another_program_that_comes_and_goes_leaves_the_write_ahead_log(path: Path) -> None:
    """It would delete the log if it took itself for the last one: if our locks were lost, what we write then is too."""
    async with opened(SqliteDatabase(path)) as database:
        await insert(database, 1)
        subprocess.run([sys.executable, "-c", LOOK, str(path)], check=True, timeout=WITHIN_S)
        assert path.with_name(f"{path.name}-wal").exists()
        await insert(database, 2)
        async with opened(SqliteDatabase(path)) as second:  # a second one in this process takes nothing from the first
            assert await numbers(second) == [1, 2]
            subprocess.run([sys.executable, "-c", LOOK, str(path)], check=True, timeout=WITHIN_S)
            assert path.with_name(f"{path.name}-wal").exists()
        subprocess.run([sys.executable, "-c", LOOK, str(path)], check=True, timeout=WITHIN_S)
        assert path.with_name(f"{path.name}-wal").exists()


async def test_writers_at_once_share_commits(path: Path) -> None:
    async with opened(SqliteDatabase(path)) as database:
        before = commits(path)
        await asyncio.gather(*(insert(database, value) for value in range(300)))
        together = commits(path) - before
        for value in range(300, 310):
            await insert(database, value)
        alone = commits(path) - before - together

    assert 300 / sqlite_writer.MAX_BATCH_WRITES <= together <= 30
    assert alone == 10


async def test_commits_are_flushed_whatever_the_library_does_by_default(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How careful SQLite is by itself is chosen when it is built. A hook stands for a build that chose otherwise."""

    def careless(connection: apsw.Connection) -> None:
        connection.execute("PRAGMA synchronous = OFF")

    monkeypatch.setattr(apsw, "connection_hooks", [careless])
    async with opened(SqliteDatabase(path)) as database:
        assert await database.write(lambda tx: tx.one("PRAGMA synchronous")) == (2,)
        assert await database.read(lambda tx: tx.one("PRAGMA journal_mode")) == ("wal",)


async def test_a_reader_stays_on_its_snapshot_while_others_commit(path: Path) -> None:
    begun, written = threading.Event(), threading.Event()

    async def twice(tx: Transaction) -> tuple[object, object]:
        first = await tx.one("SELECT count(*) FROM number")
        begun.set()
        assert written.wait(WITHIN_S)
        return first, await tx.one("SELECT count(*) FROM number")

    async with opened(SqliteDatabase(path)) as database:
        reading = asyncio.create_task(database.read(twice))
        assert await asyncio.to_thread(begun.wait, WITHIN_S)
        await insert(database, 1)
        written.set()

        assert await reading == ((0,), (0,))
        assert await numbers(database) == [1]


async def test_readers_cannot_write(path: Path) -> None:
    async def work(tx: Transaction) -> None:
        await tx.run("INSERT INTO number (value) VALUES (1)")

    async with opened(SqliteDatabase(path)) as database:
        with pytest.raises(Unavailable):
            await database.read(work)
        assert await numbers(database) == []


@pytest.mark.parametrize("on_disk", [True, False], ids=["disk", "memory"])
async def test_a_unit_that_waits_for_something_else_is_refused(path: Path, on_disk: bool) -> None:
    """It runs in a thread without an event loop: it could never be woken, and would hold the database."""

    async def work(tx: Transaction) -> None:
        await tx.run("INSERT INTO number (value) VALUES (1)")
        await asyncio.sleep(0)

    async with opened(SqliteDatabase(path if on_disk else None)) as database:
        with pytest.raises(RuntimeError, match="awaited something other"):
            await database.write(work)
        with pytest.raises(RuntimeError, match="awaited something other"):
            await database.read(work if not on_disk else _waits)
        assert await numbers(database) == []


async def _waits(_: Transaction) -> None:
    await asyncio.sleep(0)


async def test_the_files_belong_to_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    old_mask = os.umask(0)
    try:
        prepare_data_dir(folder)
        async with opened(SqliteDatabase(folder / "madang.db")) as database:
            await insert(database, 1)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
    finally:
        os.umask(old_mask)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert modes == dict.fromkeys(("madang.db", "madang.db-wal", "madang.db-shm"), 0o600)


async def test_a_change_in_another_process_is_told(path: Path) -> None:
    assert notices.POLL_S <= 0.5, "within a second, the way there included"
    async with opened(SqliteDatabase(path)) as database, child("notify", path, "apple") as other:
        assert await other.line() == "ready"
        async with watching(database, "apple", "pear") as changes:
            await other.go()
            assert await other.line() == "told"
            with anyio.fail_after(60):
                assert await told(changes) == {"apple"}
            assert await numbers(database) == [other.process.pid]
        await other.end()


async def test_a_locked_database_is_unavailable_and_usable_again_afterwards(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LOCK_WAIT_S", 0.2)
    async with opened(SqliteDatabase(path)) as database:
        await insert(database, 1)
        async with child("hold_write_lock", path) as other:
            assert await other.line() == "held"

            with pytest.raises(Unavailable, match="Nothing was written"):
                await insert(database, 2)
            assert await numbers(database) == [1]

            await other.go()
            assert await other.line() == "released"
            await insert(database, 3)
            await other.end()
        assert await numbers(database) == [1, 3]


async def test_a_writer_waits_for_another_process_that_is_nearly_done(path: Path) -> None:
    async with opened(SqliteDatabase(path)) as database, child("hold_lock_and_write", path, "7") as other:
        assert await other.line() == "written"
        waiting = asyncio.create_task(insert(database, 8))
        assert await numbers(database) == []
        await other.go()
        with anyio.fail_after(WITHIN_S):
            await waiting
        assert await numbers(database) == [7, 8]
        await other.end()


async def test_many_processes_may_make_the_same_database_at_once(path: Path) -> None:
    """All begin with no file at all, and every step of the tables is done exactly once."""
    async with AsyncExitStack() as stack:
        others: list[Child] = [await stack.enter_async_context(child("migrate", path)) for _ in range(6)]
        for other in others:
            assert await other.line() == "ready"
        for other in others:
            await other.go()
        for other in others:
            assert await other.line() == "done"
            await other.end()

    connection = apsw.Connection(str(path))
    applied = connection.execute("SELECT number FROM migration WHERE set_name = 'slow' ORDER BY number").fetchall()
    tables = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'slow%'").get
    connection.close()
    assert [number for (number,) in applied] == list(range(1, len(SLOW_STEPS.sqlite) + 1))
    assert tables == len(SLOW_STEPS.sqlite)


async def test_before_a_later_step_the_file_is_copied(path: Path) -> None:
    first = MigrationSet("set", sqlite=("CREATE TABLE a (x)",))
    both = MigrationSet("set", sqlite=("CREATE TABLE a (x)", "DROP TABLE a"))
    async with opened(SqliteDatabase(path)) as database:
        await database.prepare(first)
        await insert(database, 42)
    assert list(path.parent.glob("*.before-*")) == []

    async with opened(SqliteDatabase(path)) as database:
        await database.prepare(both)

    (backup,) = path.parent.glob("madang.db.before-*")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert check_integrity(backup) == "ok"
    connection = apsw.Connection(str(backup))
    assert connection.execute("SELECT value FROM number").get == 42
    assert connection.execute("SELECT count(*) FROM a").get == 0
    connection.close()


async def test_a_step_whose_backup_cannot_be_made_is_not_done(path: Path) -> None:
    async with opened(SqliteDatabase(path)) as database:
        await database.prepare(MigrationSet("set", sqlite=("CREATE TABLE a (x)",)))
        await insert(database, *range(20_000))
    both = MigrationSet("set", sqlite=("CREATE TABLE a (x)", "DROP TABLE a"))

    async with opened(SqliteDatabase(path)) as database:
        with file_size_limit(path.stat().st_size // 2), pytest.raises(Unavailable):
            await database.prepare(both)

        assert list(path.parent.glob("*.before-*")) == []
        assert len(await numbers(database)) == 20_000
        await database.prepare(both)
        assert len(list(path.parent.glob("*.before-*"))) == 1


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """Let writes behind this place of any file fail, as on a broken or full disk."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of 2 MiB, enough for an empty database twice: in the log, and where the log is written back."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def can_mount(folder: Path) -> bool:
    try:
        with small_disk(folder):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


async def fill(database: SqliteDatabase, start: int = 0) -> list[int]:
    """Write until it does not go any further; return what was acknowledged."""
    acknowledged: list[int] = []

    async def write(values: range) -> None:
        async def work(tx: Transaction) -> None:
            for value in values:
                await tx.run("INSERT INTO number VALUES (?1, ?2)", value, "x" * 2000)

        await database.write(work)
        acknowledged.extend(values)

    try:
        for first in range(start, start + 100_000, 20):
            await write(range(first, first + 20))
    except Unavailable:
        return acknowledged
    raise AssertionError("there was always room")


async def check_full_disk(path: Path, release: Callable[[], object], database: SqliteDatabase) -> None:
    """The disk is full: what was acknowledged is there, nothing else is, and writing goes on once there is room."""
    acknowledged = await fill(database)
    assert await numbers(database) == acknowledged
    for more in await asyncio.gather(*(fill(database, start) for start in (10**6, 2 * 10**6, 3 * 10**6))):
        acknowledged += more
    assert await numbers(database) == acknowledged

    release()
    await insert(database, 10**9)

    assert await numbers(database) == [*acknowledged, 10**9]
    assert check_integrity(path) == "ok"


async def test_a_database_at_its_largest_size_is_full_and_recovers(path: Path) -> None:
    database = SqliteDatabase(path)

    async def limit(tx: Transaction, pages: int) -> object:
        return await tx.one(f"PRAGMA max_page_count = {pages}")

    async with opened(database):
        await database.write(lambda tx: limit(tx, 200))
        acknowledged = await fill(database)
        with pytest.raises(Unavailable, match="full"):
            await insert(database, *range(10**6, 10**6 + 10**5))
        assert await numbers(database) == acknowledged

        await database.write(lambda tx: limit(tx, 10**6))
        await insert(database, 1_000_000)
        assert await numbers(database) == [*acknowledged, 1_000_000]
    assert check_integrity(path) == "ok"


async def test_a_disk_that_takes_no_more_bytes_is_unavailable_and_recovers(path: Path) -> None:
    database = SqliteDatabase(path)
    with ExitStack() as limit:
        async with opened(database):
            limit.enter_context(file_size_limit(400_000))
            await check_full_disk(path, limit.close, database)


async def test_a_full_disk_is_unavailable_and_recovers(tmp_path: Path) -> None:
    """On a real small file system where we may mount one, else with a limit on file sizes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with ExitStack() as disk:
        path = folder / "madang.db"
        if can_mount(folder):
            disk.enter_context(small_disk(folder))
            (folder / "ballast").write_bytes(bytes(300_000))
            release: Callable[[], object] = (folder / "ballast").unlink
        else:
            release = disk.enter_context(ExitStack()).close
            disk.enter_context(file_size_limit(500_000))
        database = SqliteDatabase(path)
        async with opened(database):
            await check_full_disk(path, release, database)


async def test_a_file_that_is_no_database_is_a_matter_of_setup_and_stays_as_it_is(path: Path) -> None:
    path.write_bytes(b"These are my notes, not a database.\n" * 100)
    before = path.read_bytes()
    database = SqliteDatabase(path)

    with pytest.raises(SetupError, match="not a database"):
        await database.prepare(NUMBERS)
    await database.close()

    assert path.read_bytes() == before


async def test_a_database_in_a_place_that_cannot_be_written_is_a_matter_of_setup(tmp_path: Path) -> None:
    """Root may write everywhere, so the places are a folder that is missing, a file, and a folder in the way."""
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.db").mkdir()
    for path in (tmp_path / "missing" / "madang.db", tmp_path / "file" / "madang.db", tmp_path / "folder.db"):
        database = SqliteDatabase(path)
        with pytest.raises(SetupError, match="cannot be opened"):
            await database.prepare(NUMBERS)
        await database.close()


async def test_an_opening_that_failed_can_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "later" / "madang.db"
    database = SqliteDatabase(path)
    with pytest.raises(SetupError):
        await database.prepare(NUMBERS)

    path.parent.mkdir()

    async with opened(database):
        await insert(database, 1)
        assert await numbers(database) == [1]


async def test_a_database_that_breaks_under_way_is_unavailable_not_a_bug(path: Path) -> None:
    async with opened(SqliteDatabase(path)) as database:
        await insert(database, *range(5000))
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(os.urandom(size - 8192))

    async with opened(SqliteDatabase(path)) as database:
        with pytest.raises(Unavailable, match="cannot be used"):
            await numbers(database)
        with pytest.raises(Unavailable):
            await insert(database, *range(10_000, 20_000))
