"""`madang run` over a database that fails: it says what it waits for, goes on, and always ends with a code."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import apsw
import pytest

from madang.cli import conversation, main
from madang.database.sqlite.database import SqliteDatabase
from tests.agent.test_outages import FillingDisk
from tests.cli.talking import Hold, call_step, rows, write_script
from tests.cli.test_models import Served
from tests.cli.test_run import _limit
from tests.model_server import answers
from tests.model_wires import Say

EVERY = 1 if os.environ.get("MADANG_TEST_CHAOS") else 7
"""Of the writes of a command, each or only some find a full disk."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = tmp_path / "data"
    monkeypatch.setenv("MADANG_DATA_DIR", str(data))
    monkeypatch.setenv("MADANG_LOCALE", "en")
    monkeypatch.delenv("MADANG_MODEL", raising=False)
    return data


@contextmanager
def at_outage(do: Callable[[], None]) -> Iterator[None]:
    """Have something done when a run begins to wait for the database."""

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("Runs wait"):
                do()

    handler, logger = Heard(), logging.getLogger("madang.database.patience")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def test_a_locked_database_is_told_and_the_run_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("madang.database.sqlite.database.LOCK_WAIT_S", 0.2)
    may_unlock, hold = threading.Event(), Hold(Say("Tea it is."))

    def lock() -> None:
        assert hold.is_reached.wait(60)
        with closing(apsw.Connection(str(folder / "madang.db"))) as other:
            other.execute("BEGIN IMMEDIATE")
            hold.release()
            assert may_unlock.wait(60)

    locker = threading.Thread(target=lock)
    locker.start()
    with Served(hold) as server, at_outage(may_unlock.set):
        assert main(["run", "Tea", "--model", f"{server.url}/v1#qwen3"]) == 0
    locker.join()

    streams = capsys.readouterr()
    assert streams.out == "Tea it is.\n"
    assert streams.err.splitlines() == [
        "Another process keeps the database locked. Nothing was written. "
        "The run waits for the database, and goes on by itself.",
        "The database answers again. The run goes on.",
    ]


def test_a_run_that_nothing_is_heard_of_beyond_its_time_ends_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir()
    asyncio.run(_limit(folder, {"unattendedMinutes": 0.001}))
    monkeypatch.setattr(conversation, "CHECK_S", 0.05)
    monkeypatch.setattr(conversation, "GRACE_S", 0.1)
    hold = Hold(Say("Too late."))
    try:
        with Served(hold) as server:
            assert main(["run", "Tea", "--session", "s", "--model", f"{server.url}/v1#qwen3"]) == 4
            hold.release()
    finally:
        hold.release()

    # The run ends by itself, or the command tells of it: both say how it goes on.
    assert re.search("--session s|Write a message to go on", capsys.readouterr().err.splitlines()[-1])


def test_a_run_that_nobody_works_on_ends_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(conversation, "CHECK_S", 0.05)
    monkeypatch.setattr(conversation, "UNWORKED_S", 0)
    monkeypatch.setattr("madang.agent.runner.Runner._launch", lambda self, run: None)
    with Served(answers(Say("Never asked."))) as server:
        assert main(["run", "Tea", "--session", "s", "--model", f"{server.url}/v1#qwen3"]) == 1

    assert "Nobody has worked on this run" in capsys.readouterr().err


def test_a_disk_that_fills_at_any_write_leaves_a_command_that_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before its run began it is a matter of set-up, which is said in a line; afterwards it waits for room."""
    disk = FillingDisk("a command's disk")
    monkeypatch.setattr("madang.app.SqliteDatabase", partial(SqliteDatabase, vfs=disk.name))
    model = write_script(
        tmp_path, [call_step("add_todo", name="boil")], [call_step("add_todo", name="pour")], ["Done."]
    )

    def free() -> None:
        threading.Timer(0.05, setattr, (disk, "error", None)).start()

    codes: list[int] = []
    number, was_full = 1, True
    while was_full:
        folder = tmp_path / str(number)
        monkeypatch.setenv("MADANG_DATA_DIR", str(folder))
        disk.error, disk.fills_at = None, disk.flushes + number
        with at_outage(free):
            codes.append(main(["run", "Tea", "--model", model]))
        was_full = disk.fills_at <= disk.flushes
        disk.error = None
        if codes[-1] == 0:
            [(plan,)] = rows(folder, "SELECT count(*) FROM run WHERE state = 'finished'")
            assert plan == 1
        else:
            assert capsys.readouterr().err.count("madang: ") == 1
        number += EVERY
    disk.remove()

    assert set(codes) == {0, 2}
    assert codes[-1] == 0
