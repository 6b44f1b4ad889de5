"""Edits of a text: where each applies, the text after it, and the nearest lines when none fits."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from madang.core.errors import NotFound
from madang.core.executor import StopSignal
from madang.services.workspace.domain.files import MAX_EDITED_BYTES, Edit
from madang.services.workspace.engine.errors import (
    edit_changes_nothing,
    edit_is_ambiguous,
    edit_nearly_found,
    edit_not_found,
    edits_take_too_long,
    file_too_large,
)

MAX_EDIT_S = 5.0
CLOCK_EVERY = 1_000
LINE_BLOCK = 4_096
LINE_END_BLOCK = 1 << 18
CRLF = "c"
"""Stands for `\\r\\n` in a list of line ends."""
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


def apply(path: str, text: str, edits: list[Edit], stop: StopSignal | None = None) -> EditOutcome:
    """Apply edits in order, each to what the one before it left.

    Raises:
        NotFound, Conflict, InvalidArguments: one does not fit; nothing is changed then.
        LimitExceeded: together they take too long.
    """
    clock = _Clock(path, stop)
    edited = _EditedText(text, clock)
    replacements = []
    for number, edit in enumerate(edits, start=1):
        clock.check()
        replacements.append(_apply(path, edited, edit, (number, len(edits))))
    return EditOutcome(edited.with_line_ends(), tuple(replacements))


def _apply(path: str, edited: _EditedText, edit: Edit, number: tuple[int, int]) -> tuple[int, int]:
    old, new = _with_lf(edit.old_text), _with_lf(edit.new_text)
    if old == new:
        raise edit_changes_nothing(number)
    count = edited.text.count(old)
    if not count:
        raise _not_found(path, edited.text, old, number)
    if count > 1 and not edit.replace_all:
        positions = islice(_positions(edited.text, old), MAX_NAMED_LINES)
        lines = [edited.text.count("\n", 0, position) + 1 for position in positions]
        raise edit_is_ambiguous(path, number, count, lines)
    # Before anything is built: a letter replaced by a page, a million times, would exhaust the memory.
    if edited.size + count * (len(new) - len(old)) > MAX_EDITED_BYTES:
        raise file_too_large(path, MAX_EDITED_BYTES)
    line = edited.text.count("\n", 0, edited.text.find(old)) + 1
    edited.replace(old, new)
    return line, count


class _Clock:
    """Ends edits that take too long, or whose call was cancelled."""

    def __init__(self, path: str, stop: StopSignal | None) -> None:
        self._path = path
        self._stop = stop
        self._until = time.monotonic() + MAX_EDIT_S

    def check(self) -> None:
        if self._stop is not None:
            self._stop.check()
        if time.monotonic() > self._until:
            raise edits_take_too_long(self._path, MAX_EDIT_S)


class _EditedText:
    """A text with `\\n` alone, and the line ends of the original beside it: listed once, whatever edits follow."""

    def __init__(self, original: str, clock: _Clock) -> None:
        self.text = _with_lf(original)
        self._clock = clock
        crlf_count = len(original) - len(self.text)
        self._only_end = "\n" if crlf_count == 0 else "\r\n" if crlf_count == self.text.count("\n") else ""
        self._line_ends = "" if self._only_end else _line_ends(original)
        """Of a text with both kinds: one character for each, `\\n` or CRLF."""

    @property
    def size(self) -> int:
        """How many characters it has with its line ends, at most."""
        return len(self.text) + (0 if self._only_end == "\n" else self.text.count("\n"))

    def replace(self, old: str, new: str) -> None:
        """Replace every `old`; each new line ends like the next one in the text."""
        if self._line_ends and ("\n" in old or "\n" in new):
            self._line_ends = self._line_ends_after(old, new)
        self.text = self.text.replace(old, new)

    def _line_ends_after(self, old: str, new: str) -> str:
        line_ends, removed, added = self._line_ends, old.count("\n"), new.count("\n")
        pieces: list[str] = []
        done = at = 0
        for number, position in enumerate(_positions(self.text, old)):
            if number % CLOCK_EVERY == 0:
                self._clock.check()
            following = done + self.text.count("\n", at, position)
            pieces += line_ends[done:following], line_ends[min(following, len(line_ends) - 1)] * added
            done, at = following + removed, position + len(old)
        return "".join(pieces) + line_ends[done:]

    def with_line_ends(self) -> str:
        """Return the text with the line ends of the original."""
        if self._only_end:
            return self.text if self._only_end == "\n" else self.text.replace("\n", "\r\n")
        finished, rest = [], self.text
        for at in range(0, len(self._line_ends), LINE_END_BLOCK):
            self._clock.check()
            block = self._line_ends[at : at + LINE_END_BLOCK]
            *lines, rest = rest.split("\n", len(block))
            pieces = [""] * (2 * len(block))
            pieces[0::2], pieces[1::2] = lines, ["\r\n" if end == CRLF else "\n" for end in block]
            finished.append("".join(pieces))
        return "".join(finished) + rest


def _line_ends(text: str) -> str:
    return re.sub("[^\r\n]+", "", text).replace("\r\n", CRLF).replace("\r", "")


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
    head = _equal_lines(old, new)
    tail = _equal_lines(old[head:][::-1], new[head:][::-1])
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


def _equal_lines(old: list[str], new: list[str]) -> int:
    """Return how many lines are equal from the first one on. Blocks are compared at once: there may be millions."""
    head, most = 0, min(len(old), len(new))
    while head < most and old[head : head + LINE_BLOCK] == new[head : head + LINE_BLOCK]:
        head += LINE_BLOCK
    while head < most and old[head] == new[head]:
        head += 1
    return min(head, most)


def _shift(header: str, by: int) -> str:
    return re.sub(r"([-+])(\d+)", lambda number: f"{number[1]}{int(number[2]) + by}", header)
