"""The messages of a session: reading them as far as a model's window goes, and queueing what the person writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from madang.core.calls import Call
from madang.core.errors import LimitExceeded
from madang.core.ids import UserId, new_id
from madang.core.phrases import say
from madang.database.port import Database, Row, Transaction
from madang.database.subscriptions import topic
from madang.records.events import NewEvent, append_events
from madang.records.runs.actions import FIND_LIVE_RUN
from madang.records.runs.deltas import delete_deltas
from madang.records.runs.journal import (
    MESSAGE_COLUMNS,
    Message,
    Part,
    QueuedMessage,
    encode_parts,
    find_queued,
    parse_message,
)
from madang.records.runs.message_calls import MessageCall, list_message_calls
from madang.records.runs.records import LostRun, Run
from madang.records.runs.rows import find_run
from madang.records.runs.segments import END_SEQ, find_segments
from madang.records.sessions import ensure_ready_session

MESSAGES_PER_READ = 64
MAX_QUEUED = 50

_BACKWARDS = (
    f"SELECT {MESSAGE_COLUMNS} FROM message WHERE user_id = ?1 AND session_no = ?2 AND seq <= ?3 "
    f"ORDER BY seq DESC LIMIT {MESSAGES_PER_READ}"
)
_OUTCOMES = """
SELECT m.seq, c.call_id, c.outcome FROM message m
JOIN run_call c ON c.user_id = m.user_id AND c.run_no = m.run_no AND c.turn = m.turn
WHERE m.user_id = ?1 AND m.session_no = ?2 AND m.seq > ?3 AND m.seq <= ?4 AND m.role = 'assistant'
"""

_SIZES = """
SELECT s.id, (
  SELECT count(*) FROM message m
  WHERE m.user_id = s.user_id AND m.session_no = s.no AND m.role IN ('user', 'assistant')
) AS messages, (
  SELECT coalesce(sum(r.calls), 0) FROM run r WHERE r.user_id = s.user_id AND r.session_no = s.no
) AS calls FROM session s WHERE s.user_id = ?1 AND s.id IN ({marks})
"""


@dataclass(frozen=True, slots=True)
class TalkSize:
    """How much was said and called in a session, without what a fork shows of its parent."""

    messages: int
    calls: int


class MessageStore:
    """Messages in the database. The tables are those of `RunStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self, user_id: UserId, session_ids: Sequence[str]) -> dict[str, TalkSize]:
        """Return how much there is in these sessions: what the person and the model said, and the model's calls."""
        if not session_ids:
            return {}
        marks = ", ".join(f"?{number}" for number in range(2, len(session_ids) + 2))
        rows = await self._database.find(_SIZES.format(marks=marks), user_id, *session_ids, user_id=user_id)
        return {id: TalkSize(messages, calls) for id, messages, calls in rows}

    async def read_window(self, call: Call, is_full: Callable[[Sequence[Message]], bool]) -> list[Message]:
        """Return the newest messages of the call's session, oldest first, forks and their parents as one.

        Blocks are read backwards until `is_full` says of those read so far, newest first, that they are enough.
        """

        async def work(tx: Transaction) -> list[Message]:
            messages: list[Message] = []
            for segment in await find_segments(tx, call.user_id, call.session):
                up_to = segment.up_to
                while True:
                    rows: list[Row] = await tx.all(_BACKWARDS, call.user_id, segment.session_no, up_to)
                    messages += map(parse_message, rows)
                    if is_full(messages):
                        return messages[::-1]
                    if len(rows) < MESSAGES_PER_READ:
                        break
                    up_to = messages[-1].seq - 1
            return messages[::-1]

        return await self._database.read(work, user_id=call.user_id, brief=True)

    async def read_page(self, call: Call, before_seq: int = 0, limit: int = MESSAGES_PER_READ) -> list[Message]:
        """Return messages before a number, or the newest, oldest first."""

        def is_full(messages: Sequence[Message]) -> bool:
            return sum(one.seq < (before_seq or END_SEQ) for one in messages) >= limit

        window = await self.read_window(call, is_full)
        return [one for one in window if one.seq < (before_seq or END_SEQ)][-limit:]

    async def list_calls(self, call: Call, from_seq: int, up_to_seq: int) -> list[MessageCall]:
        """Return the calls that messages of the call's session ask for, from a number up to another, forks included."""
        return await list_message_calls(self._database, call, from_seq, up_to_seq)

    async def list_outcomes(self, call: Call, after_seq: int, up_to_seq: int) -> dict[tuple[int, str], str]:
        """Return how calls ended, by the number of the message that asked for them and their id.

        Of messages after a number, up to another, of the call's session.
        """

        async def work(tx: Transaction) -> dict[tuple[int, str], str]:
            outcomes: dict[tuple[int, str], str] = {}
            for segment in await find_segments(tx, call.user_id, call.session):
                end = min(segment.up_to, up_to_seq)
                for seq, id, outcome in await tx.all(_OUTCOMES, call.user_id, segment.session_no, after_seq, end):
                    outcomes[seq, id] = outcome
            return outcomes

        return await self._database.read(work, user_id=call.user_id)

    async def queue(
        self, call: Call, parts: Sequence[Part], tokens: int, tell: Callable[[str], NewEvent], model: str = ""
    ) -> str:
        """Keep what the person wrote until the session's live run can give it to its model, and return its id.

        Empty if no run is live: then it is the first message of a new one. A model that is named becomes the run's.

        Raises:
            LimitExceeded: too many wait.
        """
        id, text = new_id(), encode_parts(parts)
        if not await self._database.find(FIND_LIVE_RUN, call.user_id, call.session, user_id=call.user_id):
            return ""  # mostly so: it need not wait for a write

        async def work(tx: Transaction) -> str:
            session_no = await ensure_ready_session(tx, call)
            run = await tx.one(
                "SELECT no, id FROM run WHERE user_id = ?1 AND session_no = ?2 AND state IN ('running', 'waiting')",
                call.user_id,
                session_no,
            )
            if run is None:
                return ""
            queued = await find_queued(tx, call.user_id, call.session)
            if sum(message.kind == "message" for message in queued) >= MAX_QUEUED:
                raise LimitExceeded(
                    say("{limit} messages wait for the model already.", limit=MAX_QUEUED),
                    hint=say("Wait until it has read them, or stop it."),
                )
            if model:
                await tx.run("UPDATE run SET model = ?3 WHERE user_id = ?1 AND no = ?2", call.user_id, run[0], model)
            await tx.run("UPDATE run_live SET nudged = 1 WHERE user_id = ?1 AND run_no = ?2", call.user_id, run[0])
            await tx.run(
                "INSERT INTO queued_message (user_id, session_no, id, kind, parts, tokens, seq) "
                "VALUES (?1, ?2, ?3, 'message', ?4, ?5, ?6)",
                call.user_id,
                session_no,
                id,
                text,
                tokens,
                await append_events(tx, call, [tell(id)]),
            )
            await tx.notify(topic("run", call.user_id, call.session, run[1]))
            return id

        return await self._database.write(work, user_id=call.user_id)

    async def set_model(self, run: Run, model: str, told: NewEvent, *, dropped: Sequence[int] = ()) -> Run:
        """Give a run that is not over another model, tell of it, and return the run as it then is.

        `dropped` are numbers of messages of which some was written, and which begin anew.

        Raises:
            LostRun: it is over, or has another owner than it had.
        """

        async def work(tx: Transaction) -> Run:
            count = await tx.run(
                "UPDATE run SET model = ?4 WHERE user_id = ?1 AND no = ?2 AND epoch = ?3 "
                "AND state IN ('running', 'waiting')",
                run.user_id,
                run.no,
                run.epoch,
                model,
            )
            if not count:
                raise LostRun(run.id)
            for message_no in dropped:
                await delete_deltas(tx, run, message_no)
            await append_events(tx, run.call(), [told])
            return replace(await find_run(tx, run.user_id, run.no), pauses=run.pauses)

        return await self._database.write(work, user_id=run.user_id)

    async def withdraw(self, call: Call, id: str, event: NewEvent) -> bool:
        """Take back a message that the model was not given yet; False if it was, or there is none."""

        async def work(tx: Transaction) -> bool:
            session_no = await ensure_ready_session(tx, call)
            count = await tx.run(
                "DELETE FROM queued_message WHERE user_id = ?1 AND session_no = ?2 AND id = ?3 AND kind = 'message'",
                call.user_id,
                session_no,
                id,
            )
            if count:
                await append_events(tx, call, [event])
            return bool(count)

        return await self._database.write(work, user_id=call.user_id)

    async def list_queued(self, call: Call) -> tuple[QueuedMessage, ...]:
        """Return what the person wrote that waits to be given to the model, oldest first."""
        return tuple(message for message in await self.list_waiting(call) if message.kind == "message")

    async def list_waiting(self, call: Call) -> tuple[QueuedMessage, ...]:
        """Return what the person wrote or did, and others did, that the model was not told yet, oldest first."""
        return await self._database.read(
            lambda tx: find_queued(tx, call.user_id, call.session), user_id=call.user_id, brief=True
        )
