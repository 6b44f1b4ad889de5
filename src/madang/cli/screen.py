"""What a conversation shows: whole lines, and on a terminal one status line below them that is redrawn in place.

The words of the model and questions go to standard output, notes to standard error. Whatever comes from a model or a
tool is made inert here. In a pipe there is no status line and no control code.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from madang.cli.terminal import text_width
from madang.core.texts import one_line, terminal_text

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN_SPINNER = "|/-\\"
FRAME_S = 0.1
MAX_NOTICE_CHARS = 100

_CLEAR_LINE = "\r\x1b[K"


class Screen:
    """Standard output and standard error of a conversation."""

    def __init__(self, out: TextIO | None = None, notes: TextIO | None = None) -> None:
        self._out = sys.stdout if out is None else out
        self._notes = sys.stderr if notes is None else notes
        self.has_status = _is_terminal(self._notes)
        self.has_stream = self.has_status and _is_terminal(self._out)
        """Whether a text is shown while it is being written."""
        self._frames = SPINNER if _can_write(self._notes, SPINNER) else PLAIN_SPINNER
        self._is_drawn = False
        self._busy_since: float | None = None
        self._partial = ""
        self._prompt = ""
        self._input, self._cursor = "", 0

    def show(self, text: str) -> None:
        """Write a text of several lines to standard output."""
        with self._above_status():
            print(terminal_text(text), file=self._out, flush=True)

    def note(self, text: str, max_chars: int | None = None) -> None:
        """Write one line to standard error. Where that cannot be written, the conversation goes on without."""
        with self._above_status(), suppress(OSError):
            print(one_line(text, max_chars), file=self._notes, flush=True)

    def notify(self, text: str) -> None:
        """Call the person, who may be looking elsewhere: by the bell, and by a notification where terminals have it."""
        if self.has_status:
            # What is quoted has no control in it, so it cannot end the sequence.
            self._write(f"\a\x1b]9;{one_line(text, MAX_NOTICE_CHARS)}\x1b\\")

    def set_busy(self, is_busy: bool) -> None:
        """Show that the model works, and for how long."""
        if is_busy and self._busy_since is None:
            self._busy_since = time.monotonic()
        elif not is_busy:
            self._busy_since, self._partial = None, ""
        self.redraw()

    def set_partial(self, text: str) -> None:
        """Show the end of a line that is still being written."""
        self._partial = text

    def set_input(self, prompt: str, text: str = "", cursor: int = 0) -> None:
        """Show what the person has typed of a line."""
        self._prompt, self._input, self._cursor = prompt, text, cursor
        self.redraw()

    async def animate(self) -> None:
        """Redraw the status line until this is cancelled."""
        while True:
            await asyncio.sleep(FRAME_S)
            if self._busy_since is not None:
                self.redraw()

    def redraw(self) -> None:
        if not self.has_status:
            return
        line, back = self._status()
        if line:
            self._write(f"{_CLEAR_LINE}{line}" + (f"\x1b[{back}D" if back else ""))
            self._is_drawn = True
        else:
            self.clear()

    def clear(self) -> None:
        """Take the status line away."""
        if self._is_drawn:
            self._write(_CLEAR_LINE)
            self._is_drawn = False

    @contextmanager
    def _above_status(self) -> Iterator[None]:
        was_drawn = self._is_drawn
        self.clear()
        yield
        if was_drawn:
            self.redraw()

    def _status(self) -> tuple[str, int]:
        """Return the status line, and how far the cursor stands before its end."""
        width = shutil.get_terminal_size().columns - 1
        busy = ""
        if self._busy_since is not None:
            elapsed_s = time.monotonic() - self._busy_since
            frame = self._frames[int(elapsed_s / FRAME_S) % len(self._frames)]
            busy = f"{frame} {format_elapsed(elapsed_s)} "
        if self._partial and not self._input:
            return busy + _end(one_line(self._partial), width - text_width(busy)), 0
        left = busy + self._prompt
        before, after = one_line(self._input[: self._cursor]), one_line(self._input[self._cursor :])
        room = max(10, width - text_width(left))
        before = _end(before, room)
        after = _start(after, room - text_width(before))
        return left + before + after, text_width(after)

    def _write(self, text: str) -> None:
        with suppress(OSError):
            self._notes.write(text)
            self._notes.flush()


def format_elapsed(seconds: float) -> str:
    """Return a time as people read it: `7 s`, `2:05`."""
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60}:{whole % 60:02}"


def _end(text: str, columns: int) -> str:
    """Return as much of the end of a text as fits."""
    while text and text_width(text) > columns:
        text = text[max(1, (text_width(text) - columns) // 2) :]
    return text


def _start(text: str, columns: int) -> str:
    while text and text_width(text) > columns:
        text = text[: len(text) - max(1, (text_width(text) - columns) // 2)]
    return text


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM", "") != "dumb"
    except ValueError:  # it is closed
        return False


def _can_write(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
