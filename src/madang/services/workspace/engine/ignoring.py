"""What Git ignores: the rules of `.gitignore` files and of `.git/info/exclude`, as Git reads them.

The person's own rules for all repositories and those of folders above the workspace are not read: an answer must not
depend on the machine. A file that Git tracks although a rule names it counts as ignored, as it does for ripgrep.

Rules come with a repository, from anybody, so they are matched without backtracking (ReDoS), as other patterns are.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from madang.files.folders.kernel import open_beneath, reading_flags
from madang.files.folders.paths import GIT
from madang.services.workspace.engine.globs import Parts, fits_parts, name_regex

RULES_FILE = ".gitignore"
EXCLUDE_FILE = (GIT, "info", "exclude")
MAX_RULES_BYTES = 256 * 1024
MAX_RULES = 2_000
"""In one file; those after them are not heeded."""

_POSIX_SETS = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r" \t-\r",
    "punct": r"!-\/:-@\[-`{-~",
    "xdigit": "0-9A-Fa-f",
    "blank": r" \t",
}
_TOKEN = re.compile(r"\\(?P<escaped>.)|\[(?P<set>[!^]?\]?(?:\\.|\[:\w+:\]|[^\]\\])*)\]|(?P<sign>.)", re.DOTALL)
_SET_TOKEN = re.compile(r"\\(?P<escaped>.)|\[:(?P<name>\w+):\]|(?P<range>-)|(?P<sign>.)", re.DOTALL)
_NEVER = "(?!)"


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of a file of rules: the names along a path from the folder of the file, with None for `**`."""

    parts: Parts
    is_negated: bool
    is_for_folders: bool


class IgnoreRules:
    """The rules of one folder, behind those of the folders above it: of all that fit, the last one decides."""

    def __init__(self, folder: str, lines: Sequence[str], above: IgnoreRules | None) -> None:
        self._above = above
        self._prefix_length = len(folder) + 1 if folder else 0
        self._rules = [rule for rule in map(_parse, lines[:MAX_RULES]) if rule is not None]
        # One expression tells for most names that no rule can fit: the last name of a path has to fit one's last part.
        last_parts = {rule.parts[-1].pattern for rule in self._rules if rule.parts[-1] is not None}
        self._may_fit = re.compile("|".join(f"(?:{part})" for part in sorted(last_parts)) or _NEVER, re.DOTALL)

    def is_ignored(self, path: str, *, is_folder: bool) -> bool:
        """Tell whether a path below the folder is ignored; its parents have been asked for before."""
        rules: IgnoreRules | None = self
        if not path.isascii():
            path = _as_bytes(path)
        while rules is not None:
            decision = rules._decision(path, is_folder)
            if decision is not None:
                return decision
            rules = rules._above
        return False

    def _decision(self, path: str, is_folder: bool) -> bool | None:
        name = path[path.rfind("/") + 1 :]
        if not self._rules or self._may_fit.fullmatch(name) is None:
            return None
        names = path[self._prefix_length :].split("/")
        for rule in reversed(self._rules):
            if (is_folder or not rule.is_for_folders) and fits_parts(rule.parts, names):
                return not rule.is_negated
        return None


def read_rules(fd: int, folder: str, above: IgnoreRules | None) -> IgnoreRules | None:
    """Return the rules that hold in a folder, given by its descriptor: its own, and those `above` it."""
    lines = [*_lines(fd, EXCLUDE_FILE), *_lines(fd, (RULES_FILE,))]
    if not any(line and not line.startswith("#") for line in lines):
        return above
    return IgnoreRules(_as_bytes(folder), lines, above)


def _lines(fd: int, names: tuple[str, ...]) -> list[str]:
    """Return the lines of a file of rules: none if there is no such regular file; links are not followed."""
    try:
        file_fd = open_beneath(fd, names, reading_flags())
    except OSError:
        return []
    try:
        data = os.read(file_fd, MAX_RULES_BYTES)
    except OSError:
        return []
    finally:
        os.close(file_fd)
    return [line.removesuffix("\r") for line in _as_bytes(data.decode("utf-8-sig", "replace")).split("\n")]


def _as_bytes(text: str) -> str:
    """Return a text with a character for each of its bytes, composed: a `?` of Git's stands for one byte."""
    return text if text.isascii() else unicodedata.normalize("NFC", text).encode(errors="replace").decode("latin-1")


def _parse(line: str) -> _Rule | None:
    if line.startswith("#"):
        return None
    line = _without_trailing_blanks(line)
    is_negated = line.startswith("!")
    pattern = line[is_negated:]
    is_for_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern or pattern == "/":
        return None
    is_anchored = "/" in pattern
    names = pattern.removeprefix("/").split("/")
    parts: Parts = [] if is_anchored else [None]
    for number, name in enumerate(names):
        if name == "**":
            if parts[-1:] != [None]:
                parts.append(None)
            if number == len(names) - 1:
                parts.append(name_regex(["", ""]))  # `a/**` is what is in `a`, not `a` itself
        else:
            parts.append(_name_regex(name))
    return _Rule(parts, is_negated, is_for_folders)


def _without_trailing_blanks(line: str) -> str:
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 and len(bare) < len(line) else bare


def _name_regex(pattern: str) -> re.Pattern[str]:
    pieces = [""]
    for token in _TOKEN.finditer(pattern):
        if token["escaped"] is not None:
            pieces[-1] += re.escape(token["escaped"])
        elif token["set"] is not None:
            pieces[-1] += _set_regex(token["set"])
        elif token["sign"] == "*":
            pieces.append("")
        elif token["sign"] in ("[", "\\"):
            pieces[-1] += _NEVER  # a set or an escape without its end fits nothing
        else:
            pieces[-1] += "." if token["sign"] == "?" else re.escape(token["sign"])
    return name_regex(pieces)


def _set_regex(inner: str) -> str:
    is_negated = inner[:1] in ("!", "^")
    members = ""
    for token in _SET_TOKEN.finditer(inner[is_negated:]):
        if token["name"] is not None:
            members += _POSIX_SETS.get(token["name"], "")
        elif token["range"] is not None:
            members += "-"
        else:
            members += re.escape(token["escaped"] or token["sign"])
    try:
        return re.compile(f"[{'^' if is_negated else ''}{members}]").pattern
    except re.error:
        return _NEVER
