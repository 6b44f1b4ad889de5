"""Rows of pauses: their table, what is read of one, and in SQL whether it is open or has expired."""

from __future__ import annotations

import json

from madang.core.ids import UserId
from madang.core.pauses import PauseRecord, status_at
from madang.database.port import MigrationSet, Row, private_rows
from madang.database.subscriptions import topic


def _table(time: str) -> str:
    return f"""
        CREATE TABLE pause (
          user_id TEXT NOT NULL, id TEXT NOT NULL,
          session_id TEXT NOT NULL, assistant_id TEXT NOT NULL,
          kind TEXT NOT NULL, service TEXT NOT NULL, tool TEXT NOT NULL, title TEXT NOT NULL,
          asker TEXT NOT NULL, run_id TEXT NOT NULL, call_id TEXT NOT NULL, operation_id TEXT NOT NULL,
          opened_at {time} NOT NULL, expires_at {time},
          status TEXT NOT NULL, settled_at {time}, settled_by TEXT NOT NULL, settled_with TEXT NOT NULL,
          awaited INTEGER NOT NULL,
          PRIMARY KEY (user_id, id)
        );
        CREATE INDEX pause_inbox ON pause (user_id, id) WHERE settled_at IS NULL;
        CREATE INDEX pause_by_session ON pause (user_id, session_id, settled_at, id);
        CREATE UNIQUE INDEX pause_by_operation ON pause (user_id, session_id, operation_id) WHERE operation_id <> '';
        CREATE INDEX pause_by_run ON pause (user_id, run_id, id) WHERE run_id <> '';
        CREATE INDEX pause_by_age ON pause (user_id, settled_at, expires_at);
        """


PAUSE_MIGRATIONS = MigrationSet(
    "pauses",
    sqlite=(_table("TEXT"),),
    postgresql=(
        _table("TIMESTAMPTZ")
        + "ALTER TABLE pause SET (autovacuum_vacuum_scale_factor = 0.02);"
        + private_rows("pause"),
    ),
)

PAUSE_COLUMNS = (
    "pause.id, pause.kind, pause.service, pause.tool, pause.title, pause.session_id, pause.assistant_id, pause.asker, "
    "pause.opened_at, pause.expires_at, pause.run_id, pause.call_id, pause.status, pause.settled_at, pause.settled_by, "
    "pause.settled_with"
)
"""What `parse_pause` reads; a store that joins `pause` selects these first."""
PAUSE_COLUMN_COUNT = 16


def is_open(now: str, pause: str = "pause") -> str:
    """Return the condition that a pause is open at `now`, a parameter."""
    return f"{pause}.settled_at IS NULL AND ({pause}.expires_at IS NULL OR {pause}.expires_at > {now})"


def has_expired(now: str, pause: str = "pause") -> str:
    """Return the condition that a pause has expired at `now`, a parameter, and that this is not written."""
    return f"{pause}.settled_at IS NULL AND {pause}.expires_at <= {now}"


def pause_topic(user_id: UserId, *ids: str) -> str:
    """Return the topic of one pause (its session and its id), or of all of a session's."""
    return topic("pause", user_id, *ids)


def parse_pause(row: Row, now: str) -> PauseRecord:
    """Return the pause of a row of `PAUSE_COLUMNS`, as it is at `now`."""
    id, kind, service, tool, title, session_id, assistant_id, asker, opened_at, expires_at, *rest = row
    run_id, call_id, status, settled_at, by, arguments = rest
    written, status = status, status_at(now, status, expires_at)
    if status != written:
        settled_at = expires_at
    return PauseRecord(
        id=id,
        kind=kind,
        service=service,
        tool=tool,
        title=title,
        session_id=session_id,
        assistant_id=assistant_id,
        asker=asker,
        opened_at=opened_at,
        expires_at=expires_at or "",
        run_id=run_id,
        call_id=call_id,
        status=status,
        settled_at=settled_at or "",
        settled_by=by,
        settled_with=json.loads(arguments),
    )
