"""What happens in a session, as typed events: the names and shapes of AG-UI 1.0, and our own (`own_events`).

These are what the agent emits, what is stored, what the browser is streamed and what `madang run --json` prints. Rows
of other builds are read through the same types: an unknown field is passed over, and so is an unknown event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from madang.core.event_documents import CallPause, EventDocument, EventPart, Omittable, ViewReference
from madang.core.own_events import OwnEvent
from madang.core.results import PauseKind

CallOutcome = Literal["", "ok", "error", "denied", "interrupted", "cancelled", "unanswered", "answered_late"]
"""How a call that is done ended. `interrupted`: nobody knows; `unanswered`: the person wrote instead, and may answer
as long as the run is not over; `answered_late`: they did, and the model was told."""


# Runs


class RunStarted(EventDocument):
    type: Literal["RUN_STARTED"] = "RUN_STARTED"
    thread_id: str
    run_id: str
    parent_run_id: Omittable[str] = None


class RunSucceeded(EventPart):
    type: Literal["success"] = "success"


class RunCancelled(EventPart):
    type: Literal["cancelled"] = "cancelled"
    withdrawn: Omittable[list[str]] = None
    """Ids of what the run had asked, which is withdrawn with it."""


class Interrupt(EventPart):
    id: str
    reason: PauseKind
    message: str
    tool_call_id: str
    expires_at: Omittable[str] = None


class RunInterrupted(EventPart):
    """It waits for the person."""

    type: Literal["interrupt"] = "interrupt"
    interrupts: list[Interrupt]


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


class DeltaMetadata(EventPart):
    """Of what is live: `offset` counts code points, as Python does, not UTF-16 units."""

    run_id: str
    message_no: int
    offset: int


class MessageContinued(EventDocument):
    type: Literal["TEXT_MESSAGE_CONTENT"] = "TEXT_MESSAGE_CONTENT"
    message_id: str
    delta: str
    metadata: Omittable[DeltaMetadata] = None


class MessageFile(EventPart):
    name: str
    content_id: str


class MessageEndMetadata(EventPart):
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


class ReasoningEndMetadata(EventPart):
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


class ResultMetadata(EventPart):
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
    | OwnEvent,
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
