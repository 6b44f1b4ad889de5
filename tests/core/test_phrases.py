"""Messages become texts only where the reader's language is known."""

from __future__ import annotations

from madang.core.phrases import say


def test_a_message_is_filled_in_english_by_itself() -> None:
    assert str(say("Page {page} of {pages}", page=1, pages=3)) == "Page 1 of 3"


def test_a_message_inside_a_message_is_translated_too() -> None:
    korean = {"Next: {what}": "다음: {what}", "rest": "쉬기"}

    assert say("Next: {what}", what=say("rest")).render(lambda template: korean[template]) == "다음: 쉬기"


def test_braces_in_values_are_only_text() -> None:
    assert str(say("Goal: {goal}", goal="{secret} {0} {")) == "Goal: {secret} {0} {"


def test_a_message_without_values_may_hold_braces() -> None:
    assert str(say("an empty object is {}")) == "an empty object is {}"


def test_messages_compare_by_value() -> None:
    assert say("{a}", a=1) == say("{a}", a=1) != say("{a}", a=2)
