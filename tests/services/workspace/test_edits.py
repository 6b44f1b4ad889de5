"""Edits of long texts, which are made in blocks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from madang.core.executor import StopSignal
from madang.services.workspace.domain.files import Edit
from madang.services.workspace.engine import edits

TEXTS = st.lists(st.sampled_from(["a", "b", "ab", "\n", "\r\n", "\r", "한"]), max_size=40).map("".join)
PIECES = st.sampled_from(["a", "ab", "aa", "b\n", "\n", "\n\n", "abab"])


def edit(old: str, new: str) -> Edit:
    return Edit(old_text=old, new_text=new, replace_all=True)


@given(text=TEXTS, old=PIECES, new=st.sampled_from(["", "x", "x\ny", "aab"]))
@settings(max_examples=300, deadline=None)
def test_replacing_in_blocks_is_replacing(text: str, old: str, new: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edits, "BLOCK_CHARS", 5)
        assert edits._replaced(text, old, new) == text.replace(old, new)


@given(text=TEXTS)
@settings(max_examples=300, deadline=None)
def test_what_is_not_edited_keeps_its_line_ends(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edits, "BLOCK_CHARS", 5)
        edited = edits.apply("a.txt", f"{text}!", [edit("!", "?")])

    assert edited.text == f"{text}?"


def test_a_carriage_return_inside_a_line_makes_no_other_line_end() -> None:
    edited = edits.apply("a.txt", "a\rb\nc\r\nd", [edit("d", "e")])

    assert edited.text == "a\rb\nc\r\ne"


LINES = st.lists(st.sampled_from(["a", "b", "", "cc"]), max_size=25)


@given(before=LINES, after=LINES, start=LINES, end=LINES)
@settings(max_examples=300, deadline=None)
def test_a_diff_leads_from_one_text_to_the_other(
    before: list[str], after: list[str], start: list[str], end: list[str]
) -> None:
    one, other = ("\n".join([*start, *middle, *end, "."]) for middle in (before, after))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edits, "BLOCK_CHARS", 5)
        diff = edits.diff(one, other)

    assert patched(one, diff) == other
    assert bool(diff) is (one != other)


def patched(text: str, diff: str) -> str:
    lines, done = text.split("\n"), 0
    result: list[str] = []
    for line in diff.split("\n") if diff else []:
        if header := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
            at = int(header[1]) - (header[2] != "0")
            result += lines[done:at]
            done = at
        elif line.startswith("+"):
            result.append(line[1:])
        else:
            assert lines[done] == line[1:]
            result += lines[done : done + 1] if line.startswith(" ") else []
            done += 1
    return "\n".join(result + lines[done:])


class CountingSignal(StopSignal):
    """Counts how often work looks at it."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def check(self) -> None:
        self.count += 1
        super().check()


@pytest.mark.parametrize("text", ["a\r\n" * 100_000, "a\r\n" * 100_000 + "\n", "a\n" * 150_000])
def test_the_clock_is_looked_at_in_every_block_of_every_step(text: str) -> None:
    """One operation on a whole text would keep every other thread waiting until its end."""
    stop = CountingSignal()

    edits.apply("a.txt", text, [edit("a", "b")], stop)

    blocks = len(text) // edits.BLOCK_CHARS
    assert stop.count >= 2 * blocks
