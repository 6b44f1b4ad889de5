"""Glob patterns for paths: `*`, `?`, `[abc]`, `{a,b}` and `**` for any number of folders.

A pattern comes from a model, and a regular expression made of many stars could backtrack for minutes (ReDoS). Here a
match takes time by the product of the two lengths at most, and looks at the clock meanwhile.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

from madang.services.workspace.engine.errors import bad_set, too_many_alternatives

MAX_ALTERNATIVES = 64
MAX_BRACES = 64
_ANY_FOLDERS = None
"""The part `**`."""


Parts = list[re.Pattern[str] | None]


class OutOfTime(Exception):
    """The time for matching is over."""


class Glob:
    """A compiled pattern. One without a slash fits a name at any depth.

    `check_time` is called while a path is matched, and raises `OutOfTime` to end it.
    """

    def __init__(self, pattern: str, check_time: Callable[[], None] = lambda: None, *, field: str = "pattern") -> None:
        """Compile it; `field` is the argument that an error names."""
        self._check_time = check_time
        # Once for all alternatives: they share most of their parts.
        compiled: dict[str, re.Pattern[str] | None] = {"**": _ANY_FOLDERS}
        alternatives: dict[tuple[str, ...], Parts] = {}
        for alternative in _expand_braces(unicodedata.normalize("NFC", pattern), field):
            names = [part for part in alternative.removeprefix("./").split("/") if part]
            if "/" not in alternative:
                names = ["**", *names]
            # Neighbouring `**` mean the same as one.
            names = [name for at, name in enumerate(names) if name != "**" or names[at - 1 : at] != ["**"]]
            for name in names:
                if name not in compiled:
                    compiled[name] = _name_pattern(name, field)
            alternatives[tuple(names)] = [compiled[name] for name in names]
        self._alternatives = list(alternatives.values())

    def fits(self, path: str) -> bool:
        """Tell whether a path matches.

        Raises:
            OutOfTime: there was no time to find out.
        """
        names = (path if path.isascii() else unicodedata.normalize("NFC", path)).split("/")
        return any(fits_parts(parts, names, self._check_time) for parts in self._alternatives)


def fits_parts(parts: Parts, names: Sequence[str], check_time: Callable[[], None] = lambda: None) -> bool:
    """Tell whether the names along a path fit the parts of a pattern, from the first to the last.

    It simulates a nondeterministic automaton: its states are the positions in the pattern that are possible so far.
    A `**` may stand for no folder, so the state behind one is possible as soon as it is.
    """
    states = _closure(parts, {0})
    for name in names:
        check_time()
        next_states = set()
        fits_by_part: dict[re.Pattern[str], bool] = {}
        for state in states:
            if state == len(parts):
                continue
            part = parts[state]
            if part is _ANY_FOLDERS:
                next_states.add(state)
                continue
            if part not in fits_by_part:
                fits_by_part[part] = part.fullmatch(name) is not None
            if fits_by_part[part]:
                next_states.add(state + 1)
        if not next_states:
            return False
        states = _closure(parts, next_states)
    return len(parts) in states


def _closure(parts: Parts, states: set[int]) -> set[int]:
    return states | {state + 1 for state in states if state < len(parts) and parts[state] is _ANY_FOLDERS}


@lru_cache(maxsize=128)
def _name_pattern(pattern: str, field: str) -> re.Pattern[str]:
    return name_regex(_between_stars(_tokens(pattern), field))


def name_regex(pieces: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern for one name, of expressions with a star between each two.

    A piece between two stars is matched at its first occurrence without backtracking (an atomic group): a later one
    could never help, and to try it would be quadratic or worse.
    """
    first, *others = pieces
    *middle, last = others or [""]
    regex = first + "".join(f"(?>.*?{piece})" for piece in middle)
    return re.compile(regex + (f".*{last}" if others else ""), re.DOTALL)


def _between_stars(tokens: list[str], field: str) -> list[str]:
    pieces = [""]
    for token in tokens:
        if token == "*":
            pieces.append("")
        else:
            pieces[-1] += _as_regex(token, field)
    return pieces


def _tokens(pattern: str) -> list[str]:
    """Split a pattern for a name into stars, question marks, sets and single characters (as `=x`)."""
    tokens: list[str] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "*":
            if tokens[-1:] != ["*"]:
                tokens.append("*")
        elif sign == "?":
            tokens.append("?")
        elif sign == "\\" and at + 1 < len(pattern):
            at += 1
            tokens.append("=" + pattern[at])
        elif sign == "[" and (end := pattern.find("]", at + 2)) > 0:
            tokens.append(pattern[at : end + 1])
            at = end
        else:
            tokens.append("=" + sign)
        at += 1
    return tokens


def _as_regex(token: str, field: str) -> str:
    if token == "?":
        return "."
    return _set(token, field).pattern if token.startswith("[") else re.escape(token[1:])


@lru_cache(maxsize=256)
def _set(token: str, field: str) -> re.Pattern[str]:
    inner = token[1:-1]
    negated = inner[:1] in ("!", "^")
    inner = inner[1:] if negated else inner
    escaped = re.sub(r"([\[\]\\^&~|])", r"\\\1", inner)
    try:
        return re.compile(f"[{'^' if negated else ''}{escaped}]", re.DOTALL)
    except re.error as error:
        raise bad_set(field, token, str(error)) from None


def _expand_braces(pattern: str, field: str) -> list[str]:
    if pattern.count("{") > MAX_BRACES:
        raise too_many_alternatives(field, MAX_ALTERNATIVES)
    expanded, pending = [], [pattern]
    while pending:
        alternative = pending.pop(0)
        braces = re.search(r"\{([^{}]*)\}", alternative)
        if braces is None:
            expanded.append(alternative)
            continue
        before, after = alternative[: braces.start()], alternative[braces.end() :]
        pending += [before + choice + after for choice in braces[1].split(",")]
        if len(pending) + len(expanded) > MAX_ALTERNATIVES:
            raise too_many_alternatives(field, MAX_ALTERNATIVES)
    return expanded
