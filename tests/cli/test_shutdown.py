"""A serving process is gone soon after it was told to end, whatever it is doing, and leaves no child and whole data."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from madang.cli.shutdown import SHUTDOWN_S
from tests.security.served import ACCEPT, INITIALIZE, TOKEN

GONE_S = 8
"""The 5 s that are promised, and some for a busy machine."""
STARTED_S = 60

pytestmark = pytest.mark.slow


def test_the_clock_leaves_time_for_the_end_itself() -> None:
    assert SHUTDOWN_S < 5


@contextmanager
def started(folder: Path, stuck: str, *options: str, end_s: float = SHUTDOWN_S) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server; whatever the test leaves of it is killed."""
    command = [sys.executable, "-m", "tests.cli.stuck", stuck, str(end_s), "mcp", "--data-dir", str(folder), *options]
    environment = {**os.environ, "MADANG_TOKEN": TOKEN}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def call(id: int, tool: str, arguments: dict[str, Any]) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode()


def speak(process: subprocess.Popen[bytes], *lines: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(b"".join(line + b"\n" for line in lines))
    process.stdin.flush()


def answer(process: subprocess.Popen[bytes], id: int) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        message: dict[str, Any] = json.loads(line)
        if message.get("id") == id:
            return message
    raise AssertionError("the server ended")


def begin(process: subprocess.Popen[bytes]) -> None:
    """Make the connection, and something that has to be there afterwards."""
    speak(process, json.dumps(INITIALIZE).encode(), b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    answer(process, 1)
    speak(process, call(2, "write_file", {"path": "kept.txt", "content": "kept"}))
    assert not answer(process, 2)["result"]["isError"]
    speak(process, call(3, "add_todo", {"name": "kept"}))
    assert not answer(process, 3)["result"]["isError"]


def workspace(folder: Path) -> Path:
    (files,) = folder.glob("workspaces/*/files")
    return files


def long_yaml(_: Path) -> list[tuple[str, dict[str, Any]]]:
    return [("import_playbooks", {"document": "[1" + ",1" * 1_000_000 + "]"})] * 8


def searches(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    for number in range(500):
        (workspace(folder) / f"q{number}").touch()
    pattern = "{" + ",".join(map(str, range(60))) + "}" + "*q" * 700
    return [("search_files", {"pattern": pattern})] * 20


def greps(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    (workspace(folder) / "large.txt").write_bytes(b"abc def ghi " * 4_000_000)
    return [("grep", {"pattern": r"(\w+\s?){5,60}z"})] * 4


def edits(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    (workspace(folder) / "mixed.txt").write_bytes(b"ab\r\n" * 1_000_000 + b"\n")
    turns = [("ab\n", "ba\n"), ("ba\n", "ab\n")] * 50
    changes = [{"oldText": old, "newText": new, "replaceAll": True} for old, new in turns]
    return [("edit_file", {"path": "mixed.txt", "edits": changes})]


def packages(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    (workspace(folder) / "random.bin").write_bytes(random.Random(1).randbytes(40_000_000))
    return [("export_zip", {"files": ["."]})] * 3


def korean_texts(_: Path) -> list[tuple[str, dict[str, Any]]]:
    text = "대한민국의 모든 권력은 국민으로부터 나온다. " * 20_000
    return [("add_content", {"content": f"{number} {text}"}) for number in range(4)]


def plain(_: Path) -> list[tuple[str, dict[str, Any]]]:
    return [("read_file", {"path": "kept.txt"}), ("get_current_state", {})]


Work = Callable[[Path], list[tuple[str, dict[str, Any]]]]
WORK: dict[str, tuple[str, Work]] = {
    "nothing": ("nothing", lambda _: []),
    "parsing": ("nothing", long_yaml),
    "searching names": ("nothing", searches),
    "searching texts": ("nothing", greps),
    "editing": ("nothing", edits),
    "packing": ("nothing", packages),
    "analyzing texts": ("nothing", korean_texts),
    "a thread in Python": ("a thread in Python", plain),
    "a thread in C": ("a thread in C", plain),
    "a tool that hangs": ("a tool", plain),
    "a service that does not close": ("a service that closes", plain),
    "a blocked event loop": ("the event loop", plain),
}


def terminate(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)


def interrupt(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)


def close_input(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def stop_reading(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    process.stdout.close()
    with suppress(OSError):
        speak(process, *(json.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"}).encode() for n in range(900, 903)))


SHORT_S = 1.5
WHOLE_TIME = {
    ("nothing", "closed input"),
    ("a tool that hangs", "closed input"),
    ("a service that does not close", "SIGTERM"),
    ("a blocked event loop", "SIGTERM"),
}
"""What is stuck takes all of its time. These show the whole of it, as does what ends by itself at SIGTERM; the others
lead to the same clock, and have a shorter one."""


def end_s(work: str, way: str) -> float:
    ends_by_itself = WORK[work][0] == "nothing" and way == "SIGTERM"
    return SHUTDOWN_S if ends_by_itself or (work, way) in WHOLE_TIME else SHORT_S


WAYS = {"SIGTERM": terminate, "Ctrl-C": interrupt, "closed input": close_input, "broken pipe": stop_reading}


def children_of(pid: int) -> set[int]:
    """Return the processes below another, as Linux has them."""
    below: set[int] = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                child = int(path.parent.name)
                below |= {child} | children_of(child)
    return below


def is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def all_gone(pids: set[int]) -> bool:
    until = time.monotonic() + GONE_S
    while any(map(is_running, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(is_running, pids))


def is_whole(folder: Path) -> bool:
    with sqlite3.connect(folder / "madang.db", timeout=STARTED_S) as database:
        checked = database.execute("PRAGMA integrity_check").fetchall()
        kept = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    return checked == [("ok",)] and kept > 0 and (workspace(folder) / "kept.txt").read_text() == "kept"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("work", WORK)
def test_over_stdio_the_process_is_gone_soon(tmp_path: Path, work: str, way: str) -> None:
    stuck, prepare = WORK[work]
    if work == "a blocked event loop" and way == "broken pipe":
        pytest.skip("a blocked loop writes nothing, so it cannot learn of it")
    with started(tmp_path, stuck, end_s=end_s(work, way)) as process:
        begin(process)
        calls = prepare(tmp_path)
        speak(process, *(call(10 + n, *one) for n, one in enumerate(calls)))
        time.sleep(0.5)
        children = children_of(process.pid)

        WAYS[way](process)

        process.wait(GONE_S)
    assert all_gone(children)
    assert is_whole(tmp_path)


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder as a server has left it."""
    folder = tmp_path_factory.mktemp("data")
    with started(folder, "nothing") as first:
        begin(first)
        terminate(first)
        first.wait(STARTED_S)
    return folder


@pytest.mark.parametrize("way", ["SIGTERM", "Ctrl-C"])
@pytest.mark.parametrize("work", WORK)
def test_over_http_the_process_is_gone_soon(tmp_path: Path, data_folder: Path, work: str, way: str) -> None:
    stuck, prepare = WORK[work]
    shutil.copytree(data_folder, tmp_path, dirs_exist_ok=True)
    with started(tmp_path, stuck, "--http", "127.0.0.1:0", end_s=end_s(work, way)) as process:
        assert process.stdout is not None
        address = re.search(rb"http://127\.0\.0\.1:(\d+)/mcp", next(process.stdout))
        assert address
        connections = [post(int(address[1]), call(10 + n, *one)) for n, one in enumerate(prepare(tmp_path))]
        time.sleep(0.5)
        children = children_of(process.pid)

        WAYS[way](process)

        process.wait(GONE_S)
        for connection in connections:
            connection.close()
    assert all_gone(children)
    assert is_whole(tmp_path)


def post(port: int, body: bytes) -> socket.socket:
    """Send a request and do not wait for its answer."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=STARTED_S)
    head = (
        f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {TOKEN}\r\n"
        f"content-type: application/json\r\naccept: {ACCEPT}\r\ncontent-length: {len(body)}\r\n"
        "mcp-protocol-version: 2025-06-18\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    return connection


@pytest.mark.parametrize("way", WAYS)
def test_a_database_that_another_process_holds_does_not_hold_up_the_end(tmp_path: Path, way: str) -> None:
    with started(tmp_path, "nothing") as process:
        begin(process)
        with sqlite3.connect(tmp_path / "madang.db", timeout=STARTED_S, isolation_level=None) as foreign:
            foreign.execute("BEGIN IMMEDIATE")
            speak(process, *(call(10 + n, "add_todo", {"name": "late"}) for n in range(3)))
            time.sleep(0.2)

            WAYS[way](process)

            process.wait(GONE_S)
            foreign.execute("ROLLBACK")
    assert is_whole(tmp_path)


@pytest.mark.parametrize("work", ["parsing", "searching texts", "analyzing texts"])
def test_nothing_outlives_a_killed_server(tmp_path: Path, work: str) -> None:
    _, prepare = WORK[work]
    with started(tmp_path, "nothing") as process:
        begin(process)
        speak(process, *(call(10 + n, *one) for n, one in enumerate(prepare(tmp_path))))
        until = time.monotonic() + STARTED_S
        while not (children := children_of(process.pid)) and time.monotonic() < until:
            time.sleep(0.02)
        assert children

        process.kill()

        process.wait(GONE_S)
    assert all_gone(children)
