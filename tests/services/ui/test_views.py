"""Views of questions and waits: domain in, a result out, compared as whole values."""

from __future__ import annotations

from madang.core.phrases import Rows, layout, say
from madang.core.results import Form, Pause, ToolResult, UiPage
from madang.services.ui import views
from madang.services.ui.domain import Prompt, Wait

PROMPT = Prompt(
    message_id="one",
    type="multiselect",
    prompt="Which?",
    options=["Blue", "초록"],
    created_at="2026-01-01T00:00:00.000Z",
    expires_at="2026-01-08T00:00:00.000Z",
)
ANSWERED = PROMPT.model_copy(
    update={"status": "answered", "answer": ["Blue", "초록"], "settled_at": "2026-01-02T00:00:00.000Z"}
)
WAIT = Wait(wait_id="two", message="Plug it in", created_at="2026-01-01T00:00:00.000Z")


def prompt_page(prompt: Prompt, answers: list[str]) -> UiPage:
    return UiPage(
        name="ui/prompt",
        title=say("Question"),
        template="ui/prompt.html",
        context={"prompt": prompt, "answers": answers},
    )


def test_a_question_as_a_result() -> None:
    assert views.asked(PROMPT) == ToolResult(
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
        data=views.PromptAsked(
            message_id="one", type="multiselect", prompt="Which?", options=["Blue", "초록"], status="awaiting_response"
        ),
        page=prompt_page(PROMPT, [""]),
        pause=Pause(
            kind="prompt",
            on_page=say("the person sees a form; 'get_prompt' tells their answer"),
            without_page=say(
                "this client shows no page: ask the person this question in the chat, then call 'reply_prompt' with "
                "messageId {id} and their answer",
                id="one",
            ),
            form=Form(
                message_id="one",
                message="Which?",
                answer={"type": "array", "items": {"type": "string", "enum": ["Blue", "초록"]}},
                reply_tool="reply_prompt",
            ),
        ),
    )


def test_an_answer_as_a_result() -> None:
    assert views.replied(ANSWERED) == ToolResult(
        text=[
            say("Answer: {answer}", answer="Blue, 초록"),
            say("Prompt: {prompt}", prompt="Which?"),
            say("Message ID: {id}", id="one"),
            "",
            say("You may now go on with what the person said."),
        ],
        data=views.PromptReply(
            message_id="one",
            prompt="Which?",
            answer=["Blue", "초록"],
            cancelled=False,
            timestamp="2026-01-02T00:00:00.000Z",
        ),
        page=prompt_page(ANSWERED, ["Blue", "초록"]),
    )


def test_an_expired_question_says_so_and_what_to_do() -> None:
    expired = PROMPT.model_copy(update={"status": "expired"})

    assert views.found(expired).text == [
        say("Prompt {id} is {status}.", id="one", status=say("expired")),
        say("Prompt: {prompt}", prompt="Which?"),
        say("The prompt expired without an answer."),
        say("Note: You may now go on. Use 'prompt_user' to ask something else."),
    ]


def test_reading_shows_no_page_and_never_pauses() -> None:
    for result in (views.found(PROMPT), views.found(ANSWERED), views.listed([PROMPT], "pending", 1)):
        assert (result.page, result.pause) == (None, None)


def test_only_asking_and_waiting_pause() -> None:
    assert views.replied(ANSWERED).pause is None
    assert views.resumed(WAIT).pause is None
    waiting = views.waiting(WAIT)
    assert waiting.pause is not None
    assert waiting.pause.kind == "wait"
    assert waiting.page == UiPage(name="ui/wait", title=say("Waiting"), template="ui/wait.html", context={"wait": WAIT})
