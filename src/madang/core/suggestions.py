"""Near misses: the known names that look like one that does not exist, and the sentence that offers them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from madang.core.phrases import Phrase, say

MAX_SUGGESTIONS = 3
MAX_COMPARED_NAMES = 2_000
MAX_COMPARED_NAME_CHARS = 100
"""Comparing takes time by the product of two lengths, and the names may be a stranger's: longer ones are left out."""


def nearest_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that look like `name`, whatever their case and separators; the likeliest first."""
    if len(name) > MAX_COMPARED_NAME_CHARS:
        return []
    from difflib import get_close_matches  # on first use: a start needs no suggestions

    comparable = islice((one for one in known if len(one) <= MAX_COMPARED_NAME_CHARS), MAX_COMPARED_NAMES)
    names: dict[str, str] = {}
    for one in comparable:
        names.setdefault(_letters(one), one)
    return [names[match] for match in get_close_matches(_letters(name), names, n=MAX_SUGGESTIONS)]


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the known name that looks most like `name`; empty when none does."""
    return next(iter(nearest_names(name, known)), "")


def did_you_mean(name: str, known: Iterable[str]) -> Phrase | None:
    """Return a sentence with the known names that look like `name`; None when none does."""
    names = [f"'{one}'" for one in nearest_names(name, known)]
    if not names:
        return None
    *others, last = names
    if not others:
        return say("Did you mean {name}?", name=last)
    return say("Did you mean {names} or {last}?", names=", ".join(others), last=last)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()
