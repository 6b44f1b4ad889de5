"""Lines of standard input for an event loop: typed at a terminal while other things are shown, or from a pipe."""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from madang.cli.line_editor import MAX_LINE_CHARS, LineEditor

READ_BYTES = 64 * 1024


class LineInput:
    """Where lines come from."""

    is_typed: bool
    """Whether a person types them: then they may come at any time, and are not held back while the model works."""

    async def line(self) -> str | None:
        """Return the next line; None is the end of input."""
        raise NotImplementedError

    def clear(self) -> bool:
        """Drop what was typed of a line; False if there was nothing."""
        return False

    def close(self) -> None:
        """Give the terminal back as it was."""


def open_input(on_edit: Callable[[str, int], None]) -> LineInput:
    """Return the lines of standard input; `on_edit` is told the text and the cursor of a line that is being typed."""
    if os.isatty(0) and os.environ.get("TERM", "") != "dumb":
        try:
            return TypedLines(on_edit)
        except ImportError:  # no termios: Windows
            pass
    return PipedLines(is_typed=os.isatty(0))


class TypedLines(LineInput):
    """Lines that a person types at a terminal, which is given back as it was."""

    is_typed = True

    def __init__(self, on_edit: Callable[[str, int], None]) -> None:
        import termios
        import tty

        self._restore = (termios.tcsetattr, termios.TCSADRAIN, termios.tcgetattr(0))
        self._editor = LineEditor()
        self._on_edit = on_edit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        tty.setcbreak(0)  # keys one by one and not echoed; Ctrl-C stays a signal
        asyncio.get_running_loop().add_reader(0, self._read)

    async def line(self) -> str | None:
        return await self._lines.get()

    def clear(self) -> bool:
        had_text = self._editor.clear()
        self._on_edit("", 0)
        return had_text

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(0)
        set_attributes, when, attributes = self._restore
        set_attributes(0, when, attributes)

    def _read(self) -> None:
        try:
            data = os.read(0, READ_BYTES)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(0)
            self._lines.put_nowait(None)
            return
        for line in self._editor.feed(self._decoder.decode(data)):
            self._lines.put_nowait(line)
        self._on_edit(self._editor.text, self._editor.cursor)


class PipedLines(LineInput):
    """Lines of a pipe, read when they are asked for."""

    def __init__(self, *, is_typed: bool = False) -> None:
        self.is_typed = is_typed
        self._next: asyncio.Future[str | None] | None = None
        """The line that was asked for and has not come: whoever asked may be gone, and the next one gets it."""

    async def line(self) -> str | None:
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
            # A thread of its own that nobody waits for: one that reads cannot be told to stop.
            threading.Thread(target=_read_line, args=(self._next,), name="standard input", daemon=True).start()
        line = await asyncio.shield(self._next)
        self._next = None
        return line


def _read_line(wanted: asyncio.Future[str | None]) -> None:
    try:
        line = sys.stdin.readline(MAX_LINE_CHARS) if sys.stdin else ""
    except (OSError, ValueError):  # closed, or no text
        line = ""
    with suppress(RuntimeError):  # the loop has ended
        wanted.get_loop().call_soon_threadsafe(wanted.set_result, line.rstrip("\n") if line else None)
