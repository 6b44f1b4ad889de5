"""The events of a stream, as they cross to the browser: those of the log, and beside them what is live.

What is live has no number, is not stored and may be missed: the next one tells all of it.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import RootModel

from madang.core.documents import Document
from madang.core.event_documents import EventDocument
from madang.core.own_events import CustomEvent
from madang.core.run_events import RunEvent
from madang.host.wire import SessionAnswer
from madang.host.wire_inbox import InboxItemAnswer


class StateServices(Document):
    services: dict[str, Any]


class StateSnapshot(EventDocument):
    """The state of every service, at the beginning of a stream."""

    type: Literal["STATE_SNAPSHOT"] = "STATE_SNAPSHOT"
    snapshot: StateServices


class ServiceChange(Document):
    """The whole state of a service that changed, as an operation of JSON Patch."""

    op: Literal["add"] = "add"
    path: str
    """`/services/NAME`."""
    value: dict[str, Any]


class StateDelta(EventDocument):
    type: Literal["STATE_DELTA"] = "STATE_DELTA"
    delta: list[ServiceChange]


class InboxValue(Document):
    open: int
    """What is to be answered."""
    turns: int
    """Runs without a model in which it is the person's turn: nobody asked them anything."""


class InboxChanged(CustomEvent):
    name: Literal["madang/inbox"] = "madang/inbox"
    value: InboxValue


class PausesValue(Document):
    """What is open in the inbox: a reader that knows all of these has nothing to ask for."""

    ids: list[str]
    """Of all that is open, newest first, as the inbox lists it."""
    items: list[InboxItemAnswer]
    """Those of them that are new."""


class PausesChanged(CustomEvent):
    """What is in the inbox: at connect, and when it changes."""

    name: Literal["madang/pauses"] = "madang/pauses"
    value: PausesValue


class SessionsValue(Document):
    """What has changed in the list of sessions: a reader that knows the list puts it in, and asks for nothing."""

    sessions: list[SessionAnswer]
    gone: list[str]
    """The ids of those that are not there any more."""
    is_incomplete: bool
    """More may have changed: the list is to be read anew."""


class SessionsChanged(CustomEvent):
    name: Literal["madang/sessions"] = "madang/sessions"
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


class RunsChanged(CustomEvent):
    """Which runs of the person are running: at connect, and when it changes."""

    name: Literal["madang/runs"] = "madang/runs"
    value: RunsValue


class OutageValue(Document):
    reason: str
    """Why the database does not answer, in the reader's language; empty: it does again."""


class OutageChanged(CustomEvent):
    """Whether runs of this process wait for a database that does not answer: no event can be stored meanwhile."""

    name: Literal["madang/outage"] = "madang/outage"
    value: OutageValue


ResyncReason = Literal["slow", "stopping", "gap", "beyond"]
"""Why a stream ends. `gap`, `beyond`: the log is not the one that the reader knows."""


class ResyncValue(Document):
    reason: ResyncReason


class Resync(CustomEvent):
    """The last event of a stream that ends."""

    name: Literal["madang/resync"] = "madang/resync"
    value: ResyncValue


LiveEvent = (
    StateSnapshot | StateDelta | InboxChanged | PausesChanged | SessionsChanged | RunsChanged | OutageChanged | Resync
)


class StreamEvent(RootModel[RunEvent | LiveEvent]):
    """Whatever is on a stream."""
