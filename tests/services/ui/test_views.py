"""Views of questions and waits: domain in, a result or an error out, compared as whole values."""

from __future__ import annotations

import pytest

from madang.core.errors import Conflict, Expired, InvalidArguments
from madang.core.phrases import Rows, layout, say
from madang.core.results import ElicitationForm, Pause, ToolResult, UiPage
from madang.services.ui import views
from madang.services.ui.domain import Question, Refusal, Wait

QUESTION = Question(
    message_id="one",
    type="multiselect",
    prompt="Which?",
    options=["Blue", "초록"],
    created_at="2026-01-01T00:00:00.000Z",
    expires_at="2026-01-08T00:00:00.000Z",
)
ANSWERED = QUESTION.model_copy(
    update={"status": "answered", "answer": ["Blue", "초록"], "settled_at": "2026-01-02T00:00:00.000Z"}
)
WAIT = Wait(wait_id="two", message="Plug it in", created_at="2026-01-01T00:00:00.000Z")


def question_page(question: Question, answers: list[str]) -> UiPage:
    return UiPage(
        name="ui/prompt",
        title=say("Question"),
        template="ui/prompt.html",
        context={"question": question, "answers": answers},
    )


def test_a_question_as_a_result() -> None:
    assert views.question_asked(QUESTION) == ToolResult(
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
                say("  … {left_out} more. They are all in the structured result."),
            ),
            say("Expires: {at}", at="2026-01-08T00:00:00.000Z"),
            say("Note: Use 'get_prompt' with messageId {id} to read the answer.", id="one"),
        ],
        data=views.QuestionAsked(
            message_id="one", type="multiselect", prompt="Which?", options=["Blue", "초록"], status="awaiting_response"
        ),
        page=question_page(QUESTION, [""]),
        pause=Pause(
            kind="prompt",
            on_page=say("the person sees a form; 'get_prompt' tells their answer"),
            without_page=say(
                "this client shows no page: ask the person this question in the chat, then call 'reply_prompt' with "
                "messageId {id} and their answer",
                id="one",
            ),
            form=ElicitationForm(
                message_id="one",
                message="Which?",
                answer={"type": "array", "items": {"type": "string", "enum": ["Blue", "초록"]}},
                reply_tool="reply_prompt",
            ),
        ),
    )


def test_an_answer_as_a_result() -> None:
    assert views.question_settled(ANSWERED) == ToolResult(
        text=[
            say("Answer: {answer}", answer="Blue, 초록"),
            say("Prompt: {prompt}", prompt="Which?"),
            say("Message ID: {id}", id="one"),
            "",
            say("You may now go on with what the person said."),
        ],
        data=views.QuestionReply(
            message_id="one",
            prompt="Which?",
            answer=["Blue", "초록"],
            cancelled=False,
            timestamp="2026-01-02T00:00:00.000Z",
        ),
        page=question_page(ANSWERED, ["Blue", "초록"]),
    )


def test_an_expired_question_says_so_and_what_to_do() -> None:
    expired = QUESTION.model_copy(update={"status": "expired"})

    assert views.question_read(expired).text == [
        say("Prompt {id} is {status}.", id="one", status=say("expired")),
        say("Prompt: {prompt}", prompt="Which?"),
        say("Prompt {id} expired at {at} without an answer.", id="one", at="2026-01-08T00:00:00.000Z"),
        say("Note: You may now go on. Use 'prompt_user' to ask something else."),
    ]


def test_reading_shows_no_page_and_never_pauses() -> None:
    for result in (
        views.question_read(QUESTION),
        views.question_read(ANSWERED),
        views.questions_listed([QUESTION], "pending", 1),
    ):
        assert (result.page, result.pause) == (None, None)


def test_only_asking_and_waiting_pause() -> None:
    assert views.question_settled(ANSWERED).pause is None
    assert views.wait_ended(WAIT).pause is None
    waiting = views.wait_started(WAIT)
    assert waiting.pause is not None
    assert waiting.pause.kind == "wait"
    assert waiting.page == UiPage(name="ui/wait", title=say("Waiting"), template="ui/wait.html", context={"wait": WAIT})


def test_options_that_make_no_question_are_named() -> None:
    assert [str(views.wrong_options(problem)) for problem in ("unexpected", "missing", "duplicate")] == [
        "options: are only for 'select' and 'multiselect'.",
        "options: are required for 'select' and 'multiselect'.",
        "options: must be distinct.",
    ]


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        (Refusal("not_text"), "answer: must be a string."),
        (Refusal("not_list"), "answer: must be a list of options."),
        (Refusal("duplicate"), "answer: names an option twice."),
        (Refusal("not_an_option", "Red"), "answer: 'Red' is not one of the options."),
    ],
)
def test_an_answer_that_does_not_fit_is_told_what_would(refusal: Refusal, message: str) -> None:
    error = views.answer_refused(QUESTION, refusal)

    assert isinstance(error, InvalidArguments)
    assert str(error) == message
    assert str(error.hint) == "The answer is a list of options, as they are written. The prompt is still pending."


def test_a_long_answer_outside_the_options_is_quoted_in_part() -> None:
    assert len(str(views.answer_refused(QUESTION, Refusal("not_an_option", "x" * 10_000)))) < 200


def test_another_answer_and_a_late_one_are_told_what_happened() -> None:
    conflict = views.answer_refused(ANSWERED, Refusal("conflict"))
    late = views.answer_refused(QUESTION.model_copy(update={"status": "expired"}), Refusal("expired"))

    assert (type(conflict), str(conflict)) == (Conflict, "Prompt one was answered already. Nothing was changed.")
    assert (type(late), str(late)) == (Expired, "Prompt one expired at 2026-01-08T00:00:00.000Z without an answer.")
