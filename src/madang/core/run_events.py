"""What happens in a session, as typed events: the names and shapes of AG-UI 1.0, and our own as CUSTOM ones.

These are what the agent emits, what is stored, what the browser is streamed and what `madang run --json` prints. Rows
of other builds are read through the same types: an unknown field is passed over, and so is an unknown event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from madang.core.documents import Document
from madang.core.pauses import PauseStatus, SettledBy
from madang.core.results import PauseKind

CallOutcome = Literal["", "ok", "error", "denied", "interrupted", "cancelled", "unanswered", "answered_late"]
"""How a call that is done ended. `interrupted`: nobody knows; `unanswered`: the person wrote instead, and may answer
as long as the run is not over; `answered_late`: they did, and the model was told."""

T = TypeVar("T")

Omittable = Annotated[T | None, Field(exclude_if=lambda value: value is None)]
"""A field that is left out where there is none of it: it is never null on the wire."""


class _Part(Document):
    model_config = ConfigDict(extra="ignore")  # of a newer build


class EventDocument(_Part):
    """What every event has, and `type` and maybe `name` beside it, by which it is told from the others."""

    seq: Omittable[int] = None
    """Its number in the session's log; what is live has none."""
    at: Omittable[str] = None

    def payload(self) -> dict[str, Any]:
        """Return what is stored of it beside its kind; its number and its time are the log's."""
        return self.model_dump(exclude={"type", "seq", "at"})


class ViewReference(_Part):
    id: str
    uri: str


class CallPause(_Part):
    """What a call has asked the person, and how that stands."""

    id: str
    kind: PauseKind
    status: PauseStatus
    settled_by: SettledBy
    settled_at: str
    settler: str = ""
    """What the client that settled it calls itself, if one did."""
    answer: str = ""
    """What was answered, as one short line; some answers have no words."""
    expires_at: str


# Runs


class RunStarted(EventDocument):
    type: Literal["RUN_STARTED"] = "RUN_STARTED"
    thread_id: str
    run_id: str
    parent_run_id: Omittable[str] = None


class RunSucceeded(_Part):
    type: Literal["success"] = "success"


class RunCancelled(_Part):
    type: Literal["cancelled"] = "cancelled"
    withdrawn: Omittable[list[str]] = None
    """Ids of what the run had asked, which is withdrawn with it."""


class Interrupt(_Part):
    id: str
    reason: PauseKind
    message: str
    tool_call_id: str
    expires_at: Omittable[str] = None


class RunInterrupted(_Part):
    """It waits for the person."""

    type: Literal["interrupt"] = "interrupt"
    interrupts: list[Interrupt]


MendReason = Literal["cut", "empty", "malformed", "finish", "check"]
"""Why a model is asked again: its answer was cut off, said nothing, held a call that cannot be read, or ended in a way
that is not known; or it is asked whether everything was done."""


RunOutcome = Annotated[RunSucceeded | RunCancelled | RunInterrupted, Field(discriminator="type")]


class RunFinished(EventDocument):
    type: Literal["RUN_FINISHED"] = "RUN_FINISHED"
    thread_id: str
    run_id: str
    outcome: RunOutcome


class RunFailed(EventDocument):
    """`interrupted`: the process that ran it ended, and another goes on with it. `incomplete`: its model stopped
    without an answer that can be used, also when it was asked again."""

    type: Literal["RUN_ERROR"] = "RUN_ERROR"
    message: str
    code: str
    retry_helps: Omittable[bool] = None


# Messages


class MessageStarted(EventDocument):
    type: Literal["TEXT_MESSAGE_START"] = "TEXT_MESSAGE_START"
    message_id: str
    role: Literal["user", "assistant"]


class DeltaMetadata(_Part):
    """Of what is live: `offset` counts code points, as Python does, not UTF-16 units."""

    run_id: str
    message_no: int
    offset: int


class MessageContinued(EventDocument):
    type: Literal["TEXT_MESSAGE_CONTENT"] = "TEXT_MESSAGE_CONTENT"
    message_id: str
    delta: str
    metadata: Omittable[DeltaMetadata] = None


class MessageFile(_Part):
    name: str
    content_id: str


class MessageEndMetadata(_Part):
    images: int
    """How many the message has: they are too large for an event."""
    files: Omittable[list[MessageFile]] = None
    """In the content store. Those of older messages are in their text."""


class MessageEnded(EventDocument):
    type: Literal["TEXT_MESSAGE_END"] = "TEXT_MESSAGE_END"
    message_id: str
    metadata: Omittable[MessageEndMetadata] = None


class ReasoningStarted(EventDocument):
    type: Literal["REASONING_MESSAGE_START"] = "REASONING_MESSAGE_START"
    message_id: str
    role: Literal["reasoning"] = "reasoning"


class ReasoningContinued(EventDocument):
    type: Literal["REASONING_MESSAGE_CONTENT"] = "REASONING_MESSAGE_CONTENT"
    message_id: str
    delta: str
    metadata: Omittable[DeltaMetadata] = None


class ReasoningEndMetadata(_Part):
    took_ms: int


class ReasoningEnded(EventDocument):
    type: Literal["REASONING_MESSAGE_END"] = "REASONING_MESSAGE_END"
    message_id: str
    metadata: Omittable[ReasoningEndMetadata] = None


# Calls


class ToolStarted(EventDocument):
    type: Literal["TOOL_CALL_START"] = "TOOL_CALL_START"
    tool_call_id: str
    tool_call_name: str
    parent_message_id: str


class ArgumentsContinued(EventDocument):
    type: Literal["TOOL_CALL_ARGS"] = "TOOL_CALL_ARGS"
    tool_call_id: str
    delta: str


class ArgumentsEnded(EventDocument):
    type: Literal["TOOL_CALL_END"] = "TOOL_CALL_END"
    tool_call_id: str


class ResultMetadata(_Part):
    outcome: CallOutcome
    took_ms: Omittable[int] = None
    data: Omittable[dict[str, Any]] = None
    data_left_out: Omittable[int] = None
    """How many bytes the data has, if it is too much to be told."""
    images: Omittable[int] = None
    view: Omittable[ViewReference] = None
    pause: Omittable[CallPause] = None


class ToolFinished(EventDocument):
    type: Literal["TOOL_CALL_RESULT"] = "TOOL_CALL_RESULT"
    message_id: str
    tool_call_id: str
    content: str
    role: Literal["tool"] = "tool"
    metadata: ResultMetadata


class CustomEvent(EventDocument):
    """What AG-UI has no name for."""

    type: Literal["CUSTOM"] = "CUSTOM"


class MessageValue(_Part):
    message_id: str


class TextValue(_Part):
    message_id: str
    text: str


class AnsweredValue(_Part):
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


class MendedValue(_Part):
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


class NotedValue(_Part):
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


class PausedValue(_Part):
    tool_call_id: str
    id: str
    kind: PauseKind
    view: Omittable[ViewReference] = None
    pause: Omittable[CallPause] = None


class Paused(CustomEvent):
    name: Literal["madang/pause"] = "madang/pause"
    value: PausedValue


class AnsweredLateValue(_Part):
    message_id: str
    id: str
    text: str
    pause: Omittable[CallPause] = None
    """Older rows have none."""


class AnsweredLate(CustomEvent):
    name: Literal["madang/answered_late"] = "madang/answered_late"
    value: AnsweredLateValue


class RetriedValue(_Part):
    attempt: int
    after_s: float
    code: str


class Retried(CustomEvent):
    name: Literal["madang/retry"] = "madang/retry"
    value: RetriedValue


class ModelSwitchedValue(_Part):
    before: str
    model: str
    code: str
    """Of the error that was the reason; empty if the person chose."""
    text: str


class ModelSwitched(CustomEvent):
    name: Literal["madang/model"] = "madang/model"
    value: ModelSwitchedValue


class CompactedValue(_Part):
    message_id: str
    up_to_seq: int
    text: Omittable[str] = None
    """Older rows have none."""


class Compacted(CustomEvent):
    name: Literal["madang/compacted"] = "madang/compacted"
    value: CompactedValue


_Custom = Annotated[
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

RunEvent = Annotated[
    RunStarted
    | RunFinished
    | RunFailed
    | MessageStarted
    | MessageContinued
    | MessageEnded
    | ReasoningStarted
    | ReasoningContinued
    | ReasoningEnded
    | ToolStarted
    | ArgumentsContinued
    | ArgumentsEnded
    | ToolFinished
    | _Custom,
    Field(discriminator="type"),
]
"""Whatever is in the log of a session."""

_ADAPTER: TypeAdapter[RunEvent] = TypeAdapter(RunEvent, config=ConfigDict(defer_build=True))


def read_event(document: Mapping[str, Any]) -> RunEvent | None:
    """Return an event of a log as its type; None for one that this build does not know, which is to be passed over."""
    try:
        return _ADAPTER.validate_python(dict(document))
    except ValidationError:
        return None
