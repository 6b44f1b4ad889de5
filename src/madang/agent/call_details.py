"""What the person is shown of a call beside its text: the same in the event that tells of it and in its row. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from madang.agent import events
from madang.core.calls import Call
from madang.core.event_documents import ViewReference
from madang.core.pauses import PauseRecord
from madang.core.results import Reply, page_uri
from madang.records.views import find_view_id

MAX_DATA_BYTES = 32 * 1024
"""Of the structured half of a result, which is kept twice. Of a larger one, how large it was is said instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDetails:
    """What is kept of a call for whoever draws it."""

    took_ms: int | None = None
    """None: it was not made, or the person took their time."""
    data: Mapping[str, Any] | None = None
    data_left_out: int = 0
    images: int = 0
    view_id: str = ""
    view_uri: str = ""
    pause: PauseRecord | None = None

    def metadata(self) -> events.CallMetadata:
        """Return what the event of the call says of it; what there is none of is left out."""
        metadata: events.CallMetadata = {}
        if self.took_ms is not None:
            metadata["took_ms"] = self.took_ms
        if self.data is not None:
            metadata["data"] = dict(self.data)
        if self.data_left_out:
            metadata["data_left_out"] = self.data_left_out
        if self.images:
            metadata["images"] = self.images
        if self.view_id:
            metadata["view"] = ViewReference(id=self.view_id, uri=self.view_uri)
        if self.pause is not None:
            metadata["pause"] = events.pause_document(self.pause)
        return metadata


NO_DETAILS = CallDetails()


def reply_details(
    call: Call,
    arguments: Mapping[str, Any],
    reply: Reply,
    took_ms: int | None = None,
    pause: PauseRecord | None = None,
) -> CallDetails:
    """Return what is shown of a call that has a reply."""
    data, left_out = _bounded(reply.data)
    view_id = find_view_id(call, arguments, reply)
    return CallDetails(
        took_ms=took_ms,
        data=data,
        data_left_out=left_out,
        images=len(reply.images),
        view_id=view_id,
        view_uri=page_uri(reply.page.name) if view_id and reply.page else "",
        pause=pause,
    )


def _bounded(data: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, int]:
    try:
        size = len(json.dumps(data, allow_nan=False))
    except ValueError:  # not a number: no browser could read it
        return None, len(json.dumps(data))
    return (data, 0) if size <= MAX_DATA_BYTES else (None, size)
