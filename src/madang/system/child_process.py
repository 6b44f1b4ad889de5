"""One question and its answer in a process of its own, which is killed at its deadline.

For work on a stranger's input that looks at no clock: a thread could not be ended. The child is confined as
`system/confinement.py` does it, and ends with its parent. Documents of people have a pool of their own
(`services/content/engine/parsing`).
"""

from __future__ import annotations

import importlib
import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from madang.system.confinement import confine_process, end_with_parent
from madang.system.priority import lower_priority

if TYPE_CHECKING:
    from madang.core.executor import StopSignal

POLL_S = 0.05
"""How often a call that was cancelled is noticed."""
READ_CHUNK_BYTES = 1 << 16

# `-m` would not find us in a folder that is on the path of this process alone.
_START = "import sys; sys.path.insert(0, sys.argv[1]); from madang.system.child_process import main; main()"
_PACKAGES = str(Path(__file__).parents[2])


class ChildFailed(Exception):
    """The child gave no answer: it was late, used up its memory, or was killed."""

    def __init__(self, reason: str, *, is_late: bool = False) -> None:
        super().__init__(reason)
        self.is_late = is_late


def ask_child(
    module: str,
    question: bytes,
    *,
    limit_s: float,
    memory_bytes: int,
    max_answer_bytes: int,
    stop: StopSignal | None = None,
) -> bytes:
    """Return what `answer(question)` of a module returns. It blocks; the child is gone afterwards.

    Raises:
        ChildFailed: there is no answer, or it is too long.
        WorkStopped: the call was cancelled meanwhile.
        OSError: no process can be started.
    """
    from tempfile import TemporaryFile  # on use: the child needs none of it

    until = time.monotonic() + limit_s
    limits = (os.getpid(), memory_bytes, int(limit_s) + 1)
    # From a file, not through a pipe: a child that does not read could hold up a write for ever.
    with TemporaryFile() as file:
        file.write(question)
        file.flush()
        file.seek(0)
        process = start_python(_START, _PACKAGES, module, *limits, stdin=file)
    try:
        return _read(process, until, max_answer_bytes, stop)
    finally:
        kill_group(process)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def start_python(code: str, *arguments: object, stdin: int | IO[bytes] = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """Start an interpreter that runs `code`, with nothing of this process but the arguments and three streams.

    Raises:
        OSError: no process can be started.
    """
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", code, *map(str, arguments)],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={},
        start_new_session=True,
    )
    lower_priority(process.pid)
    return process


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it may have started. Wait for it afterwards: until then its number is not reused."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _read(process: subprocess.Popen[bytes], until: float, max_bytes: int, stop: StopSignal | None) -> bytes:
    assert process.stdout is not None
    answer = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if stop is not None:
                stop.check()
            if time.monotonic() > until:
                raise ChildFailed("it took too long", is_late=True)
            if not selector.select(POLL_S):
                continue
            chunk = os.read(process.stdout.fileno(), READ_CHUNK_BYTES)
            if not chunk:
                break
            answer += chunk
            if len(answer) > max_bytes:
                raise ChildFailed("its answer is too long")
    code = process.wait()
    if code == -signal.SIGXCPU:
        raise ChildFailed("it took too long", is_late=True)
    if code != 0:
        raise ChildFailed(f"it ended with {code}")
    return bytes(answer)


def main() -> None:
    """Answer the one question on standard input, in the child."""
    module, parent, memory_bytes, cpu_s = sys.argv[2], *map(int, sys.argv[3:6])
    end_with_parent(parent)
    answer = importlib.import_module(module).answer
    question = sys.stdin.buffer.read()
    confine_process(memory_bytes, cpu_s)
    sys.stdout.buffer.write(answer(question))
    sys.stdout.buffer.flush()
    os._exit(0)
