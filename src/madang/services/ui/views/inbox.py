"""What a session wants from the person, as lists and data, and what to do once it is settled. Pure."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from madang.core.documents import Document
from madang.core.pauses import PauseForm, PauseOption, PauseRecord, SettledBy
from madang.core.phrases import Line, Phrase, Rows, layout, say
from madang.core.results import ToolResult
from madang.core.texts import one_line
from madang.services.ui.domain import AnswerValue, InboxItem, Question, QuestionStatus, Wait, WaitStatus

MAX_SUMMARY_CHARS = 100

STATUS_NAMES: dict[QuestionStatus, Phrase] = {
    "pending": say("pending"),
    "answered": say("answered"),
    "cancelled": say("cancelled"),
    "expired": say("expired"),
    "withdrawn": say("withdrawn"),
}
_WAIT_AS_QUESTION: dict[WaitStatus, QuestionStatus] = {
    "waiting": "pending",
    "resumed": "answered",
    "expired": "expired",
    "withdrawn": "withdrawn",
}


class InboxEntry(Document):
    """A question or a wait, in the same fields: a wait has no options and no answer, and is answered when it ended."""

    message_id: str
    type: Literal["text", "select", "multiselect", "wait"]
    prompt: str
    options: list[str]
    placeholder: str
    resume_instruction: str
    status: QuestionStatus
    answer: AnswerValue
    created_at: str
    expires_at: str
    settled_at: str
    by: SettledBy = Field("", exclude_if=operator.not_)


class InboxList(Document):
    prompts: list[InboxEntry]
    total: int


def items_listed(items: Sequence[InboxItem], status: QuestionStatus, total: int) -> ToolResult[InboxList]:
    entries = [inbox_entry(item) for item in items]
    data = InboxList.model_construct(prompts=entries, total=total)
    if not entries:
        ask = say("Note: Use 'prompt_user' to ask.")
        return ToolResult([say("No prompts are {status}.", status=STATUS_NAMES[status])], data, next=[ask])
    rows = [
        say(
            '{number}. id:{id} type:{type} prompt:"{prompt}" createdAt:{at}{answer}',
            number=number,
            id=entry.message_id,
            type=entry.type,
            prompt=one_line(entry.prompt, MAX_SUMMARY_CHARS),
            at=entry.created_at,
            answer=_answer_column(entry),
        )
        for number, entry in enumerate(entries, start=1)
    ]
    text: list[Line | Rows] = [
        say("Found {count} prompt(s) that are {status}, newest first:", count=total, status=STATUS_NAMES[status]),
        "",
        Rows(rows, say("… {left_out} more {left_out|is|are} not shown. 'get_prompt' reads one whose id you have.")),
    ]
    if total > len(entries):
        text.append(
            say(
                "… {count} older {count|one is|ones are} not listed. 'get_prompt' reads one whose id you have.",
                count=total - len(entries),
            )
        )
    return ToolResult(text, data, next=[say("Note: Use 'get_prompt' with an id as messageId to read that one.")])


def inbox_entry(item: InboxItem) -> InboxEntry:
    # Constructed without validation: both are valid already, and a listing has a hundred of them.
    if isinstance(item, Question):
        return InboxEntry.model_construct(**vars(item), resume_instruction="")
    return InboxEntry.model_construct(
        message_id=item.wait_id,
        type="wait",
        prompt=item.message,
        options=[],
        placeholder="",
        resume_instruction=item.resume_instruction,
        status=_WAIT_AS_QUESTION[item.status],
        answer="",
        created_at=item.created_at,
        expires_at=item.expires_at,
        settled_at=item.expires_at if item.status == "expired" else item.resumed_at,
        by=item.by,
    )


def item_form(pause: PauseRecord, item: InboxItem) -> PauseForm:
    """Return what the person needs to settle a question or a wait."""
    if isinstance(item, Wait):
        return PauseForm(pause, "wait", item.message, pause.heading, hint=item.resume_instruction, can_decline=False)
    options = tuple(PauseOption(option, option) for option in item.options)
    return PauseForm(pause, item.type, item.prompt, pause.heading, options, hint=item.placeholder)


def next_step(item: InboxItem) -> Phrase:
    """Return what to do once this is settled."""
    match item.status:
        case "answered":
            return say("You may now go on with this answer; do not ask again.")
        case "resumed":
            return say("You may now go on; do not wait for this again.")
        case _:
            return say("There is no answer. Do not ask the same again: tell the person, or go on without it.")


def relayed_note(item: InboxItem) -> list[Phrase]:
    """Say so when an answer came through a client's model: nobody has seen the person give it."""
    if item.by != "relayed":
        return []
    return [say("Relayed: the client's model told this in the person's name.")]


def answer_text(answer: AnswerValue) -> str:
    return answer if isinstance(answer, str) else ", ".join(answer)


def _answer_column(entry: InboxEntry) -> Phrase:
    if entry.status != "answered" or entry.type == "wait":
        return layout("")
    return layout(' answer:"{answer}"', answer=one_line(answer_text(entry.answer), MAX_SUMMARY_CHARS))
