"""The title that a session gets from its first message. Pure."""

from __future__ import annotations

import unicodedata

from madang.core.texts import one_line

MAX_AUTO_TITLE_CHARS = 80
_SHORTEST_CUT = 40
"""A word that is longer than the rest of the title is cut: Korean and Chinese lines may have no spaces at all."""


def title_of(text: str) -> str:
    """Return the first line that says something, cut at a word."""
    lines = (" ".join(line.split()) for line in unicodedata.normalize("NFC", text[:10_000]).splitlines())
    line = one_line(next((line for line in lines if any(map(str.isalnum, line))), ""))
    if len(line) <= MAX_AUTO_TITLE_CHARS:
        return line
    cut = line[: MAX_AUTO_TITLE_CHARS - 1]
    if line[len(cut)] != " ":
        head, _, _ = cut.rpartition(" ")
        cut = head if len(head) >= _SHORTEST_CUT else cut
    return cut.rstrip(" ,;:.-–—") + "…"
