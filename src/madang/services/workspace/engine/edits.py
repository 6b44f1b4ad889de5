"""Edits of a text: where each applies, the text after it, and the nearest lines when none fits."""

from __future__ import annotations

import difflib
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from madang.core.errors import NotFound
from madang.core.executor import StopSignal
from madang.services.workspace.domain.files import MAX_EDITED_BYTES, Edit
from madang.services.workspace.engine.equivalents import FoldedText, common_ends, fold, is_composed, name_signs
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
BLOCK_CHARS = 1 << 16
"""Long texts are worked on in blocks: one operation on the whole would keep all other threads waiting until its end."""
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
    taken_as_equal: tuple[str, ...] = ()
    """Names of signs of the file that look like others, which an edit has in their place."""


def apply(path: str, text: str, edits: list[Edit], stop: StopSignal | None = None) -> EditOutcome:
    """Apply edits in order, each to what the one before it left.

    Raises:
        NotFound, Conflict, InvalidArguments: one does not fit; nothing is changed then.
        LimitExceeded: together they take too long.
    """
    clock = _Clock(path, stop)
    edited = _EditedText(text, clock)
    replacements = []
    taken_as_equal: list[str] = []
    for number, edit in enumerate(edits, start=1):
        clock.check()
        line, count, signs = _apply(path, edited, edit, (number, len(edits)), clock)
        replacements.append((line, count))
        taken_as_equal += signs
    return EditOutcome(edited.with_line_ends(), tuple(replacements), tuple(dict.fromkeys(taken_as_equal)))


def _apply(
    path: str, edited: _EditedText, edit: Edit, number: tuple[int, int], clock: _Clock
) -> tuple[int, int, list[str]]:
    """Make one edit; return its first line, how many replacements it made, and the signs that were taken as equal."""
    old, new = _with_lf(edit.old_text), _with_lf(edit.new_text)
    if old == new:
        raise edit_changes_nothing(number)
    count = edited.text.count(old)
    if not count or (edit.replace_all and not (is_composed(old) and is_composed(edited.text, clock.check))):
        return _apply_to_equivalents(path, edited, edit, number, clock)
    if count > 1 and not edit.replace_all:
        positions = islice(_positions(edited.text, old), MAX_NAMED_LINES)
        raise edit_is_ambiguous(path, number, count, [edited.line_of(position) for position in positions])
    # Before anything is built: a letter replaced by a page, a million times, would exhaust the memory.
    if edited.size + count * (len(new) - len(old)) > MAX_EDITED_BYTES:
        raise file_too_large(path, MAX_EDITED_BYTES)
    line = edited.line_of(edited.text.find(old))
    edited.replace(old, new)
    return line, count, []


def _apply_to_equivalents(
    path: str, edited: _EditedText, edit: Edit, number: tuple[int, int], clock: _Clock
) -> tuple[int, int, list[str]]:
    """Make one edit where the file has its text in another spelling.

    What looks alike is taken as equal where it is in one place only: whoever wants to replace all of something has to
    say what.
    """
    old, new = _with_lf(edit.old_text), _with_lf(edit.new_text)
    for to_plain in (False,) if edit.replace_all else (False, True):
        folded = FoldedText(edited.text, to_plain=to_plain, check_time=clock.check)
        piece = fold(old, to_plain=to_plain)
        found = list(folded.spans_of(piece))
        if found:
            break
    else:
        raise _not_found(path, edited.text, old, number)
    if len(found) > 1 and not edit.replace_all:
        starts = [folded.original_start(start) or 0 for start, _ in found[:MAX_NAMED_LINES]]
        raise edit_is_ambiguous(path, number, len(found), [edited.line_of(start) for start in starts])
    first, last = found[0]
    line = edited.line_of(folded.original_start(first) or 0)
    signs = name_signs(edited.text[folded.original_start(first) : folded.original_end(last)], old) if to_plain else []
    spans, middle = _changed_spans(folded, found, old, new, to_plain)
    if edited.size + sum(len(middle) - (end - start) for start, end in spans) > MAX_EDITED_BYTES:
        raise file_too_large(path, MAX_EDITED_BYTES)
    edited.replace_spans(spans, middle)
    return line, len(found), signs


def _changed_spans(
    folded: FoldedText, found: list[tuple[int, int]], old: str, new: str, to_plain: bool
) -> tuple[list[tuple[int, int]], str]:
    """Return what an edit replaces in the original, and by what: where both begin or end alike, the file keeps its own.

    So a no-break space stays one in a line of which only the end is changed.
    """
    before, after = common_ends(old, new)
    for start_chars, end_chars in ((before, after), (0, 0)):
        head, tail = (len(fold(part, to_plain=to_plain)) for part in (old[:start_chars], old[len(old) - end_chars :]))
        places = [(folded.original_start(start + head), folded.original_end(end - tail)) for start, end in found]
        spans = [(start, max(start, end)) for start, end in places if start is not None and end is not None]
        if len(spans) == len(found):
            break
    return spans, new[start_chars : len(new) - end_chars]


class _Clock:
    """Ends edits that take too long, or whose call was cancelled.

    Counted is the processor time of the thread: it gives way to others, so that on a busy machine the hour says nothing
    of how much work it was.
    """

    def __init__(self, path: str, stop: StopSignal | None) -> None:
        self._path = path
        self._stop = stop
        self._until_s = time.thread_time() + MAX_EDIT_S

    def check(self) -> None:
        if self._stop is not None:
            self._stop.checkpoint()
        if time.thread_time() > self._until_s:
            raise edits_take_too_long(self._path, MAX_EDIT_S)


class _EditedText:
    """A text with `\\n` alone, and the line ends of the original beside it: listed once, whatever edits follow."""

    def __init__(self, original: str, clock: _Clock) -> None:
        self.text = _replaced(original, "\r\n", "\n", clock.check)
        self._clock = clock
        crlf_count = len(original) - len(self.text)
        self._only_end = "\n" if crlf_count == 0 else "\r\n" if crlf_count == self.text.count("\n") else ""
        self._line_ends = "" if self._only_end else _line_ends(original, clock.check)
        """Of a text with both kinds: one character for each, `\\n` or CRLF."""

    @property
    def size(self) -> int:
        """How many characters it has with its line ends, at most."""
        return len(self.text) + (0 if self._only_end == "\n" else self.text.count("\n"))

    def line_of(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1

    def replace(self, old: str, new: str) -> None:
        """Replace every `old`; each new line ends like the next one in the text."""
        if self._line_ends and ("\n" in old or "\n" in new):
            self._line_ends = self._line_ends_after(
                ((position, position + len(old)) for position in _positions(self.text, old)), new
            )
        self.text = _replaced(self.text, old, new, self._clock.check)

    def replace_spans(self, spans: Sequence[tuple[int, int]], new: str) -> None:
        """Replace what is between these places, which are in order; new lines end like the next one."""
        if self._line_ends:
            self._line_ends = self._line_ends_after(spans, new)
        pieces: list[str] = []
        done = 0
        for start, end in spans:
            pieces += self.text[done:start], new
            done = end
        self.text = "".join(pieces) + self.text[done:]

    def _line_ends_after(self, spans: Iterable[tuple[int, int]], new: str) -> str:
        line_ends, added = self._line_ends, new.count("\n")
        pieces: list[str] = []
        done = at = 0
        for number, (start, end) in enumerate(spans):
            if number % CLOCK_EVERY == 0:
                self._clock.check()
            following = done + self.text.count("\n", at, start)
            pieces += line_ends[done:following], line_ends[min(following, len(line_ends) - 1)] * added
            done, at = following + self.text.count("\n", start, end), end
        return "".join(pieces) + line_ends[done:]

    def with_line_ends(self) -> str:
        """Return the text with the line ends of the original."""
        if self._only_end:
            return self.text if self._only_end == "\n" else _replaced(self.text, "\n", "\r\n", self._clock.check)
        finished: list[str] = []
        done = 0
        for at in range(0, len(self.text), BLOCK_CHARS):
            self._clock.check()
            lines = self.text[at : at + BLOCK_CHARS].split("\n")
            ends = self._line_ends[done : done + len(lines) - 1]
            done += len(ends)
            pieces = [""] * (len(lines) + len(ends))
            pieces[0::2], pieces[1::2] = lines, ["\r\n" if end == CRLF else "\n" for end in ends]
            finished.append("".join(pieces))
        return "".join(finished)


_NO_LINE_ENDS = bytes(set(range(256)) - set(b"\n\xff"))


def _line_ends(text: str, check_time: Callable[[], None]) -> str:
    """Return the line ends of a text. As bytes: deleting by table is fast, and 0xff is in no text that is encoded."""
    listed: list[bytes] = []
    at = 0
    while at < len(text):
        check_time()
        end = at + BLOCK_CHARS
        end += text[end - 1 : end + 1] == "\r\n"
        block = text[at:end].encode(errors="replace").replace(b"\r\n", b"\xff")
        listed.append(block.translate(None, _NO_LINE_ENDS).replace(b"\xff", CRLF.encode()))
        at = end
    return b"".join(listed).decode()


def _with_lf(text: str) -> str:
    return _replaced(text, "\r\n", "\n")


def _replaced(text: str, old: str, new: str, check_time: Callable[[], None] = lambda: None) -> str:
    """Return `text.replace(old, new)`, made in blocks."""
    size = max(BLOCK_CHARS, 2 * len(old))
    if len(text) <= size:
        return text.replace(old, new)
    finished: list[str] = []
    at = 0
    while at + size < len(text):
        check_time()
        *pieces, rest = text[at : at + size].split(old)
        # The next `old` may begin in this block already.
        unread = min(len(rest), len(old) - 1)
        finished.append(new.join((*pieces, rest[: len(rest) - unread])))
        at += size - unread
    finished.append(text[at:].replace(old, new))
    return "".join(finished)


def _positions(text: str, piece: str) -> Iterator[int]:
    at = text.find(piece)
    while at >= 0:
        yield at
        at = text.find(piece, at + len(piece))


def _not_found(path: str, text: str, old: str, number: tuple[int, int]) -> NotFound:
    nearest = _nearest(text, old)
    if nearest is None:
        return edit_not_found(path, number)
    signs = name_signs(nearest[-1], old)
    return edit_nearly_found(path, number, *nearest, signs=signs)


def _nearest(text: str, old: str) -> tuple[int, int, float, str] | None:
    """Return the lines most like `old` (first, last, likeness, text) that were found within MAX_NEAREST_S."""
    until = time.monotonic() + MAX_NEAREST_S
    lines = text.split("\n", MAX_COMPARED_LINES)[:MAX_COMPARED_LINES]
    old_lines = old.strip("\n").split("\n")
    bare = [_bare(line) for line in lines]
    bare_old = [_bare(line) for line in old_lines]
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


def _bare(line: str) -> str:
    """Return a line as it is compared: white space collapsed, and composed."""
    bare = " ".join(line.split())
    return bare if bare.isascii() else unicodedata.normalize("NFC", bare)


def _joined(lines: list[str]) -> str:
    return "\n".join(lines)[:MAX_COMPARED_CHARS]


def diff(before: str, after: str, check_time: Callable[[], None] = lambda: None) -> str:
    """Return what changed as a unified diff, truncated where it is long. `check_time` is called while it is made."""
    before, after = (_replaced(text, "\r\n", "\n", check_time) for text in (before, after))
    if before.endswith("\n") and after.endswith("\n"):
        before, after = before[:-1], after[:-1]
    start = _lines_back(before, _equal_start(before, after), CONTEXT_LINES)
    equal_end = _equal_end(before, after, start)
    old_part, new_part = (_part(text, start, len(text) - equal_end) for text in (before, after))
    if len(old_part) + len(new_part) > MAX_DIFF_LINES:
        old_part, new_part = old_part[: MAX_DIFF_LINES // 2], new_part[: MAX_DIFF_LINES // 2]
    first_line = before.count("\n", 0, start)
    hunks = difflib.unified_diff(old_part, new_part, lineterm="", n=CONTEXT_LINES)
    diff_lines, room = [], MAX_DIFF_BYTES
    for line in list(hunks)[2:]:
        if line.startswith("@@"):
            line = _shift(line, first_line)
        line = line if len(line) <= MAX_DIFF_LINE_CHARS else line[:MAX_DIFF_LINE_CHARS] + "…"
        room -= len(line.encode(errors="replace")) + 1
        if room < 0:
            diff_lines.append("…")
            break
        diff_lines.append(line)
    return "\n".join(diff_lines)


def _equal_start(one: str, other: str) -> int:
    """Return how many characters are equal from the first one on."""
    at, most = 0, min(len(one), len(other))
    while at + BLOCK_CHARS < most and one[at : at + BLOCK_CHARS] == other[at : at + BLOCK_CHARS]:
        at += BLOCK_CHARS
    return at + _equal_chars(one[at : at + BLOCK_CHARS], other[at : at + BLOCK_CHARS])


def _equal_end(one: str, other: str, start: int) -> int:
    """Return how many characters are equal at the end, less some lines of context; none before `start` are."""
    most = min(len(one), len(other)) - start
    size = 0
    while size < most and _before_end(one, size) == _before_end(other, size):
        size += BLOCK_CHARS
    size += _equal_chars(_before_end(one, size)[::-1], _before_end(other, size)[::-1])
    at = len(one) - min(size, most)
    for _ in range(CONTEXT_LINES + 1):
        at = one.find("\n", at) + 1
        if not at:
            return 0
    return len(one) - at + 1


def _equal_chars(one: str, other: str) -> int:
    different = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(different, min(len(one), len(other)))


def _before_end(text: str, size: int) -> str:
    end = max(len(text) - size, 0)
    return text[max(end - BLOCK_CHARS, 0) : end]


def _lines_back(text: str, at: int, lines: int) -> int:
    """Return where the line begins that is so many lines before the one at `at`."""
    for _ in range(lines + 1):
        at = text.rfind("\n", 0, max(at, 0))
        if at < 0:
            return 0
    return at + 1


def _part(text: str, start: int, end: int) -> list[str]:
    """Return the lines between two places, or the first of them if there are too many to compare."""
    return text[start:end].split("\n", MAX_DIFF_LINES + 1)[: MAX_DIFF_LINES + 1]


def _shift(header: str, by: int) -> str:
    return re.sub(r"([-+])(\d+)", lambda number: f"{number[1]}{int(number[2]) + by}", header)
