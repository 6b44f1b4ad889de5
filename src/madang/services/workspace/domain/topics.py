"""Topics of the workspace: under which names its changes are published."""

from __future__ import annotations

from madang.core.calls import Call
from madang.database.subscriptions import parse_topic, topic

MAX_PATHS_TOPIC_BYTES = 2_000
"""Bytes of a topic with paths. A notice of PostgreSQL carries 8,000, and most paths are short."""


def files_topic(call: Call, *paths: str) -> str:
    """Return the topic of a session's files; with the paths that changed, unless they are very long."""
    session = topic("workspace", call.user_id, call.session)
    named = topic("workspace", call.user_id, call.session, *paths)
    return named if len(named) <= MAX_PATHS_TOPIC_BYTES else session


def changed_paths(call: Call, changed: str) -> tuple[str, ...] | None:
    """Return the paths that a notice names; none if it names none, None if it is not about this session's files."""
    if not changed.startswith(files_topic(call)):
        return None
    return tuple(path for path in parse_topic(changed)[3:] if path)


def exports_topic(call: Call, *id: str) -> str:
    """Return the topic of a session's exports, or of one of them."""
    return topic("exports", call.user_id, call.session, *id)
