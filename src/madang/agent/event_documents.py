"""A stored event as the JSON object that leaves the process: the same for a browser and for a pipe. Pure."""

from __future__ import annotations

from typing import Any

from madang.storage.events import Event


def event_document(event: Event) -> dict[str, Any]:
    """Return an event of AG-UI, with its number in the session's log and its time."""
    return {"type": event.kind, "seq": event.seq, "at": event.at, **event.payload}
