"""Questions and waits as results and errors: for the model, as data, and as pages for the person. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from madang.core.documents import Document
from madang.core.errors import Conflict, Expired, InvalidArguments, ToolError
from madang.core.phrases import Block, Line, Phrase, Rows, Text, layout, say
from madang.core.results import ElicitationForm, Pause, ToolResult, UiPage
from madang.core.texts import one_line
from madang.services.ui.domain import (
    MAX_OPTIONS,
    AnswerValue,
    OptionsProblem,
    Question,
    QuestionStatus,
    QuestionType,
    Refusal,
    Wait,
)

# The addresses of the pages, which hosts keep with their conversations.
QUESTION_PAGE = "ui/prompt"
WAIT_PAGE = "ui/wait"

_MAX_SUMMARY_CHARS = 100

_STATUS_NAMES: dict[QuestionStatus, Phrase] = {
    "pending": say("pending"),
    "answered": say("answered"),
    "cancelled": say("cancelled"),
    "expired": say("expired"),
}
_OPTIONS_PROBLEMS: dict[OptionsProblem, Phrase] = {
    "unexpected": say("are only for 'select' and 'multiselect'"),
    "missing": say("are required for 'select' and 'multiselect'"),
    "duplicate": say("must be distinct"),
}
_ANSWER_HINTS: dict[QuestionType, Phrase] = {
    "text": say("The answer is a text. The prompt is still pending."),
    "select": say("The answer is one of the options, as it is written. The prompt is still pending."),
    "multiselect": say("The answer is a list of options, as they are written. The prompt is still pending."),
}


class QuestionAsked(Document):
    message_id: str
    type: QuestionType
    prompt: str
    options: list[str]
    status: str


class QuestionReply(Document):
    message_id: str
    prompt: str
    answer: AnswerValue
    cancelled: bool
    timestamp: str


class QuestionList(Document):
    prompts: list[Question]
    total: int


class WaitState(Document):
    wait_id: str
    message: str
    resume_instruction: str
    status: str
    elapsed_s: float


def question_asked(question: Question) -> ToolResult[QuestionAsked]:
    text: list[Line | Rows] = [
        say('Asked the person: "{prompt}"', prompt=question.prompt),
        say("Message ID: {id}", id=question.message_id),
        say("Type: {type}", type=question.type),
    ]
    if question.options:
        text += [say("Options ({count}):", count=len(question.options)), _options(question.options)]
    text.append(say("Expires: {at}", at=question.expires_at))
    text.append(say("Note: Use 'get_prompt' with messageId {id} to read the answer.", id=question.message_id))
    data = QuestionAsked(
        message_id=question.message_id,
        type=question.type,
        prompt=question.prompt,
        options=question.options,
        status="awaiting_response",
    )
    return ToolResult(text, data, page=_question_page(question), pause=_pause(question))


def question_settled(question: Question) -> ToolResult[QuestionReply]:
    text: Text = [
        _outcome(question),
        say("Prompt: {prompt}", prompt=question.prompt),
        say("Message ID: {id}", id=question.message_id),
        "",
        say("You may now go on with what the person said."),
    ]
    data = QuestionReply(
        message_id=question.message_id,
        prompt=question.prompt,
        answer=question.answer,
        cancelled=question.status == "cancelled",
        timestamp=question.settled_at,
    )
    return ToolResult(text, data, page=_question_page(question))


def question_read(question: Question) -> ToolResult[Question]:
    text: list[Line | Rows] = [
        say("Prompt {id} is {status}.", id=question.message_id, status=_STATUS_NAMES[question.status]),
        say("Prompt: {prompt}", prompt=question.prompt),
    ]
    if question.status == "pending":
        if question.options:
            text += [say("Options ({count}):", count=len(question.options)), _options(question.options)]
        text.append(
            say("Note: The person has not answered yet. Call 'get_prompt' again, with waitS up to 25 to wait for them.")
        )
    else:
        text.append(_outcome(question))
        text.append(say("Note: You may now go on. Use 'prompt_user' to ask something else."))
    return ToolResult(text, question, refill=_question_page(question))


def questions_listed(questions: Sequence[Question], status: QuestionStatus, total: int) -> ToolResult[QuestionList]:
    data = QuestionList.model_construct(prompts=list(questions), total=total)
    if not questions:
        text: list[Line | Rows] = [say("No prompts are {status}.", status=_STATUS_NAMES[status])]
    else:
        rows = [
            say(
                '{number}. id:{id} type:{type} prompt:"{prompt}" createdAt:{at}{answer}',
                number=number,
                id=question.message_id,
                type=question.type,
                prompt=one_line(question.prompt, _MAX_SUMMARY_CHARS),
                at=question.created_at,
                answer=_answer_column(question),
            )
            for number, question in enumerate(questions, start=1)
        ]
        text = [
            say("Found {count} prompt(s) that are {status}, newest first:", count=total, status=_STATUS_NAMES[status]),
            "",
            Rows(rows, say("… {left_out} more. Use 'get_prompt' to read single ones.")),
        ]
        if total > len(questions):
            older = say(
                "… {count} older ones are not listed. Use 'get_prompt' to read single ones.",
                count=total - len(questions),
            )
            text.append(older)
    text += ["", say("Note: Use 'get_prompt' to read one, or 'prompt_user' to ask.")]
    return ToolResult(text, data)


def wait_started(wait: Wait) -> ToolResult[WaitState]:
    text: Text = [
        say("Waiting for the person: {message}", message=wait.message),
        say("Wait ID: {id}", id=wait.wait_id),
        *_instruction(wait),
    ]
    pause = Pause(
        kind="wait",
        on_page=say("Continue button available"),
        without_page=say(
            "this client shows no page: tell the person what you wait for, and call 'resume_from_wait' with waitId "
            "{id} when they say go on",
            id=wait.wait_id,
        ),
    )
    return ToolResult(text, _wait_state(wait), page=_wait_page(wait), pause=pause)


def wait_ended(wait: Wait) -> ToolResult[WaitState]:
    text: Text = [
        say("The person said to continue, after {seconds:g} s.", seconds=wait.elapsed_s),
        say("Wait ID: {id}", id=wait.wait_id),
        say("Waited for: {message}", message=wait.message),
        *_instruction(wait),
        "",
        say("You may now go on."),
    ]
    return ToolResult(text, _wait_state(wait), page=_wait_page(wait))


def wrong_options(problem: OptionsProblem) -> InvalidArguments:
    """Return the error for a question that could not be answered."""
    return InvalidArguments(
        say("{field}: {what}.", field="options", what=_OPTIONS_PROBLEMS[problem]),
        hint=say("A 'select' or 'multiselect' takes 1 to {most} distinct options, a 'text' none.", most=MAX_OPTIONS),
    )


def answer_refused(question: Question, refusal: Refusal) -> ToolError:
    """Return the error for an answer that was not accepted."""
    if refusal.reason == "expired":
        return Expired(_expired(question), hint=say("Use 'prompt_user' to ask again."))
    if refusal.reason == "conflict":
        return Conflict(
            say(
                "Prompt {id} was {status} already. Nothing was changed.",
                id=question.message_id,
                status=_STATUS_NAMES[question.status],
            ),
            hint=say("Use 'get_prompt' to read what was answered."),
        )
    problem = {
        "not_text": say("must be a string"),
        "not_list": say("must be a list of options"),
        "duplicate": say("names an option twice"),
        "not_an_option": say("'{option}' is not one of the options", option=refusal.option[:_MAX_SUMMARY_CHARS]),
    }[refusal.reason]
    return InvalidArguments(say("{field}: {what}.", field="answer", what=problem), hint=_ANSWER_HINTS[question.type])


def _pause(question: Question) -> Pause:
    return Pause(
        kind="prompt",
        on_page=say("the person sees a form; 'get_prompt' tells their answer"),
        without_page=say(
            "this client shows no page: ask the person this question in the chat, then call 'reply_prompt' with "
            "messageId {id} and their answer",
            id=question.message_id,
        ),
        form=ElicitationForm(question.message_id, question.prompt, _answer_schema(question), "reply_prompt"),
    )


def _answer_schema(question: Question) -> dict[str, Any]:
    """Return the JSON Schema of the answer, in the few shapes that every client draws."""
    if question.type == "text":
        return {"type": "string", "title": question.placeholder or question.prompt[:100]}
    choice = {"type": "string", "enum": question.options}
    return choice if question.type == "select" else {"type": "array", "items": choice}


def _options(options: Sequence[str]) -> Rows:
    rest = say("  … {left_out} more. They are all in the structured result.")
    rows = [
        layout("  {number}. {option}", number=number, option=option) for number, option in enumerate(options, start=1)
    ]
    return Rows(rows, rest)


def _outcome(question: Question) -> Phrase:
    if question.answer == []:
        return say("Answer: none of the options.")
    if question.status == "answered":
        answer = _answer_text(question.answer)
        # The line breaks of a person's words mean something; behind a margin they cannot pass for ours.
        return (
            say("Answer:\n{answer}", answer=Block(answer)) if "\n" in answer else say("Answer: {answer}", answer=answer)
        )
    if question.status == "cancelled":
        return say("The person cancelled the prompt without an answer.")
    return _expired(question)


def _answer_column(question: Question) -> Phrase:
    if question.status != "answered":
        return layout("")
    return layout(' answer:"{answer}"', answer=one_line(_answer_text(question.answer), _MAX_SUMMARY_CHARS))


def _expired(question: Question) -> Phrase:
    return say("Prompt {id} expired at {at} without an answer.", id=question.message_id, at=question.expires_at)


def _answer_text(answer: AnswerValue) -> str:
    return answer if isinstance(answer, str) else ", ".join(answer)


def _instruction(wait: Wait) -> list[Phrase]:
    return [say("Then: {instruction}", instruction=wait.resume_instruction)] if wait.resume_instruction else []


def _wait_state(wait: Wait) -> WaitState:
    return WaitState(
        wait_id=wait.wait_id,
        message=wait.message,
        resume_instruction=wait.resume_instruction,
        status=wait.status,
        elapsed_s=wait.elapsed_s,
    )


def _question_page(question: Question) -> UiPage:
    answers = [question.answer] if isinstance(question.answer, str) else question.answer
    context = {"question": question, "answers": answers}
    return UiPage(name=QUESTION_PAGE, title=say("Question"), template="ui/prompt.html", context=context)


def _wait_page(wait: Wait) -> UiPage:
    return UiPage(name=WAIT_PAGE, title=say("Waiting"), template="ui/wait.html", context={"wait": wait})
