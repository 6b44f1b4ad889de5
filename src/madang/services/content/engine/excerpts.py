"""Cutting lines of a text to what one reply holds. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from madang.core.limits import MAX_EXCERPT_BYTES
from madang.core.phrases import Block
from madang.services.content.domain.contents import Chunk, Excerpt
from madang.services.content.engine.chunks import LINES

MAX_EXCERPT_CHUNKS = 40
"""More than an excerpt holds, however short the chunks."""


def of_lines(chunks: Sequence[Chunk], from_line: int, to_line: int) -> Excerpt:
    """Return the lines from `from_line` to `to_line`, or as many as fit; of a line that does not, its first chunks.

    `chunks` are consecutive and begin with, or before, `from_line`.
    """
    lines = LINES.findall("".join(chunk.text for chunk in chunks))[from_line - chunks[0].from_line :]
    size, count = 0, 0
    for line in lines[: to_line - from_line + 1]:
        size += _reply_bytes(line)
        if size > MAX_EXCERPT_BYTES:
            break
        count += 1
    pieces = [chunk for chunk in chunks if chunk.from_line == chunk.to_line == from_line]
    if not count and len(pieces) > 1:
        return _of_one_line(pieces)
    # At least one line, or reading could never go on; the renderer truncates one that is all escapes.
    count = count or 1
    return Excerpt("".join(lines[:count]), from_line, from_line + count - 1)


def _of_one_line(pieces: Sequence[Chunk]) -> Excerpt:
    """Return the chunks of a long line that fit, and at least one."""
    size, count = _reply_bytes(pieces[0].text), 1
    for piece in pieces[1:]:
        size += _reply_bytes(piece.text)
        if size > MAX_EXCERPT_BYTES:
            break
        count += 1
    line, next_chunk = pieces[0].from_line, pieces[count].number if count < len(pieces) else 0
    return Excerpt("".join(piece.text for piece in pieces[:count]), line, line, next_chunk)


def _reply_bytes(text: str) -> int:
    """Return the size of `text` in a reply: behind a margin, with its controls escaped."""
    return len(str(Block(text.removesuffix("\n"))).encode()) + len("\n")
