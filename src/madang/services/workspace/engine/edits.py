"""Edits of a text: where each applies, what comes out, and what is nearest when nothing fits."""

from __future__ import annotations

import difflib
import re
import time
from bisect import bisect_left
from dataclasses import dataclass

from madang.core.errors import Conflict, InvalidArguments, NotFound
from madang.core.messages import Message, say
from madang.services.workspace.domain.files import Edit, shown

NEAREST_FOR_S = 0.5
MOST_COMPARED_LINES = 20_000
LONGEST_COMPARED = 400
MOST_DIFF_LINES = 600
DIFF_BYTES = 3_500
LONGEST_DIFF_LINE = 300
MOST_PLACES = 20
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


def _apply(path: str, text: str, edit: Edit, which: Message) -> tuple[str, int, int]:
    old, new = _with_lf(edit.old_text), _with_lf(edit.new_text)
    if old == new:
        raise InvalidArguments(
            say("In {which} oldText and newText are the same. Nothing was changed.", which=which),
            hint=say("Leave this edit out, or write what it should become."),
        )
    plain = _Plain(text)
    places = _places(plain.text, old)
    if not places:
        raise _not_found(path, plain.text, old, which)
    if len(places) > 1 and not edit.replace_all:
        lines = [str(plain.text.count("\n", 0, place) + 1) for place in places[:MOST_PLACES]]
        more = ", …" if len(places) > MOST_PLACES else ""
        raise Conflict(
            say(
                "The oldText of {which} is in '{path}' {count} times, on lines {lines}. Nothing was changed.",
                which=which,
                path=shown(path),
                count=len(places),
                lines=", ".join(lines) + more,
            ),
            hint=say("Give more of the lines around the right one, or set replaceAll."),
        )
    parts = []
    done = 0
    for place in places:
        start, end = plain.original(place), plain.original(place + len(old))
        parts += [text[done:start], new.replace("\n", _line_end_at(text, start, end))]
        done = end
    line = plain.text.count("\n", 0, places[0]) + 1
    return "".join([*parts, text[done:]]), line, len(places)


class _Plain:
    """A text with `\\n` alone, and the way back to the places of the original."""

    def __init__(self, original: str) -> None:
        self.text = _with_lf(original)
        self._crlf: list[int] = []
        if len(self.text) != len(original):
            # Where, in the plain text, each `\r\n` stands that is `\n` here.
            found = (match.start() for match in re.finditer("\r\n", original))
            self._crlf = [start - number for number, start in enumerate(found)]

    def original(self, place: int) -> int:
        return place + bisect_left(self._crlf, place)


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def _places(text: str, piece: str) -> list[int]:
    places = []
    at = text.find(piece)
    while at >= 0:
        places.append(at)
        at = text.find(piece, at + len(piece))
    return places


def _line_end_at(text: str, start: int, end: int) -> str:
    """Return how lines end in a piece, else around it: what is put there should end alike."""
    inside = text.find("\n", start, end)
    if inside < 0:
        inside = text.find("\n", end)
    if inside < 0:
        inside = text.rfind("\n", 0, start)
    return "\r\n" if inside > 0 and text[inside - 1] == "\r" else "\n"


def _not_found(path: str, text: str, old: str, which: Message) -> NotFound:
    message = say("The oldText of {which} is not in '{path}'. Nothing was changed.", which=which, path=shown(path))
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
    lines = text.split("\n")[:MOST_COMPARED_LINES]
    wanted = old.strip("\n").split("\n")
    bare = [" ".join(line.split()) for line in lines]
    bare_wanted = [" ".join(line.split()) for line in wanted]
    anchor = max(range(len(wanted)), key=lambda index: len(bare_wanted[index]))
    if not bare_wanted[anchor]:
        return None
    for at, line in enumerate(bare):
        start = at - anchor
        if line == bare_wanted[anchor] and start >= 0 and bare[start : start + len(wanted)] == bare_wanted:
            return start + 1, start + len(wanted), 1.0, _quoted(lines[start : start + len(wanted)])
    best, best_at = 0.0, -1
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(bare_wanted[anchor][:LONGEST_COMPARED])
    for at, line in enumerate(bare):
        if not line:
            continue
        matcher.set_seq1(line[:LONGEST_COMPARED])
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
    piece = "\n".join(lines)[:LONGEST_COMPARED]
    return '"' + piece.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


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
    if len(old_part) + len(new_part) > MOST_DIFF_LINES:
        old_part, new_part = old_part[: MOST_DIFF_LINES // 2], new_part[: MOST_DIFF_LINES // 2]
    hunks = difflib.unified_diff(old_part, new_part, lineterm="", n=CONTEXT_LINES)
    shown_lines, room = [], DIFF_BYTES
    for line in list(hunks)[2:]:
        if line.startswith("@@"):
            line = _moved(line, start)
        line = line if len(line) <= LONGEST_DIFF_LINE else line[:LONGEST_DIFF_LINE] + "…"
        room -= len(line.encode(errors="replace")) + 1
        if room < 0:
            shown_lines.append("…")
            break
        shown_lines.append(line)
    return "\n".join(shown_lines)


def _moved(header: str, by: int) -> str:
    return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + by}", header)
