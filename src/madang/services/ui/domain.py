"""What a question to the person is, and which answers it takes. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from madang.core.documents import NOT_BLANK, Document
from madang.core.errors import Conflict, Expired, InvalidArguments
from madang.core.phrases import Phrase, say

MAX_OPTIONS = 100
MAX_ANSWER_CHARS = 20_000
MAX_OPTION_CHARS = 500
DEFAULT_TIMEOUT_S = 24 * 60 * 60
MAX_TIMEOUT_S = 30 * 24 * 60 * 60

PromptText = Annotated[str, Field(min_length=1, max_length=4_000), NOT_BLANK]
PromptType = Literal["text", "select", "multiselect"]
Option = Annotated[str, Field(min_length=1, max_length=MAX_OPTION_CHARS), NOT_BLANK]
Placeholder = Annotated[str, Field(max_length=200)]
TimeoutS = Annotated[int, Field(ge=1, le=MAX_TIMEOUT_S)]

# Several clients refuse `anyOf`, others a list of types.
Answer = Annotated[str | list[str], WithJsonSchema({"items": {"type": "string"}})]
Status = Literal["pending", "answered", "cancelled", "expired"]


class Prompt(Document):
    """A question, from being asked to being settled. It changes state once: pending, then one of the others."""

    message_id: str
    type: PromptType
    prompt: str
    options: list[str] = Field(default_factory=list)
    placeholder: str = ""
    status: Status = "pending"
    answer: Answer = ""
    created_at: str
    expires_at: str
    settled_at: str = ""


class Wait(Document):
    """A stop until the person says go on."""

    wait_id: str
    message: str
    resume_instruction: str = ""
    status: Literal["waiting", "resumed"] = "waiting"
    created_at: str
    resumed_at: str = ""
    elapsed_s: float = 0.0


def check_options(type: PromptType, options: Sequence[str]) -> None:
    """Refuse a question that could not be answered.

    Raises:
        InvalidArguments: a choice without distinct options, or options where the answer is free text.
    """
    if type == "text":
        if options:
            raise _wrong_options(say("are only for 'select' and 'multiselect'"))
    elif not options:
        raise _wrong_options(say("are required for 'select' and 'multiselect'"))
    elif len(set(options)) != len(options):
        raise _wrong_options(say("must be distinct"))


def check_answer(prompt: Prompt, answer: Answer | None) -> Answer:
    """Return the answer if it fits the question.

    Raises:
        InvalidArguments: it is of the wrong type, not one of the options, or names one twice.
    """
    if prompt.type == "multiselect":
        if not isinstance(answer, list):
            raise _wrong_answer(prompt, say("must be a list of options"))
        if len(set(answer)) != len(answer):
            raise _wrong_answer(prompt, say("names an option twice"))
        chosen = answer
    else:
        if not isinstance(answer, str):
            raise _wrong_answer(prompt, say("must be a string"))
        if prompt.type == "text":
            return answer
        chosen = [answer]
    for option in chosen:
        if option not in prompt.options:
            raise _wrong_answer(prompt, say("'{option}' is not one of the options", option=option[:100]))
    return answer


def check_settled(prompt: Prompt, answer: Answer | None, *, cancelled: bool) -> None:
    """Let the same answer pass once more, and refuse another one.

    Raises:
        Expired, Conflict: it is too late, or somebody has answered otherwise.
    """
    if prompt.status == "expired":
        raise Expired(
            say("Prompt {id} expired at {at} without an answer.", id=prompt.message_id, at=prompt.expires_at),
            hint=say("Use 'prompt_user' to ask again."),
        )
    same = prompt.status == "cancelled" if cancelled else prompt.status == "answered" and prompt.answer == answer
    if not same:
        raise Conflict(
            say(
                "Prompt {id} was {status} already. Nothing was changed.",
                id=prompt.message_id,
                status=said(prompt.status),
            ),
            hint=say("Use 'get_prompt' to read what was answered."),
        )


def said(status: Status) -> Phrase:
    """Return a status in words."""
    return {
        "pending": say("pending"),
        "answered": say("answered"),
        "cancelled": say("cancelled"),
        "expired": say("expired"),
    }[status]


def _wrong_options(what: Phrase) -> InvalidArguments:
    return InvalidArguments(
        say("{field}: {what}.", field="options", what=what),
        hint=say("A 'select' or 'multiselect' takes 1 to {most} distinct options, a 'text' none.", most=MAX_OPTIONS),
    )


def _wrong_answer(prompt: Prompt, what: Phrase) -> InvalidArguments:
    hints = {
        "text": say("The answer is a text. The prompt is still pending."),
        "select": say("The answer is one of the options, as it is written. The prompt is still pending."),
        "multiselect": say("The answer is a list of options, as they are written. The prompt is still pending."),
    }
    return InvalidArguments(say("{field}: {what}.", field="answer", what=what), hint=hints[prompt.type])
