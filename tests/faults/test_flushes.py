"""Each flush to disk in turn kills its process or fails, as strace injects it into a real one."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import anyio
import apsw
import pytest

from madang.database.port import Transaction
from madang.database.sqlite.database import SqliteDatabase
from tests.faults.children import NEW_TABLES, OLD_TABLES, ROOT, TIMEOUT_S, command
from tests.faults.story import STORY, check_file, open_story, state, states

SYNC = "fdatasync"


@dataclass(frozen=True)
class Told:
    """How far a process came with the story."""

    returncode: int
    acknowledged: int
    failures: list[str]
    """The number, error code and text of each failed call."""
    calls_by_thread: Counter[str]
    injected: int


async def story_under(folder: Path, inject: str, system_call: str = SYNC) -> Told:
    """Tell the story in a process of its own, with a fault in a system call. Each of its threads counts for itself."""
    log = folder.with_suffix(".strace")
    faults = ["-e", f"inject={system_call}:{inject}"] if inject else []
    # Seccomp stops the process only at the calls in question, which is faster; but strace 6.1 then sends no signals.
    fast = [] if "signal" in inject else ["--seccomp-bpf"]
    strace = ["strace", "--follow-forks", *fast, "--output", str(log), "-e", f"trace={system_call}", *faults]
    with anyio.fail_after(TIMEOUT_S):
        done = await anyio.run_process([*strace, *command("story", folder)], cwd=ROOT, check=False)
    lines = done.stdout.decode().splitlines()
    acknowledged = [int(line.split()[1]) for line in lines if line.startswith("ack")]
    assert acknowledged == list(range(1, len(acknowledged) + 1)), done.stderr.decode()
    failures = [line.removeprefix("fail ") for line in lines if line.startswith("fail")]
    calls = Counter(re.findall(rf"^(\d+) +{system_call}\(", log.read_text(), re.MULTILINE))
    return Told(done.returncode, len(acknowledged), failures, calls, log.read_text().count("(INJECTED)"))


async def each(folders: Iterable[Path], inject: str, system_call: str = SYNC) -> list[Told]:
    """Tell the story in each folder, as many at once as there are processors, with a fault at a later call in each."""
    room = anyio.CapacityLimiter(os.cpu_count() or 1)
    told: dict[int, Told] = {}

    async def one(number: int, folder: Path) -> None:
        async with room:
            told[number] = await story_under(folder, inject.format(number=number), system_call)

    async with anyio.create_task_group() as group:
        for number, folder in enumerate(folders, start=1):
            group.start_soon(one, number, folder)
    return [told[number] for number in sorted(told)]


async def prepare(folder: Path) -> None:
    """Make the database beforehand, so that the first flushes are those of calls."""
    folder.mkdir()
    async with open_story(SqliteDatabase(folder / "madang.db")):
        pass


async def most_flushes(folder: Path) -> int:
    undisturbed = await story_under(folder, "")
    assert (undisturbed.returncode, undisturbed.acknowledged) == (0, len(STORY))
    return max(undisturbed.calls_by_thread.values())


async def folders_for(count: int, tmp_path: Path, *, prepared: bool) -> list[Path]:
    folders = [tmp_path / f"fault-{number}" for number in range(1, count + 1)]
    if prepared:
        await prepare(tmp_path / "prepared")
        for folder in folders:
            shutil.copytree(tmp_path / "prepared", folder)
    return folders


@pytest.mark.parametrize("prepared", [False, True], ids=["new database", "prepared database"])
async def test_t55_a_process_killed_at_any_flush_loses_nothing_it_acknowledged(tmp_path: Path, prepared: bool) -> None:
    expected = await states()
    if prepared:
        await prepare(tmp_path / "counted")
    count = await most_flushes(tmp_path / "counted")
    folders = await folders_for(count, tmp_path, prepared=prepared)

    outcomes = await each(folders, f"signal={signal.SIGKILL.value}:when={{number}}")

    killed = [told.returncode == -signal.SIGKILL for told in outcomes]
    assert sum(killed) > len(STORY)
    for folder, told in zip(folders, outcomes, strict=True):
        assert told.failures == []
        left = {file.name for file in folder.iterdir()}
        # The rollback journal is of the moment in which a new database becomes one with a write-ahead log.
        assert left <= {"madang.db", "madang.db-wal", "madang.db-shm", "madang.db-journal"}
        async with open_story(SqliteDatabase(folder / "madang.db")) as asker:
            assert await state(asker) in expected[told.acknowledged : told.acknowledged + 2], folder.name
            await asker.done("add_todo", name="life goes on")
        assert [file.name for file in folder.iterdir()] == ["madang.db"]
        check_file(folder / "madang.db")


async def test_t56_a_flush_that_fails_fails_its_call_alone(tmp_path: Path) -> None:
    await prepare(tmp_path / "counted")
    count = await most_flushes(tmp_path / "counted")
    folders = await folders_for(count, tmp_path, prepared=True)

    assert await failed_calls(folders) == set(range(1, len(STORY) + 1))


async def test_t56_a_flush_that_fails_while_a_database_is_made_is_made_up_for_by_the_next_call(tmp_path: Path) -> None:
    folders = await folders_for(16, tmp_path, prepared=False)

    assert await failed_calls(folders) >= {1, 2}  # the first calls of the two services, which make their tables


async def failed_calls(folders: list[Path]) -> set[int]:
    """Tell the story with one failing flush each, see that it comes to its end, and return which calls failed."""
    expected = await states()
    outcomes = await each(folders, "error=EIO:when={number}")
    for folder, told in zip(folders, outcomes, strict=True):
        assert (told.returncode, told.acknowledged) == (0, len(STORY)), folder.name
        # What fails while a folder is flushed, or while the log is put away at the end, is no call's business.
        assert len(told.failures) <= told.injected
        assert {failure.split()[1] for failure in told.failures} <= {"unavailable"}
        async with open_story(SqliteDatabase(folder / "madang.db")) as asker:
            assert await state(asker) == expected[-1], folder.name
        check_file(folder / "madang.db")
    return {int(failure.split()[0]) for told in outcomes for failure in told.failures}


async def test_t56_a_disk_that_is_full_for_some_writes_is_said_to_be_and_nothing_is_lost(tmp_path: Path) -> None:
    expected = await states()
    folders = await folders_for(8, tmp_path, prepared=True)

    outcomes = await each(folders, "error=ENOSPC:when={number}1..{number}9", "pwrite64")

    for folder, told in zip(folders, outcomes, strict=True):
        assert (told.returncode, told.acknowledged) == (0, len(STORY)), folder.name
        assert told.failures
        assert all("The disk is full. Nothing was written." in failure for failure in told.failures)
        async with open_story(SqliteDatabase(folder / "madang.db")) as asker:
            assert await state(asker) == expected[-1], folder.name
        check_file(folder / "madang.db")


async def test_t55_a_process_killed_while_it_makes_a_backup_leaves_none_that_is_not_whole(tmp_path: Path) -> None:
    """Killed while it writes the copy; whoever comes next makes a whole one and clears away what was left long ago."""

    async def fill(tx: Transaction) -> None:
        for number in range(50):
            await tx.run("INSERT INTO value VALUES (?1)", f"{number} {'x' * 4000}")

    folder = tmp_path / "data"
    folder.mkdir()
    database = SqliteDatabase(folder / "madang.db")
    await database.prepare(OLD_TABLES)
    await database.write(fill)
    await database.close()

    for number in (1, 20, 50):
        inject = ["-e", "trace=pwrite64", "-e", f"inject=pwrite64:signal=SIGKILL:when={number}"]
        with anyio.fail_after(TIMEOUT_S):
            strace = ["strace", "--follow-forks", "--output", str(tmp_path / "log"), *inject]
            done = await anyio.run_process([*strace, *command("migrate", folder)], cwd=ROOT, check=False)
        assert done.returncode == -signal.SIGKILL
        assert list(folder.glob("madang.db.before-*")) == []
    left = list(folder.glob("madang.db.part-*"))
    assert left
    for part in left:
        os.utime(part, (0, 0))

    await database.prepare(NEW_TABLES)
    await database.close()

    backup, current = sorted(folder.iterdir(), reverse=True)
    assert current.name == "madang.db"
    assert backup.name.startswith("madang.db.before-")
    connection = apsw.Connection(str(backup))
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    assert connection.execute("SELECT count(*) FROM value").get == 50
    connection.close()
