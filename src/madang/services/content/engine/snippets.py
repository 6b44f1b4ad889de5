"""The part of a chunk that shows best why a search returned it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from madang.text.search.latin import plain_letters

MAX_SNIPPET_CHARS = 250
MAX_LEAD_CHARS = 40
"""Text shown before the first matching term."""

MATCH_SPAN_CHARS = MAX_SNIPPET_CHARS - MAX_LEAD_CHARS
MAX_MATCHES_PER_TERM = 4
MIN_LOOSE_CHARS, MAX_LOOSE_CHARS = 2, 32
MAX_WORD_SHIFT_CHARS = 30
"""How far an end is moved to the border of a word."""


def snippet(text: str, terms: Sequence[str], respelled_in: Callable[[str], Sequence[str]] | None = None) -> str:
    """Return up to `MAX_SNIPPET_CHARS` of `text` in whole words and on one line, where the most terms stand together.

    An ellipsis marks each end at which text was left out. `terms` are in lower case and without accents; where the text
    has none of them, it is asked for others by `respelled_in`.
    """
    if len(text) <= MAX_SNIPPET_CHARS:
        return " ".join(text.split())
    matches = _matches(text, terms) or _loose_matches(text, terms)
    if not matches and respelled_in is not None:
        matches = _matches(text, respelled_in(text))
    start = _best_start(matches)
    end = min(start + MAX_SNIPPET_CHARS, len(text))
    start = max(0, end - MAX_SNIPPET_CHARS)
    start = _word_start(text, start)
    end = _word_end(text, start, end)
    words = " ".join(text[start:end].split())
    return f"{'…' if text[:start].strip() else ''}{words}{'…' if text[end:].strip() else ''}"


def _best_start(matches: Sequence[tuple[int, str]]) -> int:
    """Return the start of the span with the most different terms; long ones count more than short ones."""
    counts = dict.fromkeys((term for _, term in matches), 0)
    first = weight = best = best_weight = 0
    for at, term in matches:
        if not counts[term]:
            weight += len(term) + 2
        counts[term] += 1
        while matches[first][0] <= at - MATCH_SPAN_CHARS:
            passed = matches[first][1]
            counts[passed] -= 1
            if not counts[passed]:
                weight -= len(passed) + 2
            first += 1
        if weight > best_weight:
            best, best_weight = matches[first][0], weight
    return max(0, best - MAX_LEAD_CHARS)


def _matches(text: str, terms: Sequence[str]) -> list[tuple[int, str]]:
    """Return offset and term of the first few matches of each term, in the order of the text."""
    folded = plain_letters(text)
    find, matches = folded.find, []
    for term in terms:
        has_borders, size = term.isascii(), len(term)
        at, count = find(term), 0
        while at >= 0 and count < MAX_MATCHES_PER_TERM:
            # Inside another word it is most likely another word: "art" in "start". Korean has no such borders.
            if not (has_borders and at and (before := folded[at - 1]).isascii() and before.isalnum()):
                matches.append((at, term))
                count += 1
            at = find(term, at + size)
    matches.sort()
    return matches


def _loose_matches(text: str, terms: Sequence[str]) -> list[tuple[int, str]]:
    """Return the first match of each term inside a word, or with signs between its characters: `email` in `e-mail`."""
    folded, matches = plain_letters(text), []
    for term in terms:
        if MIN_LOOSE_CHARS <= len(term) <= MAX_LOOSE_CHARS:
            match = re.search(r"[\W_]?".join(map(re.escape, term)), folded)
            if match:
                matches.append((match.start(), term))
    matches.sort()
    return matches


def _word_start(text: str, start: int) -> int:
    """Return the next beginning of a word, if one is near."""
    if start == 0 or text[start - 1].isspace():
        return start
    for at in range(start, min(start + MAX_WORD_SHIFT_CHARS, len(text))):
        if text[at].isspace():
            return at + 1
    return start


def _word_end(text: str, start: int, end: int) -> int:
    """Return the last end of a word, if one is near."""
    if end == len(text) or text[end].isspace():
        return end
    for at in range(end, max(end - MAX_WORD_SHIFT_CHARS, start), -1):
        if text[at - 1].isspace():
            return at - 1
    return end
