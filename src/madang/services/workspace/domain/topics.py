"""Topics of the workspace: under which names its changes are published."""

from __future__ import annotations

from madang.core.calls import Call
from madang.storage.subscriptions import topic


def files_topic(call: Call) -> str:
    """Return the topic of a session's files."""
    return topic("workspace", call.user_id, call.session)


def exports_topic(call: Call, *id: str) -> str:
    """Return the topic of a session's exports, or of one of them."""
    return topic("exports", call.user_id, call.session, *id)
