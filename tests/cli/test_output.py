"""Output that cannot be written: one line on standard error, an exit code, and never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.talking import environment, rows, write_script

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")

TOLD = "madang: The output cannot be written: "


def madang(folder: Path, redirections: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command through a shell, with redirections."""
    script = f'exec "$@" {redirections}'
    return subprocess.run(
        ["/bin/sh", "-c", script, "sh", sys.executable, "-m", "madang", *words],
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("words", [["tools"], ["tools", "--json"], ["--help"], ["--version"]], ids=" ".join)
def test_a_full_disk_is_told(tmp_path: Path, words: list[str]) -> None:
    result = madang(tmp_path, ">/dev/full", *words)

    assert (result.returncode, result.stderr) == (1, f"{TOLD}No space left on device.\n")


def test_a_closed_output_is_told_and_a_run_goes_into_no_other_file(tmp_path: Path) -> None:
    model = write_script(tmp_path, ["Hello."])

    result = madang(tmp_path, ">&-", "run", "Hi", "--model", model)

    assert (result.returncode, result.stderr) == (1, f"{TOLD}Bad file descriptor.\n")
    assert rows(tmp_path, "PRAGMA integrity_check") == [("ok",)]


def test_a_pipe_that_nobody_reads_any_more_is_no_error(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-m", "madang", "tools"],
        env=environment(tmp_path),
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(writer)

    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("redirections", [">/dev/full 2>/dev/full", ">&- 2>&- <&-"], ids=["full", "closed"])
def test_where_nothing_can_be_written_there_is_an_exit_code(tmp_path: Path, redirections: str) -> None:
    assert madang(tmp_path, redirections, "tools").returncode == 1


def test_notes_that_cannot_be_written_end_no_run(tmp_path: Path) -> None:
    model = write_script(tmp_path, [{"call": "add_todo", "arguments": {"name": "tea"}}], ["Done."])

    result = madang(tmp_path, f">'{tmp_path}/output' 2>/dev/full", "run", "Hi", "--model", model)

    assert result.returncode == 0
    assert (tmp_path / "output").read_text().endswith("Done.\n")
