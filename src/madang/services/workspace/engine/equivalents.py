"""Texts that look the same and are written otherwise, and where one is in the other.

Canonical equivalents are one text for every reader: Hangul composed (NFC) or in parts (NFD), as Macs write it. Signs
that look alike are not: a no-break space for a blank, curly quotes for straight ones. They are taken as equal only
where nothing else fits, because a model that reads one mostly writes the other.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cache

BLOCK_CHARS = 1 << 16
MAX_NAMED_SIGNS = 5

_BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_PLAIN = {
    **dict.fromkeys(_BLANKS, " "),
    **dict.fromkeys(_UNSEEN, ""),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
}
"""Signs that are hard to tell from a plain one, or are not seen at all."""
_TO_PLAIN = str.maketrans(_PLAIN)
_MISTAKABLE = re.compile(f"[{_BLANKS}{_UNSEEN}]")
_ASTRAL_MARKS = range(0x10000, 0x1F000)
_COMPATIBILITY_IDEOGRAPHS = range(0x2F800, 0x2FA20)


class FoldedText:
    """A text with one spelling for what is written in several, and the way back to where things are in the original."""

    def __init__(self, text: str, *, to_plain: bool, check_time: Callable[[], None] = lambda: None) -> None:
        self._starts, self._ends = array("Q"), array("Q")
        self._original_starts, self._original_ends = array("Q"), array("Q")
        pieces: list[str] = []
        length = at = 0
        for block in _blocks(text, check_time):
            piece = self._fold(block, at, length, to_plain)
            pieces.append(piece)
            length += len(piece)
            at += len(block)
        self.text = "".join(pieces)

    def _fold(self, block: str, at: int, length: int, to_plain: bool) -> str:
        """Fold a block that begins at `at` in the original, and at `length` in the folded text."""
        if block.isascii():
            return block
        pieces: list[str] = []
        done = 0
        for unit in _units().finditer(block):
            folded = unicodedata.normalize("NFC", unit[0])
            if to_plain:
                folded = folded.translate(_TO_PLAIN)
            if folded == unit[0]:
                continue
            pieces += block[done : unit.start()], folded
            length += unit.start() - done
            self._starts.append(length)
            length += len(folded)
            self._ends.append(length)
            self._original_starts.append(at + unit.start())
            self._original_ends.append(at + unit.end())
            done = unit.end()
        return "".join((*pieces, block[done:]))

    def spans_of(self, piece: str) -> Iterator[tuple[int, int]]:
        """Yield where in this text a folded piece begins and ends; it never begins or ends within a character."""
        at = self.text.find(piece) if piece else -1
        while at >= 0:
            end = at + len(piece)
            if self.original_start(at) is not None and self.original_end(end) is not None:
                yield at, end
                at = self.text.find(piece, end)
            else:
                at = self.text.find(piece, at + 1)

    def original_start(self, at: int) -> int | None:
        """Return where in the original begins what begins here; unseen signs before it do not belong to it."""
        return self._original(at, bisect_right(self._starts, at) - 1)

    def original_end(self, at: int) -> int | None:
        """Return where in the original ends what ends here; unseen signs after it do not belong to it."""
        return self._original(at, bisect_left(self._starts, at) - 1)

    def _original(self, at: int, number: int) -> int | None:
        if number < 0:
            return at
        if at >= self._ends[number]:
            return self._original_ends[number] + at - self._ends[number]
        return self._original_starts[number] if at == self._starts[number] else None


def is_composed(text: str, check_time: Callable[[], None] = lambda: None) -> bool:
    """Tell whether a text is in the one spelling (NFC) that others are folded to."""
    return text.isascii() or all(unicodedata.is_normalized("NFC", block) for block in _blocks(text, check_time))


def _blocks(text: str, check_time: Callable[[], None]) -> Iterator[str]:
    """Yield a text in pieces of whole lines: no character goes over the end of one."""
    at = 0
    while at < len(text):
        check_time()
        end = text.find("\n", at + BLOCK_CHARS) + 1 or len(text)
        yield text[at:end]
        at = end


def fold(text: str, *, to_plain: bool) -> str:
    """Return a text with one spelling for what is written in several; with `to_plain` also for what looks alike."""
    return FoldedText(text, to_plain=to_plain).text


def common_ends(one: str, other: str) -> tuple[int, int]:
    """Return how many characters two texts have in common at their beginning and after that at their end."""
    most = min(len(one), len(other))
    before = next((at for at in range(most) if one[at] != other[at]), most)
    while before and not (_begins(one, before) and _begins(other, before)):
        before -= 1
    most -= before
    after = next((at for at in range(most) if one[-1 - at] != other[-1 - at]), most)
    while after and not (_begins(one, len(one) - after) and _begins(other, len(other) - after)):
        after -= 1
    return before, after


def _begins(text: str, at: int) -> bool:
    """Tell whether a character begins at a place, and not a mark or a part of the one before."""
    return at >= len(text) or not _is_mark(text[at])


def _is_mark(char: str) -> bool:
    return char >= "\u0300" and (unicodedata.category(char) in ("Mn", "Mc") or "\u1160" <= char <= "\u11ff")


def name_signs(text: str, known: str) -> list[str]:
    """Return the names of signs in a text that are easily mistaken and are not in a known one, by their code points."""
    signs = dict.fromkeys(sign for sign in text if sign in _PLAIN and sign not in known)
    return [f"U+{ord(sign):04X} {unicodedata.name(sign, '')}".strip() for sign in signs][:MAX_NAMED_SIGNS]


def show_signs(text: str) -> str:
    """Return a text in which blanks other than the plain one, and signs that are not seen, are JSON's escapes."""
    return _MISTAKABLE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


@cache
def _units() -> re.Pattern[str]:
    """Return what finds each character that may be written otherwise: one with marks or parts after it, or a single."""
    marks, singles = [], list(_PLAIN)
    for code in (*range(0x300, 0xD800), *range(0xF900, 0x10000), *_ASTRAL_MARKS, *_COMPATIBILITY_IDEOGRAPHS):
        char = chr(code)
        if _is_mark(char):
            marks.append(char)
        elif not 0xAC00 <= code <= 0xD7A3 and unicodedata.normalize("NFC", char) != char:
            singles.append(char)
    return re.compile(f"[^\n][{''.join(marks)}]+|[{re.escape(''.join(singles))}]")
