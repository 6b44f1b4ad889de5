"""Verifies what ripgrep printed: each line is read again through the folder, and told only if it is there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from madang.core.errors import ToolError
from madang.services.workspace.domain.files import MAX_MATCH_CHARS, LineMatch
from madang.storage.files import encodings
from madang.storage.files.encodings import EncodingName
from madang.storage.folders import Folder

MAX_DECODED_BYTES = 16 * 1024 * 1024
CONTEXT_WINDOW_BYTES = 16 * 1024
"""How many bytes are read before and after a line, for the lines around it."""
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


def verify_matches(folder: Folder, path: str, printed: Sequence[PrintedMatch], context: int) -> list[LineMatch]:
    """Return those matches that are in the file as they were printed, with the lines around them."""
    try:
        with folder.open_file(path) as file:
            start = os.pread(file.fileno(), 65536, 0)
            encoding = encodings.detect_encoding(start, is_whole=False)
            if encoding in ("utf-16-le", "utf-16-be"):
                return _verify_decoded(file, path, encoding, printed, context)
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
    lines_before = _split(before)[-context:] if context else []
    lines_after = _split(after)[:context] if context else []
    return LineMatch(
        path,
        printed.line,
        _around(text, column),
        tuple(_around(decode(other, encoding), 0) for other in lines_before),
        tuple(_around(decode(other, encoding), 0) for other in lines_after),
    )


def _verify_decoded(
    file: IO[bytes], path: str, encoding: EncodingName, printed: Sequence[PrintedMatch], context: int
) -> list[LineMatch]:
    """Verify matches in a file that ripgrep had to decode: its offsets are not those of the file."""
    data = file.read(MAX_DECODED_BYTES)
    lines = encodings.replace_surrogates(encodings.decode(data[: len(data) // 2 * 2], encoding)).split("\n")
    matches = []
    for match in printed:
        if match.line > len(lines) or not lines[match.line - 1].encode().startswith(_without_remark(match.text)):
            continue
        number = match.line - 1
        column = len(lines[number].encode()[: match.column - 1].decode(errors="ignore"))
        matches.append(
            LineMatch(
                path,
                match.line,
                _around(lines[number].rstrip("\r"), column),
                tuple(_around(other.rstrip("\r"), 0) for other in lines[max(number - context, 0) : number]),
                tuple(_around(other.rstrip("\r"), 0) for other in lines[number + 1 : number + 1 + context]),
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
