"""Rows of sessions: what is read of one, and what it is. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from madang.core.calls import LOCALES, Locale
from madang.core.ids import AssistantId, SessionId
from madang.core.trust import Origin, parse_origins
from madang.database.port import Row

SessionState = Literal["ready", "filling", "deleting"]
"""`filling`: a copy or an import is under way, or was when its process died; `deleting` likewise."""

SESSION_COLUMNS = (
    "id, assistant_id, title, locale, parent_id, parent_seq, tainted, last_seq, created_at, last_at, state, archived, "
    "pinned, client, origins"
)
SESSION_BY_ID = f"SELECT {SESSION_COLUMNS} FROM session WHERE user_id = ?1 AND id = ?2"


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One session. `assistant_id` is the assistant that used it first; empty if a call without one did."""

    id: SessionId
    assistant_id: AssistantId
    title: str
    locale: Locale | None
    """The language that the person chose for it, if they did."""
    parent_id: SessionId
    """The session that it is a copy or a fork of, else empty. A fork shows its parent's events up to `parent_seq`, and
    its own are numbered after them; a copy has its own events, and 0 there."""
    parent_seq: int
    is_tainted: bool
    """Whether something that cannot be trusted was read in it."""
    last_seq: int
    """The number of its last event."""
    created_at: str
    last_at: str
    state: SessionState = "ready"
    is_archived: bool = False
    """Left out of lists until it is used or taken back."""
    is_pinned: bool = False
    """Stands before the others in a list."""
    client: str = ""
    """What the program calls itself that used it first; empty if that was none, or has no name."""
    origins: tuple[Origin, ...] = ()
    """Where the last untrusted words came from that its model was shown, newest first."""


def sessions_by_id(count: int) -> str:
    """Return the statement that reads so many sessions by their ids, newest first."""
    marks = ", ".join(f"?{number}" for number in range(2, count + 2))
    return (
        f"SELECT {SESSION_COLUMNS} FROM session WHERE user_id = ?1 AND state <> 'filling' AND id IN ({marks}) "
        "ORDER BY last_at DESC, id DESC"
    )


def parse_session(row: Row) -> SessionRecord:
    """Return the session of a row of `SESSION_COLUMNS`."""
    id, assistant_id, title, locale, parent_id, parent_seq, tainted, *rest = row
    last_seq, created_at, last_at, state, archived, pinned, client, origins = rest
    return SessionRecord(
        id,
        assistant_id,
        title,
        locale if locale in LOCALES else None,
        parent_id,
        parent_seq,
        bool(tainted),
        last_seq,
        created_at,
        last_at,
        state,
        bool(archived),
        bool(pinned),
        client,
        parse_origins(origins),
    )
