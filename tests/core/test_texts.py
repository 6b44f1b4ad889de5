"""Text from outside is inert: it starts no line, moves no cursor, and hides nothing."""

from __future__ import annotations

import json
import unicodedata

import pytest

from madang.core.texts import block, inert_json, one_line, terminal_text, visible_name

EVERY_CHARACTER = [chr(code) for code in range(0x110000)]
JOINERS = "\u200c\u200d"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        ("two  blanks stay", "two  blanks stay"),
        ("a\r\nb", "a b"),
        ("a \n\n\t b", "a b"),
        ("a\u2028b\x85c\x0bd", "a b c d"),
        ("\x1b[2Jred", "\\u001b[2Jred"),
        ("txt.\u202eexe", "txt.\\u202eexe"),
        ("hid\U000e0041den", "hid\\U000e0041den"),
        ("half \ud800", "half \\ud800"),
        ("이사 👨\u200d👩\u200d👧 a\u200cb", "이사 👨\u200d👩\u200d👧 a\u200cb"),
    ],
)
def test_a_text_on_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_long_line_is_truncated_with_an_ellipsis() -> None:
    assert one_line("가나다라마", 4) == "가나다…"
    assert one_line("가나다라", 4) == "가나다라"


def test_no_character_ends_a_line_or_controls_anything() -> None:
    line = one_line("".join(EVERY_CHARACTER))

    assert line.splitlines() == [line]
    assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert not [
        c
        for c in line
        if unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    ]


def test_names_are_told_apart_by_every_character() -> None:
    assert visible_name("a\nb") == "a\\u000ab" != visible_name("a b")
    assert visible_name(f"a{JOINERS}b") == "a\\u200c\\u200db"
    assert visible_name("x" * 500 + ".txt").endswith("x.txt")
    assert len(visible_name("x" * 500)) == 301


def test_a_block_keeps_its_lines_behind_a_margin() -> None:
    assert block("a\nStatus: b\n", "> ") == "> a\n> Status: b\n> "


def test_a_block_keeps_tabs_and_shows_what_a_terminal_obeys() -> None:
    assert block("a\tb\r\nc\rd\x1b[m\u2028\u202e", "") == "a\tb\nc\\u000dd\\u001b[m\\u2028\\u202e"


def test_a_terminal_gets_no_control_but_tabs_and_line_feeds() -> None:
    text = terminal_text("".join(EVERY_CHARACTER))

    assert {c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} == {"\t", "\n"}
    assert not [c for c in text if c in "\u200b\u200e\u200f\u2060\ufeff\U000e0041" or "\u202a" <= c <= "\u202e"]
    assert terminal_text("a\r\nb\rc\x1b]8;;http://x\x07") == "a\nb\\u000dc\\u001b]8;;http://x\\u0007"
    assert terminal_text("이사 👨\u200d👩\u200d👧") == "이사 👨\u200d👩\u200d👧"


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_exact_and_has_no_controls(indent: int | None) -> None:
    characters = [character for character in EVERY_CHARACTER if not "\ud800" < character <= "\udfff"]  # they would join
    value = {"".join(characters): ["한글", "\x1b[2J\u202e", 1.5, None]}

    text = inert_json(value, indent)

    assert json.loads(text) == value
    assert text.replace("\n", "").isprintable()
    assert "한글" in text
