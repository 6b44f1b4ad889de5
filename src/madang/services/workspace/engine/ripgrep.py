"""ripgrep as a child process: confined to a folder, and stopped at every limit."""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from madang.files.folders.kernel import descriptor_path
from madang.services.workspace.domain.files import MAX_MATCH_CHARS, StopReason
from madang.services.workspace.engine.errors import bad_pattern, ripgrep_missing, ripgrep_not_started
from madang.system.confinement import start_confined

MAX_MEMORY_BYTES = 400 << 20
"""ripgrep holds a whole line, twice, in each of its threads; a line may be as long as a file."""
MAX_CPU_S = 30
"""More than all of its threads use before the deadline: for a ripgrep whose Madang was killed."""
STOP_POLL_S = 0.05
"""How often a search that finds nothing checks whether it was cancelled."""
MAX_STDERR_BYTES = 4_000
READ_CHUNK_BYTES = 64 * 1024

STDIN = "-"

_OPTIONS = (
    "--no-config",
    "--no-ignore",
    "--hidden",
    "--no-follow",
    "--no-mmap",  # a file that is cut meanwhile would end the process
    "--no-heading",
    "--with-filename",
    "--null",
    "--color=never",
    "--no-messages",
    "--regex-size-limit=10M",
    "--dfa-size-limit=64M",
    f"--threads={min(os.cpu_count() or 1, 4)}",  # each holds a whole line, and they share one memory limit
)
LINE_OPTIONS = (
    "--line-number",
    "--column",
    "--byte-offset",
    f"--max-columns={MAX_MATCH_CHARS}",
    "--max-columns-preview",
)
"""For lines that `LINE` reads."""
LINE = re.compile(rb"([^\x00]*)\x00(\d+):(\d+):(\d+):(.*)", re.DOTALL)
"""A line that is printed: its file, its number, the column of the match, its offset, its first characters."""


@dataclass(frozen=True, slots=True)
class Ripgrep:
    """A search with ripgrep in one folder, by as many processes as its files need, until one deadline."""

    program: str
    folder_fd: int
    until: float
    stop: threading.Event

    def run(
        self, options: Sequence[str], pattern: str, paths: Sequence[str], stdin_fd: int, take: Callable[[bytes], None]
    ) -> StopReason:
        """Search in files, given from the folder on, or in `STDIN`; hand on what is printed, to its end or to a limit.

        Raises:
            InvalidArguments: the pattern is invalid.
        """
        arguments = [self.program, *_OPTIONS, *options, "-e", pattern, "--"]
        arguments += [path if path == STDIN else f"./{path}" for path in paths]
        try:
            process = start_confined(
                arguments,
                self.folder_fd,
                stdin_fd,
                cwd=descriptor_path(self.folder_fd),
                memory_bytes=MAX_MEMORY_BYTES,
                cpu_s=MAX_CPU_S,
            )
        except OSError as error:
            raise ripgrep_not_started(error) from error
        return self._collect(process, take)

    def _collect(self, process: subprocess.Popen[bytes], take: Callable[[bytes], None]) -> StopReason:
        """Read the output of a search; the process is gone afterwards."""
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = process.stdout.fileno(), process.stderr.fileno()
        stopped: StopReason = ""
        stderr = b""
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(out, selectors.EVENT_READ)
                selector.register(err, selectors.EVENT_READ)
                while selector.get_map():
                    left = self.until - time.monotonic()
                    if left <= 0 or self.stop.is_set():
                        stopped = "time"
                        break
                    for key, _ in selector.select(min(left, STOP_POLL_S)):
                        data = os.read(key.fd, READ_CHUNK_BYTES)
                        if not data:
                            selector.unregister(key.fd)
                        elif key.fd == out:
                            take(data)
                        else:
                            stderr = (stderr + data)[:MAX_STDERR_BYTES]
        finally:
            process.kill()
            process.stdout.close()
            process.stderr.close()
            code = process.wait()
        if code == -signal.SIGABRT:
            return "memory"
        if code == 2:
            _raise_for(stderr.decode(errors="replace"))
        return stopped


def _raise_for(stderr: str) -> None:
    """Raise for an invalid pattern; what ripgrep says about single files is no error."""
    reason = re.search(r"^error: (.+)", stderr, re.MULTILINE) or re.search(
        r"(compiled regex exceeds size limit|the literal .+ is not allowed in a regex)", stderr
    )
    if reason is not None:
        raise bad_pattern(reason[1])


def find_ripgrep() -> str:
    """Return the path of `rg`: beside this Python, as pip installs it, else on PATH.

    Raises:
        Unavailable: it is in neither.
    """
    beside = Path(sys.executable).with_name("rg.exe" if sys.platform == "win32" else "rg")
    program = str(beside) if beside.is_file() else shutil.which("rg")
    if not program:
        raise ripgrep_missing()
    return program
