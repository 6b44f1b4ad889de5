"""What has changed in the list of sessions, read once for all tabs: one that is told the rows asks for none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from urllib.parse import unquote

from madang.core.ids import AssistantId, SessionId
from madang.host.parts import HostParts
from madang.host.sessions import session_answers
from madang.host.wire_events import SessionsValue
from madang.storage.pauses import pause_topic
from madang.storage.subscriptions import topic

MAX_TOLD_SESSIONS = 20
"""More than that at once are not told: the list is read anew."""


class SessionNews:
    """The sessions of the host's user, as their rows, runs and questions change in any process."""

    def __init__(self, parts: HostParts) -> None:
        self._parts = parts

    def changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set once watching has begun, then the topics of what changed."""
        user_id = self._parts.call.user_id
        return self._parts.database.changes(topic("session", user_id), topic("run", user_id), pause_topic(user_id))

    async def read(self, topics: Iterable[str]) -> SessionsValue:
        """Return the sessions that topics are of, as they are now. None is where watching began: nobody knows since."""
        ids = {_session_of(one) for one in topics}
        if not ids or "" in ids or len(ids) > MAX_TOLD_SESSIONS:
            return SessionsValue(sessions=[], gone=[], is_incomplete=True)
        records = await self._parts.sessions.find(self._parts.call.user_id, sorted(ids))
        return SessionsValue(
            sessions=await session_answers(self._parts, self._parts.call.user_id, records),
            gone=sorted(ids - {record.id for record in records}),
            is_incomplete=False,
        )

    async def find_assistants(self, ids: Iterable[SessionId]) -> dict[SessionId, AssistantId | None]:
        """Return whose each of some sessions is now."""
        records = await self._parts.sessions.find(self._parts.call.user_id, list(ids))
        return {record.id: self._parts.in_session(self._parts.call, record).assistant_id for record in records}


def _session_of(topic: str) -> str:
    """Return the session that a topic is of; empty for one that is of all of them."""
    parts = topic.split("/")
    return unquote(parts[2]) if len(parts) > 2 else ""
