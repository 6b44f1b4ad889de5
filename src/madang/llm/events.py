"""Server-sent events out of bytes, within bounds. Pure: it reads nothing."""

from __future__ import annotations

from typing import TypeAlias

from madang.core.phrases import say
from madang.llm.errors import AnswerTooLarge

Event: TypeAlias = tuple[bytes, bytes]
"""The type, mostly empty, and the data."""

BOM = b"\xef\xbb\xbf"
"""Some servers begin with one."""


class EventParser:
    """Splits a stream into events."""

    def __init__(self, max_line_bytes: int, max_stream_bytes: int) -> None:
        self._max_line = max_line_bytes
        self._left = max_stream_bytes
        self._is_first_line = True
        self._pieces: list[bytes] = []  # of a line that is longer than one chunk
        self._size = 0
        self._type = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that `chunk` completes.

        Raises:
            AnswerTooLarge: a line or the whole stream is longer than its bound.
        """
        self._left -= len(chunk)
        if self._left < 0:
            raise _too_large()
        events: list[Event] = []
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            if self._pieces:
                self._keep(line)
                line = self._take()
            self._add_line(line, events)
        self._keep(rest)
        return events

    def end(self) -> list[Event]:
        """Return the event that the end of the stream completes: some servers leave out the last empty line."""
        events: list[Event] = []
        self._add_line(self._take(), events)
        self._add_line(b"", events)
        return events

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._pieces.append(piece)
            self._size += len(piece)
            if self._size > self._max_line:
                raise _too_large()

    def _take(self) -> bytes:
        line = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces, self._size = [], 0
        return line

    def _add_line(self, line: bytes, events: list[Event]) -> None:
        if self._is_first_line:
            line = line.removeprefix(BOM)
            self._is_first_line = False
        if line.endswith(b"\r"):
            line = line[:-1]
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
        elif not line:
            if self._data:
                data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                events.append((self._type, data))
                self._data = []
            self._type = b""
        elif line.startswith(b"event:"):
            self._type = line[6:].strip()


def _too_large() -> AnswerTooLarge:
    return AnswerTooLarge(say("The model's answer is larger than is taken."))
