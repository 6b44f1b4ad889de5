"""Editing a line key by key."""

from __future__ import annotations

import pytest

from madang.cli.line_editor import LineEditor


@pytest.mark.parametrize(
    ("keys", "lines"),
    [
        ("tea\n", ["tea"]),
        ("one\rtwo\n", ["one", "two"]),
        ("tex\x7fa\n", ["tea"]),
        ("녹차\x7f빵\n", ["녹빵"]),
        ("ac\x1b[Db\n", ["abc"]),
        ("bc\x01a\x05d\n", ["abcd"]),
        ("one two\x17three\n", ["one three"]),
        ("gone\x15here\n", ["here"]),
        ("keep gone\x1b[D\x1b[D\x1b[D\x1b[D\x0b\n", ["keep "]),
        ("ab\x1b[D\x1b[3~\n", ["a"]),
        ("first\n\x1b[A\n", ["first", "first"]),
        ("first\nsecond\n\x1b[A\x1b[A\x1b[B\n", ["first", "second", "second"]),
        ("a\x1b[15;2~b\x1bOPc\x1bxd\n", ["abcd"]),
        ("a\x00\x1b[200~b\x07\n", ["ab"]),
        ("\x04", [None]),
        ("a\x04b\n", ["ab"]),
        ("\x7f\x1b[D\x1b[A\n", [""]),
    ],
)
def test_keys_make_lines(keys: str, lines: list[str | None]) -> None:
    assert LineEditor().feed(keys) == lines
    one_by_one = LineEditor()
    assert [line for key in keys for line in one_by_one.feed(key)] == lines


def test_what_is_typed_can_be_dropped() -> None:
    editor = LineEditor()
    editor.feed("half a li")

    assert (editor.text, editor.cursor) == ("half a li", 9)
    assert editor.clear()
    assert not editor.clear()
    assert editor.feed("new\n") == ["new"]
