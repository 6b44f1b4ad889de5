"""What waits for the person: a pause as it is kept, the form in which it is asked, and what can be answered to it.

Whether a pause has expired is told here and nowhere else in Python; `records.pauses` has the same rule in SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from madang.core.errors import Conflict, Expired, InvalidArguments, ToolError
from madang.core.ids import AssistantId, SessionId
from madang.core.phrases import Phrase, Translate, say
from madang.core.results import PauseKind
from madang.core.texts import one_line

MAX_ANSWER_CHARS = 120
MAX_SETTLER_CHARS = 80

PauseStatus = Literal["open", "answered", "cancelled", "expired", "withdrawn", "superseded"]
"""How a pause stands. `withdrawn`: its run was stopped; `superseded`: the same asker asked anew."""

STEP_KINDS: tuple[PauseKind, ...] = ("approval", "model")
"""What a run asks for one step of its own. Everything else is a question, which outlives the run that asked it."""

SettledBy = Literal["", "person", "program", "client", "relayed", "run"]
"""Who settled a pause. `client`: somebody at another program; `relayed`: its model, saying what the person said."""


@dataclass(frozen=True, slots=True)
class PauseRecord:
    """One pause. `expired` follows from the clock at each look; all other ends are written, once."""

    id: str
    kind: PauseKind
    service: str
    tool: str
    title: str
    session_id: SessionId
    assistant_id: AssistantId
    asker: str
    opened_at: str
    expires_at: str = ""
    """Empty: it stays open for ever."""
    run_id: str = ""
    call_id: str = ""
    status: PauseStatus = "open"
    settled_at: str = ""
    settled_by: SettledBy = ""
    settled_with: Mapping[str, Any] = field(default_factory=dict)
    """The tool that settled it, its arguments, and the name of the client if one did."""

    @property
    def asker_name(self) -> str:
        """Who asked, as people know it: the name of a client, `run`, or the door; empty for our own chat.

        An asker is written `kind:id name` (`Call.asker`); the name is what the client says of itself.
        """
        kind, _, rest = self.asker.partition(":")
        if kind == "door":
            return "" if rest == "host" else rest
        return rest.partition(" ")[2] or kind

    @property
    def answer(self) -> str:
        """What was answered, as one short line: words, options, the name of what was chosen. Some answers have none."""
        arguments = self.settled_with.get("arguments", {})
        value = arguments.get("answer") or arguments.get("goal") or ""
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        return one_line(text.strip(), MAX_ANSWER_CHARS) if self.status == "answered" else ""

    @property
    def settler_name(self) -> str:
        """What the client that settled it calls itself; empty if none did, or it has no name."""
        return one_line(str(self.settled_with.get("client", "")), MAX_SETTLER_CHARS)

    @property
    def heading(self) -> Phrase | str:
        """What is asked, on one line: that of a choice is ours and kept in English, all others are somebody's words."""
        return Phrase(self.title) if self.kind == "choice" and self.title else self.title

    @property
    def is_open(self) -> bool:
        return self.status == "open"

    @property
    def is_turn(self) -> bool:
        """Tell whether it is the turn of a model that there is none of: nobody has asked the person anything."""
        return self.kind == "model"


def status_at(now: str, status: PauseStatus, expires_at: str | None) -> PauseStatus:
    """Return how a pause of this written status stands at a moment: that it has expired follows from the clock."""
    return "expired" if status == "open" and expires_at and expires_at <= now else status


def first_expiry(pauses: Iterable[PauseRecord]) -> str | None:
    """Return when the first of the open ones expires, or None if none of them does."""
    return min((pause.expires_at for pause in pauses if pause.is_open and pause.expires_at), default=None)


AnswerType = Literal["text", "select", "multiselect", "choice", "wait", "approval", "model"]
"""What the person does about a pause: writes, picks one or several of the options, picks a row of a listing, goes on,
allows or denies, or takes the turn of the model."""

_TYPES: Mapping[PauseKind, AnswerType] = {
    "prompt": "text",
    "choice": "choice",
    "wait": "wait",
    "approval": "approval",
    "model": "model",
}


@dataclass(frozen=True, slots=True)
class PauseOption:
    """One of what the person can choose: its value in the answer, and how it is shown."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class PauseForm:
    """All that the person needs to settle a pause. What we say are phrases; what others wrote are their words."""

    pause: PauseRecord
    type: AnswerType
    text: Phrase | str
    """The question; of an approval, the arguments of the call as the model wrote them."""
    title: Phrase | str
    """The question on one line, for lists."""
    options: tuple[PauseOption, ...] = ()
    left_out: int = 0
    """How many more there are to choose from."""
    hint: Phrase | str = ""
    """What a text may look like; what happens after a wait."""
    reason: Phrase | None = None
    """Why it is asked."""
    can_decline: bool = True
    """Whether it can be settled without an answer."""
    scopes: tuple[ApprovalScope, ...] = ()
    """For how long a call may be allowed; of an approval, at least once."""

    @property
    def id(self) -> str:
        return self.pause.id


def plain_form(pause: PauseRecord) -> PauseForm:
    """Return the form of a pause of which only its row is known."""
    type = _TYPES[pause.kind]
    scopes: tuple[ApprovalScope, ...] = ("once",) if type == "approval" else ()
    can_decline = type not in ("wait", "model")
    return PauseForm(pause, type, pause.heading, pause.heading, can_decline=can_decline, scopes=scopes)


def in_words(text: Phrase | str, translate: Translate) -> str:
    """Return a text of a form in the reader's language."""
    return text.render(translate) if isinstance(text, Phrase) else text


@dataclass(frozen=True, slots=True)
class Answer:
    """The person's words, the value of an option, or the values of several; nothing where they only go on."""

    value: str | Sequence[str] = ""


@dataclass(frozen=True, slots=True)
class Decline:
    """The person gives no answer. An approval that is declined is denied."""


ApprovalScope = Literal["once", "session", "assistant"]


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether a call may be made, and for how much that holds."""

    allow: bool
    scope: ApprovalScope = "once"


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """What the person does in the place of a model: the parts of its answer, as they are stored."""

    parts: Sequence[Mapping[str, Any]]


PauseAnswer = Answer | Decline | Permission | ModelTurn


def wrong_answer(pause: PauseRecord, answer: PauseAnswer) -> InvalidArguments:
    """Return the error of an answer that is not of the kind by which the pause is settled."""
    if isinstance(answer, Decline):
        return InvalidArguments(
            say("This cannot be declined: it only waits until you are ready."),
            hint=say("Stop the run instead, or let it wait."),
        )
    return InvalidArguments(say("This is not how it can be settled: it is a '{type}'.", type=_TYPES[pause.kind]))


def no_longer_open(pause: PauseRecord | None) -> ToolError:
    """Return the error of an answer that came after the end of a pause."""
    if pause is None or pause.status in ("expired", "withdrawn"):
        return Expired(say("This is over: nobody waits for it any more."))
    return Conflict(say("This was decided already, or is over."), hint=say("Look at what is open now."))
