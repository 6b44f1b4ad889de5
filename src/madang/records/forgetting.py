"""Deleting a session: its mark before the services delete their parts, and afterwards what storage itself keeps."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.ids import UserId
from madang.database.port import Database, Transaction
from madang.database.subscriptions import topic
from madang.records.decisions import forget_session_decisions
from madang.records.declared_sessions import copy_statement
from madang.records.live_runs import check_no_live_run
from madang.records.operations import forget_operations
from madang.records.pause_rows import has_expired
from madang.records.runs.saved import CALLS, MESSAGES, RUNS
from madang.records.saved_pauses import delete_pauses
from madang.records.sessions import delete_session, ensure_session, session_topic
from madang.records.views import COPIED
from madang.system.clock import timestamp

_COPY_MESSAGES = copy_statement(
    MESSAGES,
    {"session_no": "f.no", "run_no": "c.no"},
    """
FROM message t JOIN session f ON f.user_id = t.user_id AND f.parent_id = ?2 AND t.seq <= f.parent_seq
LEFT JOIN run r ON r.user_id = t.user_id AND r.no = t.run_no
LEFT JOIN run c ON c.user_id = r.user_id AND c.id = r.id || '-' || f.no
WHERE t.user_id = ?1 AND t.session_no = ?3 AND NOT EXISTS (SELECT 1 FROM message own
  WHERE own.user_id = f.user_id AND own.session_no = f.no AND own.seq = t.seq)
""",
)
# Each fork gets the runs that it shows something of, under ids of its own, and of those what it shows: not what they
# took, which is counted where it was spent, nor how they ended after the fork.
_COPY_RUNS = copy_statement(
    RUNS,
    {
        "id": "t.id || '-' || f.no",
        "session_no": "f.no",
        "owner": "''",
        "state": "CASE WHEN t.end_seq <= f.parent_seq THEN t.state ELSE 'finished' END",
        "end_seq": "CASE WHEN t.end_seq <= f.parent_seq THEN t.end_seq ELSE 0 END",
        **dict.fromkeys(("calls", "input_tokens", "output_tokens", "cost"), "0"),
    },
    """
FROM run t JOIN session f ON f.user_id = t.user_id AND f.parent_id = ?2
WHERE t.user_id = ?1 AND t.session_no = ?3 AND EXISTS (SELECT 1 FROM message m
  WHERE m.user_id = t.user_id AND m.session_no = t.session_no AND m.run_no = t.no AND m.seq <= f.parent_seq)
""",
)
_COPY_CALLS = copy_statement(
    CALLS,
    {
        "run_no": "c.no",
        "state": "t.state",
        "view_id": "CASE WHEN t.view_id = '' THEN '' ELSE t.view_id || '-' || f.no END",
        "reason": "t.reason",
    },
    """
FROM run r JOIN session f ON f.user_id = r.user_id AND f.parent_id = ?2
JOIN run c ON c.user_id = r.user_id AND c.id = r.id || '-' || f.no
JOIN run_call t ON t.user_id = r.user_id AND t.run_no = r.no
WHERE r.user_id = ?1 AND r.session_no = ?3 AND EXISTS (SELECT 1 FROM message m
  WHERE m.user_id = r.user_id AND m.session_no = r.session_no AND m.run_no = r.no AND m.turn = t.turn
  AND m.seq <= f.parent_seq)
""",
)
_COPY_VIEWS = f"""
INSERT INTO page_view (user_id, id, session_no, assistant_id, run_id, call_id, service, tool, page, pause_id, arguments,
  result, created_at, pause_status, inert)
SELECT v.user_id, v.id || '-' || f.no, f.no, v.assistant_id, c.id, v.call_id, v.service, v.tool, v.page,
  CASE WHEN v.pause_id = '' THEN '' ELSE '{COPIED}' END, v.arguments, v.result, v.created_at, v.pause_status, v.inert
FROM page_view v JOIN session f ON f.user_id = v.user_id AND f.parent_id = ?2
JOIN run c ON c.user_id = v.user_id AND c.id = v.run_id || '-' || f.no
WHERE v.user_id = ?1 AND v.session_no = ?3 AND EXISTS (SELECT 1 FROM run_call k
  WHERE k.user_id = v.user_id AND k.run_no = c.no AND k.view_id = v.id || '-' || f.no)
"""
# Before the services delete their pauses: a view that a fork gets still says how its question ended.
_NOTE_PAUSES = f"""
UPDATE page_view SET pause_status = coalesce((
  SELECT CASE WHEN {has_expired("?3", "p")} THEN 'expired' WHEN p.status = 'open' THEN 'withdrawn' ELSE p.status END
  FROM pause p WHERE p.user_id = page_view.user_id AND p.id = page_view.pause_id
), 'withdrawn')
WHERE user_id = ?1 AND session_no = ?2 AND pause_id <> '' AND pause_status = ''
"""
_NUMBER_MESSAGES = """
INSERT INTO message_number (user_id, session_no, seq, analysis)
SELECT n.user_id, f.no, n.seq, '' FROM message_number n
JOIN session f ON f.user_id = n.user_id AND f.parent_id = ?2 AND n.seq <= f.parent_seq
WHERE n.user_id = ?1 AND n.session_no = ?3 AND NOT EXISTS (SELECT 1 FROM message_number own
  WHERE own.user_id = f.user_id AND own.session_no = f.no AND own.seq = n.seq)
ORDER BY n.no
"""


async def begin_removal(tx: Transaction, call: Call) -> None:
    """Mark the call's session as being deleted, until its row is gone; the row is made if there is none.

    Raises:
        Conflict: a run of it is not over.
    """
    session_no = await ensure_session(tx, call)
    await check_no_live_run(tx, call.user_id, session_no)
    await tx.run(_NOTE_PAUSES, call.user_id, session_no, timestamp())
    await tx.run("UPDATE session SET state = 'deleting' WHERE user_id = ?1 AND id = ?2", call.user_id, call.session)
    await tx.notify(session_topic(call))


async def remove_session(tx: Transaction, call: Call) -> None:
    """Delete the row of the call's session with its events and pauses. Its forks get their own copy of what they show.

    In one unit, so that a fork never lacks something.
    """
    row = await tx.one(
        "SELECT no, parent_id, parent_seq FROM session WHERE user_id = ?1 AND id = ?2", call.user_id, call.session
    )
    if row is not None:
        await _leave_to_forks(tx, call, *row)
    await delete_pauses(tx, call)
    await forget_session_decisions(tx, call)
    await forget_operations(tx, call)
    await delete_session(tx, call)
    await tx.notify(topic("event", call.user_id, call.session))


async def _leave_to_forks(tx: Transaction, call: Call, session_no: int, parent_id: str, parent_seq: int) -> None:
    """Copy events, messages, runs and views to the forks of a session, as far as they show them.

    What it shows of its parent, they show of that from now on. The words of the copies are made by the next searches.
    """
    await tx.run(
        "INSERT INTO event (user_id, session_no, seq, run_id, at, kind, payload) "
        "SELECT e.user_id, f.no, e.seq, e.run_id, e.at, e.kind, e.payload FROM event e "
        "JOIN session f ON f.user_id = e.user_id AND f.parent_id = ?2 AND e.seq <= f.parent_seq "
        "WHERE e.user_id = ?1 AND e.session_no = ?3 AND NOT EXISTS (SELECT 1 FROM event own "
        "WHERE own.user_id = f.user_id AND own.session_no = f.no AND own.seq = e.seq)",
        call.user_id,
        call.session,
        session_no,
    )
    for statement in (_COPY_RUNS, _COPY_CALLS, _COPY_VIEWS, _COPY_MESSAGES, _NUMBER_MESSAGES):
        await tx.run(statement, call.user_id, call.session, session_no)
    # Where its events lie is first looked for from there on.
    await tx.run(
        "UPDATE session SET created_at = coalesce((SELECT min(e.at) FROM event e WHERE e.user_id = session.user_id "
        "AND e.session_no = session.no AND e.at < session.created_at), created_at) "
        "WHERE user_id = ?1 AND parent_id = ?2",
        call.user_id,
        call.session,
    )
    await tx.run(
        "UPDATE session SET parent_id = ?3, parent_seq = CASE WHEN parent_seq < ?4 THEN parent_seq ELSE ?4 END "
        "WHERE user_id = ?1 AND parent_id = ?2",
        call.user_id,
        call.session,
        parent_id if parent_seq else "",
        parent_seq,
    )


async def remove_notices(database: Database, user_id: UserId, session_id: str) -> None:
    """Delete the notices that name a session, which an embedded database keeps for a while.

    A subscription that has not seen them yet notices the gap and looks at everything.
    """
    if database.dialect != "sqlite":
        return

    async def work(tx: Transaction) -> None:
        await tx.run("DELETE FROM notice WHERE instr(topic, ?1) > 0", f"/{topic(user_id, session_id)}")
        await tx.notify(topic("session", user_id))

    await database.write(work, user_id=user_id)
