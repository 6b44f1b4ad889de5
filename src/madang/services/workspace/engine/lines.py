"""Finding lines in files of any size, by an index of line ends that is cached for the next call."""

from __future__ import annotations

import os
import threading
import time
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice

from madang.core.texts import block
from madang.services.workspace.domain.files import TextLine
from madang.text.encodings import EncodingName, byte_order_mark, decode_piece, piece_decoder

BLOCK_BYTES = 64 * 1024
WINDOW_BYTES = 64 * 1024
MAX_LINE_INDEXES = 64
MAX_COUNT_S = 2.0
MAX_SHOWN_CHAR_BYTES = 6
"""An escape such as `\\u001b`."""
LINE_NUMBER_BYTES = 8
"""A number of six digits, a tab and the line feed."""

_FileVersion = tuple[int, int, int, int]


class LineIndex:
    """The number of line ends before each block of a file: 8 bytes per block, so 128 KB for a gigabyte.

    Counting can stop for lack of time and be resumed by the next call.
    """

    def __init__(self, size: int, encoding: EncodingName) -> None:
        self._size = size
        self._encoding = encoding
        self._before = array("Q", [0])
        self._ends_open = False
        self._lock = threading.Lock()

    @property
    def is_complete(self) -> bool:
        return (len(self._before) - 1) * BLOCK_BYTES >= self._size

    @property
    def counted(self) -> int:
        """How many lines are known; all of them once it is complete."""
        ends = self._before[-1]
        return ends + 1 if self.is_complete and self._ends_open else ends

    def extend(self, fd: int, until: float) -> None:
        """Count up to the end of the file, or until the time is over."""
        with self._lock:
            buffer = bytearray(BLOCK_BYTES)
            while not self.is_complete and time.monotonic() < until:
                offset = (len(self._before) - 1) * BLOCK_BYTES
                data = _read_into(fd, buffer, offset)
                if data is None:  # the file has been truncated meanwhile
                    self._size = offset
                    return
                ends = data.count(b"\n") if not self._is_wide else sum(1 for _ in self.ends(data))
                self._before.append(self._before[-1] + ends)
                if self.is_complete and self._size > len(byte_order_mark(self._encoding)):
                    last = bytes(data[-2:])
                    self._ends_open = not (self._is_line_end(last) if self._is_wide else last.endswith(b"\n"))

    def offset_of(self, fd: int, line: int) -> int | None:
        """Return the offset of a line, counted from 1, or None if it is not known yet."""
        if line == 1:
            return len(byte_order_mark(self._encoding))
        if line - 1 > self._before[-1]:
            return None
        block = bisect_left(self._before, line - 1) - 1
        missing = line - 1 - self._before[block]
        data = os.pread(fd, BLOCK_BYTES, block * BLOCK_BYTES)
        if not self._is_wide:
            *skipped, rest = data.split(b"\n", missing)
            return block * BLOCK_BYTES + len(data) - len(rest) if len(skipped) == missing else None
        end = next(islice(self.ends(data), missing - 1, None), None)
        return None if end is None else block * BLOCK_BYTES + end

    @property
    def _is_wide(self) -> bool:
        return self._encoding in ("utf-16-le", "utf-16-be")

    def _is_line_end(self, pair: bytes) -> bool:
        return pair == (b"\n\x00" if self._encoding == "utf-16-le" else b"\x00\n")

    def ends(self, data: bytes | bytearray) -> Iterator[int]:
        """Yield the offset after each line end. Blocks have an even size, so no wide character is split."""
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
    """A cache of the indexes of recently read files, by device, inode, size and time of change."""

    def __init__(self) -> None:
        self._cache: OrderedDict[_FileVersion, LineIndex] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, status: os.stat_result, encoding: EncodingName) -> LineIndex:
        key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        with self._lock:
            index = self._cache.pop(key, None) or LineIndex(status.st_size, encoding)
            self._cache[key] = index
            if len(self._cache) > MAX_LINE_INDEXES:
                self._cache.popitem(last=False)
            return index


def read_lines(
    fd: int, index: LineIndex, encoding: EncodingName, first: int, last: int | None, *, max_bytes: int, max_chars: int
) -> Iterator[TextLine]:
    """Yield lines from `first` to `last`, up to `max_bytes` and at least one; long lines are truncated.

    A line that alone was asked for may take all the bytes.
    """
    if first == last:
        max_chars = max_bytes
    room = max_bytes
    number = first
    offset = index.offset_of(fd, number)
    while offset is not None:
        window = os.pread(fd, WINDOW_BYTES, offset)
        if not window:
            return
        position = 0
        for end in index.ends(window):
            line = _text_line(number, window[position:end], end - position, encoding, max_chars, ended=True)
            room -= _shown_bytes(line.text) + LINE_NUMBER_BYTES
            if room < 0 and number > first:
                return
            yield line
            if number == last:
                return
            number += 1
            position = end
        if position == 0 or len(window) < WINDOW_BYTES:
            # The rest of the window is a line longer than it, or the last line, which has no end.
            after = index.offset_of(fd, number + 1)
            size = os.fstat(fd).st_size
            length = (after if after is not None else size) - offset - position
            if length > 0 and len(window) > position:
                line = _text_line(number, window[position:], length, encoding, max_chars, ended=after is not None)
                room -= _shown_bytes(line.text) + LINE_NUMBER_BYTES
                if room < 0 and number > first:
                    return
                yield line
            if after is None or number == last:
                return
            number, offset = number + 1, after
        else:
            offset += position


class ShortLine(Exception):
    """A line ends before the column that was asked for; its argument is how many characters it has."""


class OutOfTime(Exception):
    """The time for reading a line is over."""


def read_line_from(
    fd: int, index: LineIndex, encoding: EncodingName, number: int, column: int, *, max_chars: int, until: float
) -> TextLine:
    """Return a line from a column on, counted in characters from 1, truncated to `max_chars`.

    Raises:
        ShortLine: it has no such column.
        OutOfTime: it is longer than there is time for.
    """
    start, after = index.offset_of(fd, number) or 0, index.offset_of(fd, number + 1)
    end = after if after is not None else os.fstat(fd).st_size
    decoder = piece_decoder(encoding)
    skipped, text, at = 0, "", start
    while at < end and len(text) < max_chars:
        if time.monotonic() > until:
            raise OutOfTime
        data = os.pread(fd, min(WINDOW_BYTES, end - at), at)
        at += len(data)
        if not data:
            break
        piece = decoder.decode(data, at >= end)
        before = min(len(piece), column - 1 - skipped)
        skipped += before
        text += piece[before:]
    if at >= end:
        text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise ShortLine(skipped)
    fitting = _fitting(text, max_chars)
    rest = text[len(fitting) :]
    return TextLine(number, fitting, len(rest.encode(errors="replace")) + end - at)


def _text_line(
    number: int, data: bytes, length: int, encoding: EncodingName, max_chars: int, *, ended: bool
) -> TextLine:
    """Return a line without its end, truncated to `max_chars`; `length` is its whole length in the file."""
    # Four bytes for each character and a little: more of a line of a hundred megabytes is never decoded.
    piece = data[: max_chars * 4 + 16]
    text = decode_piece(piece, encoding)
    if ended and len(piece) == length:
        text = text.removesuffix("\n").removesuffix("\r")
    fitting = _fitting(text, max_chars)
    if len(fitting) == len(text) and len(piece) == length:
        return TextLine(number, text)
    width = {"utf-16-le": 2, "utf-16-be": 2}.get(encoding, 0)
    codec = encoding if encoding in ("cp949", "cp1252") else "utf-8"
    taken = len(fitting) * width if width else len(fitting.encode(codec, "replace"))
    return TextLine(number, fitting, max(length - taken - (max(width, 1) if ended else 0), 1))


def _fitting(text: str, limit: int) -> str:
    """Return as much of a text as has at most `limit` characters and, when it is shown, `limit` bytes."""
    fitting = text[:limit]
    while (excess := _shown_bytes(fitting) - limit) > 0:
        fitting = fitting[: len(fitting) - max(1, excess // MAX_SHOWN_CHAR_BYTES)]
    return fitting


def _shown_bytes(text: str) -> int:
    """Return how many bytes a text has in an answer, where its controls are escapes."""
    return len(block(text, margin="").encode(errors="replace"))


def _read_into(fd: int, buffer: bytearray, offset: int) -> bytearray | None:
    count = os.preadv(fd, [buffer], offset)
    if count == 0:
        return None
    return buffer if count == len(buffer) else buffer[:count]
