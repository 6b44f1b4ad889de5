"""The calls of runs beside the messages that asked for them, for whoever draws a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from madang.core.calls import Call
from madang.core.pauses import PauseRecord
from madang.database.port import Database, Transaction
from madang.records.pause_rows import PAUSE_COLUMNS, parse_pause
from madang.records.runs.journal import CALL_COLUMNS, RunCall, parse_call
from madang.records.runs.segments import find_segments
from madang.system.clock import timestamp

_CALLS = f"""
SELECT m.id, r.id, {", ".join(f"c.{column.strip()}" for column in CALL_COLUMNS.split(","))} FROM message m
JOIN run r ON r.user_id = m.user_id AND r.no = m.run_no
JOIN run_call c ON c.user_id = m.user_id AND c.run_no = m.run_no AND c.turn = m.turn
WHERE m.user_id = ?1 AND m.session_no = ?2 AND m.seq >= ?3 AND m.seq <= ?4 AND m.role = 'assistant'
ORDER BY m.seq, c.number
"""


@dataclass(frozen=True, slots=True)
class MessageCall:
    """A call, and the message of the model that asked for it."""

    message_id: str
    run_id: str
    call: RunCall

    @property
    def operation_id(self) -> str:
        """What names the effect of the call, as its run does."""
        return operation_id(self.run_id, self.call.turn, self.call.number)

    def made_by(self, call: Call) -> Call:
        """Return the call as its run made it, in the session of `call`."""
        return replace(call, run_id=self.run_id, call_id=self.call.call_id, operation_id=self.operation_id)


def operation_id(run_id: str, turn: int, number: int) -> str:
    """Return what names the one effect that a call of a run has, however often it is begun."""
    return f"{run_id}:{turn}:{number}"


async def list_message_calls(database: Database, call: Call, from_seq: int, up_to_seq: int) -> list[MessageCall]:
    """Return the calls that messages of the call's session ask for, from a number up to another, forks included."""

    async def work(tx: Transaction) -> list[MessageCall]:
        calls: list[MessageCall] = []
        for segment in await find_segments(tx, call.user_id, call.session):
            end = min(segment.up_to, up_to_seq)
            for message_id, run_id, *row in await tx.all(_CALLS, call.user_id, segment.session_no, from_seq, end):
                calls.append(MessageCall(message_id, run_id, parse_call(tuple(row))))
        return calls

    return await database.read(work, user_id=call.user_id, brief=True)


async def find_call_pauses(database: Database, call: Call, ids: Sequence[str]) -> dict[str, PauseRecord]:
    """Return what calls have asked, as it is now, by its id; what was settled long ago is not there any more."""
    if not ids:
        return {}
    now, marks = timestamp(), ", ".join(f"?{number}" for number in range(2, len(ids) + 2))
    sql = f"SELECT {PAUSE_COLUMNS} FROM pause WHERE user_id = ?1 AND id IN ({marks})"
    rows = await database.find(sql, call.user_id, *ids, user_id=call.user_id)
    return {pause.id: pause for pause in (parse_pause(row, now) for row in rows)}
