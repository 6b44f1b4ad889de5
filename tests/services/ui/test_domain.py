"""What a question takes for an answer, and what comes of answering twice."""

from __future__ import annotations

from typing import Any

import pytest

from madang.core.errors import Conflict, Expired, InvalidArguments
from madang.services.ui.domain import (
    MAX_OPTIONS,
    Answer,
    Prompt,
    PromptType,
    check_answer,
    check_options,
    check_settled,
)

OPTIONS = ["Blue", "Green", "초록"]


def prompt(type: PromptType = "text", **fields: Any) -> Prompt:
    options = [] if type == "text" else OPTIONS
    fields |= {"created_at": "2026-01-01T00:00:00.000Z", "expires_at": "2026-01-08T00:00:00.000Z"}
    return Prompt(message_id="one", type=type, prompt="Which?", options=options, **fields)


@pytest.mark.parametrize("type", ["select", "multiselect"])
@pytest.mark.parametrize("options", [["one"], OPTIONS, ["a", "A", "a "], [str(n) for n in range(MAX_OPTIONS)]])
def test_a_choice_has_distinct_options(type: PromptType, options: list[str]) -> None:
    check_options(type, options)


def test_a_text_has_no_options() -> None:
    check_options("text", [])
    with pytest.raises(InvalidArguments, match="options: are only for 'select' and 'multiselect'"):
        check_options("text", ["one"])


@pytest.mark.parametrize("type", ["select", "multiselect"])
@pytest.mark.parametrize(("options", "said"), [([], "are required"), (["a", "b", "a"], "must be distinct")])
def test_a_choice_that_could_not_be_made_is_refused(type: PromptType, options: list[str], said: str) -> None:
    with pytest.raises(InvalidArguments, match=f"options: {said}"):
        check_options(type, options)


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
def test_an_answer_that_fits_is_kept_as_it_was_given(type: PromptType, answer: Answer) -> None:
    assert check_answer(prompt(type), answer) == answer


@pytest.mark.parametrize(
    ("type", "answer", "said"),
    [
        ("text", None, "must be a string"),
        ("text", ["Blue"], "must be a string"),
        ("select", None, "must be a string"),
        ("select", ["Blue"], "must be a string"),
        ("select", "Red", "'Red' is not one of the options"),
        ("select", "blue", "'blue' is not one of the options"),
        ("select", "", "'' is not one of the options"),
        ("multiselect", None, "must be a list of options"),
        ("multiselect", "Blue", "must be a list of options"),
        ("multiselect", ["Blue", "Red"], "'Red' is not one of the options"),
        ("multiselect", ["Blue", "Blue"], "names an option twice"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_what_would(
    type: PromptType, answer: Answer | None, said: str
) -> None:
    with pytest.raises(InvalidArguments, match=f"answer: {said}") as refused:
        check_answer(prompt(type), answer)
    assert "still pending" in str(refused.value.hint)


def test_a_long_answer_outside_the_options_is_quoted_in_part() -> None:
    with pytest.raises(InvalidArguments) as refused:
        check_answer(prompt("select"), "x" * 10_000)
    assert len(str(refused.value)) < 200


def test_the_same_again_passes() -> None:
    check_settled(prompt(status="answered", answer="Yes"), "Yes", cancelled=False)
    check_settled(prompt("multiselect", status="answered", answer=["Blue"]), ["Blue"], cancelled=False)
    check_settled(prompt(status="cancelled"), None, cancelled=True)


@pytest.mark.parametrize(
    ("settled", "answer", "cancelled"),
    [
        (prompt(status="answered", answer="Yes"), "No", False),
        (prompt(status="answered", answer="Yes"), "Yes", True),
        (prompt(status="answered", answer=""), None, True),
        (prompt(status="cancelled"), "Yes", False),
        (prompt(status="cancelled"), "", False),
        (prompt("multiselect", status="answered", answer=["Blue"]), "Blue", False),
    ],
)
def test_something_else_afterwards_is_a_conflict(settled: Prompt, answer: Answer | None, cancelled: bool) -> None:
    with pytest.raises(Conflict, match=f"was {settled.status} already"):
        check_settled(settled, answer, cancelled=cancelled)


@pytest.mark.parametrize("cancelled", [True, False])
def test_after_its_time_nothing_is_taken(cancelled: bool) -> None:
    with pytest.raises(Expired, match="expired at 2026-01-08"):
        check_settled(prompt(status="expired"), "", cancelled=cancelled)
