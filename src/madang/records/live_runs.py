"""What pauses and sessions ask of runs, and tell them, in their own units. It knows no more of a run than its id."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.errors import Conflict
from madang.core.ids import UserId
from madang.core.pauses import STEP_KINDS, PauseRecord
from madang.core.phrases import say
from madang.database.port import Transaction
from madang.database.subscriptions import topic


async def check_run(tx: Transaction, call: Call) -> None:
    """Refuse what the call's run asks after it ended: nobody would withdraw it.

    The row is written, though nothing in it changes: of this and an end at the same moment, one comes first.

    Raises:
        Conflict: the run is over.
    """
    if not call.run_id:
        return
    row = await tx.one("SELECT no FROM run WHERE user_id = ?1 AND id = ?2", call.user_id, call.run_id)
    if row is not None and not await tx.run(
        "UPDATE run_live SET nudged = nudged WHERE user_id = ?1 AND run_no = ?2", call.user_id, row[0]
    ):
        raise Conflict(
            say("The run {id} is over.", id=call.run_id), hint=say("Stop: nothing that it asks is answered.")
        )


async def check_no_live_run(tx: Transaction, user_id: UserId, session_no: int) -> None:
    """Refuse what a session cannot have done to it while a run of it is not over.

    Raises:
        Conflict: there is such a run.
    """
    run = await tx.one(
        "SELECT id FROM run WHERE user_id = ?1 AND session_no = ?2 AND state IN ('running', 'waiting')",
        user_id,
        session_no,
    )
    if run is not None:
        raise Conflict(
            say("The run {id} of this session is not over.", id=run[0]),
            hint=say("Wait until it ends, or cancel it."),
        )


async def tell_run(tx: Transaction, user_id: UserId, pause: PauseRecord) -> None:
    """Mark the run of a pause that was settled, if a run opened it, as having news, in the same transaction.

    Whether the run can go on is found out by the process that claims it. For one that is over the answer is queued: the
    session's next run is told, which the answer itself starts unless there is one.
    """
    if not pause.run_id:
        return
    nudged = await tx.run(
        "UPDATE run_live SET nudged = 1 "
        "WHERE user_id = ?1 AND run_no IN (SELECT no FROM run WHERE user_id = ?1 AND id = ?2)",
        user_id,
        pause.run_id,
    )
    if not nudged and pause.status in ("answered", "cancelled") and pause.kind not in STEP_KINDS:
        await tx.run(_QUEUE_ANSWER, user_id, pause.session_id, pause.id)
        await tx.run(_NUDGE_SESSION, user_id, pause.session_id)
    await tx.notify(topic("run", user_id, pause.session_id, pause.run_id))


_QUEUE_ANSWER = """
INSERT INTO queued_message (user_id, session_no, id, kind, parts, tokens)
SELECT session.user_id, session.no, ?3, 'answer', '[]', 0 FROM session
WHERE session.user_id = ?1 AND session.id = ?2 AND EXISTS
  (SELECT 1 FROM run WHERE run.user_id = session.user_id AND run.session_no = session.no)
"""
_NUDGE_SESSION = """
UPDATE run_live SET nudged = 1 WHERE user_id = ?1 AND run_no IN (
  SELECT run.no FROM run JOIN session ON session.user_id = run.user_id AND session.no = run.session_no
  WHERE run.user_id = ?1 AND session.id = ?2 AND run.state IN ('running', 'waiting')
)
"""
