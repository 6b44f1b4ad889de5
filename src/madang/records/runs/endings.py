"""How runs ended and which model took over, for whoever draws a session: no message tells of either."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from madang.core.calls import Call
from madang.database.port import Database, Transaction
from madang.records.runs.records import RunState
from madang.records.runs.segments import find_segments

_ENDINGS = """
SELECT end_seq, state, error_code, error, updated_at FROM run
WHERE user_id = ?1 AND session_no = ?2 AND end_seq > 0 AND end_seq >= ?3 AND end_seq <= ?4
AND state IN ('failed', 'cancelled') ORDER BY end_seq
"""
# From the log, which is all that tells of it: gone with the events of that time, as everything else in it.
_SWITCHES = """
SELECT seq, payload, at FROM event WHERE user_id = ?1 AND session_no = ?2 AND seq >= ?3 AND seq <= ?4
AND kind = 'CUSTOM' AND payload LIKE '%"madang/model"%' ORDER BY seq
"""
MAX_EVENTS_SEARCHED = 5000
"""Before the end of a page: few messages may have many events between them."""
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
class ModelSwitch:
    """Another model took over, and the number of the event that told of it."""

    seq: int
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
    switches: tuple[ModelSwitch, ...]


async def read_session_runs(database: Database, call: Call, from_seq: int, up_to_seq: int) -> SessionRuns:
    """Return the last run of the call's session, and from a number up to another, forks too, which runs ended badly and
    where another model took over."""

    async def work(tx: Transaction) -> SessionRuns:
        endings: list[RunEnding] = []
        switches: list[ModelSwitch] = []
        segments = await find_segments(tx, call.user_id, call.session)
        for segment in reversed(segments):
            end = min(segment.up_to, up_to_seq)
            rows = await tx.all(_ENDINGS, call.user_id, segment.session_no, from_seq, end)
            endings += (RunEnding(*row) for row in rows)
            start = max(from_seq, end - MAX_EVENTS_SEARCHED)
            rows = await tx.all(_SWITCHES, call.user_id, segment.session_no, start, end)
            switches += (switch for row in rows if (switch := _switch(*row)) is not None)
        last = await tx.one(_LAST, call.user_id, segments[0].session_no) if segments else None
        return SessionRuns(LastRun(*last) if last is not None else None, tuple(endings), tuple(switches))

    return await database.read(work, user_id=call.user_id, brief=True)


def _switch(seq: int, payload: str, at: str) -> ModelSwitch | None:
    event = json.loads(payload)
    return ModelSwitch(seq, str(event["value"]["text"]), at) if event.get("name") == "madang/model" else None
