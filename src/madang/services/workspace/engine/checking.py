"""What a search program found, looked up again through the folder: only what is really there is told."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from madang.core.errors import ToolError
from madang.services.workspace.domain.files import MAX_MATCH_CHARS, Hit
from madang.storage.files import encodings
from madang.storage.files.encodings import EncodingName
from madang.storage.folders import Folder

MAX_DECODED_BYTES = 16 * 1024 * 1024
AROUND = 16 * 1024
"""Bytes that are read before and behind a line, for the lines around it."""
_OMITTED = b" [... "
_INSIDE_CHARACTER = bytes(range(0x80, 0xC0))
"""What no character of UTF-8 begins with."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line as the program printed it: its number, the column of the match, its offset, and its first characters."""

    line: int
    column: int
    offset: int
    text: bytes


def checked(folder: Folder, path: str, places: Sequence[Place], context: int) -> list[Hit]:
    """Return those places of a file that hold what the program said, with the lines around them."""
    try:
        with folder.open_file(path) as file:
            start = os.pread(file.fileno(), 65536, 0)
            encoding = encodings.detect_encoding(start, is_whole=False)
            if encoding in ("utf-16-le", "utf-16-be"):
                return _checked_decoded(file, path, encoding, places, context)
            skipped = len(encodings.byte_order_mark(encoding))  # the program does not count the mark
            hits = (_checked(file.fileno(), path, encoding, place, skipped, context) for place in places)
            return [hit for hit in hits if hit is not None]
    except (ToolError, OSError):
        return []


def _checked(fd: int, path: str, encoding: EncodingName, place: Place, skipped: int, context: int) -> Hit | None:
    said = _said(place.text)
    at = place.offset + skipped
    around = AROUND if context else 1
    start = max(at - around, skipped)
    head = os.pread(fd, at - start + len(said), start)
    before = head[: at - start]
    if head[at - start :] != said or (before and not before.endswith(b"\n")):
        return None
    # Of a line of a hundred megabytes only what is near the match is read.
    far = max(place.column - 1 - AROUND, 0)
    column = place.column - 1 - far
    data = os.pread(fd, column + len(said) + max(around, 4 * MAX_MATCH_CHARS), at + far)
    if far and encoding.startswith("utf-8"):
        whole = data.lstrip(_INSIDE_CHARACTER)
        data, column = whole, column - (len(data) - len(whole))
    line, _, after = data.partition(b"\n")
    decode = encodings.decode_piece
    text = decode(line, encoding).rstrip("\r")
    column = len(decode(line[:column], encoding))
    lines_before = _split(before)[-context:] if context else []
    lines_after = _split(after)[:context] if context else []
    return Hit(
        path,
        place.line,
        _cut(text, column),
        tuple(_cut(decode(one, encoding), 0) for one in lines_before),
        tuple(_cut(decode(one, encoding), 0) for one in lines_after),
    )


def _checked_decoded(
    file: IO[bytes], path: str, encoding: EncodingName, places: Sequence[Place], context: int
) -> list[Hit]:
    """Do the same for a file that the program had to decode: its offsets are not those of the file."""
    data = file.read(MAX_DECODED_BYTES)
    lines = encodings.replace_surrogates(encodings.decode(data[: len(data) // 2 * 2], encoding)).split("\n")
    hits = []
    for place in places:
        if place.line > len(lines) or not lines[place.line - 1].encode().startswith(_said(place.text)):
            continue
        number = place.line - 1
        column = len(lines[number].encode()[: place.column - 1].decode(errors="ignore"))
        hits.append(
            Hit(
                path,
                place.line,
                _cut(lines[number].rstrip("\r"), column),
                tuple(_cut(one.rstrip("\r"), 0) for one in lines[max(number - context, 0) : number]),
                tuple(_cut(one.rstrip("\r"), 0) for one in lines[number + 1 : number + 1 + context]),
            )
        )
    return hits


def _said(text: bytes) -> bytes:
    """Return what was printed of a line, without the remark that the rest was left out."""
    if len(text) >= MAX_MATCH_CHARS and text.endswith(b"]") and _OMITTED in text:
        return text[: text.rindex(_OMITTED)]
    return text


def _split(data: bytes) -> list[bytes]:
    lines = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    return lines if lines[-1] else lines[:-1]


def _cut(text: str, column: int) -> str:
    """Return a line, or of a long one the part around a column."""
    if len(text) <= MAX_MATCH_CHARS:
        return text
    start = max(0, min(column - MAX_MATCH_CHARS // 4, len(text) - MAX_MATCH_CHARS))
    piece = text[start : start + MAX_MATCH_CHARS]
    return ("…" if start else "") + piece + ("…" if start + MAX_MATCH_CHARS < len(text) else "")
