"""Patterns for paths as `.gitignore` has them: whether a rule is about a path, however that is spelled. Pure.

A pattern without a slash fits a name at any depth, one with a slash begins at the root; `*`, `?` and `[abc]` stay
within a name, `**` stands for any folders. What fits a folder fits all below it. Names come from a model: a match takes
time by the product of the two lengths at most.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate
from functools import lru_cache

_ANY_FOLDERS = None
"""The part `**`."""

Names = Sequence[str]
"""The names along a path."""

_Parts = tuple[re.Pattern[str] | None, ...]


def folded_name(name: str) -> str:
    """Return a name as the laxest file system reads it: without case, in one normal form, without what nobody sees.

    Where two names are one file, a rule about one has to hold for the other; elsewhere it holds for a name too many.
    """
    if name.isascii():
        folded = name.lower()
    else:
        visible = "".join(char for char in name if unicodedata.category(char) != "Cf")
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", visible).casefold())
    return folded.rstrip(". ") or folded


def exact_name(name: str) -> str:
    """Return a name in one normal form: two spellings of the same Hangul are one name everywhere."""
    return unicodedata.normalize("NFC", name)


class PathPattern:
    """A compiled pattern. One that denies or asks is lax about spelling; one that allows `is_exact`."""

    def __init__(self, pattern: str, *, is_exact: bool = False) -> None:
        self.spell: Callable[[str], str] = exact_name if is_exact else folded_name
        is_anchored = "/" in pattern.rstrip("/")
        names = [name for name in pattern.split("/") if name not in ("", ".")]
        if not is_anchored:
            names = ["**", *names]
        # Neighbouring `**` mean the same as one.
        names = [name for at, name in enumerate(names) if name != "**" or names[at - 1 : at] != ["**"]]
        self._parts: _Parts = tuple(
            _ANY_FOLDERS if name == "**" else re.compile(translate(self.spell(name))) for name in names
        )
        self._start = self._closed({0})
        named = [part for part in self._parts if part is not _ANY_FOLDERS]
        self.last_name = named[-1] if named else re.compile("")
        """What one of the names along a path fits if the pattern does."""

    def fits(self, names: Names) -> bool:
        """Tell whether it is about a path, or about a folder above it."""
        states = self._start
        for name in names:
            if len(self._parts) in states:
                return True
            states = self._after(states, name)
        return len(self._parts) in states

    def may_fit_below(self, names: Names) -> bool:
        """Tell whether it may be about something below a folder because of that folder's own names: something that it
        is no longer about, or is only then, when the folder gets another name."""
        states = self._start
        for name in names:
            states = self._after(states, name)
        return bool(states - self._start)

    def _after(self, states: frozenset[int], name: str) -> frozenset[int]:
        spelled, after = self.spell(name), set()
        for state in states:
            if state == len(self._parts):
                continue
            part = self._parts[state]
            if part is _ANY_FOLDERS:
                after.add(state)
            elif part.match(spelled):
                after.add(state + 1)
        return self._closed(after)

    def _closed(self, states: Iterable[int]) -> frozenset[int]:
        """Return the states with those behind a `**`, which may stand for no folder."""
        closed = set(states)
        for state in sorted(closed):
            while state < len(self._parts) and self._parts[state] is _ANY_FOLDERS:
                state += 1
                closed.add(state)
        return frozenset(closed)


class PathPatterns:
    """Several patterns, quick over many paths: most names fit none of them."""

    def __init__(self, patterns: Iterable[PathPattern]) -> None:
        self._patterns = tuple(patterns)
        spell = self._patterns[0].spell if self._patterns else exact_name
        last_names = dict.fromkeys(pattern.last_name.pattern for pattern in self._patterns)
        any_last_name = re.compile("|".join(f"(?:{one})" for one in last_names) or "(?!)")
        # The names of folders come again with every file in them.
        self._may_fit = lru_cache(maxsize=4096)(lambda name: any_last_name.match(spell(name)) is not None)

    def find(self, names: Names) -> list[int]:
        """Return the numbers of the patterns that are about a path, in order."""
        if names and not any(map(self._may_fit, names)):
            return []
        return [number for number, pattern in enumerate(self._patterns) if pattern.fits(names)]

    def find_below(self, names: Names) -> list[int]:
        """Return the numbers of those that may be about something below a folder because of its names."""
        return [number for number, pattern in enumerate(self._patterns) if pattern.may_fit_below(names)]
