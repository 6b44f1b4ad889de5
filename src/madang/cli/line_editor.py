"""The line that a person types while other things are shown: editing it key by key. Pure.

A terminal's own line editing would be drawn over by what the model writes, and a library's waits for the line.
"""

from __future__ import annotations

import re

MAX_LINE_CHARS = 100_000
MAX_HISTORY = 200

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O[@-~]|[^\[O])")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*|O)?\Z")

_HOME = frozenset({"\x1b[H", "\x1b[1~", "\x1bOH", "\x01"})
_END = frozenset({"\x1b[F", "\x1b[4~", "\x1bOF", "\x05"})
_LEFT = frozenset({"\x1b[D", "\x1bOD", "\x02"})
_RIGHT = frozenset({"\x1b[C", "\x1bOC", "\x06"})
_UP = frozenset({"\x1b[A", "\x1bOA", "\x10"})
_DOWN = frozenset({"\x1b[B", "\x1bOB", "\x0e"})
_BACKSPACE = frozenset({"\x7f", "\x08"})
END_OF_INPUT = "\x04"


class LineEditor:
    """A line and a cursor in it."""

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0
        self._rest = ""
        self._history: list[str] = []
        self._place = 0

    def feed(self, data: str) -> list[str | None]:
        """Take what was typed, and return the lines that were ended by it; None for the end of input."""
        ended: list[str | None] = []
        data, self._rest = self._rest + data, ""
        if (half := _UNFINISHED.search(data)) is not None:
            data, self._rest = data[: half.start()], half[0]
        place = 0
        while place < len(data):
            escape = _ESCAPE.match(data, place)
            key = escape[0] if escape else data[place]
            place += len(key)
            if key in "\r\n":
                ended.append(self._enter())
            elif key == END_OF_INPUT and not self.text:
                ended.append(None)
            else:
                self._press(key)
        return ended

    def clear(self) -> bool:
        """Drop what was typed; False if there was nothing."""
        had_text = bool(self.text)
        self._set("")
        return had_text

    def _enter(self) -> str:
        line = self.text
        if line.strip() and (not self._history or self._history[-1] != line):
            self._history = [*self._history, line][-MAX_HISTORY:]
        self._place = len(self._history)
        self._set("")
        return line

    def _press(self, key: str) -> None:
        before, after = self.text[: self.cursor], self.text[self.cursor :]
        if key in _BACKSPACE:
            self._set(before[:-1], after)
        elif key in ("\x1b[3~", END_OF_INPUT):
            self._set(before, after[1:])
        elif key in _LEFT:
            self._set(before[:-1], before[-1:] + after)
        elif key in _RIGHT:
            self._set(before + after[:1], after[1:])
        elif key in _HOME:
            self._set("", self.text)
        elif key in _END:
            self._set(self.text)
        elif key in _UP | _DOWN:
            self._recall(1 if key in _DOWN else -1)
        elif key == "\x15":  # Ctrl-U
            self._set("", after)
        elif key == "\x0b":  # Ctrl-K
            self._set(before)
        elif key == "\x17":  # Ctrl-W
            self._set(re.sub(r"\S*\s*\Z", "", before), after)
        elif (key == "\t" or key.isprintable()) and len(self.text) < MAX_LINE_CHARS:
            self._set(before + key, after)

    def _recall(self, step: int) -> None:
        self._place = min(max(self._place + step, 0), len(self._history))
        self._set(self._history[self._place] if self._place < len(self._history) else "")

    def _set(self, before: str, after: str = "") -> None:
        self.text, self.cursor = before + after, len(before)
