"""Calls of other programs, read from the audit trail: which clients there were, and what each called in a session."""

from __future__ import annotations

from dataclasses import dataclass

from madang.core.ids import SessionId, UserId
from madang.core.texts import visible_name
from madang.database.port import Database
from madang.records.audit import AuditLog

SEEN_DAYS = 30
"""For how long a client is told that came."""
MAX_CLIENT_SESSIONS = 1000
MAX_CALLS = 200

_FOREIGN = "user_id = ?1 AND at >= ?2 AND actor = 'foreign'"


@dataclass(frozen=True, slots=True)
class ClientSession:
    """What one client did in one session."""

    client: str
    """What it calls itself, which proves nothing; empty if it does not."""
    door: str
    session_id: str
    """Empty if the session is deleted."""
    calls: int
    first_at: str
    last_at: str


@dataclass(frozen=True, slots=True)
class ClientCall:
    """One call of a client."""

    seq: int
    at: str
    client: str
    door: str
    tool: str
    effect: str
    arguments: str
    """As JSON, shortened."""
    outcome: str
    took_ms: float


class ClientCalls:
    """Reads the rows of calls whose actor is foreign."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    async def list_sessions(self, user_id: UserId, since: str) -> list[ClientSession]:
        """Return what clients did since a moment, by client and session, the latest first."""
        await self._audit.flush()
        rows = await self._database.find(
            "SELECT client, door, coalesce(session_id, '') AS session, count(*) AS calls, min(at) AS first_at, "
            f"max(at) AS last_at FROM audit WHERE {_FOREIGN} GROUP BY client, door, coalesce(session_id, '') "
            "ORDER BY last_at DESC LIMIT ?3",
            user_id,
            since,
            MAX_CLIENT_SESSIONS,
            user_id=user_id,
        )
        return [ClientSession(*row) for row in rows]

    async def list_calls(self, user_id: UserId, session_id: SessionId, since: str, before: int = 0) -> list[ClientCall]:
        """Return the calls of clients in a session, the latest first, before one of an earlier page."""
        await self._audit.flush()
        rows = await self._database.find(
            "SELECT seq, at, client, door, tool, effect, arguments, outcome, took_ms FROM audit "
            f"WHERE {_FOREIGN} AND session_id = ?3 AND (?4 = 0 OR seq < ?4) ORDER BY seq DESC LIMIT ?5",
            user_id,
            since,
            visible_name(session_id),
            before,
            MAX_CALLS,
            user_id=user_id,
        )
        return [ClientCall(*row) for row in rows]
