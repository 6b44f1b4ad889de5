"""Disks that fail and come back: what cannot be done is said, nothing is lost, and no restart is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import apsw
import pytest

from madang.storage.sqlite import SqliteDatabase
from tests.asking import Asker
from tests.faults.disks import Disk
from tests.faults.story import STORY, open_story, state, states, tell

WITHIN_S = 10


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
