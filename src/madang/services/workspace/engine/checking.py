"""Verifies what ripgrep printed: each line is read again through the folder, and told only if it is there."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from madang.core.errors import ToolError
from madang.files.folders import Folder
from madang.services.workspace.domain.files import MAX_MATCH_CHARS, LineMatch
from madang.text import encodings
from madang.text.encodings import EncodingName

MAX_DECODED_BYTES = 16 * 1024 * 1024
CONTEXT_WINDOW_BYTES = 16 * 1024
"""How many bytes are read before and after a line, for the lines around it."""
COUNT_BLOCK_BYTES = 1 << 20
_OMITTED = b" [... "
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 with which no character begins."""


@dataclass(frozen=True, slots=True)
class PrintedMatch:
    """A line as ripgrep printed it: its number, the column of the match, its offset, and its first characters."""

    line: int
    column: int
    offset: int
    text: bytes


def verify_matches(
    folder: Folder, path: str, printed: Sequence[PrintedMatch], context: int, *, is_composed: bool = False
) -> list[LineMatch]:
    """Return those matches that are in the file as they were printed, with the lines around them.

    `is_composed` says that ripgrep was given the text of the file decoded and composed (NFC).
    """
    try:
        with folder.open_file(path) as file:
            start = os.pread(file.fileno(), 65536, 0)
            encoding = encodings.detect_encoding(start, is_whole=False)
            if is_composed or encoding in ("utf-16-le", "utf-16-be"):
                return _verify_decoded(file, path, encoding, printed, context, is_composed)
            mark_bytes = len(encodings.byte_order_mark(encoding))  # ripgrep does not count the mark
            matches = (_verify(file.fileno(), path, encoding, match, mark_bytes, context) for match in printed)
            return [match for match in matches if match is not None]
    except (ToolError, OSError):
        return []


def _verify(
    fd: int, path: str, encoding: EncodingName, printed: PrintedMatch, mark_bytes: int, context: int
) -> LineMatch | None:
    line_start = _without_remark(printed.text)
    at = printed.offset + mark_bytes
    around = CONTEXT_WINDOW_BYTES if context else 1
    start = max(at - around, mark_bytes)
    head = os.pread(fd, at - start + len(line_start), start)
    before = head[: at - start]
    if head[at - start :] != line_start or (before and not before.endswith(b"\n")):
        return None
    # Of a line of a hundred megabytes only what is near the match is read.
    far = max(printed.column - 1 - CONTEXT_WINDOW_BYTES, 0)
    column = printed.column - 1 - far
    data = os.pread(fd, column + len(line_start) + max(around, 4 * MAX_MATCH_CHARS), at + far)
    if far and encoding.startswith("utf-8"):
        whole = data.lstrip(_CONTINUATION_BYTES)
        data, column = whole, column - (len(data) - len(whole))
    line, _, after = data.partition(b"\n")
    decode = encodings.decode_piece
    text = decode(line, encoding).rstrip("\r")
    column = len(decode(line[:column], encoding))
    before_column = _count_chars(fd, at, far, encoding) if far else 0
    lines_before = _split(before)[-context:] if context else []
    lines_after = _split(after)[:context] if context else []
    return LineMatch(
        path,
        printed.line,
        _around(text, column),
        tuple(_around(decode(other, encoding), 0) for other in lines_before),
        tuple(_around(decode(other, encoding), 0) for other in lines_after),
        before_column + column + 1,
        far > 0 or len(text) > MAX_MATCH_CHARS,
    )


def _count_chars(fd: int, start: int, length: int, encoding: EncodingName) -> int:
    """Return how many characters begin in a part of a file, which is read in blocks."""
    count = 0
    for at in range(start, start + length, COUNT_BLOCK_BYTES):
        data = os.pread(fd, min(COUNT_BLOCK_BYTES, start + length - at), at)
        if encoding in ("cp949", "cp1252"):
            count += len(encodings.decode_piece(data, encoding))
        else:
            count += len(data.translate(None, _CONTINUATION_BYTES))
    return count


def decoded_text(file: IO[bytes], encoding: EncodingName) -> str:
    """Return the text of a file, as much of it as is decoded at once."""
    data = file.read(MAX_DECODED_BYTES)
    if encoding in ("utf-16-le", "utf-16-be"):
        return encodings.replace_surrogates(encodings.decode(data[: len(data) // 2 * 2], encoding))
    return encodings.decode_piece(data.removeprefix(encodings.byte_order_mark(encoding)), encoding)


def _verify_decoded(
    file: IO[bytes],
    path: str,
    encoding: EncodingName,
    printed: Sequence[PrintedMatch],
    context: int,
    is_composed: bool,
) -> list[LineMatch]:
    """Verify matches in a file that ripgrep got decoded: its offsets are not those of the file."""
    lines = decoded_text(file, encoding).split("\n")
    matches = []
    for match in printed:
        if match.line > len(lines):
            continue
        number = match.line - 1
        searched = unicodedata.normalize("NFC", lines[number]) if is_composed else lines[number]
        if not searched.encode().startswith(_without_remark(match.text)):
            continue
        before = searched.encode()[: match.column - 1].decode(errors="ignore")
        # In the file it is as long as in parts: in one spelling or the other, not mixed within a line.
        column = len(unicodedata.normalize("NFD", before)) if is_composed else len(before)
        matches.append(
            LineMatch(
                path,
                match.line,
                _around(lines[number].rstrip("\r"), column),
                tuple(_around(other.rstrip("\r"), 0) for other in lines[max(number - context, 0) : number]),
                tuple(_around(other.rstrip("\r"), 0) for other in lines[number + 1 : number + 1 + context]),
                column + 1,
                len(lines[number]) > MAX_MATCH_CHARS,
            )
        )
    return matches


def _without_remark(text: bytes) -> bytes:
    """Return what was printed of a line, without the remark that the rest was omitted."""
    if len(text) >= MAX_MATCH_CHARS and text.endswith(b"]") and _OMITTED in text:
        return text[: text.rindex(_OMITTED)]
    return text


def _split(data: bytes) -> list[bytes]:
    lines = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    return lines if lines[-1] else lines[:-1]


def _around(text: str, column: int) -> str:
    """Return a line; a long one is truncated to the part around a column."""
    if len(text) <= MAX_MATCH_CHARS:
        return text
    start = max(0, min(column - MAX_MATCH_CHARS // 4, len(text) - MAX_MATCH_CHARS))
    piece = text[start : start + MAX_MATCH_CHARS]
    return ("…" if start else "") + piece + ("…" if start + MAX_MATCH_CHARS < len(text) else "")
