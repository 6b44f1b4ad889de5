"""Messages, runs and calls of a session that is copied, exported or imported.

Runs get new ids; messages keep theirs, by which events name them. A run that is not over is cancelled in a copy.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import InvalidArguments
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.database.port import Database, Row, Transaction
from madang.records.runs.journal import CallOutcome, MessageKind, encode_parts
from madang.records.runs.segments import Segment, find_segments
from madang.records.runs.word_rows import MessageWords, write_words
from madang.records.sessions import ensure_session
from madang.system.clock import Timestamp

ROWS_PER_BATCH = 100

Number = Annotated[int, Field(ge=0, le=2**53)]
Name = Annotated[str, Field(max_length=500)]
RunId = Annotated[str, Field(min_length=1, max_length=100)]
Parts = list[dict[str, Any]]


class SavedCall(Document):
    """A call of a run, which is done."""

    run_id: RunId
    turn: Number
    number: Number
    call_id: Name
    tool: Name
    arguments: str
    decision: Literal["", "allow", "deny"]
    outcome: CallOutcome
    result: Parts
    started_at: Timestamp
    ended_at: Timestamp
    took_ms: Number | None = None
    data: dict[str, Any] | None = None
    data_left_out: Number = 0
    origins: list[str] = Field(default_factory=list, max_length=100)


class SavedRun(Document):
    """A run that is over."""

    id: RunId
    assistant_id: Name
    model: Name
    state: Literal["finished", "failed", "cancelled"]
    epoch: Number
    turn: Number
    calls: Number
    input_tokens: Number
    output_tokens: Number
    cost: Annotated[float, Field(ge=0)]
    is_tainted: bool
    error_code: Name
    error: Annotated[str, Field(max_length=4_000)]
    end_seq: Number = 0
    created_at: Timestamp
    updated_at: Timestamp


class SavedMessage(Document):
    """A message. `run_id` is empty if its run is not there."""

    seq: Annotated[int, Field(ge=1, le=2**53)]
    id: Annotated[str, Field(min_length=1, max_length=100)]
    run_id: Annotated[str, Field(max_length=100)]
    turn: Number
    role: Literal["user", "assistant", "tool", "summary"]
    parts: Parts
    tokens: Number
    covers_seq: Number
    created_at: Timestamp
    kind: MessageKind = ""
    model: Name = ""
    input_tokens: Number | None = None


_RUNS = """
SELECT no, id, assistant_id, model, state, epoch, turn, calls, input_tokens, output_tokens, cost, tainted, error_code,
  error, created_at, updated_at, end_seq
FROM run WHERE user_id = ?1 AND session_no = ?2 AND no > ?3 ORDER BY no LIMIT ?4
"""
_CALLS = """
SELECT r.id AS run_id, c.turn, c.number, c.call_id, c.tool, c.arguments, c.decision, c.outcome, c.result, c.started_at,
  c.ended_at, c.took_ms, c.data, c.data_left_out, c.origins, c.state, c.run_no
FROM run r JOIN run_call c ON c.user_id = r.user_id AND c.run_no = r.no
WHERE r.user_id = ?1 AND r.session_no = ?2 AND (c.run_no, c.turn, c.number) > (?3, ?4, ?5)
ORDER BY c.run_no, c.turn, c.number LIMIT ?6
"""
_MESSAGES = """
SELECT m.seq, m.id, r.id AS run_id, m.turn, m.role, m.parts, m.tokens, m.covers_seq, m.created_at, m.kind,
  m.model, m.input_tokens
FROM message m LEFT JOIN run r ON r.user_id = m.user_id AND r.no = m.run_no
WHERE m.user_id = ?1 AND m.session_no = ?2 AND m.seq > ?3 AND m.seq <= ?4 ORDER BY m.seq LIMIT ?5
"""
_NEW_RUN = """
INSERT INTO run (user_id, id, session_no, assistant_id, model, state, epoch, owner, turn, calls, input_tokens,
  output_tokens, cost, tainted, error_code, error, created_at, updated_at, end_seq)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '', ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18) RETURNING no
"""
_NEW_CALL = """
INSERT INTO run_call (user_id, run_no, turn, number, call_id, tool, arguments, state, decision, outcome, result,
  started_at, ended_at, took_ms, data, data_left_out, origins)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'done', ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
"""
_NEW_MESSAGE = """
INSERT INTO message (user_id, session_no, seq, id, run_no, turn, role, parts, tokens, covers_seq, created_at, kind,
  model, input_tokens)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
"""


async def read_runs(database: Database, call: Call) -> AsyncIterator[SavedRun]:
    """Yield the runs of the call's session, oldest first; not those of sessions that it is a fork of."""
    session_no = await _session_no(database, call)
    after = 0
    rows: list[Row] = [()] * ROWS_PER_BATCH
    while session_no and len(rows) == ROWS_PER_BATCH:
        rows = await database.find(_RUNS, call.user_id, session_no, after, ROWS_PER_BATCH, user_id=call.user_id)
        for row in rows:
            after = row[0]
            yield _saved_run(row)


async def read_calls(database: Database, call: Call) -> AsyncIterator[SavedCall]:
    """Yield the calls of these runs, in their order."""
    session_no = await _session_no(database, call)
    after = (0, 0, 0)
    rows: list[Row] = [()] * ROWS_PER_BATCH
    while session_no and len(rows) == ROWS_PER_BATCH:
        rows = await database.find(_CALLS, call.user_id, session_no, *after, ROWS_PER_BATCH, user_id=call.user_id)
        for row in rows:
            after = row[-1], row[1], row[2]
            yield _saved_call(row)


async def _session_no(database: Database, call: Call) -> int:
    sql = "SELECT no FROM session WHERE user_id = ?1 AND id = ?2"
    rows = await database.find(sql, call.user_id, call.session, user_id=call.user_id)
    return rows[0][0] if rows else 0


async def read_messages(database: Database, call: Call) -> AsyncIterator[SavedMessage]:
    """Yield the messages that the call's session shows, oldest first: also those of sessions that it is a fork of."""

    async def find(tx: Transaction) -> list[Segment]:
        return await find_segments(tx, call.user_id, call.session)

    segments = await database.read(find, user_id=call.user_id)
    for segment in reversed(segments):
        after = 0
        is_own = segment is segments[0]
        while True:

            async def work(tx: Transaction, after: int = after, segment: Segment = segment) -> list[Row]:
                key = (call.user_id, segment.session_no)
                return await tx.all(_MESSAGES, *key, after, segment.up_to, ROWS_PER_BATCH)

            rows = await database.read(work, user_id=call.user_id)
            for row in rows:
                yield _saved_message(row, is_own)
            if len(rows) < ROWS_PER_BATCH:
                break
            after = rows[-1][0]


class RunRestorer:
    """Writes runs and messages of another place into the call's session, which is new. Runs come first."""

    def __init__(self, database: Database, call: Call) -> None:
        self._database = database
        self._call = call
        self._runs: dict[str, tuple[str, int]] = {}
        self._answers: set[tuple[str, int, str]] = set()
        self._calls: set[tuple[str, int, str]] = set()
        self._ids: set[str] = set()
        self._last_seq = 0

    def new_run_id(self, id: str) -> str:
        """Return the id under which a run is known here; that which it has if it is not here."""
        known = self._runs.get(id)
        return known[0] if known else id

    def has(self, id: str) -> bool:
        """Tell whether a run was added."""
        return id in self._runs

    async def add_runs(self, runs: Sequence[SavedRun]) -> None:
        """Write runs.

        Raises:
            InvalidArguments: one is there twice.
        """
        for run in runs:
            if run.id in self._runs or not (run.created_at and run.updated_at):
                raise _inconsistent()
            self._runs[run.id] = new_id(), 0

        async def work(tx: Transaction) -> list[int]:
            session_no = await ensure_session(tx, self._call)
            return [await self._insert_run(tx, session_no, run) for run in runs]

        numbers = await self._database.write(work, user_id=self._call.user_id)
        for run, no in zip(runs, numbers, strict=True):
            self._runs[run.id] = self._runs[run.id][0], no

    async def add_calls(self, calls: Sequence[SavedCall]) -> None:
        """Write calls of runs that were added.

        Raises:
            InvalidArguments: the run of one is not there, or it is there twice.
        """
        for made in calls:
            key = (made.run_id, made.turn, str(made.number))
            if made.run_id not in self._runs or key in self._calls:
                raise _inconsistent()
            self._calls.add(key)
        values = [_call_values(self._call.user_id, self._runs[made.run_id][1], made) for made in calls]
        await self._database.write(lambda tx: tx.run_many(_NEW_CALL, values), user_id=self._call.user_id)

    async def add_messages(self, messages: Sequence[SavedMessage]) -> None:
        """Write messages, in their order.

        Raises:
            InvalidArguments: they contradict each other.
            LimitExceeded: one is too large.
        """
        for message in messages:
            answer = (message.run_id, message.turn, message.role)
            is_unique = message.role in ("assistant", "tool") and message.run_id in self._runs
            is_known = message.id in self._ids or (is_unique and answer in self._answers)
            if message.seq <= self._last_seq or is_known or not message.created_at:
                raise _inconsistent()
            self._last_seq = message.seq
            self._ids.add(message.id)
            if is_unique:
                self._answers.add(answer)
        texts = [encode_parts(message.parts) for message in messages]

        async def work(tx: Transaction) -> None:
            session_no = await ensure_session(tx, self._call)
            for message, text in zip(messages, texts, strict=True):
                await self._insert_message(tx, session_no, message, text)

        await self._database.write(work, user_id=self._call.user_id)

    async def _insert_run(self, tx: Transaction, session_no: int, run: SavedRun) -> int:
        row = await tx.one(
            _NEW_RUN,
            self._call.user_id,
            self._runs[run.id][0],
            session_no,
            run.assistant_id,
            run.model,
            run.state,
            run.epoch,
            run.turn,
            run.calls,
            run.input_tokens,
            run.output_tokens,
            run.cost,
            int(run.is_tainted),
            run.error_code,
            run.error,
            run.created_at,
            run.updated_at,
            run.end_seq,
        )
        assert row is not None
        no: int = row[0]
        return no

    async def _insert_message(self, tx: Transaction, session_no: int, message: SavedMessage, text: str) -> None:
        run = self._runs.get(message.run_id)
        await tx.run(
            _NEW_MESSAGE,
            self._call.user_id,
            session_no,
            message.seq,
            message.id,
            run[1] if run else None,
            message.turn,
            message.role,
            text,
            message.tokens,
            message.covers_seq,
            message.created_at,
            message.kind,
            message.model,
            message.input_tokens,
        )
        if message.role != "summary":
            words = MessageWords("")  # made by the next searches
            await write_words(tx, self._database.dialect, self._call.user_id, session_no, message.seq, words)


def renamed_run(payload: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    """Return the payload of an event with a run's new id, also where a segment of the run is meant."""
    return {
        key: new + value[len(old) :] if isinstance(value, str) and _names(value, old) else value
        for key, value in payload.items()
    }


def _names(value: str, run_id: str) -> bool:
    return bool(run_id) and (value == run_id or value.startswith(f"{run_id}:"))


def _call_values(user_id: str, run_no: int, made: SavedCall) -> tuple[object, ...]:
    result = encode_parts(made.result) if made.result else ""
    times = (made.started_at or None, made.ended_at or None)
    head = (user_id, run_no, made.turn, made.number, made.call_id, made.tool, made.arguments)
    details = (made.took_ms, json.dumps(made.data) if made.data is not None else "", made.data_left_out)
    origins = json.dumps(made.origins, ensure_ascii=False) if made.origins else ""
    return *head, made.decision, made.outcome, result, *times, *details, origins


def _saved_run(row: Row) -> SavedRun:
    _, id, assistant_id, model, state, epoch, turn, count, input, output, cost, tainted, *rest = row
    code, error, created, updated, end_seq = rest
    return SavedRun(
        id=id,
        assistant_id=assistant_id,
        model=model,
        state="cancelled" if state in ("running", "waiting") else state,
        epoch=epoch,
        turn=turn,
        calls=count,
        input_tokens=input,
        output_tokens=output,
        cost=cost,
        is_tainted=bool(tainted),
        error_code=code,
        error=error,
        created_at=created,
        updated_at=updated,
        end_seq=end_seq,
    )


def _saved_call(row: Row) -> SavedCall:
    run_id, turn, number, call_id, tool, arguments, decision, outcome, result, *rest = row
    started_at, ended_at, took_ms, data, data_left_out, origins, state, _ = rest
    return SavedCall(
        run_id=run_id,
        turn=turn,
        number=number,
        call_id=call_id,
        tool=tool,
        arguments=arguments,
        decision=decision,
        outcome=outcome if state == "done" else "cancelled",
        result=json.loads(result) if result else [],
        started_at=started_at or "",
        ended_at=ended_at or "",
        took_ms=took_ms,
        data=json.loads(data) if data else None,
        data_left_out=data_left_out,
        origins=json.loads(origins) if origins else [],
    )


def _saved_message(row: Row, is_own: bool) -> SavedMessage:
    seq, id, run_id, turn, role, parts, tokens, covers_seq, created_at, kind, model, input_tokens = row
    return SavedMessage(
        seq=seq,
        id=id,
        run_id=(run_id or "") if is_own else "",
        turn=turn,
        role=role,
        parts=json.loads(parts),
        tokens=tokens,
        covers_seq=covers_seq,
        created_at=created_at,
        kind=kind,
        model=model,
        input_tokens=input_tokens,
    )


def _inconsistent() -> InvalidArguments:
    return InvalidArguments(say("The archive has messages or runs that contradict each other."))
