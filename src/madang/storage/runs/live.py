"""What pauses ask and tell of the runs that opened them, in their own units. It knows no more of a run than its id."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.errors import Conflict
from madang.core.ids import UserId
from madang.core.pauses import PauseRecord
from madang.core.phrases import say
from madang.storage.database import Transaction
from madang.storage.subscriptions import topic


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


async def nudge_run(tx: Transaction, user_id: UserId, pause: PauseRecord) -> None:
    """Mark the run of a pause that was settled, if a run opened it, as having news, in the same transaction.

    Whether the run can go on is found out by the process that claims it.
    """
    if not pause.run_id:
        return
    await tx.run(
        "UPDATE run_live SET nudged = 1 "
        "WHERE user_id = ?1 AND run_no IN (SELECT no FROM run WHERE user_id = ?1 AND id = ?2)",
        user_id,
        pause.run_id,
    )
    await tx.notify(topic("run", user_id, pause.session_id, pause.run_id))
