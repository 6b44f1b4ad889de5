"""The statements of which the units of runs are made."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from madang.core.calls import Call
from madang.core.ids import UserId
from madang.core.pauses import PauseRecord
from madang.database.port import Dialect, Transaction
from madang.records.events import NewEvent, append_events
from madang.records.pause_rows import PAUSE_COLUMNS, parse_pause
from madang.records.pauses import withdraw_run, withdraw_steps
from madang.records.runs.journal import Step, end_calls
from madang.records.runs.records import SELECT_RUN, Candidate, LostRun, Run, RunState, parse_run
from madang.records.runs.step_writing import write_rows
from madang.records.sessions import session_topic, taint_session
from madang.system.clock import timestamp

_PAUSES = f"SELECT {PAUSE_COLUMNS} FROM pause WHERE user_id = ?1 AND run_id = ?2 AND run_id <> ''"


_LATE = (
    "SELECT {columns} FROM run_call c JOIN pause ON pause.user_id = c.user_id AND pause.id = c.pause_id "
    "WHERE c.user_id = ?1 AND c.run_no = ?2 AND c.pause_id <> '' AND c.outcome = 'unanswered' "
    "AND pause.status IN ('answered', 'cancelled')"
)
_QUEUED_ANSWERS = (
    "SELECT {columns} FROM queued_message q "
    "JOIN run r ON r.user_id = q.user_id AND r.session_no = q.session_no AND r.no = ?2 "
    "JOIN pause ON pause.user_id = q.user_id AND pause.id = q.id "
    "WHERE q.user_id = ?1 AND q.kind IN ('answer', 'kept_answer')"
)
_QUEUE_LATE = (
    "INSERT INTO queued_message (user_id, session_no, id, kind, parts, tokens) "
    "SELECT r.user_id, r.session_no, late.id, ?3, '[]', 0 FROM run r "
    f"JOIN ({_LATE.format(columns='pause.id')}) AS late ON 1 = 1 WHERE r.user_id = ?1 AND r.no = ?2"
)

FIND_IN_SESSION = """
SELECT live.user_id, live.run_no, live.owner, 0 AS session_no, live.place FROM session
JOIN run ON run.user_id = session.user_id AND run.session_no = session.no AND run.state IN ('running', 'waiting')
JOIN run_live live ON live.user_id = run.user_id AND live.run_no = run.no
WHERE session.user_id = ?1 AND session.id = ?2
AND (live.owner <> '' OR live.nudged = 1 OR (live.wake_at IS NOT NULL AND live.wake_at <= ?3))
UNION ALL
SELECT q.user_id, 0, '', q.session_no, '' FROM session
JOIN queued_message q ON q.user_id = session.user_id AND q.session_no = session.no AND q.kind = 'answer'
WHERE session.user_id = ?1 AND session.id = ?2
"""


# One step for each owner, however many runs it has: DISTINCT would read them all.
FIND_OWNERS = """
WITH RECURSIVE owners (owner) AS (
  SELECT min(owner) FROM run_live WHERE user_id = ?1 AND owner <> ''
  UNION ALL
  SELECT (SELECT min(owner) FROM run_live WHERE user_id = ?1 AND owner <> '' AND owner > owners.owner) FROM owners
  WHERE owners.owner IS NOT NULL
) SELECT owner FROM owners WHERE owner IS NOT NULL
"""
_FIND = "SELECT user_id, run_no, owner, 0 AS session_no, place FROM run_live WHERE user_id = ?1"
FIND_OWNED = f"{_FIND} AND owner <> '' AND owner IN ({{owners}})"
FIND_NUDGED = f"{_FIND} AND nudged = 1 AND owner = ''"
FIND_DUE = f"{_FIND} AND owner = '' AND wake_at IS NOT NULL AND wake_at <= ?2"
FIND_ANSWERED = (
    "SELECT q.user_id, 0 AS run_no, '' AS owner, q.session_no, coalesce((SELECT r.place FROM run r "
    "WHERE r.user_id = q.user_id AND r.session_no = q.session_no ORDER BY r.no DESC LIMIT 1), '') AS place "
    "FROM queued_message q "
    "WHERE q.user_id = ?1 AND q.kind = 'answer' AND NOT EXISTS (SELECT 1 FROM run r WHERE r.user_id = q.user_id "
    "AND r.session_no = q.session_no AND r.state IN ('running', 'waiting'))"
)
FIND_LAST_RUN = (
    "SELECT state, assistant_id, model FROM run WHERE user_id = ?1 AND session_no = ?2 "
    "ORDER BY state IN ('running', 'waiting') DESC, no DESC LIMIT 1"
)
LOOKS = (FIND_OWNED, FIND_NUDGED, FIND_DUE, FIND_ANSWERED)


async def compare_and_set(tx: Transaction, run: Run, step_id: str, changes: str, *values: object) -> bool:
    """Change the row of a run that this process still owns; False if this very step is written already.

    The values of `changes` are ?6 and on.

    Raises:
        LostRun: it does not own it any more. The unit must not be committed then.
    """
    count = await tx.run(
        f"UPDATE run SET {changes}, step = ?5, updated_at = ?4 "
        "WHERE user_id = ?1 AND no = ?2 AND epoch = ?3 AND state = 'running' AND step <> ?5",
        run.user_id,
        run.no,
        run.epoch,
        timestamp(),
        step_id,
        *values,
    )
    if count:
        return True
    written = await tx.one(
        "SELECT 1 FROM run WHERE user_id = ?1 AND no = ?2 AND epoch = ?3 AND step = ?4",
        run.user_id,
        run.no,
        run.epoch,
        step_id,
    )
    if written is None:
        raise LostRun(run.id)
    return False


async def set_live(
    tx: Transaction, run: Run, state: RunState, *, owner: str = "", wake_at: str | None = None, is_nudged: bool = False
) -> None:
    """Write what looks see of a run that is not over."""
    await tx.run(
        "UPDATE run_live SET state = ?3, owner = ?4, wake_at = ?5, nudged = ?6 WHERE user_id = ?1 AND run_no = ?2",
        run.user_id,
        run.no,
        state,
        owner,
        wake_at,
        int(is_nudged),
    )


async def set_place(tx: Transaction, run: Run, place: str) -> None:
    """Write where a run is best gone on with: its files are there."""
    await tx.run(
        "UPDATE run_live SET place = ?3 WHERE user_id = ?1 AND run_no = ?2 AND place <> ?3", run.user_id, run.no, place
    )


async def postpone(tx: Transaction, run: Run, wake_at: str | None) -> None:
    """Let a run that was looked at go on waiting: until it is nudged again, or until a moment."""
    await tx.run(
        "UPDATE run SET wake_at = ?4 WHERE user_id = ?1 AND no = ?2 AND epoch = ?3",
        run.user_id,
        run.no,
        run.epoch,
        wake_at,
    )
    await set_live(tx, run, "waiting", wake_at=wake_at)


async def clear(tx: Transaction, run: Run, *, is_stopped: bool = False) -> list[PauseRecord]:
    """Delete what only a run that is not over has, and queue what it was not told for the session's next run.

    Its questions stay open, unless the person stopped it. What was withdrawn is returned.
    """
    withdrawn = await (withdraw_run if is_stopped else withdraw_steps)(tx, run.user_id, run.id)
    await end_calls(tx, run)
    await tx.run(
        "UPDATE pause SET awaited = 0 WHERE user_id = ?1 AND run_id = ?2 AND run_id <> '' AND awaited = 1",
        run.user_id,
        run.id,
    )
    for table in ("run_live", "run_delta"):
        await tx.run(f"DELETE FROM {table} WHERE user_id = ?1 AND run_no = ?2", run.user_id, run.no)
    # Last: an answer that came first has nudged the row that is gone now, and one that comes after finds none.
    await tx.run(_QUEUE_LATE, run.user_id, run.no, "kept_answer" if is_stopped else "answer")
    return withdrawn


async def has_answers(tx: Transaction, candidate: Candidate) -> bool:
    """Tell whether the answers of a session that a look found still wait for a run, and it can have one."""
    row = await tx.one(
        "SELECT 1 FROM queued_message q JOIN session s ON s.user_id = q.user_id AND s.no = q.session_no "
        "WHERE q.user_id = ?1 AND q.session_no = ?2 AND q.kind = 'answer' AND s.state = 'ready' LIMIT 1",
        candidate.user_id,
        candidate.session_no,
    )
    return row is not None


async def keep_answers(tx: Transaction, user_id: UserId, session_no: int) -> None:
    """Let the answers of a session start no run any more: there is one now, whose model will be told."""
    await tx.run(
        "UPDATE queued_message SET kind = 'kept_answer' WHERE user_id = ?1 AND session_no = ?2 AND kind = 'answer'",
        user_id,
        session_no,
    )


async def write_step(tx: Transaction, dialect: Dialect, run: Run, step: Step, *, began: NewEvent | None = None) -> int:
    """Write the events of a step, after `began`, and what it adds and changes beside the run.

    The number of the last event is returned.
    """
    events = [*([began] if began else []), *step.events]
    last_seq = await append_events(tx, run.call(), events) if events else 0
    await write_rows(tx, dialect, run, step, last_seq - len(step.events) + 1)
    await taint_session(tx, run.call(), step.shown_origins)
    return last_seq


async def set_end(tx: Transaction, run: Run, seq: int) -> None:
    """Write which event has told the end of a run."""
    await tx.run("UPDATE run SET end_seq = ?3 WHERE user_id = ?1 AND no = ?2", run.user_id, run.no, seq)


async def mark_used(tx: Transaction, call: Call, session_no: int, title: str) -> None:
    """Take the session of a run that starts out of the archive; give it a title if this is its first message."""
    await tx.run(
        "UPDATE session SET archived = 0 WHERE user_id = ?1 AND no = ?2 AND archived = 1", call.user_id, session_no
    )
    if title and await tx.run(
        "UPDATE session SET title = ?3 WHERE user_id = ?1 AND no = ?2 AND title = '' AND NOT EXISTS "
        "(SELECT 1 FROM message m WHERE m.user_id = session.user_id AND m.session_no = session.no)",
        call.user_id,
        session_no,
        title,
    ):
        await tx.notify(session_topic(call))


async def has_news(tx: Transaction, run: Run) -> bool:
    """Tell whether there is something to go on for that the run's model has not been given.

    That is a message of the person's, or an answer to what the run, or one before it, no longer waits for.
    """
    row = await tx.one(
        "SELECT 1 FROM queued_message q JOIN run r ON r.user_id = q.user_id AND r.session_no = q.session_no "
        "WHERE r.user_id = ?1 AND r.no = ?2 AND q.kind <> 'action' "
        f"UNION ALL {_LATE.format(columns='1')} LIMIT 1",
        run.user_id,
        run.no,
    )
    return row is not None


async def find_answered_late(tx: Transaction, run: Run) -> list[PauseRecord]:
    """Return what the person answered after its run went on or ended, and no model was told, in the order of answers.

    It is what this run has asked, or one before it in the session.
    """
    now = timestamp()
    selects = (_LATE.format(columns=PAUSE_COLUMNS), _QUEUED_ANSWERS.format(columns=PAUSE_COLUMNS))
    rows = await tx.all(" UNION ".join(selects), run.user_id, run.no)
    pauses = (parse_pause(row, now) for row in rows)
    return sorted(pauses, key=operator.attrgetter("settled_at", "id"))


async def find_wake(tx: Transaction, user_id: UserId) -> str:
    """Return the next moment at which something expires that a run of the user waits for; empty if there is none."""
    sql = "SELECT min(wake_at) AS wake_at FROM run_live WHERE user_id = ?1 AND owner = '' AND wake_at IS NOT NULL"
    row = await tx.one(sql, user_id)
    return (row[0] if row else "") or ""


async def find_run(tx: Transaction, user_id: UserId, no: int) -> Run:
    row = await tx.one(f"{SELECT_RUN} WHERE run.user_id = ?1 AND run.no = ?2", user_id, no)
    assert row is not None
    return parse_run(row)


async def find_pauses(tx: Transaction, run: Run) -> list[PauseRecord]:
    """Return all that a run has asked, oldest first."""
    now = timestamp()
    return [parse_pause(row, now) for row in await tx.all(f"{_PAUSES} ORDER BY id", run.user_id, run.id)]


async def find_awaited(tx: Transaction, run: Run, now: str) -> list[PauseRecord]:
    """Return what a run waits for, or waited for and has not noted, as it stands at a moment, oldest first."""
    rows = await tx.all(f"{_PAUSES} AND awaited = 1 ORDER BY id", run.user_id, run.id)
    return [parse_pause(row, now) for row in rows]


def find_open(pauses: Sequence[PauseRecord]) -> list[PauseRecord]:
    return [pause for pause in pauses if pause.is_open]
