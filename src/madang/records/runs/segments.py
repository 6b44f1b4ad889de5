"""Where the messages and events are that a session shows: its own, and those of the sessions that it is a fork of."""

from __future__ import annotations

from dataclasses import dataclass

from madang.core.ids import SessionId, UserId
from madang.database.port import Transaction

MAX_FORKS = 32
"""How many sessions a history is read through, from fork to parent."""
END_SEQ = (1 << 62) - 1

_BY_ID = "SELECT no, parent_id, parent_seq FROM session WHERE user_id = ?1 AND id = ?2"


@dataclass(frozen=True, slots=True)
class Segment:
    """The messages of one session, up to a number, that a session shows: its own, or those of what it is a fork of."""

    session_no: int
    up_to: int


async def find_segments(tx: Transaction, user_id: UserId, session_id: SessionId) -> list[Segment]:
    """Return where the messages that a session shows are, newest first."""
    segments: list[Segment] = []
    id, up_to = str(session_id), END_SEQ
    while id and len(segments) < MAX_FORKS:
        row = await tx.one(_BY_ID, user_id, id)
        if row is None:
            break
        session_no, parent_id, parent_seq = row
        segments.append(Segment(session_no, up_to))
        id, up_to = (parent_id, min(parent_seq, up_to)) if parent_seq else ("", 0)
    return segments
