"""Every shape that crosses between browser and host: TypeScript types and the OpenAPI document come from here."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from madang.core.calls import Locale
from madang.core.documents import Document
from madang.core.event_documents import CallPause, ViewReference
from madang.core.limits import MAX_MODEL_CHARS, MAX_NAME_CHARS
from madang.core.run_events import CallOutcome
from madang.records.runs.journal import CallState, MessageKind, Role
from madang.records.runs.records import RunState
from madang.records.sessions import MAX_TITLE_CHARS

MAX_ID_CHARS = 200
MAX_MESSAGE_CHARS = 1_000_000
MAX_QUERY_CHARS = 500
MAX_ATTACHMENTS = 20
MAX_PAGE_MESSAGES = 200
MAX_ANSWERS = 100
MAX_MANUAL_CALLS = 20


class ErrorAnswer(Document):
    """Why a request was not served."""

    code: str
    message: str
    hint: str = ""


class Done(Document):
    """Nothing but that it is done."""


class NoBody(Document):
    """A body that says nothing: `{}`."""


class HelloQuery(Document):
    nonce: str = Field(min_length=16, max_length=64, pattern="^[A-Za-z0-9_-]+$")


class HelloAnswer(Document):
    proof: str
    """HMAC-SHA-256 of the server's origin and the nonce, with the browser token as the key; in hexadecimal digits."""


class LaunchBody(Document):
    code: str = Field(max_length=MAX_ID_CHARS)


class LaunchAnswer(Document):
    token: str


class LaunchCodeAnswer(Document):
    """A new launch code, for a program of the same person that has the browser token."""

    code: str


class ModelChoice(Document):
    name: str
    label: str
    context_tokens: int | None
    """How many tokens fit into a request, if that was configured or has been learnt."""


class AssistantAnswer(Document):
    id: str
    name: str
    model: str


class MeAnswer(Document):
    version: str
    locale: Locale
    locales: list[Locale]
    model: str
    """The model of new runs; empty: the person is the model."""
    is_model_fixed: bool
    """It is the model of every run, whatever assistants say."""
    models: list[ModelChoice]
    assistants: list[AssistantAnswer]
    assistant_id: str
    """The assistant of new sessions that name none."""
    data_dir: str
    content_origin: str
    tool_count: int
    """Tools that the default assistant may use."""


class RunAnswer(Document):
    id: str
    state: RunState


class SessionAnswer(Document):
    id: str
    title: str
    assistant_id: str
    locale: Locale | None
    parent_id: str
    created_at: str
    last_at: str
    last_seq: int
    is_pinned: bool
    is_archived: bool
    run: RunAnswer | None
    """The run that is not over."""
    open_pauses: int
    """What is to be answered there; that it is the person's turn without a model is no question."""
    client: str
    """The program that used it first over MCP, by what it calls itself; empty if none did."""


class SessionsQuery(Document):
    query: str = Field(default="", max_length=MAX_QUERY_CHARS)
    archived: int = Field(default=0, ge=0, le=1)
    assistant: str | None = Field(default=None, max_length=MAX_NAME_CHARS)
    """Only its sessions."""
    session: str = Field(default="", max_length=MAX_NAME_CHARS)
    """Only messages of this one, archived or not; with a query."""
    sized: int = Field(default=0, ge=0, le=1)
    """Whether to count what is in each."""
    after: str = Field(default="", max_length=MAX_QUERY_CHARS)
    limit: int = Field(default=200, ge=1, le=200)


class SessionHit(Document):
    """A message that has the words of a query."""

    session_id: str
    message_id: str
    kind: Literal["said", "returned"]
    """By the person or the model, or by a tool."""
    excerpt: str


class SessionSize(Document):
    session_id: str
    messages: int
    """Of the person and the model."""
    calls: int
    """Of tools, by the model or by another program."""


class SessionsAnswer(Document):
    sessions: list[SessionAnswer]
    next: str
    """Where the next page begins; empty after the last one."""
    hits: list[SessionHit]
    has_more_hits: bool
    """There are older messages that have the words, which are not told."""
    sizes: list[SessionSize]
    """Of these sessions, where they were asked for."""


class ImportAnswer(Document):
    """The session that an archive has become."""

    session_id: str
    title: str


class NewSessionBody(Document):
    assistant_id: str = Field(default="", max_length=MAX_NAME_CHARS)
    locale: Locale | None = None
    title: str = Field(default="", max_length=MAX_TITLE_CHARS)


class SessionPatch(Document):
    """What is given is changed."""

    title: str | None = Field(default=None, max_length=MAX_TITLE_CHARS)
    is_archived: bool | None = None
    is_pinned: bool | None = None
    locale: Locale | None = None


class ForkBody(Document):
    message_id: str = Field(max_length=MAX_ID_CHARS)
    before: bool = False
    """Before a message of the person's, to write it anew; else after the message."""


class MessagesQuery(Document):
    before: int = Field(default=0, ge=0)
    limit: int = Field(default=60, ge=1, le=MAX_PAGE_MESSAGES)


class MessageAnswer(Document):
    id: str
    seq: int
    role: Role
    parts: list[dict[str, Any]]
    """`text`, `thinking`, `call`, `image`, `result`; what is unknown is skipped."""
    created_at: str
    kind: MessageKind
    """`action` and `answered_late` are what the model was told beside its run, `mend` and `check` what it was asked
    again; a `stopped` or `cut` answer is half of one."""
    model: str
    """Of an answer: who gave it, and how many tokens it was sent, if its server said so."""
    input_tokens: int | None


class CallAnswer(Document):
    tool: str
    arguments: str
    """As the model wrote them, which need not be JSON."""
    state: CallState
    outcome: CallOutcome
    text: str
    data: dict[str, Any] | None
    """The structured half of the result."""
    data_left_out: int
    """How many bytes that has, if it is too much to be told; else 0."""
    took_ms: int | None
    """None: it was not made yet, or it asked the person."""
    view: ViewReference | None
    pause_id: str
    pause: CallPause | None


class NoteAnswer(Document):
    """The end of a run that did not go well, or another model that took over, between messages."""

    seq: int
    note: Literal["failed", "cancelled", "model"]
    text: str
    code: str
    retry_helps: bool
    at: str


class RetryAnswer(Document):
    """The model's server is asked again."""

    attempt: int
    code: str


class QueuedAnswer(Document):
    id: str
    text: str
    created_at: str


class UntoldAnswer(Document):
    """What was done beside the run, and the model is told before its next request."""

    id: str
    by: str
    """`person`, or who else acted."""
    text: str


class MessagesAnswer(Document):
    messages: list[MessageAnswer]
    calls: dict[str, CallAnswer]
    """By `messageId/callId`: models use the same id of a call again in a later turn."""
    notes: list[NoteAnswer]
    """By number, like messages, from the first message of the page on."""
    queued: list[QueuedAnswer]
    run: RunAnswer | None
    """The last one, also if it is over."""
    retry: RetryAnswer | None
    untold: list[UntoldAnswer]
    last_seq: int
    """Of the session's log when this was read: a stream goes on after it."""
    has_more: bool


class Attachment(Document):
    content_id: str = Field(max_length=MAX_ID_CHARS)
    name: str = Field(max_length=MAX_ID_CHARS)


class MessageBody(Document):
    text: str = Field(max_length=MAX_MESSAGE_CHARS)
    attachments: list[Attachment] = Field(default_factory=list, max_length=MAX_ATTACHMENTS)
    model: str = Field(default="", max_length=MAX_MODEL_CHARS)


class PostAnswer(Document):
    """The run that was started, or the message that waits for the run that is not over."""

    run_id: str
    queued_id: str


class StopAnswer(Document):
    stopped: bool


class EventsQuery(Document):
    after: int = Field(default=0, ge=0)


class ManualCall(Document):
    tool: str = Field(max_length=MAX_ID_CHARS)
    arguments: dict[str, Any] = Field(default_factory=dict)


class LogQuery(Document):
    lines: int = Field(default=200, ge=1, le=500)


class LogAnswer(Document):
    lines: list[str]


class ReportAnswer(Document):
    text: str


class TurnBody(Document):
    """The turn of the model where the person is it: calls, a text, or both. Without a call the run ends after it."""

    say: str = Field(default="", max_length=MAX_MESSAGE_CHARS)
    calls: list[ManualCall] = Field(default_factory=list, max_length=MAX_MANUAL_CALLS)


class TurnAnswer(Document):
    run_id: str
    call_ids: list[str]
    """Of its calls, in their order: what comes of them is in the talk under these."""


class UploadQuery(Document):
    name: str = Field(max_length=MAX_ID_CHARS)


class UploadAnswer(Document):
    content_id: str
    name: str
    size: int


class ToolAnswer(Document):
    name: str
    title: str
    description: str
    service: str
    effect: Literal["read", "write", "destroy"]
    audience: Literal["model", "person", "panel"]
    shows_page: bool
    input_schema: dict[str, Any]


class ToolsAnswer(Document):
    tools: list[ToolAnswer]


class ToolCallBody(Document):
    arguments: dict[str, Any] = Field(default_factory=dict)


class ToolCallAnswer(Document):
    text: str
    """What an agent would read."""
    data: dict[str, Any]
    is_error: bool
    took_ms: int
    view: ViewReference | None
    pause_id: str
