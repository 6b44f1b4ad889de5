"""What crosses between browser and host of the inbox: what is open, what is over, and how something is settled."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from madang.core.documents import Document
from madang.core.pauses import AnswerType, ApprovalScope, PauseStatus, SettledBy
from madang.core.results import PauseKind
from madang.host.wire import MAX_ID_CHARS, MAX_MANUAL_CALLS, MAX_MESSAGE_CHARS, ManualCall

MAX_PAGE_SETTLED = 100


class ChoiceAnswer(Document):
    value: str
    label: str


class InboxItemAnswer(Document):
    id: str
    kind: PauseKind
    service: str
    """Which opened it, and settles it."""
    type: AnswerType
    title: str
    text: str
    """The question; of an approval, the arguments of the call as the model wrote them."""
    choices: list[ChoiceAnswer]
    left_out: int
    hint: str
    reason: str
    can_decline: bool
    """Whether it can be settled without an answer."""
    scopes: list[ApprovalScope]
    """For how long a call may be allowed; none if this is no approval."""
    session_id: str
    session_title: str
    run_id: str
    call_id: str
    tool: str
    opened_at: str
    expires_at: str
    asker: str


class SettledItemAnswer(Document):
    """What was asked and is over."""

    id: str
    kind: PauseKind
    title: str
    session_id: str
    session_title: str
    tool: str
    opened_at: str
    asker: str
    status: PauseStatus
    settled_at: str
    settled_by: SettledBy
    settler: str
    """What the client that settled it calls itself, if one did."""
    answer: str
    """What was answered, as one short line; some answers have no words."""


class InboxQuery(Document):
    state: Literal["open", "answered", "over"] = "open"
    """`over`: it ended without an answer."""
    after: str = Field(default="", max_length=MAX_ID_CHARS)
    limit: int = Field(default=50, ge=1, le=MAX_PAGE_SETTLED)


class InboxAnswer(Document):
    items: list[InboxItemAnswer]
    """What is open, newest first."""
    settled: list[SettledItemAnswer]
    """What is over, the last first: of the last seven days."""
    next: str
    """Where the next page of `settled` begins; empty after the last one."""


class SettleBody(Document):
    """Exactly one of these; `scope` goes with `allow`, `text` may go with `calls`."""

    answer: str | list[str] | None = None
    decline: bool | None = None
    allow: bool | None = None
    scope: ApprovalScope = "once"
    say: str | None = Field(default=None, max_length=MAX_MESSAGE_CHARS)
    """In the place of the model: a text, which ends the run unless there are calls."""
    calls: list[ManualCall] | None = Field(default=None, max_length=MAX_MANUAL_CALLS)


class SettleAnswer(Document):
    id: str
    status: PauseStatus
    text: str
    """What was answered, as one short line; some answers have no words."""
