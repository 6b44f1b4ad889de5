"""The file of a database is watched, so that an idle process reads nothing and still hears of others' commits."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path

import pytest
from anyio import fail_after

from madang.database import file_watch, notices
from madang.database.file_watch import FileWatch
from madang.database.sqlite.database import SqliteDatabase
from tests.backends import NUMBERS, insert

linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify")


async def until_quiet(database: SqliteDatabase) -> None:
    with fail_after(60):
        while not database._subscriptions._is_quiet():  # noqa: ASYNC110  # nothing happens then that could be awaited
            await asyncio.sleep(0.05)


@linux
async def test_a_quiet_process_hears_of_anothers_commit_without_a_poll(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "WRITE_SETTLES_S", 1.0)
    monkeypatch.setattr(notices, "QUIET_POLL_S", 3600.0)
    ours, theirs = SqliteDatabase(tmp_path / "madang.db"), SqliteDatabase(tmp_path / "madang.db")
    for database in (ours, theirs):
        await database.prepare(NUMBERS)
    async with aclosing(ours.changes("files/")) as changes:
        assert await anext(changes) == frozenset()
        for number in (1, 2):
            await until_quiet(ours)
            with fail_after(60):
                await insert(theirs, number, topic=f"files/{number}/")
                assert await anext(changes) == {f"files/{number}/"}
    for database in (ours, theirs):
        await database.close()


async def test_a_file_that_cannot_be_watched_is_polled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_watch, "_LOCAL_FILE_SYSTEMS", frozenset())
    monkeypatch.setattr(notices, "WRITE_SETTLES_S", 0.0)
    monkeypatch.setattr(notices, "QUIET_POLL_S", 3600.0)
    ours, theirs = SqliteDatabase(tmp_path / "madang.db"), SqliteDatabase(tmp_path / "madang.db")
    for database in (ours, theirs):
        await database.prepare(NUMBERS)
    async with aclosing(ours.changes("files/")) as changes:
        with fail_after(60):
            assert await anext(changes) == frozenset()
            await insert(theirs, 1, topic="files/theirs/")
            assert await anext(changes) == {"files/theirs/"}
    for database in (ours, theirs):
        await database.close()


@linux
async def test_a_watch_tells_of_the_named_files_alone_and_of_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    heard, lost = asyncio.Event(), asyncio.Event()
    watch = FileWatch.open(folder, ["a"], heard.set, lost.set)
    assert watch is not None

    with fail_after(60):
        (folder / "b").write_text("unheard")
        (folder / "a").write_text("heard")
        await heard.wait()
        heard.clear()
        (folder / "b").write_text("unheard")
        folder.rename(tmp_path / "elsewhere")
        await lost.wait()
        assert not heard.is_set()
    watch.close()


@linux
async def test_a_folder_that_is_not_there_has_no_watch(tmp_path: Path) -> None:
    assert FileWatch.open(tmp_path / "nothing", ["a"], lambda: None, lambda: None) is None
