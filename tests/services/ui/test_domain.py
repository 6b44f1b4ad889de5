"""What a question takes for an answer, and what comes of answering twice."""

from __future__ import annotations

from typing import Any

import pytest

from madang.services.ui.domain import (
    MAX_OPTIONS,
    AnswerValue,
    OptionsProblem,
    Question,
    QuestionType,
    Refusal,
    check_answer,
    check_options,
    check_settled,
)

OPTIONS = ["Blue", "Green", "초록"]


def question(type: QuestionType = "text", **fields: Any) -> Question:
    options = [] if type == "text" else OPTIONS
    fields |= {"created_at": "2026-01-01T00:00:00.000Z", "expires_at": "2026-01-08T00:00:00.000Z"}
    return Question(message_id="one", type=type, prompt="Which?", options=options, **fields)


@pytest.mark.parametrize("type", ["select", "multiselect"])
@pytest.mark.parametrize("options", [["one"], OPTIONS, ["a", "A", "a "], [str(n) for n in range(MAX_OPTIONS)]])
def test_a_choice_has_distinct_options(type: QuestionType, options: list[str]) -> None:
    assert check_options(type, options) is None


def test_a_text_has_no_options() -> None:
    assert check_options("text", []) is None
    assert check_options("text", ["one"]) == "unexpected"


@pytest.mark.parametrize("type", ["select", "multiselect"])
@pytest.mark.parametrize(("options", "problem"), [([], "missing"), (["a", "b", "a"], "duplicate")])
def test_a_choice_that_could_not_be_made_is_refused(
    type: QuestionType, options: list[str], problem: OptionsProblem
) -> None:
    assert check_options(type, options) == problem


@pytest.mark.parametrize(
    ("type", "answer"),
    [
        ("text", "anything"),
        ("text", ""),
        ("text", "여러\n줄"),
        ("select", "초록"),
        ("multiselect", []),
        ("multiselect", ["Green"]),
        ("multiselect", ["초록", "Blue"]),
    ],
)
def test_an_answer_that_fits_is_accepted(type: QuestionType, answer: AnswerValue) -> None:
    assert check_answer(question(type), answer) is None


@pytest.mark.parametrize(
    ("type", "answer", "refusal"),
    [
        ("text", None, Refusal("missing")),
        ("text", ["Blue"], Refusal("not_text")),
        ("select", None, Refusal("missing")),
        ("select", ["Blue"], Refusal("not_text")),
        ("select", "Red", Refusal("not_an_option", "Red")),
        ("select", "blue", Refusal("not_an_option", "blue")),
        ("select", "", Refusal("not_an_option", "")),
        ("multiselect", None, Refusal("missing")),
        ("multiselect", "Blue", Refusal("not_list")),
        ("multiselect", ["Blue", "Red"], Refusal("not_an_option", "Red")),
        ("multiselect", ["Blue", "Blue"], Refusal("duplicate")),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(
    type: QuestionType, answer: AnswerValue | None, refusal: Refusal
) -> None:
    assert check_answer(question(type), answer) == refusal


def test_the_same_again_passes() -> None:
    assert check_settled(question(status="answered", answer="Yes"), "Yes", cancelled=False) is None
    settled = question("multiselect", status="answered", answer=["Blue"])
    assert check_settled(settled, ["Blue"], cancelled=False) is None
    assert check_settled(question(status="cancelled"), None, cancelled=True) is None


@pytest.mark.parametrize(
    ("settled", "answer", "cancelled"),
    [
        (question(status="answered", answer="Yes"), "No", False),
        (question(status="answered", answer="Yes"), "Yes", True),
        (question(status="answered", answer=""), None, True),
        (question(status="cancelled"), "Yes", False),
        (question(status="cancelled"), "", False),
        (question("multiselect", status="answered", answer=["Blue"]), "Blue", False),
    ],
)
def test_something_else_afterwards_is_a_conflict(
    settled: Question, answer: AnswerValue | None, cancelled: bool
) -> None:
    assert check_settled(settled, answer, cancelled=cancelled) == Refusal("conflict")


@pytest.mark.parametrize("cancelled", [True, False])
def test_after_its_time_nothing_is_taken(cancelled: bool) -> None:
    assert check_settled(question(status="expired"), "", cancelled=cancelled) == Refusal("expired")
