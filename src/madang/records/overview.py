"""What a person's screens show beside a session: runs that are not over, what waits for the person, and sessions.

One unit for all of it: whoever watches these rows is told of the same moment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from madang.core.ids import SessionId, UserId
from madang.core.pauses import PauseRecord
from madang.database.port import Database, Transaction
from madang.records.pauses import find_open_pauses
from madang.records.runs.records import SELECT_RUN, Run, parse_run
from madang.records.session_rows import SessionRecord
from madang.records.sessions import find_sessions

MAX_OPEN_PAUSES = 500


@dataclass(frozen=True, slots=True)
class Overview:
    """The rows of one moment."""

    runs: Sequence[Run]
    """Those that are not over, oldest first."""
    pauses: Sequence[PauseRecord]
    """What is open, newest first; up to 500."""
    sessions: Mapping[SessionId, SessionRecord]
    """Those that were asked for, and those of the runs and the pauses."""


async def read_overview(database: Database, user_id: UserId, session_ids: Collection[str]) -> Overview:
    """Return the rows of a user, with these sessions among them."""

    async def work(tx: Transaction) -> Overview:
        sql = f"{SELECT_RUN} WHERE run.user_id = ?1 AND run.state IN ('running', 'waiting') ORDER BY run.no"
        runs = [parse_run(row) for row in await tx.all(sql, user_id)]
        pauses = await find_open_pauses(tx, user_id, MAX_OPEN_PAUSES)
        ids = {*session_ids, *(run.session_id for run in runs), *(pause.session_id for pause in pauses)}
        sessions = await find_sessions(tx, user_id, sorted(ids))
        return Overview(runs, pauses, {session.id: session for session in sessions})

    return await database.read(work, user_id=user_id, brief=True)
