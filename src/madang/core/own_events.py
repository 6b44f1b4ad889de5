"""Events that AG-UI has no name for, as CUSTOM ones with names of our own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from madang.core.event_documents import CallPause, EventDocument, EventPart, Omittable, ViewReference
from madang.core.results import PauseKind

MendReason = Literal["cut", "empty", "malformed", "finish", "check"]
"""Why a model is asked again: its answer was cut off, said nothing, held a call that cannot be read, or ended in a way
that is not known; or it is asked whether everything was done."""


class CustomEvent(EventDocument):
    """What AG-UI has no name for."""

    type: Literal["CUSTOM"] = "CUSTOM"


class MessageValue(EventPart):
    message_id: str


class TextValue(EventPart):
    message_id: str
    text: str


class AnsweredValue(EventPart):
    message_id: str
    model: str
    input_tokens: int | None
    output_tokens: int | None
    is_cut: Omittable[bool] = None
    """It ended before it was whole."""
    images: Omittable[int] = None


class Answered(CustomEvent):
    name: Literal["madang/answered"] = "madang/answered"
    value: AnsweredValue


class Stopped(CustomEvent):
    """The end of an answer that the person stopped: half of one."""

    name: Literal["madang/stopped"] = "madang/stopped"
    value: MessageValue


class MendedValue(EventPart):
    message_id: str
    reason: MendReason
    text: str


class Mended(CustomEvent):
    """The model is asked again, because its answer cannot be used or before its run ends."""

    name: Literal["madang/mend"] = "madang/mend"
    value: MendedValue


class ResultsGiven(CustomEvent):
    """The model has the results of a turn, all in one message."""

    name: Literal["madang/results"] = "madang/results"
    value: MessageValue


class Queued(CustomEvent):
    name: Literal["madang/queued"] = "madang/queued"
    value: TextValue


class Withdrawn(CustomEvent):
    name: Literal["madang/withdrawn"] = "madang/withdrawn"
    value: MessageValue


class NotedValue(EventPart):
    id: str
    by: str
    text: str


class Noted(CustomEvent):
    """Something was done beside the run, and its model is told before the next request: `madang/action` says when."""

    name: Literal["madang/noted"] = "madang/noted"
    value: NotedValue


class Acted(CustomEvent):
    name: Literal["madang/action"] = "madang/action"
    value: TextValue


class PausedValue(EventPart):
    tool_call_id: str
    id: str
    kind: PauseKind
    view: Omittable[ViewReference] = None
    pause: Omittable[CallPause] = None


class Paused(CustomEvent):
    name: Literal["madang/pause"] = "madang/pause"
    value: PausedValue


class AnsweredLateValue(EventPart):
    message_id: str
    id: str
    text: str
    pause: Omittable[CallPause] = None
    """Older rows have none."""


class AnsweredLate(CustomEvent):
    name: Literal["madang/answered_late"] = "madang/answered_late"
    value: AnsweredLateValue


class RetriedValue(EventPart):
    attempt: int
    after_s: float
    code: str


class Retried(CustomEvent):
    name: Literal["madang/retry"] = "madang/retry"
    value: RetriedValue


class ModelSwitchedValue(EventPart):
    before: str
    model: str
    code: str
    """Of the error that was the reason; empty if the person chose."""
    text: str


class ModelSwitched(CustomEvent):
    name: Literal["madang/model"] = "madang/model"
    value: ModelSwitchedValue


class CompactedValue(EventPart):
    message_id: str
    up_to_seq: int
    text: Omittable[str] = None
    """Older rows have none."""


class Compacted(CustomEvent):
    name: Literal["madang/compacted"] = "madang/compacted"
    value: CompactedValue


OwnEvent = Annotated[
    Answered
    | Stopped
    | Mended
    | ResultsGiven
    | Queued
    | Withdrawn
    | Noted
    | Acted
    | Paused
    | AnsweredLate
    | Retried
    | ModelSwitched
    | Compacted,
    Field(discriminator="name"),
]
