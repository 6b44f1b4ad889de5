"""Glob patterns for paths: `*`, `?`, `[abc]`, `{a,b}` and `**` for any number of folders.

Matching is linear in the path: a pattern comes from a model, and a regular expression made of many stars could
backtrack for minutes (ReDoS).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from madang.services.workspace.engine.errors import bad_set, too_many_alternatives

MAX_ALTERNATIVES = 64
_ANY_FOLDERS = None
"""The part `**`."""


class Glob:
    """A compiled pattern. One without a slash fits a name at any depth."""

    def __init__(self, pattern: str) -> None:
        self._alternatives: list[list[re.Pattern[str] | None]] = []
        for alternative in _expand_braces(unicodedata.normalize("NFC", pattern)):
            parts = [part for part in alternative.removeprefix("./").split("/") if part]
            if "/" not in alternative:
                parts = ["**", *parts]
            self._alternatives.append([_ANY_FOLDERS if part == "**" else _name_pattern(part) for part in parts])

    def fits(self, path: str) -> bool:
        names = (path if path.isascii() else unicodedata.normalize("NFC", path)).split("/")
        return any(_fits(parts, names) for parts in self._alternatives)


@lru_cache(maxsize=128)
def _name_pattern(pattern: str) -> re.Pattern[str]:
    """Return the pattern for one name.

    A piece between two stars is matched at its first occurrence without backtracking (an atomic group): a later one
    could never help, and to try it would be quadratic or worse.
    """
    first, *others = _between_stars(_tokens(pattern))
    *middle, last = others or [""]
    regex = first + "".join(f"(?>.*?{piece})" for piece in middle)
    return re.compile(regex + (f".*{last}" if others else ""), re.DOTALL)


def _between_stars(tokens: list[str]) -> list[str]:
    pieces = [""]
    for token in tokens:
        if token == "*":
            pieces.append("")
        else:
            pieces[-1] += _as_regex(token)
    return pieces


def _fits(parts: list[re.Pattern[str] | None], names: list[str]) -> bool:
    """Simulate a nondeterministic automaton: its states are the positions in the pattern that are possible so far."""
    states = _skip_any_folders(parts, {0})
    for name in names:
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
        states = _skip_any_folders(parts, next_states)
    return len(parts) in states


def _skip_any_folders(parts: list[re.Pattern[str] | None], states: set[int]) -> set[int]:
    """Add the states behind a `**`, which may also stand for no folder."""
    closure = set(states)
    for state in states:
        while state < len(parts) and parts[state] is _ANY_FOLDERS:
            state += 1
            closure.add(state)
    return closure


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
        elif sign == "[" and (end := pattern.find("]", at + 2)) > 0:
            tokens.append(pattern[at : end + 1])
            at = end
        else:
            tokens.append("=" + sign)
        at += 1
    return tokens


def _as_regex(token: str) -> str:
    if token == "?":
        return "."
    return _set(token).pattern if token.startswith("[") else re.escape(token[1:])


@lru_cache(maxsize=256)
def _set(token: str) -> re.Pattern[str]:
    inner = token[1:-1]
    negated = inner[:1] in ("!", "^")
    inner = inner[1:] if negated else inner
    escaped = re.sub(r"([\[\]\\^&~|])", r"\\\1", inner)
    try:
        return re.compile(f"[{'^' if negated else ''}{escaped}]", re.DOTALL)
    except re.error as error:
        raise bad_set(token, str(error)) from None


def _expand_braces(pattern: str) -> list[str]:
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
            raise too_many_alternatives(MAX_ALTERNATIVES)
    return expanded
