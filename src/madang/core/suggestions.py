"""Near misses: the known names that look like one that does not exist, and the sentence that offers them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import islice

from madang.core.phrases import Phrase, say
from madang.core.synonyms import OTHER_NAMES, likeness

MAX_SUGGESTIONS = 3
SAME_IN_OTHER_WORDS = 0.75
"""Of a `likeness`: all words of both, or all but one of many."""
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


def nearest_tools(name: str, known: Collection[str]) -> list[str]:
    """Return the known tools that `name` may mean; the likeliest first.

    What another program calls them comes before what says the same in other words, and that before mere letters.
    """
    if len(name) > MAX_COMPARED_NAME_CHARS:
        return []
    meant = [OTHER_NAMES.get(_letters(name), "")]
    said = [(likeness(name, one), one) for one in sorted(known)]
    said = sorted((pair for pair in said if pair[0] > SAME_IN_OTHER_WORDS), key=lambda pair: -pair[0])
    names = [*meant, *(one for _, one in said), *nearest_names(name, known)]
    return list(dict.fromkeys(one for one in names if one in known))[:MAX_SUGGESTIONS]


def did_you_mean(name: str, known: Iterable[str]) -> Phrase | None:
    """Return a sentence with the known names that look like `name`; None when none does."""
    return _offer(nearest_names(name, known))


def did_you_mean_tool(name: str, known: Collection[str]) -> Phrase | None:
    """Return a sentence with the known tools that `name` may mean; None when there is none."""
    return _offer(nearest_tools(name, known))


def _offer(suggested: list[str]) -> Phrase | None:
    names = [f"'{one}'" for one in suggested]
    if not names:
        return None
    *others, last = names
    if not others:
        return say("Did you mean {name}?", name=last)
    return say("Did you mean {names} or {last}?", names=", ".join(others), last=last)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()
