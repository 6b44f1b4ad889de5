"""The part of a chunk that shows best why it was found. Pure."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 250
LEAD = 40
"""So much is shown of what comes before the first needle."""

REACH = WIDTH - LEAD
MAX_MATCHES_PER_TERM = 4


def window(text: str, needles: Sequence[str]) -> str:
    """Return about `WIDTH` characters of `text`, on one line and in whole words, around most of the needles."""
    if len(text) <= WIDTH:
        return " ".join(text.split())
    start = _best_start(text, needles)
    end = min(start + WIDTH, len(text))
    start = max(0, end - WIDTH)
    start = _word_start(text, start)
    end = _word_end(text, start, end)
    shown = " ".join(text[start:end].split())
    return f"{'…' if text[:start].strip() else ''}{shown}{'…' if text[end:].strip() else ''}"


def _best_start(text: str, needles: Sequence[str]) -> int:
    """Return where a window begins that holds the most different needles; long ones count more than short ones."""
    places = _places(text, needles)
    held = dict.fromkeys(needles, 0)
    first = weight = best = best_weight = 0
    for at, needle in places:
        if not held[needle]:
            weight += len(needle) + 2
        held[needle] += 1
        while places[first][0] <= at - REACH:
            left = places[first][1]
            held[left] -= 1
            if not held[left]:
                weight -= len(left) + 2
            first += 1
        if weight > best_weight:
            best, best_weight = places[first][0], weight
    return max(0, best - LEAD)


def _places(text: str, needles: Sequence[str]) -> list[tuple[int, str]]:
    """Return where the first few of each needle stand, in the order of the text."""
    folded = text.lower()
    if len(folded) != len(text):  # a few signs become longer; their places would then be wrong
        folded = text
    find, places = folded.find, []
    for needle in needles:
        has_borders, size = needle.isascii(), len(needle)
        at, count = find(needle), 0
        while at >= 0 and count < MAX_MATCHES_PER_TERM:
            # Inside another word it is most likely another word: "art" in "start". Korean has no such borders.
            if not (has_borders and at and (before := folded[at - 1]).isascii() and before.isalnum()):
                places.append((at, needle))
                count += 1
            at = find(needle, at + size)
    places.sort()
    return places


def _word_start(text: str, start: int) -> int:
    """Return the next beginning of a word, if one is near."""
    if start == 0 or text[start - 1].isspace():
        return start
    for at in range(start, min(start + 30, len(text))):
        if text[at].isspace():
            return at + 1
    return start


def _word_end(text: str, start: int, end: int) -> int:
    """Return the last end of a word, if one is near."""
    if end == len(text) or text[end].isspace():
        return end
    for at in range(end, max(end - 30, start), -1):
        if text[at - 1].isspace():
            return at - 1
    return end
