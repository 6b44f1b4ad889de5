"""Cutting a text into chunks: consecutive, together exactly the text, and broken where a reader would pause. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from madang.services.content.domain.contents import Chunk

MIN_CHUNK_CHARS, GOOD_CHUNK_CHARS, MAX_CHUNK_CHARS = 500, 1_000, 1_500
"""No break below the first, the next good one from the second on; the third is never exceeded."""

LINES = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING = re.compile(r"#{1,6}\s|={3,}|-{3,}|(?:class|def|function|fn|func|public|export)\b|제\s*\d+\s*[장절조]")
_ENDS = re.compile(r".*(?:[.!?\u3002\uff01\uff1f\u2026][\"'\u201d\u2019)\]]*\s|\s)", re.DOTALL)


def split(text: str) -> list[Chunk]:
    """Return the chunks of `text`, numbered from 1."""
    chunks: list[Chunk] = []
    for from_line, to_line, piece in _pieces(text):
        chunks.append(Chunk(len(chunks) + 1, from_line, to_line, piece))
    return chunks


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield first line, last line and text of each chunk."""
    lines: list[str] = []
    size, first, good = 0, 1, 0  # `good`: how many of the lines end at the last good break
    for number, match in enumerate(LINES.finditer(text), start=1):
        line = match.group()
        pauses = bool(lines) and (not lines[-1].strip() or bool(_HEADING.match(line)))
        if pauses and size >= MIN_CHUNK_CHARS:
            good = len(lines)
        if lines and (size + len(line) > MAX_CHUNK_CHARS or (pauses and size >= GOOD_CHUNK_CHARS)):
            count = good or len(lines)
            yield first, first + count - 1, "".join(lines[:count])
            first, lines, good = first + count, lines[count:], 0
            size = sum(map(len, lines))
            if lines and size + len(line) > MAX_CHUNK_CHARS:
                yield first, first + len(lines) - 1, "".join(lines)
                first, lines, size = first + len(lines), [], 0
        if len(line) > MAX_CHUNK_CHARS:
            for piece in _line_pieces(line):
                yield number, number, piece
            first = number + 1
            continue
        lines.append(line)
        size += len(line)
    if lines:
        yield first, first + len(lines) - 1, "".join(lines)


def _line_pieces(line: str) -> Iterator[str]:
    """Yield a line that is longer than a chunk in pieces, broken after a sentence or a word where possible."""
    start = 0
    while len(line) - start > MAX_CHUNK_CHARS:
        end = start + MAX_CHUNK_CHARS
        match = _ENDS.match(line, start + GOOD_CHUNK_CHARS, end)
        if match:
            end = match.end()
        yield line[start:end]
        start = end
    yield line[start:]
