"""Views of questions and waits: domain in, a result or an error out, compared as whole values."""

from __future__ import annotations

from typing import Any

import pytest

from madang.core.errors import Conflict, Expired, InvalidArguments
from madang.core.phrases import ByPage, Rows, layout, say
from madang.core.results import ElicitationForm, Pause, ToolResult, UiPage
from madang.services.ui.domain import Question, Refusal, Wait
from madang.services.ui.views import inbox, questions, waits

QUESTION = Question(
    message_id="one",
    type="multiselect",
    prompt="Which?",
    options=["Blue", "초록"],
    created_at="2026-01-01T00:00:00.000Z",
    expires_at="2026-01-08T00:00:00.000Z",
)
ANSWERED = QUESTION.model_copy(
    update={"status": "answered", "answer": ["Blue", "초록"], "settled_at": "2026-01-02T00:00:00.000Z", "by": "person"}
)
WAIT = Wait(
    wait_id="two",
    message="Plug it in",
    created_at="2026-01-01T00:00:00.000Z",
    expires_at="2026-01-31T00:00:00.000Z",
)
NO_ANSWER = say("There is no answer. Do not ask the same again: tell the person, or go on without it.")


def question_page(question: Question, answers: list[str]) -> UiPage:
    return UiPage(
        name="ui/prompt",
        title=say("Question"),
        template="ui/prompt.html",
        context={"question": question, "answers": answers},
    )


def test_a_question_as_a_result() -> None:
    assert questions.question_asked(QUESTION) == ToolResult(
        text=[
            say('Asked the person: "{prompt}"', prompt="Which?"),
            say("Message ID: {id}", id="one"),
            say("Type: {type}", type="multiselect"),
            say("Options ({count}):", count=2),
            Rows(
                [
                    layout("  {number}. {option}", number=1, option="Blue"),
                    layout("  {number}. {option}", number=2, option="초록"),
                ],
                say("  … {left_out} more, as 'prompt_user' was given them."),
            ),
            say("Expires: {at}", at="2026-01-08T00:00:00.000Z"),
        ],
        data=questions.QuestionAsked(
            message_id="one", type="multiselect", prompt="Which?", options=["Blue", "초록"], status="awaiting_response"
        ),
        next=[
            ByPage(
                shown=say(
                    "Later, when the person has acted: 'get_prompt' with messageId {id} tells their answer.", id="one"
                )
            )
        ],
        page=question_page(QUESTION, [""]),
        pause=Pause(
            kind="prompt",
            on_page=say("the person sees a form; call no tool now, end your turn and wait for the person"),
            without_page=say(
                "do not go on: the person has not answered yet. This client shows no page, so ask this in the chat and "
                "end your turn; never answer for the person. After they reply: 'reply_prompt' with messageId {id} and "
                "their answer",
                id="one",
            ),
            id="one",
            expires_at="2026-01-08T00:00:00.000Z",
            form=ElicitationForm(
                message_id="one",
                message="Which?",
                answer={"type": "array", "items": {"type": "string", "enum": ["Blue", "초록"]}},
                reply_tool="reply_prompt",
            ),
        ),
    )


def test_an_answer_as_a_result() -> None:
    assert questions.question_settled(ANSWERED) == ToolResult(
        text=[
            say("Answer: {answer}", answer="Blue, 초록"),
            say("Prompt: {prompt}", prompt="Which?"),
            say("Message ID: {id}", id="one"),
        ],
        data=questions.QuestionReply(
            message_id="one",
            prompt="Which?",
            answer=["Blue", "초록"],
            cancelled=False,
            timestamp="2026-01-02T00:00:00.000Z",
            by="person",
        ),
        next=[say("You may now go on with this answer; do not ask again.")],
        page=question_page(ANSWERED, ["Blue", "초록"]),
        settles="one",
    )


def test_an_expired_question_says_so_and_what_to_do() -> None:
    result = questions.question_read(QUESTION.model_copy(update={"status": "expired"}))

    assert result.text == [
        say("Prompt {id} is {status}.", id="one", status=say("expired")),
        say("Prompt: {prompt}", prompt="Which?"),
        say("Prompt {id} expired at {at} without an answer.", id="one", at="2026-01-08T00:00:00.000Z"),
    ]
    assert result.next == [NO_ANSWER]


@pytest.mark.parametrize("view", [questions.question_settled, questions.question_read])
def test_after_a_cancelled_question_nobody_is_told_to_go_on_with_an_answer(view: Any) -> None:
    result = view(QUESTION.model_copy(update={"status": "cancelled"}))

    assert result.next == [NO_ANSWER]


def test_a_wait_is_read_in_the_fields_of_a_question() -> None:
    resumed = WAIT.model_copy(
        update={"status": "resumed", "resumed_at": "2026-01-01T00:01:30.000Z", "resume_instruction": "Look again"}
    )
    expired = WAIT.model_copy(update={"status": "expired"})

    assert waits.wait_read(resumed) == ToolResult(
        text=[
            say("The person said to continue, after {seconds:g} s.", seconds=0.0),
            say("Wait ID: {id}", id="two"),
            say("Waited for: {message}", message="Plug it in"),
            say("Then: {instruction}", instruction="Look again"),
        ],
        data=inbox.InboxEntry(
            message_id="two",
            type="wait",
            prompt="Plug it in",
            options=[],
            placeholder="",
            resume_instruction="Look again",
            status="answered",
            answer="",
            created_at="2026-01-01T00:00:00.000Z",
            expires_at="2026-01-31T00:00:00.000Z",
            settled_at="2026-01-01T00:01:30.000Z",
            by="",
        ),
        next=[say("You may now go on; do not wait for this again.")],
        refill=UiPage(name="ui/wait", title=say("Waiting"), template="ui/wait.html", context={"wait": resumed}),
    )
    assert [waits.wait_read(wait).data.status for wait in (WAIT, expired)] == ["pending", "expired"]
    assert waits.wait_read(expired).next == [NO_ANSWER]


def test_reading_shows_no_page_and_never_pauses() -> None:
    for result in (
        questions.question_read(QUESTION),
        questions.question_read(ANSWERED),
        waits.wait_read(WAIT),
        inbox.items_listed([QUESTION, WAIT], "pending", 2),
    ):
        assert (result.page, result.pause) == (None, None)


def test_only_asking_and_waiting_pause() -> None:
    assert questions.question_settled(ANSWERED).pause is None
    assert waits.wait_ended(WAIT).pause is None
    waiting = waits.wait_started(WAIT)
    assert waiting.pause is not None
    assert waiting.pause.kind == "wait"
    assert waiting.page == UiPage(name="ui/wait", title=say("Waiting"), template="ui/wait.html", context={"wait": WAIT})


def test_options_that_make_no_question_are_named() -> None:
    assert [str(questions.wrong_options(problem)) for problem in ("unexpected", "missing", "duplicate")] == [
        "options: are only for 'select' and 'multiselect'.",
        "options: are required for 'select' and 'multiselect'.",
        "options: must be distinct.",
    ]


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        (Refusal("missing"), "answer: is required."),
        (Refusal("not_text"), "answer: must be a string."),
        (Refusal("not_list"), "answer: must be a list of options."),
        (Refusal("duplicate"), "answer: names an option twice."),
        (Refusal("not_an_option", "Red"), "answer: 'Red' is not one of the options."),
    ],
)
def test_an_answer_that_does_not_fit_is_told_what_would(refusal: Refusal, message: str) -> None:
    error = questions.answer_refused(QUESTION, refusal)

    assert isinstance(error, InvalidArguments)
    assert str(error) == message
    assert str(error.hint) == "The answer is a list of options, as they are written. The prompt is still pending."


def test_a_long_answer_outside_the_options_is_quoted_in_part() -> None:
    assert len(str(questions.answer_refused(QUESTION, Refusal("not_an_option", "x" * 10_000)))) < 200


def test_another_answer_and_a_late_one_are_told_what_happened() -> None:
    conflict = questions.answer_refused(ANSWERED, Refusal("conflict"))
    late = questions.answer_refused(QUESTION.model_copy(update={"status": "expired"}), Refusal("expired"))

    assert (type(conflict), str(conflict)) == (Conflict, "Prompt one was answered already.")
    assert str(conflict.hint) == "Call 'get_prompt' with messageId one to read what was answered."
    assert (type(late), str(late)) == (Expired, "Prompt one expired at 2026-01-08T00:00:00.000Z without an answer.")
