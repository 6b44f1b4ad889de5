"""Edits of a text: where each applies, what comes out, and what is nearest when nothing fits."""

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

from madang.core.errors import Conflict, InvalidArguments, LimitExceeded, NotFound
from madang.core.phrases import Phrase, say
from madang.core.texts import visible_name
from madang.services.workspace.domain.files import MAX_EDITED_BYTES, Edit

NEAREST_FOR_S = 0.5
MAX_COMPARED_LINES = 20_000
MAX_COMPARED_CHARS = 400
MAX_DIFF_LINES = 600
DIFF_BYTES = 3_500
MAX_DIFF_LINE_CHARS = 300
MAX_NAMED_LINES = 20
CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """A text after its edits; for each edit its first line and the number of places."""

    text: str
    changed: tuple[tuple[int, int], ...]


def apply(path: str, text: str, edits: list[Edit]) -> Outcome:
    """Apply edits in order, each to what the one before it left.

    Raises:
        NotFound, Conflict, InvalidArguments: one does not fit; nothing is changed then.
    """
    changed = []
    for number, edit in enumerate(edits, start=1):
        text, line, count = _apply(path, text, edit, say("edit {number} of {total}", number=number, total=len(edits)))
        changed.append((line, count))
    return Outcome(text, tuple(changed))


def _apply(path: str, text: str, edit: Edit, which: Phrase) -> tuple[str, int, int]:
    old, new = _with_lf(edit.old_text), _with_lf(edit.new_text)
    if old == new:
        raise InvalidArguments(
            say("In {which} oldText and newText are the same. Nothing was changed.", which=which),
            hint=say("Leave this edit out, or write what it should become."),
        )
    plain = _Plain(text)
    count = plain.text.count(old)
    if not count:
        raise _not_found(path, plain.text, old, which)
    if count > 1 and not edit.replace_all:
        lines = [
            str(plain.text.count("\n", 0, place) + 1) for place in islice(_places(plain.text, old), MAX_NAMED_LINES)
        ]
        more = ", …" if count > MAX_NAMED_LINES else ""
        raise Conflict(
            say(
                "The oldText of {which} is in '{path}' {count} times, on lines {lines}. Nothing was changed.",
                which=which,
                path=visible_name(path),
                count=count,
                lines=", ".join(lines) + more,
            ),
            hint=say("Give more of the lines around the right one, or set replaceAll."),
        )
    # Before anything is built: a letter that becomes a page, a million times, would fill the memory of the machine.
    if len(text) + count * (len(new) - len(old)) > MAX_EDITED_BYTES:
        raise too_large(path, MAX_EDITED_BYTES)
    line = plain.text.count("\n", 0, plain.text.find(old)) + 1
    return plain.replaced(old, new), line, count


def too_large(path: str, limit: int) -> LimitExceeded:
    return LimitExceeded(
        say(
            "'{path}' has more than {limit} MiB. Nothing was changed.", path=visible_name(path), limit=limit // 1024**2
        ),
        hint=say("Work on smaller files: 'read_file' reads a part of one of any size."),
    )


class _Plain:
    """A text with `\\n` alone, and the way back to the places of the original."""

    def __init__(self, original: str) -> None:
        self.text = _with_lf(original)
        self._original = original

    def replaced(self, old: str, new: str) -> str:
        """Return the original with every `old` replaced; each new line ends like those around it."""
        pairs = len(self._original) - len(self.text)
        if pairs == 0:
            return self.text.replace(old, new)
        if pairs == self.text.count("\n"):
            return self.text.replace(old, new).replace("\n", "\r\n")
        return self._replaced_among_both(old, new)

    def _replaced_among_both(self, old: str, new: str) -> str:
        original, written = self._original, StringIO(newline="")
        # Where, in the plain text, each `\r\n` stands that is `\n` here.
        crlf = array("Q", (match.start() - n for n, match in enumerate(re.finditer("\r\n", original))))
        done = following = 0
        last = original.rfind("\n")
        for place in _places(self.text, old):
            start = place + bisect_left(crlf, place)
            end = place + len(old) + bisect_left(crlf, place + len(old))
            near = original.find("\n", start, end)
            if near < 0 and following < end <= last:
                following = original.find("\n", end)  # kept: each line end is looked for once, not from every place
            if near < 0:
                near = following if end <= last else last
            written.write(original[done:start])
            written.write(new.replace("\n", "\r\n") if near > 0 and original[near - 1] == "\r" else new)
            done = end
        written.write(original[done:])
        return written.getvalue()


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def _places(text: str, piece: str) -> Iterator[int]:
    at = text.find(piece)
    while at >= 0:
        yield at
        at = text.find(piece, at + len(piece))


def _not_found(path: str, text: str, old: str, which: Phrase) -> NotFound:
    message = say(
        "The oldText of {which} is not in '{path}'. Nothing was changed.", which=which, path=visible_name(path)
    )
    nearest = _nearest(text, old)
    if nearest is None:
        return NotFound(message, hint=say("Use 'read_file' to see the text as it is now."))
    first, last, likeness, piece = nearest
    if likeness == 1:
        message = say(
            "{message} Lines {first} to {last} differ from it only in white space: {piece}",
            message=message,
            first=first,
            last=last,
            piece=piece,
        )
    else:
        message = say(
            "{message} The nearest are lines {first} to {last} ({percent} % alike): {piece}",
            message=message,
            first=first,
            last=last,
            percent=int(likeness * 100),
            piece=piece,
        )
    return NotFound(message, hint=say("Copy the lines exactly as they are, from 'read_file', and call again."))


def _nearest(text: str, old: str) -> tuple[int, int, float, str] | None:
    """Return the lines most like `old` (first, last, likeness, text), as far as half a second goes."""
    until = time.monotonic() + NEAREST_FOR_S
    lines = text.split("\n")[:MAX_COMPARED_LINES]
    wanted = old.strip("\n").split("\n")
    bare = [" ".join(line.split()) for line in lines]
    bare_wanted = [" ".join(line.split()) for line in wanted]
    anchor = max(range(len(wanted)), key=lambda index: len(bare_wanted[index]))
    if not bare_wanted[anchor]:
        return None
    for at, line in enumerate(bare):
        start = at - anchor
        if line != bare_wanted[anchor] or start < 0:
            continue
        if time.monotonic() > until:
            break  # many lines that are alike, and each is the beginning of a long comparison
        if bare[start : start + len(wanted)] == bare_wanted:
            return start + 1, start + len(wanted), 1.0, _quoted(lines[start : start + len(wanted)])
    best, best_at = 0.0, -1
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(bare_wanted[anchor][:MAX_COMPARED_CHARS])
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
    end = min(start + len(wanted), len(lines))
    return start + 1, end, min(best, 0.99), _quoted(lines[start:end])


def _quoted(lines: list[str]) -> str:
    """Return lines as one JSON-like line: errors are one line, and white space must be seen."""
    piece = "\n".join(lines)[:MAX_COMPARED_CHARS]
    escaped = piece.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def diff(before: str, after: str) -> str:
    """Return what changed as a unified diff, as far as it is short."""
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
    shown_lines, room = [], DIFF_BYTES
    for line in list(hunks)[2:]:
        if line.startswith("@@"):
            line = _moved(line, start)
        line = line if len(line) <= MAX_DIFF_LINE_CHARS else line[:MAX_DIFF_LINE_CHARS] + "…"
        room -= len(line.encode(errors="replace")) + 1
        if room < 0:
            shown_lines.append("…")
            break
        shown_lines.append(line)
    return "\n".join(shown_lines)


def _moved(header: str, by: int) -> str:
    return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + by}", header)
