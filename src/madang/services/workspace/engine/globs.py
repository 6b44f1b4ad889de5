"""Patterns for paths: `*`, `?`, `[abc]`, `{a,b}` and `**` for any number of folders.

Matching is linear in the path: a pattern comes from a model and must not be able to keep a core busy, as a regular
expression made from many stars can.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from madang.core.errors import InvalidArguments
from madang.core.phrases import say

MAX_ALTERNATIVES = 64
_ANY = None
"""The part `**`: any number of folders."""


class Glob:
    """A compiled pattern. One without a slash fits a name at any depth."""

    def __init__(self, pattern: str) -> None:
        self._alternatives: list[list[re.Pattern[str] | None]] = []
        for one in _alternatives(unicodedata.normalize("NFC", pattern)):
            parts = [part for part in one.removeprefix("./").split("/") if part]
            if "/" not in one:
                parts = ["**", *parts]
            self._alternatives.append([_ANY if part == "**" else _name_pattern(part) for part in parts])

    def fits(self, path: str) -> bool:
        names = (path if path.isascii() else unicodedata.normalize("NFC", path)).split("/")
        return any(_fits(parts, names) for parts in self._alternatives)


@lru_cache(maxsize=128)
def _name_pattern(pattern: str) -> re.Pattern[str]:
    """Return what fits one name.

    What stands between two stars is taken where it is first found, for good (an atomic group): to take it later could
    never help, and to try that would take the square of the length of the name, or more.
    """
    first, *others = _between_stars(_tokens(pattern))
    *middle, last = others or [""]
    found = first + "".join(f"(?>.*?{piece})" for piece in middle)
    return re.compile(found + (f".*{last}" if others else ""), re.DOTALL)


def _between_stars(tokens: list[str]) -> list[str]:
    pieces = [""]
    for token in tokens:
        if token == "*":
            pieces.append("")
        else:
            pieces[-1] += _as_regex(token)
    return pieces


def _fits(parts: list[re.Pattern[str] | None], names: list[str]) -> bool:
    """Go through the names with all places in the pattern where we may be."""
    places = _with_any(parts, {0})
    for name in names:
        after = set()
        known: dict[re.Pattern[str], bool] = {}
        for place in places:
            if place == len(parts):
                continue
            part = parts[place]
            if part is _ANY:
                after.add(place)
                continue
            if part not in known:
                known[part] = part.fullmatch(name) is not None
            if known[part]:
                after.add(place + 1)
        if not after:
            return False
        places = _with_any(parts, after)
    return len(parts) in places


def _with_any(parts: list[re.Pattern[str] | None], places: set[int]) -> set[int]:
    """Add the places behind a `**`, which may also stand for nothing."""
    found = set(places)
    for place in places:
        while place < len(parts) and parts[place] is _ANY:
            place += 1
            found.add(place)
    return found


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
        raise InvalidArguments(
            say("pattern: the set '{set}' cannot be used: {reason}.", set=token, reason=str(error)),
            hint=say("Write sets like [abc] or [a-z]."),
        ) from None


def _alternatives(pattern: str) -> list[str]:
    """Write out the braces of a pattern."""
    done, waiting = [], [pattern]
    while waiting:
        one = waiting.pop(0)
        found = re.search(r"\{([^{}]*)\}", one)
        if found is None:
            done.append(one)
            continue
        waiting += [one[: found.start()] + choice + one[found.end() :] for choice in found[1].split(",")]
        if len(waiting) + len(done) > MAX_ALTERNATIVES:
            raise InvalidArguments(
                say("pattern: its braces stand for more than {most} patterns.", most=MAX_ALTERNATIVES),
                hint=say("Use fewer alternatives in one call."),
            )
    return done
