"""Edits of a text: where each applies, the text after it, and the nearest lines when none fits."""

from __future__ import annotations

import difflib
import re
import time
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import islice

from madang.core.errors import NotFound
from madang.services.workspace.domain.files import MAX_EDITED_BYTES, Edit
from madang.services.workspace.engine.errors import (
    edit_changes_nothing,
    edit_is_ambiguous,
    edit_nearly_found,
    edit_not_found,
    file_too_large,
)

MAX_NEAREST_S = 0.5
MAX_COMPARED_LINES = 20_000
MAX_COMPARED_CHARS = 400
MAX_DIFF_LINES = 600
MAX_DIFF_BYTES = 3_500
MAX_DIFF_LINE_CHARS = 300
MAX_NAMED_LINES = 20
CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """A text after its edits; for each edit the line of its first replacement, and how many it made."""

    text: str
    replacements: tuple[tuple[int, int], ...]


def apply(path: str, text: str, edits: list[Edit]) -> EditOutcome:
    """Apply edits in order, each to what the one before it left.

    Raises:
        NotFound, Conflict, InvalidArguments: one does not fit; nothing is changed then.
    """
    replacements = []
    for number, edit in enumerate(edits, start=1):
        text, line, count = _apply(path, text, edit, (number, len(edits)))
        replacements.append((line, count))
    return EditOutcome(text, tuple(replacements))


def _apply(path: str, text: str, edit: Edit, number: tuple[int, int]) -> tuple[str, int, int]:
    old, new = _with_lf(edit.old_text), _with_lf(edit.new_text)
    if old == new:
        raise edit_changes_nothing(number)
    plain = _PlainText(text)
    count = plain.text.count(old)
    if not count:
        raise _not_found(path, plain.text, old, number)
    if count > 1 and not edit.replace_all:
        positions = islice(_positions(plain.text, old), MAX_NAMED_LINES)
        lines = [plain.text.count("\n", 0, position) + 1 for position in positions]
        raise edit_is_ambiguous(path, number, count, lines)
    # Before anything is built: a letter replaced by a page, a million times, would exhaust the memory.
    if len(text) + count * (len(new) - len(old)) > MAX_EDITED_BYTES:
        raise file_too_large(path, MAX_EDITED_BYTES)
    line = plain.text.count("\n", 0, plain.text.find(old)) + 1
    return plain.replace(old, new), line, count


class _PlainText:
    """A text with `\\n` alone, and how its positions map to those of the original."""

    def __init__(self, original: str) -> None:
        self.text = _with_lf(original)
        self._original = original

    def replace(self, old: str, new: str) -> str:
        """Return the original with every `old` replaced; each new line ends like those around it."""
        pairs = len(self._original) - len(self.text)
        if pairs == 0:
            return self.text.replace(old, new)
        if pairs == self.text.count("\n"):
            return self.text.replace(old, new).replace("\n", "\r\n")
        return self._replace_mixed(old, new)

    def _replace_mixed(self, old: str, new: str) -> str:
        original, result = self._original, StringIO(newline="")
        # The position in the plain text of each `\r\n` of the original.
        crlf = array("Q", (match.start() - n for n, match in enumerate(re.finditer("\r\n", original))))
        done = following = 0
        last = original.rfind("\n")
        for position in _positions(self.text, old):
            start = position + bisect_left(crlf, position)
            end = position + len(old) + bisect_left(crlf, position + len(old))
            near = original.find("\n", start, end)
            if near < 0 and following < end <= last:
                following = original.find("\n", end)  # reused: each line end is searched once, not per replacement
            if near < 0:
                near = following if end <= last else last
            result.write(original[done:start])
            result.write(new.replace("\n", "\r\n") if near > 0 and original[near - 1] == "\r" else new)
            done = end
        result.write(original[done:])
        return result.getvalue()


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def _positions(text: str, piece: str) -> Iterator[int]:
    at = text.find(piece)
    while at >= 0:
        yield at
        at = text.find(piece, at + len(piece))


def _not_found(path: str, text: str, old: str, number: tuple[int, int]) -> NotFound:
    nearest = _nearest(text, old)
    return edit_nearly_found(path, number, *nearest) if nearest else edit_not_found(path, number)


def _nearest(text: str, old: str) -> tuple[int, int, float, str] | None:
    """Return the lines most like `old` (first, last, likeness, text) that were found within MAX_NEAREST_S."""
    until = time.monotonic() + MAX_NEAREST_S
    lines = text.split("\n")[:MAX_COMPARED_LINES]
    old_lines = old.strip("\n").split("\n")
    bare = [" ".join(line.split()) for line in lines]
    bare_old = [" ".join(line.split()) for line in old_lines]
    anchor = max(range(len(old_lines)), key=lambda index: len(bare_old[index]))
    if not bare_old[anchor]:
        return None
    for at, line in enumerate(bare):
        start = at - anchor
        if line != bare_old[anchor] or start < 0:
            continue
        if time.monotonic() > until:
            break  # many equal lines, each of which begins a long comparison
        if bare[start : start + len(old_lines)] == bare_old:
            return start + 1, start + len(old_lines), 1.0, _joined(lines[start : start + len(old_lines)])
    best, best_at = 0.0, -1
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(bare_old[anchor][:MAX_COMPARED_CHARS])
    for at, line in enumerate(bare):
        if not line:
            continue
        matcher.set_seq1(line[:MAX_COMPARED_CHARS])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (likeness := matcher.ratio()) > best:
            best, best_at = likeness, at
        if time.monotonic() > until:
            break
    if best < 0.5:
        return None
    start = max(best_at - anchor, 0)
    end = min(start + len(old_lines), len(lines))
    return start + 1, end, min(best, 0.99), _joined(lines[start:end])


def _joined(lines: list[str]) -> str:
    return "\n".join(lines)[:MAX_COMPARED_CHARS]


def diff(before: str, after: str) -> str:
    """Return what changed as a unified diff, truncated where it is long."""
    before, after = _with_lf(before), _with_lf(after)
    if before.endswith("\n") and after.endswith("\n"):
        before, after = before[:-1], after[:-1]
    old, new = before.split("\n"), after.split("\n")
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start = max(head - CONTEXT_LINES, 0)
    end = max(tail - CONTEXT_LINES, 0)
    old_part, new_part = old[start : len(old) - end], new[start : len(new) - end]
    if len(old_part) + len(new_part) > MAX_DIFF_LINES:
        old_part, new_part = old_part[: MAX_DIFF_LINES // 2], new_part[: MAX_DIFF_LINES // 2]
    hunks = difflib.unified_diff(old_part, new_part, lineterm="", n=CONTEXT_LINES)
    diff_lines, room = [], MAX_DIFF_BYTES
    for line in list(hunks)[2:]:
        if line.startswith("@@"):
            line = _shift(line, start)
        line = line if len(line) <= MAX_DIFF_LINE_CHARS else line[:MAX_DIFF_LINE_CHARS] + "…"
        room -= len(line.encode(errors="replace")) + 1
        if room < 0:
            diff_lines.append("…")
            break
        diff_lines.append(line)
    return "\n".join(diff_lines)


def _shift(header: str, by: int) -> str:
    return re.sub(r"([-+])(\d+)", lambda number: f"{number[1]}{int(number[2]) + by}", header)
