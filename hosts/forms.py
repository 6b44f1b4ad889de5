"""Whether a person who sits before an agent gets its form for a question: a terminal, keys, and the answer that comes.

Agents that declare elicitation are started as a person starts them, on a pseudo-terminal; the script asks one question.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FORM_LIMIT_S = 90
KEY_PAUSE_S = 2.0
"""Between two keys: a form takes none before it is drawn."""
SCREEN = struct.pack("HHHH", 40, 120, 0, 0)


@dataclass(frozen=True, slots=True)
class Terminal:
    """A program on a terminal of its own. `record` is what went between it and Madang."""

    command: Sequence[str]
    work: Path
    variables: Mapping[str, str]
    record: Path

    def press(self, keys: Sequence[str]) -> bytes:
        """Start the program, press the keys once the question has come, and return all that it wrote on the screen."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, SCREEN)
        process = subprocess.Popen(
            self.command,
            cwd=self.work,
            env=dict(self.variables) | {"TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        try:
            return self._drive(ours, list(keys))
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(ours)

    def _drive(self, terminal: int, keys: list[str]) -> bytes:
        screen = b""
        end = time.monotonic() + FORM_LIMIT_S
        next_key_at: float | None = None
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    screen += os.read(terminal, 65536)
                except OSError:  # the program has ended
                    break
            if next_key_at is None and self._is_asked():
                next_key_at = time.monotonic() + KEY_PAUSE_S
            if next_key_at is None or time.monotonic() < next_key_at:
                continue
            if not keys:
                break
            os.write(terminal, keys.pop(0).encode())
            next_key_at = time.monotonic() + KEY_PAUSE_S
        return screen

    def _is_asked(self) -> bool:
        return self.record.exists() and "elicitation/create" in self.record.read_text()
