"""Pauses of a session that is deleted, copied, exported or imported. In a copy none is open: nobody there has asked."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.pauses import SettledBy, status_at
from madang.core.results import PauseKind
from madang.database.port import Transaction
from madang.records.declarations import (
    JSON,
    OR_NULL,
    Fields,
    Id,
    Left,
    Reference,
    Saved,
    Session,
    SessionTable,
    User,
)
from madang.records.declared_sessions import delete_rows
from madang.records.pause_rows import pause_topic
from madang.system.clock import Timestamp, timestamp


class SavedPause(Document):
    """A pause as it leaves: settled, and without who asked, which is a run or a connection of its own place."""

    id: str
    kind: PauseKind
    tool: str
    title: str
    assistant_id: str
    opened_at: Timestamp
    expires_at: Timestamp
    status: Literal["answered", "cancelled", "expired", "withdrawn", "superseded"]
    settled_at: Timestamp
    settled_by: SettledBy
    settled_with: dict[str, Any] = Field(default_factory=dict)


def pause_table(service: str) -> SessionTable[SavedPause]:
    """Return the table of pauses, of which a service has its own."""
    return SessionTable(
        "pause",
        SavedPause,
        {
            "user_id": User(),
            "id": Id(),
            "session_id": Session(),
            "assistant_id": Saved(),
            "kind": Saved(),
            "service": Left(service),
            "tool": Saved(),
            "title": Saved(),
            "asker": Left(),
            "run_id": Left(),
            "call_id": Left(),
            "operation_id": Left(),
            "opened_at": Saved(),
            "expires_at": Saved(form=OR_NULL),
            "status": Saved(),
            # Never NULL, whatever an archive says: that would open it.
            "settled_at": Saved(),
            "settled_by": Saved(),
            "settled_with": Reference(form=JSON),
            "awaited": Left(0),
        },
        order="id",
        condition=f"service = '{service}'" if service else "",
        topic=lambda call, _: pause_topic(call.user_id, call.session),
        leaving=_settled,
    )


def _settled(pause: Fields) -> Fields:
    """Return a pause as it is now; one that is open is withdrawn at this moment."""
    now = timestamp()
    status = status_at(now, pause["status"], pause["expires_at"])
    if status == "open":
        return pause | {"status": "withdrawn", "settled_at": now}
    settled_at = pause["settled_at"] if status == pause["status"] else pause["expires_at"]
    return pause | {"status": status, "settled_at": settled_at or ""}


ALL_PAUSES = pause_table("")


async def delete_pauses(tx: Transaction, call: Call) -> None:
    """Delete all pauses of the call's session, with what hangs on them."""
    await delete_rows(tx, call, ALL_PAUSES)
