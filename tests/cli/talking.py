"""The agent's commands in this process and in others, with a script for a model."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self

import anyio

from tests.model_server import Exchange
from tests.model_wires import Piece, render

TIMEOUT_S = 60


def write_script(folder: Path, *turns: Any, name: str = "script.json") -> str:
    """Write a script of turns, each a list of steps, and return the name of its model."""
    path = folder / name
    path.write_text(json.dumps({"turns": [{"steps": turn} for turn in turns]}), encoding="utf-8")
    return f"scripted:{path}"


def call_step(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"call": tool, "arguments": arguments}


TAINT = {"call": "keyword_similarity_search", "arguments": {"query": "tea"}}
"""Reads what cannot be trusted: from then on the person is asked for what other sessions would notice."""


def rows(folder: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(f"file:{folder}/madang.db?mode=rw", uri=True)) as database:
        return database.execute(sql).fetchall()


def open_ids(folder: Path) -> list[str]:
    """Return the ids of what waits, oldest first."""
    try:
        return [id for (id,) in rows(folder, "SELECT id FROM pause WHERE status = 'open' ORDER BY id")]
    except sqlite3.OperationalError:  # there is no file yet, or no table in it
        return []


def wait_for(condition: Any) -> Any:
    """Ask until the answer is true, and return it."""
    deadline = time.monotonic() + TIMEOUT_S
    while not (value := condition()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
    return value


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "MADANG_DATA_DIR": str(folder), "MADANG_LOCALE": "en", "TERM": "xterm"}


@contextmanager
def started(folder: Path, *arguments: str, stdin: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[str]]:
    """Start the command with pipes; at the end it is killed if it still runs."""
    with subprocess.Popen(
        [sys.executable, "-m", "madang", *arguments],
        env=environment(folder),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def live_runs(folder: Path) -> list[str]:
    """Return the ids of runs that are running."""
    try:
        return [id for (id,) in rows(folder, "SELECT id FROM run WHERE state = 'running'")]
    except sqlite3.OperationalError:  # there is no file yet, or no table in it
        return []


def madang(folder: Path, *arguments: str, stdin: str | bytes = "") -> subprocess.CompletedProcess[bytes]:
    """Run the command with pipes, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "madang", *arguments],
        env=environment(folder),
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )


class Hold:
    """An answer of a model over the wire that stops after some of its events until the test lets it go on."""

    def __init__(self, *pieces: Piece, after: int = 1) -> None:
        self._pieces = pieces
        self._after = after
        self._is_released = threading.Event()
        self.is_reached = threading.Event()

    def release(self) -> None:
        self._is_released.set()

    async def __call__(self, exchange: Exchange) -> None:
        events = render(exchange.wire, self._pieces)
        await exchange.head()
        for event in events[: self._after]:
            await exchange.send(event)
        self.is_reached.set()
        await anyio.to_thread.run_sync(self._is_released.wait, abandon_on_cancel=True)
        for event in events[self._after :]:
            await exchange.send(event)
        await exchange.end()


class Terminal:
    """The command at a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.output = ""
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.execvpe(sys.executable, [sys.executable, "-m", "madang", *arguments], environment(folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self._fd)

    def expect(self, pattern: str) -> str:
        """Read until something is shown that was not looked at before, and return all up to it."""
        deadline = time.monotonic() + TIMEOUT_S
        while (match := re.search(pattern, self.output, re.DOTALL)) is None:
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.output!r}"
            assert self._read(), f"no {pattern!r} in {self.output!r}"
        seen, self.output = self.output[: match.end()], self.output[match.end() :]
        return seen

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def end(self) -> int:
        """Read to the end, and return the exit code."""
        while self._read():
            pass
        _, status = os.waitpid(self._pid, 0)
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._fd], [], [], TIMEOUT_S)
        try:
            data = os.read(self._fd, 65536) if ready else b""
        except OSError:  # how Linux says that the other end is closed
            data = b""
        self.output += data.decode("utf-8", "replace")
        return bool(data)
