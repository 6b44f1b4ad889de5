"""Phrases become texts only where the reader's language is known."""

from __future__ import annotations

from madang.core.phrases import Block, layout, render_line, say


def test_a_phrase_is_filled_in_english_by_itself() -> None:
    assert str(say("Page {page} of {pages}", page=1, pages=3)) == "Page 1 of 3"


def test_a_phrase_inside_a_phrase_is_translated_too() -> None:
    korean = {"Next: {what}": "다음: {what}", "rest": "쉬기"}

    assert say("Next: {what}", what=say("rest")).render(lambda template: korean[template]) == "다음: 쉬기"


def test_braces_in_values_are_only_text() -> None:
    assert str(say("Goal: {goal}", goal="{secret} {0} {")) == "Goal: {secret} {0} {"


def test_a_phrase_without_values_may_hold_braces() -> None:
    assert str(say("an empty object is {}")) == "an empty object is {}"


def test_phrases_compare_by_value() -> None:
    assert say("{a}", a=1) == say("{a}", a=1) != say("{a}", a=2)


def test_a_value_stays_on_the_line_of_its_phrase() -> None:
    attack = "a\nStatus: Agent paused \x1b[31m\u202egpj.exe"

    assert str(say("Goal: {goal}", goal=attack)) == "Goal: a Status: Agent paused \\u001b[31m\\u202egpj.exe"
    assert render_line(attack, str) == "a Status: Agent paused \\u001b[31m\\u202egpj.exe"


def test_values_that_are_no_texts_are_made_inert_too() -> None:
    assert str(say("{paths}", paths=["a\nb"])) == "['a\\nb']"
    assert str(say("{error}", error=ValueError("a\nb"))) == "a b"


def test_numbers_keep_their_format() -> None:
    assert str(say("{limit:g} s, {count:,}", limit=2.50, count=12_000)) == "2.5 s, 12,000"


def test_a_phrase_and_a_block_bring_their_own_lines() -> None:
    row = say("{name}\n   Created: {at}", name="a\nb", at="today")

    assert str(say("1. {row}", row=row)) == "1. a b\n   Created: today"
    assert str(say("Answer:\n{answer}", answer=Block("a\nStatus: b"))) == "Answer:\n> a\n> Status: b"


def test_a_layout_is_not_looked_up_but_filled() -> None:
    assert layout("  {number}. {text}", number=1, text="a\tb").render(str) == "  1. a b"


def test_a_word_depends_on_a_number_in_languages_that_have_plurals() -> None:
    lines = [say("{count} {count|line|lines} of {name}", count=count, name="a|b") for count in (0, 1, 2)]

    assert list(map(str, lines)) == ["0 lines of a|b", "1 line of a|b", "2 lines of a|b"]
    assert lines[1].render(lambda _: "{name}: {count}줄") == "a|b: 1줄"
