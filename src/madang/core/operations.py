"""An effect of ours that can be taken back: what changed, and until when."""

from __future__ import annotations

from dataclasses import dataclass

from madang.core.ids import SessionId, UserId


@dataclass(frozen=True, slots=True)
class Operation:
    """One effect of a call, written in the effect's own transaction."""

    id: str
    """That of the call if it has one, so that a call that is repeated finds that it was done."""
    user_id: UserId
    session_id: SessionId
    service: str
    run_id: str
    call_id: str
    change: str
    """What changed, as JSON of the service's own document: by it the service takes the change back."""
    made_at: str
    undo_until: str
    undone_at: str = ""
    """When it was taken back; empty if it was not."""
