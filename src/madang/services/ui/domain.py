"""What a question to the person and a wait for them are, and which answers a question accepts.

Pure: no I/O, and no words for people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from madang.core.documents import NOT_BLANK, Document
from madang.core.pauses import SettledBy

MAX_OPTIONS = 100
MAX_ANSWER_CHARS = 20_000
MAX_OPTION_CHARS = 500
DEFAULT_TIMEOUT_S = 7 * 24 * 60 * 60
MAX_TIMEOUT_S = 30 * 24 * 60 * 60
WAIT_TIMEOUT_S = MAX_TIMEOUT_S

QuestionText = Annotated[str, Field(min_length=1, max_length=4_000), NOT_BLANK]
QuestionType = Literal["text", "select", "multiselect"]
QuestionStatus = Literal["pending", "answered", "cancelled", "expired", "withdrawn"]
WaitStatus = Literal["waiting", "resumed", "expired", "withdrawn"]
Option = Annotated[str, Field(min_length=1, max_length=MAX_OPTION_CHARS), NOT_BLANK]
Placeholder = Annotated[str, Field(max_length=200)]
TimeoutS = Annotated[int, Field(ge=1, le=MAX_TIMEOUT_S)]

# Several clients refuse `anyOf`, others a list of types.
AnswerValue = Annotated[str | list[str], WithJsonSchema({"items": {"type": "string"}})]


class Question(Document):
    """A question, from being asked to being settled. Its status changes once: from pending to one of the others."""

    message_id: str
    type: QuestionType
    prompt: str
    options: list[str] = Field(default_factory=list)
    placeholder: str = ""
    status: QuestionStatus = "pending"
    answer: AnswerValue = ""
    created_at: str
    expires_at: str
    settled_at: str = ""
    by: SettledBy = ""

    @property
    def is_open(self) -> bool:
        return self.status == "pending"


class Wait(Document):
    """A stop until the person says to continue."""

    wait_id: str
    message: str
    resume_instruction: str = ""
    status: WaitStatus = "waiting"
    created_at: str
    expires_at: str
    resumed_at: str = ""
    elapsed_s: float = 0.0
    by: SettledBy = ""

    @property
    def is_open(self) -> bool:
        return self.status == "waiting"


InboxItem = Question | Wait
"""What a session may want from the person."""


OptionsProblem = Literal["unexpected", "missing", "duplicate"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an answer is not accepted; `option` is the one that the question does not have."""

    reason: Literal[
        "missing",
        "not_text",
        "not_list",
        "duplicate",
        "not_an_option",
        "expired",
        "withdrawn",
        "conflict",
    ]
    option: str = ""


def check_options(type: QuestionType, options: Sequence[str]) -> OptionsProblem | None:
    """Return why these options make no question, or None: a choice needs distinct ones, a text none."""
    if type == "text":
        return "unexpected" if options else None
    if not options:
        return "missing"
    return "duplicate" if len(set(options)) != len(options) else None


def check_answer(question: Question, answer: AnswerValue | None) -> Refusal | None:
    """Return why an answer does not fit the question, or None."""
    if answer is None:
        return Refusal("missing")
    if question.type == "multiselect":
        if not isinstance(answer, list):
            return Refusal("not_list")
        if len(set(answer)) != len(answer):
            return Refusal("duplicate")
        chosen = answer
    else:
        if not isinstance(answer, str):
            return Refusal("not_text")
        if question.type == "text":
            return None
        chosen = [answer]
    unknown = [option for option in chosen if option not in question.options]
    return Refusal("not_an_option", unknown[0]) if unknown else None


def check_settled(question: Question, answer: AnswerValue | None, *, cancelled: bool) -> Refusal | None:
    """Return why a settled question does not accept this answer, or None: the same answer may come again."""
    if question.status == "expired":
        return Refusal("expired")
    if question.status == "withdrawn":
        return Refusal("withdrawn")
    if cancelled:
        is_same = question.status == "cancelled"
    else:
        is_same = question.status == "answered" and question.answer == answer
    return None if is_same else Refusal("conflict")


def check_ended(wait: Wait) -> Refusal | None:
    """Return why a wait can no longer be ended, or None: it was ended, now or before."""
    if wait.status == "expired":
        return Refusal("expired")
    return Refusal("withdrawn") if wait.status == "withdrawn" else None
