"""Children that work for calls: the server goes first."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from madang.services.content.engine.parsing.children import Child
from madang.system import child_process
from madang.system.child_process import ask_child, start_python
from madang.system.lifeline import TetheredProcess
from madang.system.priority import NICENESS, SESSION_NICENESS, lower_priority

pytestmark = pytest.mark.skipif(os.name != "posix", reason="priorities of POSIX")

ANSWER = """
import os, time

def answer(question):
    until = time.monotonic() + 60
    while os.getpriority(os.PRIO_PROCESS, 0) != int(question) and time.monotonic() < until:
        time.sleep(0.01)
    return str(os.getpriority(os.PRIO_PROCESS, 0)).encode()
"""


def priority(pid: int = 0) -> int:
    return os.getpriority(os.PRIO_PROCESS, pid)


LOWERED = min(priority() + NICENESS, 19)


def test_a_child_that_is_asked_has_a_lower_priority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_priority.py").write_text(ANSWER)
    monkeypatch.setattr(child_process, "_PACKAGES", str(tmp_path))

    answer = ask_child("own_priority", str(LOWERED).encode(), limit_s=60, memory_bytes=1 << 29, max_answer_bytes=100)

    assert int(answer) == LOWERED


def test_a_reader_of_documents_has_a_lower_priority() -> None:
    child = Child(cpu_s=5)

    try:
        assert priority(child.pid) == LOWERED
    finally:
        child.end()


def test_a_tethered_program_has_a_lower_priority() -> None:
    program = TetheredProcess(["sleep", "60"], stdin=subprocess.DEVNULL)
    program.tether()

    try:
        assert priority(program.pid) == LOWERED
    finally:
        program.kill()
        program.wait()


AUTOGROUP = Path("/proc/self/autogroup")


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="autogroups of Linux")
def test_the_session_of_a_child_gets_less_of_the_processors_too() -> None:
    child = start_python("import sys; sys.stdin.read()")
    of_child = Path(f"/proc/{child.pid}/autogroup")

    try:
        until = time.monotonic() + 60
        # The kernel takes one such change in a tenth of a second from users who are not root.
        while not of_child.read_text().endswith(f"nice {SESSION_NICENESS}\n") and time.monotonic() < until:
            time.sleep(0.15)
            lower_priority(child.pid)
        assert of_child.read_text().endswith(f"nice {SESSION_NICENESS}\n")
    finally:
        child_process.kill_group(child)
        child.communicate()


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="autogroups of Linux")
def test_a_child_in_our_session_leaves_that_as_it_is() -> None:
    before = AUTOGROUP.read_text()

    with subprocess.Popen(["sleep", "60"]) as child:
        lower_priority(child.pid)
        try:
            assert priority(child.pid) == LOWERED
            assert AUTOGROUP.read_text() == before
        finally:
            child.kill()
