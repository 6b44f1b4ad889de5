"""Pauses of a session that is deleted, copied, exported or imported. In a copy none is open: nobody there has asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.pauses import PauseRecord, SettledBy
from madang.core.results import PauseKind
from madang.database.port import Transaction
from madang.records.pause_rows import PAUSE_COLUMNS, parse_pause, pause_topic
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


def saved_fields(pause: PauseRecord) -> dict[str, Any]:
    """Return the fields of a `SavedPause`. One that is open is withdrawn at this moment."""
    is_open = pause.status == "open"
    return {
        "id": pause.id,
        "kind": pause.kind,
        "tool": pause.tool,
        "title": pause.title,
        "assistant_id": pause.assistant_id,
        "opened_at": pause.opened_at,
        "expires_at": pause.expires_at,
        "status": "withdrawn" if is_open else pause.status,
        "settled_at": timestamp() if is_open else pause.settled_at,
        "settled_by": pause.settled_by,
        "settled_with": dict(pause.settled_with),
    }


async def read_pauses(tx: Transaction, call: Call, service: str) -> list[SavedPause]:
    """Return the pauses of a service in the call's session, oldest first."""
    rows = await tx.all(
        f"SELECT {PAUSE_COLUMNS} FROM pause WHERE user_id = ?1 AND session_id = ?2 AND service = ?3 ORDER BY id",
        call.user_id,
        call.session,
        service,
    )
    now = timestamp()
    return [SavedPause(**saved_fields(parse_pause(row, now))) for row in rows]


async def restore_pauses(
    tx: Transaction, call: Call, service: str, pauses: Sequence[SavedPause], ids: Mapping[str, str]
) -> None:
    """Write pauses into the call's session. `ids` has the new id of each, and of what their answers name."""
    await tx.run_many(
        "INSERT INTO pause (user_id, id, session_id, assistant_id, kind, service, tool, title, asker, run_id, call_id, "
        "operation_id, opened_at, expires_at, status, settled_at, settled_by, settled_with, awaited) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', '', '', '', ?9, ?10, ?11, ?12, ?13, ?14, 0)",
        [
            (
                call.user_id,
                ids[pause.id],
                call.session,
                pause.assistant_id,
                pause.kind,
                service,
                pause.tool,
                pause.title,
                pause.opened_at,
                pause.expires_at or None,
                pause.status,
                pause.settled_at,
                pause.settled_by,
                json.dumps(_with_new_ids(pause.settled_with, ids), ensure_ascii=False),
            )
            for pause in pauses
        ],
    )
    await tx.notify(pause_topic(call.user_id, call.session))


async def delete_pauses(tx: Transaction, call: Call, service: str = "") -> None:
    """Delete the pauses of the call's session, those of one service or all, with what hangs on them."""
    condition = "" if not service else " AND service = ?3"
    count = await tx.run(
        f"DELETE FROM pause WHERE user_id = ?1 AND session_id = ?2{condition}",
        call.user_id,
        call.session,
        *([service] if service else []),
    )
    if count:
        await tx.notify(pause_topic(call.user_id, call.session))


def _with_new_ids(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return ids.get(value, value)
    if isinstance(value, dict):
        return {key: _with_new_ids(inner, ids) for key, inner in value.items()}
    return [_with_new_ids(inner, ids) for inner in value] if isinstance(value, list) else value
