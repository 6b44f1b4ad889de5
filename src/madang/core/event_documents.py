"""What all events have in common as documents, whether they are AG-UI's, our own, or live on a stream alone."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import ConfigDict, Field

from madang.core.documents import Document
from madang.core.pauses import PauseStatus, SettledBy
from madang.core.results import PauseKind

T = TypeVar("T")

Omittable = Annotated[T | None, Field(exclude_if=lambda value: value is None)]
"""A field that is left out where there is none of it: it is never null on the wire."""


class EventPart(Document):
    """A document in an event, or an event itself."""

    model_config = ConfigDict(extra="ignore")  # of a newer build


class EventDocument(EventPart):
    """What every event has, and `type` and maybe `name` beside it, by which it is told from the others."""

    seq: Omittable[int] = None
    """Its number in the session's log; what is live has none."""
    at: Omittable[str] = None

    def payload(self) -> dict[str, Any]:
        """Return what is stored of it beside its kind; its number and its time are the log's."""
        return self.model_dump(exclude={"type", "seq", "at"})


class ViewReference(EventPart):
    id: str
    uri: str


class CallPause(EventPart):
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
