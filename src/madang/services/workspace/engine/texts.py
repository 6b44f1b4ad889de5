"""How the lines of a text end in its file. Its encoding is told by `text.encodings`."""

from __future__ import annotations

import re

from madang.services.workspace.domain.files import LineEnding, TextFormat
from madang.text.encodings import EncodingName, decode, detect_encoding

BLOCK_BYTES = 1 << 16


def format_of(data: bytes, *, is_whole: bool = True) -> TextFormat:
    """Return how a file is written, from its first bytes or from all of them."""
    encoding = detect_encoding(data, is_whole=is_whole)
    return TextFormat(encoding, line_ending(data, encoding))


def line_ending(data: bytes, encoding: EncodingName) -> LineEnding:
    """Return how the lines of a text end, given its bytes."""
    if encoding == "binary":
        return "none"
    if encoding in ("utf-16-le", "utf-16-be"):
        text = decode(data[: len(data) // 2 * 2], encoding)
        line_feeds, pairs = text.count("\n"), text.count("\r\n")
    else:
        line_feeds, pairs = data.count(b"\n"), _count_pairs(data)
    if not line_feeds:
        return "none"
    return "crlf" if pairs == line_feeds else "lf" if not pairs else "mixed"


def _count_pairs(data: bytes) -> int:
    """Count `\\r\\n` in blocks, between which other threads get the GIL. One that crosses a border is in the first."""
    borders = range(0, len(data), BLOCK_BYTES)
    return sum(data.count(b"\r\n", start, start + BLOCK_BYTES + 1) for start in borders)


def with_line_ending(text: str, ending: LineEnding) -> str:
    """Return a text whose lines end as those of its file do."""
    return re.sub("\r?\n", "\r\n", text) if ending == "crlf" else text
