"""Which session the person last worked in with an agent, and where a session's last run had its files."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.ids import SessionId, UserId
from madang.database.port import Database

MAX_RUNS_COMPARED = 200
"""By their last step: a run that was begun long before others may be the last that went on."""

_LATEST = f"""
SELECT session.id AS id FROM (
  SELECT session_no, updated_at, no FROM run WHERE user_id = ?1 ORDER BY no DESC LIMIT {MAX_RUNS_COMPARED}
) AS latest JOIN session ON session.user_id = ?1 AND session.no = latest.session_no
ORDER BY latest.updated_at DESC, latest.no DESC LIMIT 1
"""


async def find_latest_session(database: Database, user_id: UserId) -> SessionId | None:
    """Return the user's session whose run went on last; None if there was never a run. The tables must be there."""
    rows = await database.find(_LATEST, user_id, user_id=user_id)
    return rows[0][0] if rows else None


_PLACE = """
SELECT run.place AS place FROM run JOIN session ON session.user_id = run.user_id AND session.no = run.session_no
WHERE run.user_id = ?1 AND session.id = ?2 ORDER BY run.no DESC LIMIT 1
"""


async def find_place(database: Database, call: Call) -> str:
    """Return where the last run of the call's session had its files (`files.place`); empty if it had none, or that is
    one place for all. The tables must be there."""
    rows = await database.find(_PLACE, call.user_id, call.session, user_id=call.user_id)
    return str(rows[0][0]) if rows else ""
