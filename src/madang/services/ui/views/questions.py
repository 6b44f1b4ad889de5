"""Questions as results and errors: for the model, as data, and as a form for the person. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from madang.core.documents import Document
from madang.core.errors import Conflict, Expired, InvalidArguments, ToolError
from madang.core.pauses import SettledBy
from madang.core.phrases import Block, ByPage, Line, Phrase, Rows, Text, layout, say
from madang.core.results import ElicitationForm, Pause, ToolResult, UiPage
from madang.services.ui.domain import MAX_OPTIONS, AnswerValue, OptionsProblem, Question, QuestionType, Refusal
from madang.services.ui.views.inbox import (
    MAX_SUMMARY_CHARS,
    STATUS_NAMES,
    InboxEntry,
    answer_text,
    inbox_entry,
    next_step,
    relayed_note,
)

# The address of the page, which hosts keep with their conversations.
QUESTION_PAGE = "ui/prompt"

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
    by: SettledBy


def question_asked(question: Question) -> ToolResult[QuestionAsked]:
    text: list[Line | Rows] = [
        say('Asked the person: "{prompt}"', prompt=question.prompt),
        say("Message ID: {id}", id=question.message_id),
        say("Type: {type}", type=question.type),
    ]
    if question.options:
        text += [say("Options ({count}):", count=len(question.options)), _options(question.options)]
    text.append(say("Expires: {at}", at=question.expires_at))
    later = say(
        "Later, when the person has acted: 'get_prompt' with messageId {id} tells their answer.",
        id=question.message_id,
    )
    data = QuestionAsked(
        message_id=question.message_id,
        type=question.type,
        prompt=question.prompt,
        options=question.options,
        status="awaiting_response",
    )
    return ToolResult(
        text, data, next=[ByPage(shown=later)], page=_question_page(question), pause=_question_pause(question)
    )


def question_settled(question: Question) -> ToolResult[QuestionReply]:
    text: Text = [
        _outcome(question),
        *relayed_note(question),
        say("Prompt: {prompt}", prompt=question.prompt),
        say("Message ID: {id}", id=question.message_id),
    ]
    data = QuestionReply(
        message_id=question.message_id,
        prompt=question.prompt,
        answer=question.answer,
        cancelled=question.status == "cancelled",
        timestamp=question.settled_at,
        by=question.by,
    )
    return ToolResult(
        text, data, next=[next_step(question)], page=_question_page(question), settles=question.message_id
    )


def question_read(question: Question) -> ToolResult[InboxEntry]:
    id = question.message_id
    text: list[Line | Rows] = [
        say("Prompt {id} is {status}.", id=id, status=STATUS_NAMES[question.status]),
        say("Prompt: {prompt}", prompt=question.prompt),
    ]
    following: Phrase | ByPage
    if question.is_open:
        if question.options:
            text += [say("Options ({count}):", count=len(question.options)), _options(question.options)]
        following = ByPage(
            shown=say(
                "The person has not answered yet: end your turn and wait for them, or call 'get_prompt' with "
                "messageId {id} and waitS 25 to wait a little longer.",
                id=id,
            ),
            hidden=say(
                "The person has not answered yet: ask this in the chat and end your turn; never answer for the person. "
                "After they reply: 'reply_prompt' with messageId {id} and their answer.",
                id=id,
            ),
        )
    else:
        text += [_outcome(question), *relayed_note(question)]
        following = next_step(question)
    return ToolResult(text, inbox_entry(question), next=[following], refill=_question_page(question))


def question_outcome(question: Question) -> ToolResult[InboxEntry]:
    """Return what the run that asked is told when it goes on."""
    if question.is_open:
        following = say(
            "The question stays open, and its answer will be given to you when it comes. Do not ask it again: go on "
            "without it, or end your turn."
        )
    else:
        following = next_step(question)
    text: Text = [
        say("The person has not answered yet.") if question.is_open else _outcome(question),
        *relayed_note(question),
        say("Prompt: {prompt}", prompt=question.prompt),
        say("Message ID: {id}", id=question.message_id),
    ]
    return ToolResult(text, inbox_entry(question), next=[following])


def wrong_options(problem: OptionsProblem) -> InvalidArguments:
    """Return the error for a question that could not be answered."""
    return InvalidArguments(
        say("{field}: {what}.", field="options", what=_OPTIONS_PROBLEMS[problem]),
        hint=say("A 'select' or 'multiselect' takes 1 to {most} distinct options, a 'text' none.", most=MAX_OPTIONS),
    )


def answer_refused(question: Question, refusal: Refusal) -> ToolError:
    """Return the error for an answer that was not accepted."""
    if refusal.reason == "expired":
        return Expired(
            _expired(question),
            hint=say("Tell the person that it came too late. If it still matters, call 'prompt_user' to ask anew."),
        )
    if refusal.reason == "withdrawn":
        return Expired(
            _withdrawn(question),
            hint=say("Tell the person that nobody waits for this answer any more. A new message starts a new run."),
        )
    if refusal.reason == "conflict":
        return Conflict(
            say(
                "Prompt {id} was {status} already.",
                id=question.message_id,
                status=STATUS_NAMES[question.status],
            ),
            hint=say("Call 'get_prompt' with messageId {id} to read what was answered.", id=question.message_id),
        )
    problem = {
        "missing": say("is required"),
        "not_text": say("must be a string"),
        "not_list": say("must be a list of options"),
        "duplicate": say("names an option twice"),
        "not_an_option": say("'{option}' is not one of the options", option=refusal.option[:MAX_SUMMARY_CHARS]),
    }[refusal.reason]
    return InvalidArguments(say("{field}: {what}.", field="answer", what=problem), hint=_ANSWER_HINTS[question.type])


def _question_pause(question: Question) -> Pause:
    return Pause(
        kind="prompt",
        on_page=say("the person sees a form; call no tool now, end your turn and wait for the person"),
        without_page=say(
            "do not go on: the person has not answered yet. This client shows no page, so ask this in the chat and end "
            "your turn; never answer for the person. After they reply: 'reply_prompt' with messageId {id} and their "
            "answer",
            id=question.message_id,
        ),
        id=question.message_id,
        expires_at=question.expires_at,
        form=ElicitationForm(question.message_id, question.prompt, _answer_schema(question), "reply_prompt"),
    )


def _answer_schema(question: Question) -> dict[str, Any]:
    """Return the JSON Schema of the answer, in the few shapes that every client draws."""
    if question.type == "text":
        return {"type": "string", "title": question.placeholder or question.prompt[:100]}
    choice = {"type": "string", "enum": question.options}
    return choice if question.type == "select" else {"type": "array", "items": choice}


def _options(options: Sequence[str]) -> Rows:
    rest = say("  … {left_out} more, as 'prompt_user' was given them.")
    rows = [
        layout("  {number}. {option}", number=number, option=option) for number, option in enumerate(options, start=1)
    ]
    return Rows(rows, rest)


def _outcome(question: Question) -> Phrase:
    if question.answer == []:
        return say("Answer: none of the options.")
    if question.status == "answered":
        answer = answer_text(question.answer)
        # The line breaks of a person's words mean something; behind a margin they cannot pass for ours.
        return (
            say("Answer:\n{answer}", answer=Block(answer)) if "\n" in answer else say("Answer: {answer}", answer=answer)
        )
    if question.status == "cancelled":
        return say("The person cancelled the prompt without an answer.")
    return _withdrawn(question) if question.status == "withdrawn" else _expired(question)


def _withdrawn(question: Question) -> Phrase:
    return say(
        "Prompt {id} was withdrawn without an answer: the run that asked it was stopped, or this session is a copy.",
        id=question.message_id,
    )


def _expired(question: Question) -> Phrase:
    return say("Prompt {id} expired at {at} without an answer.", id=question.message_id, at=question.expires_at)


def _question_page(question: Question) -> UiPage:
    answers = [question.answer] if isinstance(question.answer, str) else question.answer
    context = {"question": question, "answers": answers}
    return UiPage(name=QUESTION_PAGE, title=say("Question"), template="ui/prompt.html", context=context)
