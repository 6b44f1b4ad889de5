"""As much of a text as one answer holds, from a line on or from a chunk on. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from madang.core.phrases import BLOCK_MARGIN
from madang.services.content.domain import Chunk

MAX_EXCERPT_BYTES = 7_000
MAX_EXCERPT_CHUNKS = 40
"""More than an answer can hold, however short the chunks."""

_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class Excerpt(NamedTuple):
    """A part of a text. `next_chunk` is where to read on when even one line was too long, else 0."""

    text: str
    from_line: int
    to_line: int
    next_chunk: int = 0


def of_lines(chunks: Sequence[Chunk], from_line: int, to_line: int) -> Excerpt:
    """Return the lines from `from_line` on, up to `to_line` or to what fits; `chunks` hold the first of them whole."""
    lines = _LINES.findall("".join(chunk.text for chunk in chunks))[from_line - chunks[0].from_line :]
    size, count = 0, 0
    for line in lines[: to_line - from_line + 1]:
        size += len(line.encode()) + len(BLOCK_MARGIN)
        if size > MAX_EXCERPT_BYTES:
            break
        count += 1
    if count:
        return Excerpt("".join(lines[:count]), from_line, from_line + count - 1)
    return _of_one_line([chunk for chunk in chunks if chunk.from_line == chunk.to_line == from_line])


def _of_one_line(pieces: Sequence[Chunk]) -> Excerpt:
    size, count = 0, 0
    for piece in pieces:
        size += len(piece.text.encode())
        if size > MAX_EXCERPT_BYTES:
            break
        count += 1
    line, following = pieces[0].from_line, pieces[count:]
    return Excerpt("".join(piece.text for piece in pieces[:count]), line, line, following[0].number if following else 0)
