"""Commands that write a file and are ended before it is whole: nothing of it is left, neither now nor later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from madang.cli import main

TIMEOUT_S = 60
FILES, FILE_BYTES = 30, 64 * 1024**2
"""Without blocks on the disk, and yet many seconds of work to pack."""
SMALL_FILES = 5000
WRITING = {
    "backup": ["backup", "a.zip"],
    "export": ["export", "--all", "a.zip"],
    "session": ["sessions", "export", "s", "a.zip"],
}

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no signals that a process handles")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data folder with much to pack, in a session `s`."""
    folder = tmp_path / "data"
    arguments = ["call", "write_file", '{"path": "a.txt", "content": "x"}', "--session", "s"]
    assert main([*arguments, "--data-dir", str(folder)]) == 0
    (file,) = folder.glob("workspaces/*/files/a.txt")
    for number in range(FILES):
        with file.with_name(f"{number}.bin").open("wb") as large:
            large.truncate(FILE_BYTES)
    (tmp_path / "out").mkdir()
    return folder


@contextmanager
def started(data_dir: Path, name: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A command that is in the middle of its file; gives the process and the folder that it writes to."""
    out = data_dir.parent / "out"
    before = set(os.listdir(out))
    with subprocess.Popen(
        [sys.executable, "-m", "madang", *WRITING[name], "--data-dir", str(data_dir)],
        cwd=out,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            until = time.monotonic() + TIMEOUT_S
            while not any(_size(out / part) for part in set(os.listdir(out)) - before):
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < until, "it took too long"
                time.sleep(0.01)
            yield process, out
        finally:
            process.kill()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # the copy of the database is packed, and gone
        return 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("name", WRITING)
def test_a_signal_leaves_nothing_beside_the_target(data_dir: Path, name: str, number: signal.Signals) -> None:
    with started(data_dir, name) as (process, out):
        process.send_signal(number)
        output, errors = process.communicate(timeout=TIMEOUT_S)

    assert (process.returncode, output, errors) == (128 + number, b"", b"")
    assert os.listdir(out) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restore_that_is_ended_leaves_a_folder_that_can_be_restored_to(
    tmp_path: Path, number: signal.Signals
) -> None:
    data_dir, backup, target = tmp_path / "data", tmp_path / "backup.zip", tmp_path / "restored"
    files = data_dir / "workspaces" / "s" / "files"
    files.mkdir(parents=True)
    data_dir.chmod(0o700)
    for one in range(SMALL_FILES):
        (files / f"{one}.txt").write_text("x")
    assert main(["backup", str(backup), "--data-dir", str(data_dir)]) == 0
    target.mkdir(mode=0o700)
    command = [sys.executable, "-m", "madang", "restore", str(backup), "--data-dir", str(target)]
    with subprocess.Popen(command) as process:
        try:
            until = time.monotonic() + TIMEOUT_S
            while not any(target.glob(".*/workspaces/*/files/*")):
                assert process.poll() is None
                assert time.monotonic() < until, "it took too long"
                time.sleep(0.01)
            process.send_signal(number)
            assert process.wait(TIMEOUT_S) != 0
        finally:
            process.kill()

    assert bool(os.listdir(target)) == (number == signal.SIGKILL)
    assert main(["restore", str(backup), "--data-dir", str(target)]) == 0
    assert os.listdir(target) == ["workspaces"]


def test_what_a_kill_leaves_is_removed_by_the_next_and_what_another_writes_is_not(
    data_dir: Path, tmp_path: Path
) -> None:
    with started(data_dir, "backup") as (process, out):
        process.kill()
        process.wait(TIMEOUT_S)
    left = set(os.listdir(out))
    assert left

    with started(data_dir, "export") as (process, _):
        writing = set(os.listdir(out))
        assert writing.isdisjoint(left)
        (tmp_path / "empty").mkdir(mode=0o700)
        assert main(["backup", str(out / "b.zip"), "--data-dir", str(tmp_path / "empty")]) == 0
        assert set(os.listdir(out)) == {*writing, "b.zip"}
        assert process.poll() is None
