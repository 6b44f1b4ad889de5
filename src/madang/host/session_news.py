"""What has changed in the list of sessions, as rows: a tab that is told them asks for none. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from madang.database.subscriptions import parse_topic
from madang.host.session_answers import session_answers
from madang.host.wire_events import SessionsValue
from madang.records.overview import Overview

MAX_TOLD_SESSIONS = 20
"""More than that at once are not told: the list is read anew."""


def changed_sessions(topics: Iterable[str]) -> set[str] | None:
    """Return the sessions that topics are of; None if they are too many, or nobody knows which have changed."""
    ids = {_session_of(one) for one in topics}
    return None if not ids or "" in ids or len(ids) > MAX_TOLD_SESSIONS else ids


def session_news(ids: set[str] | None, rows: Overview) -> SessionsValue:
    """Return what readers are told of changed sessions, as they are now."""
    if ids is None:
        return SessionsValue(sessions=[], gone=[], is_incomplete=True)
    records = [record for id, record in sorted(rows.sessions.items()) if id in ids]
    return SessionsValue(
        sessions=session_answers(records, rows.runs, rows.pauses),
        gone=sorted(ids - rows.sessions.keys()),
        is_incomplete=False,
    )


def _session_of(topic: str) -> str:
    """Return the session that a topic is of; empty for one that is of all of them."""
    parts = parse_topic(topic)
    return parts[2] if len(parts) > 2 else ""
