"""The part of a chunk that shows best why it was found. Pure."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 250
MOST_PLACES = 6


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
    folded = text.lower()
    if len(folded) != len(text):  # a few signs become longer; their places would then be wrong
        folded = text
    places: list[tuple[int, str]] = []
    for needle in needles:
        at, count = folded.find(needle), 0
        while at >= 0 and count < MOST_PLACES:
            # Inside another word it is most likely another word: "art" in "start". Korean has no such borders.
            if not (needle.isascii() and at > 0 and folded[at - 1].isalnum() and folded[at - 1].isascii()):
                places.append((at, needle))
                count += 1
            at = folded.find(needle, at + len(needle))
    places.sort()
    best, best_weight = 0, 0
    for index, (at, _) in enumerate(places):
        end = at + WIDTH - 40
        held = {needle for place, needle in places[index : index + 20] if place < end}
        weight = sum(map(len, held)) + 2 * len(held)
        if weight > best_weight:
            best, best_weight = at, weight
    return max(0, best - 40)


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
