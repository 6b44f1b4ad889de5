"""Disks that fail and come back: what cannot be done is said, nothing is lost, and no restart is needed."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from pathlib import Path

import anyio
import apsw
import pytest

from madang.app import open_madang
from madang.core.errors import SetupError
from madang.database.sqlite.database import SqliteDatabase
from madang.settings import Settings
from tests.asking import Asker
from tests.database.test_sqlite import can_mount, file_size_limit, small_disk
from tests.faults.disks import Disk
from tests.faults.story import STORY, check_file, check_inside, open_story, state, states, tell

WITHIN_S = 60
NOBODY = 65534


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk("failing disk")
    yield disk
    disk.remove()


async def tell_until(asker: Asker, last: int) -> None:
    for step in STORY[:last]:
        reply = await tell(asker, step)
        assert not reply.is_error, reply.text


READS = ("list_playbooks", "list_playbook_runs", "get_current_state", "export_playbooks")


async def test_t56_a_disk_that_cannot_be_read_is_unavailable_and_recovers(tmp_path: Path, disk: Disk) -> None:
    """SQLite gives up a transaction by itself when the disk fails: ending it once more must not hide the reason."""
    path = tmp_path / "madang.db"
    async with open_story(SqliteDatabase(path)) as asker:
        await tell_until(asker, 9)
    async with open_story(SqliteDatabase(path, vfs=disk.name)) as asker:
        await asker.done("list_playbook_runs", pageSize=1)

        disk.read_error = apsw.IOError("the disk cannot be read")
        for _ in range(3):
            codes = {(await asker.ask(tool)).error_code for tool in READS}
            assert codes in ({"unavailable"}, {"", "unavailable"})  # pages that are in memory can still be read
        disk.read_error = None

        with anyio.fail_after(WITHIN_S):
            assert await state(asker) == (await states())[9]


WRITES: dict[str, dict[str, object]] = {
    "create_playbook": {"goal": "more", "workflow": [{"description": "x" * 4000}] * 20},
    "create_goal": {"goal": "more"},
    "add_todo": {"name": "more"},
    "mark_todo": {"id": 1},
    "add_observation": {"observation": "more"},
    "clear_session": {},
}


@pytest.mark.parametrize(
    "error",
    [apsw.FullError("full"), apsw.IOError("broken"), apsw.ReadOnlyError("read-only"), apsw.CantOpenError("gone")],
    ids=lambda error: type(error).__name__,
)
async def test_t56_a_disk_that_takes_no_writes_is_unavailable_reads_go_on_and_it_recovers(
    tmp_path: Path, disk: Disk, error: apsw.Error
) -> None:
    """Alone and many at once: of a batch that fails nobody is told that it was done, and the next batch is tried."""
    expected = (await states())[9]
    async with open_story(SqliteDatabase(tmp_path / "madang.db", vfs=disk.name)) as asker:
        await tell_until(asker, 9)

        disk.error = error
        with anyio.fail_after(WITHIN_S):
            alone = [await asker.ask(tool, **arguments) for tool, arguments in WRITES.items()]
            many = await asyncio.gather(*(asker.ask(tool, **WRITES[tool]) for tool in [*WRITES] * 20))
            shown = await asker.ask("show_playbooks", pageSize=5)
            assert await state(asker) == expected
        disk.error = None

        assert {reply.error_code for reply in [*alone, *many]} == {"unavailable"}
        assert not shown.is_error
        if isinstance(error, apsw.FullError):
            assert "The disk is full. Nothing was written." in alone[0].text
        with anyio.fail_after(WITHIN_S):
            assert await state(asker) == expected
            for step in STORY[9:]:
                assert not (await tell(asker, step)).is_error
        await check_inside(asker.database)
        assert await state(asker) == (await states())[-1]


async def test_t56_a_full_file_system_is_unavailable_and_recovers_without_a_restart(tmp_path: Path) -> None:
    """On a real small file system where we may mount one, else with a limit on file sizes."""
    folder = tmp_path / "data"
    folder.mkdir()
    with ExitStack() as full:
        if can_mount(folder):
            full.enter_context(small_disk(folder))
        database = SqliteDatabase(folder / "madang.db")
        async with open_story(database) as asker:
            await tell_until(asker, 9)
            before = await state(asker)
            room = full.enter_context(filled(folder))

            replies = await asyncio.gather(*(asker.ask(tool, **WRITES[tool]) for tool in [*WRITES] * 5))
            assert {reply.error_code for reply in replies} == {"unavailable"}
            assert await state(asker) == before

            room.close()
            for step in STORY[9:]:
                reply = await tell(asker, step)
                assert not reply.is_error, reply.text
            assert await state(asker) == (await states())[-1]
        check_file(folder / "madang.db")


@contextmanager
def filled(folder: Path) -> Iterator[ExitStack]:
    """Leave no room for the write-ahead log; closing what is given makes room again."""
    with ExitStack() as room:
        if folder.is_mount():
            ballast = folder / "ballast"
            room.callback(ballast.unlink)
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(bytes(4096)):
                    pass
        else:
            room.enter_context(file_size_limit((folder / "madang.db-wal").stat().st_size))
        yield room


async def test_t56_a_read_only_file_system_is_a_matter_of_setup_and_usable_later(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    async with AsyncExitStack() as stack:
        with read_only(folder), pytest.raises(SetupError, match="cannot be used"):
            await stack.enter_async_context(open_madang(Settings(folder)))
        with read_only(folder):
            asker = await stack.enter_async_context(open_story(SqliteDatabase(folder / "madang.db")))
            reply = await asker.ask("list_playbooks")
            assert reply.error_code == "unavailable"
            assert "cannot be opened" in reply.text
        await tell_until(asker, len(STORY))
        assert await state(asker) == (await states())[-1]


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Mount it read-only where we may; else take away the right to write, and from root its power to do it anyway."""
    if can_mount(folder):
        subprocess.run(["mount", "--bind", "--options", "ro", folder, folder], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", folder], check=True)
    else:
        folder.chmod(0o500)
        uids = os.getresuid()
        if uids[1] == 0:
            os.setresuid(NOBODY, NOBODY, 0)
        try:
            yield
        finally:
            os.setresuid(*uids)
            folder.chmod(0o700)


async def test_t56_a_data_folder_that_was_taken_away_is_unavailable_and_usable_when_it_is_back(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    folder.mkdir()
    async with open_story(SqliteDatabase(folder / "madang.db")) as asker:
        await tell_until(asker, 9)
    folder.rename(elsewhere)
    async with open_story(SqliteDatabase(folder / "madang.db")) as asker:
        assert (await asker.ask("list_playbooks")).error_code == "unavailable"
        elsewhere.rename(folder)
        assert await state(asker) == (await states())[9]
