"""The calls of runs, as they are kept: what a turn asked for, and how each of them stands."""

from __future__ import annotations

from collections.abc import Sequence

from madang.core.ids import UserId
from madang.core.pauses import PauseRecord
from madang.core.phrases import Phrase, parse_phrase
from madang.storage.database import Database, Transaction
from madang.storage.runs.journal import CALL_COLUMNS, RunCall, parse_call
from madang.storage.runs.records import Run

_BY_TURN = f"SELECT {CALL_COLUMNS} FROM run_call WHERE user_id = ?1 AND run_no = ?2 AND turn = ?3 ORDER BY number"
_RESULTS = "SELECT 1 AS one FROM message WHERE user_id = ?1 AND run_no = ?2 AND turn = ?3 AND role = 'tool'"


class CallStore:
    """Reads the calls of runs. They are written with the step of a run that makes or changes them: by `RunStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_by_turn(self, run: Run) -> list[RunCall]:
        """Return the calls of the present turn, as the model numbered them."""
        rows = await self._database.find(_BY_TURN, run.user_id, run.no, run.turn, user_id=run.user_id)
        return [parse_call(row) for row in rows]

    async def read_turn(self, run: Run) -> tuple[list[RunCall], bool]:
        """Return the calls of the present turn, and whether the message with their results is there."""

        async def work(tx: Transaction) -> tuple[list[RunCall], bool]:
            calls = [parse_call(row) for row in await tx.all(_BY_TURN, run.user_id, run.no, run.turn)]
            return calls, await tx.one(_RESULTS, run.user_id, run.no, run.turn) is not None

        return await self._database.read(work, user_id=run.user_id, brief=True)

    async def list_by_run(self, user_id: UserId, run_id: str, limit: int = 1_000) -> list[RunCall]:
        """Return the calls of a run of the user's, oldest first; none if there is no such run."""
        columns = ", ".join(f"c.{column.strip()}" for column in CALL_COLUMNS.split(","))
        rows = await self._database.find(
            f"SELECT {columns} FROM run r JOIN run_call c ON c.user_id = r.user_id AND c.run_no = r.no "
            "WHERE r.user_id = ?1 AND r.id = ?2 ORDER BY c.turn, c.number LIMIT ?3",
            user_id,
            run_id,
            limit,
            user_id=user_id,
        )
        return [parse_call(row) for row in rows]

    async def count_same(self, run: Run, fingerprint: str) -> int:
        """Return how many calls of the run had this fingerprint."""
        rows = await self._database.find(
            "SELECT count(*) AS same FROM run_call "
            "WHERE user_id = ?1 AND run_no = ?2 AND fingerprint = ?3 AND fingerprint <> ''",
            run.user_id,
            run.no,
            fingerprint,
            user_id=run.user_id,
        )
        return int(rows[0][0])


async def find_asked_calls(
    database: Database, user_id: UserId, pauses: Sequence[PauseRecord]
) -> dict[str, tuple[str, Phrase | None]]:
    """Return the arguments of the calls that approvals were asked for, and why they were, by the ids of the pauses, in
    one read.

    A call is found by its id in its run: its row has the pause a moment later, with the step that ends the turn.
    """
    if not pauses:
        return {}
    marks = ", ".join(f"?{number}" for number in range(2, len(pauses) + 2))
    rows = await database.find(
        "SELECT p.id, c.arguments, c.reason FROM pause p "
        "JOIN run r ON r.user_id = p.user_id AND r.id = p.run_id "
        "JOIN run_call c ON c.user_id = r.user_id AND c.run_no = r.no AND c.turn = r.turn AND c.call_id = p.call_id "
        f"WHERE p.user_id = ?1 AND p.id IN ({marks}) ORDER BY c.number DESC",
        user_id,
        *(pause.id for pause in pauses),
        user_id=user_id,
    )
    return {id: (arguments, parse_phrase(reason) if reason else None) for id, arguments, reason in rows}
