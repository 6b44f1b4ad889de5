"""The events of a stream, as they cross to the browser: names and shapes of AG-UI 1.0, and our own as CUSTOM ones.

`agent/events.py` makes the stored ones; that these types say the same is tested with every story of a run. A stored
event has a number, a live one has none.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from madang.core.documents import Document
from madang.core.results import PauseKind
from madang.host.wire import CallPause, SessionAnswer, ViewReference
from madang.storage.runs.journal import CallOutcome


class _Event(Document):
    seq: int | None = None
    at: str | None = None


class RunStarted(_Event):
    type: Literal["RUN_STARTED"]
    thread_id: str
    run_id: str
    parent_run_id: str | None = None


class RunSucceeded(Document):
    type: Literal["success"]


class RunCancelled(Document):
    type: Literal["cancelled"]


class Interrupt(Document):
    id: str
    reason: PauseKind
    message: str
    tool_call_id: str
    expires_at: str | None = None


class RunInterrupted(Document):
    """It waits for the person."""

    type: Literal["interrupt"]
    interrupts: list[Interrupt]


RunOutcome = Annotated[RunSucceeded | RunCancelled | RunInterrupted, Field(discriminator="type")]


class RunFinished(_Event):
    type: Literal["RUN_FINISHED"]
    thread_id: str
    run_id: str
    outcome: RunOutcome


class RunError(_Event):
    """`interrupted`: the process that ran it ended, and another goes on with it."""

    type: Literal["RUN_ERROR"]
    message: str
    code: str
    retry_helps: bool | None = None


class MessageStarted(_Event):
    type: Literal["TEXT_MESSAGE_START"]
    message_id: str
    role: Literal["user", "assistant"]


class DeltaMetadata(Document):
    """Of what is live: `offset` counts code points, as Python does, not UTF-16 units."""

    run_id: str
    message_no: int
    offset: int


class MessageContent(_Event):
    type: Literal["TEXT_MESSAGE_CONTENT"]
    message_id: str
    delta: str
    metadata: DeltaMetadata | None = None


class MessageFile(Document):
    name: str
    content_id: str


class MessageEndMetadata(Document):
    images: int
    """How many the message has: they are too large for an event."""
    files: list[MessageFile] | None = None
    """In the content store. Those of older messages are in their text."""


class MessageEnded(_Event):
    type: Literal["TEXT_MESSAGE_END"]
    message_id: str
    metadata: MessageEndMetadata | None = None


class ReasoningStarted(_Event):
    type: Literal["REASONING_MESSAGE_START"]
    message_id: str
    role: Literal["reasoning"]


class ReasoningContent(_Event):
    type: Literal["REASONING_MESSAGE_CONTENT"]
    message_id: str
    delta: str
    metadata: DeltaMetadata | None = None


class ReasoningEndMetadata(Document):
    took_ms: int


class ReasoningEnded(_Event):
    type: Literal["REASONING_MESSAGE_END"]
    message_id: str
    metadata: ReasoningEndMetadata | None = None


class ToolCallStarted(_Event):
    type: Literal["TOOL_CALL_START"]
    tool_call_id: str
    tool_call_name: str
    parent_message_id: str


class ToolCallArguments(_Event):
    type: Literal["TOOL_CALL_ARGS"]
    tool_call_id: str
    delta: str


class ToolCallEnded(_Event):
    type: Literal["TOOL_CALL_END"]
    tool_call_id: str


class ResultMetadata(Document):
    outcome: CallOutcome
    took_ms: int | None = None
    data: dict[str, Any] | None = None
    data_left_out: int | None = None
    images: int | None = None
    view: ViewReference | None = None
    pause: CallPause | None = None


class ToolCallResult(_Event):
    type: Literal["TOOL_CALL_RESULT"]
    message_id: str
    tool_call_id: str
    content: str
    role: Literal["tool"]
    metadata: ResultMetadata


class StateServices(Document):
    services: dict[str, Any]


class StateSnapshot(_Event):
    """The state of every service, at the beginning of a stream."""

    type: Literal["STATE_SNAPSHOT"]
    snapshot: StateServices


class ServiceChange(Document):
    """The whole state of a service that changed, as an operation of JSON Patch."""

    op: Literal["add"]
    path: str
    """`/services/NAME`."""
    value: dict[str, Any]


class StateDelta(_Event):
    type: Literal["STATE_DELTA"]
    delta: list[ServiceChange]


class _Custom(_Event):
    type: Literal["CUSTOM"]


class AnsweredValue(Document):
    message_id: str
    model: str
    input_tokens: int | None
    output_tokens: int | None


class Answered(_Custom):
    name: Literal["madang/answered"]
    value: AnsweredValue


class MessageValue(Document):
    message_id: str


class Stopped(_Custom):
    """The end of an answer that the person stopped: half of one."""

    name: Literal["madang/stopped"]
    value: MessageValue


class ResultsGiven(_Custom):
    name: Literal["madang/results"]
    value: MessageValue


class Withdrawn(_Custom):
    name: Literal["madang/withdrawn"]
    value: MessageValue


class TextValue(Document):
    message_id: str
    text: str


class Acted(_Custom):
    name: Literal["madang/action"]
    value: TextValue


class NotedValue(Document):
    id: str
    by: str
    text: str


class Noted(_Custom):
    """Something was done beside the run, and its model is told before the next request: `madang/action` says when."""

    name: Literal["madang/noted"]
    value: NotedValue


class Queued(_Custom):
    name: Literal["madang/queued"]
    value: TextValue


class AnsweredLateValue(Document):
    message_id: str
    id: str
    text: str
    pause: CallPause


class AnsweredLate(_Custom):
    name: Literal["madang/answered_late"]
    value: AnsweredLateValue


class PauseValue(Document):
    tool_call_id: str
    id: str
    kind: PauseKind
    view: ViewReference | None = None
    pause: CallPause | None = None


class Paused(_Custom):
    name: Literal["madang/pause"]
    value: PauseValue


class RetryValue(Document):
    attempt: int
    after_s: float = Field(alias="afterS")
    code: str


class Retried(_Custom):
    name: Literal["madang/retry"]
    value: RetryValue


class CompactedValue(Document):
    message_id: str
    up_to_seq: int
    text: str


class Compacted(_Custom):
    name: Literal["madang/compacted"]
    value: CompactedValue


class InboxValue(Document):
    open: int
    """What is to be answered."""
    turns: int
    """Runs without a model in which it is the person's turn: nobody asked them anything."""


class InboxChanged(_Custom):
    name: Literal["madang/inbox"]
    value: InboxValue


class SessionsValue(Document):
    """What has changed in the list of sessions: a reader that knows the list puts it in, and asks for nothing."""

    sessions: list[SessionAnswer]
    gone: list[str]
    """The ids of those that are not there any more."""
    is_incomplete: bool
    """More may have changed: the list is to be read anew."""


class SessionsChanged(_Custom):
    name: Literal["madang/sessions"]
    value: SessionsValue


class WorkingRun(Document):
    """A run that is running, in whatever process."""

    id: str
    session_id: str
    title: str
    """Of its session."""
    started_at: str
    is_elsewhere: bool
    """In another process: `madang chat`, another host."""


class RunsValue(Document):
    runs: list[WorkingRun]


class RunsChanged(_Custom):
    """Which runs of the person are running: at connect, and when it changes."""

    name: Literal["madang/runs"]
    value: RunsValue


class ResyncValue(Document):
    reason: Literal["slow", "stopping", "gap", "beyond"]
    """`gap`, `beyond`: the log is not the one that the reader knows."""


class Resync(_Custom):
    """The last event of a stream that ends."""

    name: Literal["madang/resync"]
    value: ResyncValue


CustomEvent = Annotated[
    Answered
    | Stopped
    | ResultsGiven
    | Withdrawn
    | Acted
    | Noted
    | Queued
    | AnsweredLate
    | Paused
    | Retried
    | Compacted
    | InboxChanged
    | SessionsChanged
    | RunsChanged
    | Resync,
    Field(discriminator="name"),
]


class StreamEvent(
    RootModel[
        RunStarted
        | RunFinished
        | RunError
        | MessageStarted
        | MessageContent
        | MessageEnded
        | ReasoningStarted
        | ReasoningContent
        | ReasoningEnded
        | ToolCallStarted
        | ToolCallArguments
        | ToolCallEnded
        | ToolCallResult
        | StateSnapshot
        | StateDelta
        | CustomEvent
    ]
):
    """Whatever is on a stream."""
