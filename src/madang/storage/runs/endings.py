"""How runs ended, for whoever draws a session: beside its messages, because no message tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from madang.core.calls import Call
from madang.storage.database import Database, Transaction
from madang.storage.runs.records import RunState
from madang.storage.runs.segments import find_segments

_ENDINGS = """
SELECT end_seq, state, error_code, error, updated_at FROM run
WHERE user_id = ?1 AND session_no = ?2 AND end_seq > 0 AND end_seq >= ?3 AND end_seq <= ?4
AND state IN ('failed', 'cancelled') ORDER BY end_seq
"""
# By its place in the log: what a fork got of a parent that was deleted is older than its own runs, and numbered later.
_LAST = """
SELECT id, state FROM run WHERE user_id = ?1 AND session_no = ?2
ORDER BY state IN ('running', 'waiting') DESC, CASE WHEN end_seq > 0 THEN end_seq ELSE coalesce((
  SELECT max(m.seq) FROM message m WHERE m.user_id = run.user_id AND m.session_no = run.session_no AND m.run_no = run.no
), 0) END DESC, no DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class RunEnding:
    """The end of a run that did not go well, and the number of the event that told of it."""

    seq: int
    state: Literal["failed", "cancelled"]
    code: str
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class LastRun:
    """The run that a session had last."""

    id: str
    state: RunState


@dataclass(frozen=True, slots=True)
class SessionRuns:
    """What a page of messages is drawn with beside them."""

    last: LastRun | None
    endings: tuple[RunEnding, ...]


async def read_session_runs(database: Database, call: Call, from_seq: int, up_to_seq: int) -> SessionRuns:
    """Return the last run of the call's session, and which runs ended badly from a number up to another, forks too."""

    async def work(tx: Transaction) -> SessionRuns:
        endings: list[RunEnding] = []
        segments = await find_segments(tx, call.user_id, call.session)
        for segment in reversed(segments):
            end = min(segment.up_to, up_to_seq)
            rows = await tx.all(_ENDINGS, call.user_id, segment.session_no, from_seq, end)
            endings += (RunEnding(*row) for row in rows)
        last = await tx.one(_LAST, call.user_id, segments[0].session_no) if segments else None
        return SessionRuns(LastRun(*last) if last is not None else None, tuple(endings))

    return await database.read(work, user_id=call.user_id, brief=True)
