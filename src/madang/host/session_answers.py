"""Sessions as lists show them, with what runs and what is asked there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from madang.core.calls import Call
from madang.core.pauses import PauseRecord
from madang.database.port import Database
from madang.host.wire import RunAnswer, SessionAnswer
from madang.records.overview import read_overview
from madang.records.runs.records import Run
from madang.records.session_rows import SessionRecord


async def read_session_answers(
    database: Database, call: Call, sessions: Sequence[SessionRecord]
) -> list[SessionAnswer]:
    """Return sessions of the call's user as lists show them."""
    rows = await read_overview(database, call.user_id, ())
    return session_answers(sessions, rows.runs, rows.pauses)


def session_answers(
    sessions: Iterable[SessionRecord], runs: Iterable[Run], pauses: Iterable[PauseRecord]
) -> list[SessionAnswer]:
    """Return sessions as lists show them, with what runs and what is asked there."""
    by_session = {run.session_id: run for run in runs}
    counts = Counter(pause.session_id for pause in pauses if not pause.is_turn)
    return [_session(one, by_session.get(one.id), counts[one.id]) for one in sessions]


def _session(session: SessionRecord, run: Run | None, open_pauses: int) -> SessionAnswer:
    return SessionAnswer(
        id=session.id,
        title=session.title,
        assistant_id=session.assistant_id,
        locale=session.locale,
        parent_id=session.parent_id,
        created_at=session.created_at,
        last_at=session.last_at,
        last_seq=session.last_seq,
        is_pinned=session.is_pinned,
        is_archived=session.is_archived,
        run=RunAnswer(id=run.id, state=run.state) if run is not None else None,
        open_pauses=open_pauses,
        client=session.client,
    )
