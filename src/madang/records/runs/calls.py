"""The calls of runs, as they are kept: what a turn asked for, and how each of them stands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from madang.core.ids import UserId
from madang.core.pauses import PauseRecord
from madang.core.phrases import Phrase, parse_phrase
from madang.database.port import Database, Transaction
from madang.records.runs.journal import CALL_COLUMNS, CallOutcome, MessageKind, Part, RunCall, parse_call, parse_parts
from madang.records.runs.records import Run

MAX_TOLD = 100

_BY_TURN = f"SELECT {CALL_COLUMNS} FROM run_call WHERE user_id = ?1 AND run_no = ?2 AND turn = ?3 ORDER BY number"
# No further back than what may have been told since the answer: at most as much as is queued at once, and summaries.
_NEWEST = f"""
SELECT m.role, m.kind, m.parts FROM run r JOIN message m ON m.user_id = r.user_id AND m.session_no = r.session_no
WHERE r.user_id = ?1 AND r.no = ?2 AND m.run_no = ?2 AND m.turn = ?3 AND m.seq > coalesce((
  SELECT seq FROM message WHERE user_id = ?1 AND session_no = r.session_no ORDER BY seq DESC LIMIT 1 OFFSET {MAX_TOLD}
), 0) ORDER BY m.seq
"""
_LAST_OUTCOMES = """
SELECT outcome FROM run_call WHERE user_id = ?1 AND run_no = ?2
AND turn = (SELECT max(turn) FROM run_call WHERE user_id = ?1 AND run_no = ?2) ORDER BY number
"""
_CHECKED = """
SELECT 1 AS one FROM run r JOIN message m ON m.user_id = r.user_id AND m.session_no = r.session_no
WHERE r.user_id = ?1 AND r.no = ?2 AND m.run_no = ?2 AND m.role = 'user' AND m.kind = 'check' LIMIT 1
"""
_RECENT = """
SELECT c.turn, c.number, c.tool, c.fingerprint, c.outcome FROM run_call c
WHERE c.user_id = ?1 AND c.run_no = ?2 AND c.state = 'done' AND c.turn > coalesce((
  SELECT m.turn FROM run r JOIN message m ON m.user_id = r.user_id AND m.session_no = r.session_no
  WHERE r.user_id = ?1 AND r.no = ?2 AND m.run_no = ?2
  AND (m.role = 'summary' OR (m.role = 'user' AND m.kind NOT IN ('mend', 'check'))) ORDER BY m.seq DESC LIMIT 1
), 0) ORDER BY c.turn DESC, c.number DESC LIMIT ?3
"""


@dataclass(frozen=True, slots=True)
class TurnRows:
    """The present turn of a run, as it is kept."""

    calls: list[RunCall]
    """As the model numbered them."""
    has_results: bool
    """Whether the message with their results is there."""
    told: tuple[MessageKind, ...]
    """The kinds of the messages that the model was given since its answer, and has not answered."""
    answer: tuple[Part, ...]
    """The parts of the answer; none where it was not kept."""


@dataclass(frozen=True, slots=True)
class RecentCall:
    """What is known of a call that is done without reading its result."""

    turn: int
    number: int
    tool: str
    fingerprint: str
    outcome: CallOutcome


class CallStore:
    """Reads the calls of runs. They are written with the step of a run that makes or changes them: by `RunStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_by_turn(self, run: Run) -> list[RunCall]:
        """Return the calls of the present turn, as the model numbered them."""
        rows = await self._database.find(_BY_TURN, run.user_id, run.no, run.turn, user_id=run.user_id)
        return [parse_call(row) for row in rows]

    async def read_turn(self, run: Run) -> TurnRows:
        """Return what there is of the present turn."""

        async def work(tx: Transaction) -> TurnRows:
            calls = [parse_call(row) for row in await tx.all(_BY_TURN, run.user_id, run.no, run.turn)]
            messages = await tx.all(_NEWEST, run.user_id, run.no, run.turn)
            answer = next((parts for role, _, parts in messages if role == "assistant"), "[]")
            return TurnRows(
                calls,
                any(role == "tool" for role, *_ in messages),
                tuple(kind for role, kind, _ in messages if role == "user"),
                parse_parts(answer),
            )

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

    async def read_last_outcomes(self, run: Run) -> list[CallOutcome]:
        """Return how the calls of the last turn that had any ended."""
        rows = await self._database.find(_LAST_OUTCOMES, run.user_id, run.no, user_id=run.user_id)
        return [row[0] for row in rows]

    async def was_checked(self, run: Run) -> bool:
        """Tell whether the run's model was asked already whether everything was done."""
        return bool(await self._database.find(_CHECKED, run.user_id, run.no, user_id=run.user_id))

    async def list_recent(self, run: Run, limit: int) -> list[RecentCall]:
        """Return the last calls that are done, oldest first, since the person's last message and the last summary."""
        rows = await self._database.find(_RECENT, run.user_id, run.no, limit, user_id=run.user_id)
        return [RecentCall(*row) for row in reversed(rows)]

    async def has_called(self, run: Run, tools: Collection[str]) -> bool:
        """Tell whether one of these tools was called in the run's session, by this run or one before it."""
        marks = ", ".join(f"?{number}" for number in range(3, len(tools) + 3))
        rows = await self._database.find(
            "SELECT 1 AS one FROM run own JOIN run r ON r.user_id = own.user_id AND r.session_no = own.session_no "
            "JOIN run_call c ON c.user_id = r.user_id AND c.run_no = r.no "
            f"WHERE own.user_id = ?1 AND own.no = ?2 AND c.tool IN ({marks}) LIMIT 1",
            run.user_id,
            run.no,
            *sorted(tools),
            user_id=run.user_id,
        )
        return bool(rows)


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
