"""Finding lines in files of any size: what was counted once is kept, so that the next look goes straight there."""

from __future__ import annotations

import os
import threading
import time
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice

from madang.services.workspace.domain.files import TextLine
from madang.storage.files.encodings import EncodingName, byte_order_mark, decode_piece

BLOCK = 64 * 1024
WINDOW = 64 * 1024
MAX_LINE_INDEXES = 64
COUNT_FOR_S = 2.0

Key = tuple[int, int, int, int]


class LineIndex:
    """How many line ends there are before each block of a file; 8 bytes for each, so 128 KB for a gigabyte.

    Counting can stop for lack of time and go on at the next call.
    """

    def __init__(self, size: int, encoding: EncodingName) -> None:
        self._size = size
        self._encoding = encoding
        self._before = array("Q", [0])
        self._ends_open = False
        self._lock = threading.Lock()

    @property
    def is_complete(self) -> bool:
        return (len(self._before) - 1) * BLOCK >= self._size

    @property
    def counted(self) -> int:
        """How many lines are known; all of them once it is complete."""
        ends = self._before[-1]
        return ends + 1 if self.is_complete and self._ends_open else ends

    def extend(self, fd: int, until: float) -> None:
        """Count on, to the end of the file or of the time."""
        with self._lock:
            buffer = bytearray(BLOCK)
            while not self.is_complete and time.monotonic() < until:
                offset = (len(self._before) - 1) * BLOCK
                data = _read_into(fd, buffer, offset)
                if data is None:  # shorter than it was; what is there is what counts
                    self._size = offset
                    return
                ends = data.count(b"\n") if not self._is_wide else sum(1 for _ in self.ends(data))
                self._before.append(self._before[-1] + ends)
                if self.is_complete and self._size > len(byte_order_mark(self._encoding)):
                    last = bytes(data[-2:])
                    self._ends_open = not (self._is_line_end(last) if self._is_wide else last.endswith(b"\n"))

    def offset_of(self, fd: int, line: int) -> int | None:
        """Return where a line begins, counted from 1, or None if that is not known."""
        if line == 1:
            return len(byte_order_mark(self._encoding))
        if line - 1 > self._before[-1]:
            return None
        block = bisect_left(self._before, line - 1) - 1
        missing = line - 1 - self._before[block]
        data = os.pread(fd, BLOCK, block * BLOCK)
        if not self._is_wide:
            *skipped, rest = data.split(b"\n", missing)
            return block * BLOCK + len(data) - len(rest) if len(skipped) == missing else None
        end = next(islice(self.ends(data), missing - 1, None), None)
        return None if end is None else block * BLOCK + end

    @property
    def _is_wide(self) -> bool:
        return self._encoding in ("utf-16-le", "utf-16-be")

    def _is_line_end(self, pair: bytes) -> bool:
        return pair == (b"\n\x00" if self._encoding == "utf-16-le" else b"\x00\n")

    def ends(self, data: bytes | bytearray) -> Iterator[int]:
        """Yield the places after each line end. Blocks have an even size, so no wide character is cut."""
        sign = b"\n"
        if is_wide := self._is_wide:
            sign = b"\n\x00" if self._encoding == "utf-16-le" else b"\x00\n"
        length = len(sign)
        at = data.find(sign)
        while at >= 0:
            # Half of one character and half of the next can look like a line end.
            if not (is_wide and at % 2):
                yield at + length
            at = data.find(sign, at + (length if not is_wide or at % 2 == 0 else 1))


class LineIndexes:
    """The indexes of the files that were read lately, by what changes when a file does."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, LineIndex] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, status: os.stat_result, encoding: EncodingName) -> LineIndex:
        key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        with self._lock:
            index = self._kept.pop(key, None) or LineIndex(status.st_size, encoding)
            self._kept[key] = index
            if len(self._kept) > MAX_LINE_INDEXES:
                self._kept.popitem(last=False)
            return index


def read_lines(
    fd: int, index: LineIndex, encoding: EncodingName, first: int, last: int | None, *, room: int, longest: int
) -> Iterator[TextLine]:
    """Yield lines from `first` to `last` as far as `room` bytes go, one at least; long ones are cut.

    A line that alone was asked for may take all the room.
    """
    if first == last:
        longest = room
    number = first
    offset = index.offset_of(fd, number)
    while offset is not None:
        window = os.pread(fd, WINDOW, offset)
        if not window:
            return
        position = 0
        for end in index.ends(window):
            line = _text_line(number, window[position:end], end - position, encoding, longest, ended=True)
            room -= len(line.text.encode()) + 8
            if room < 0 and number > first:
                return
            yield line
            if number == last:
                return
            number += 1
            position = end
        if position == 0 or len(window) < WINDOW:
            # The rest of the window is one line that is longer than it, or the last one, which has no end.
            after = index.offset_of(fd, number + 1)
            size = os.fstat(fd).st_size
            length = (after if after is not None else size) - offset - position
            if length > 0 and len(window) > position:
                line = _text_line(number, window[position:], length, encoding, longest, ended=after is not None)
                room -= len(line.text.encode()) + 8
                if room < 0 and number > first:
                    return
                yield line
            if after is None or number == last:
                return
            number, offset = number + 1, after
        else:
            offset += position


def _text_line(number: int, data: bytes, length: int, encoding: EncodingName, longest: int, *, ended: bool) -> TextLine:
    """Return a line without its end, cut to `longest` characters; `length` is its whole length in the file."""
    # Four bytes for each character and a little: more of a line of a hundred megabytes is never decoded.
    piece = data[: longest * 4 + 16]
    text = decode_piece(piece, encoding)
    if ended and len(piece) == length:
        text = text.removesuffix("\n").removesuffix("\r")
    kept = _fitting(text, longest)
    if len(kept) == len(text) and len(piece) == length:
        return TextLine(number, text)
    width = {"utf-16-le": 2, "utf-16-be": 2}.get(encoding, 0)
    taken = len(kept) * width if width else len(kept.encode("cp949" if encoding == "cp949" else "utf-8", "replace"))
    return TextLine(number, kept, max(length - taken - (max(width, 1) if ended else 0), 1))


def _fitting(text: str, longest: int) -> str:
    """Return as much of a text as is within `longest` both in characters and in bytes."""
    kept = text[:longest]
    while len(kept.encode(errors="replace")) > longest:
        kept = kept[: len(kept) - max(1, (len(kept.encode(errors="replace")) - longest) // 4)]
    return kept


def _read_into(fd: int, buffer: bytearray, offset: int) -> bytearray | None:
    count = os.preadv(fd, [buffer], offset)
    if count == 0:
        return None
    return buffer if count == len(buffer) else buffer[:count]
