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
from madang.records.declarations import (
    FLAG,
    JSON_OR_EMPTY,
    JSON_OR_NONE,
    OR_NULL,
    Fields,
    Form,
    Generated,
    Id,
    Left,
    Number,
    Saved,
    Session,
    SessionTable,
    User,
)
from madang.records.declared_sessions import document_of, insert_statement, row_of, selected
from madang.records.runs.journal import CallOutcome, MessageKind, encode_parts
from madang.records.runs.segments import Segment, find_segments
from madang.records.runs.word_rows import MessageWords, write_words
from madang.records.sessions import ensure_session
from madang.system.clock import Timestamp

ROWS_PER_BATCH = 100

Count = Annotated[int, Field(ge=0, le=2**53)]
Name = Annotated[str, Field(max_length=500)]
RunId = Annotated[str, Field(min_length=1, max_length=100)]
Parts = list[dict[str, Any]]


class SavedCall(Document):
    """A call of a run, which is done."""

    run_id: RunId
    turn: Count
    number: Count
    call_id: Name
    tool: Name
    arguments: str
    decision: Literal["", "allow", "deny"]
    outcome: CallOutcome
    result: Parts
    started_at: Timestamp
    ended_at: Timestamp
    took_ms: Count | None = None
    data: dict[str, Any] | None = None
    data_left_out: Count = 0
    origins: list[str] = Field(default_factory=list, max_length=100)


class SavedRun(Document):
    """A run that is over."""

    id: RunId
    assistant_id: Name
    model: Name
    state: Literal["finished", "failed", "cancelled"]
    epoch: Count
    turn: Count
    calls: Count
    input_tokens: Count
    output_tokens: Count
    cost: Annotated[float, Field(ge=0)]
    is_tainted: bool
    error_code: Name
    error: Annotated[str, Field(max_length=4_000)]
    end_seq: Count = 0
    created_at: Timestamp
    updated_at: Timestamp


class SavedMessage(Document):
    """A message. `run_id` is empty if its run is not there."""

    seq: Annotated[int, Field(ge=1, le=2**53)]
    id: Annotated[str, Field(min_length=1, max_length=100)]
    run_id: Annotated[str, Field(max_length=100)]
    turn: Count
    role: Literal["user", "assistant", "tool", "summary"]
    parts: Parts
    tokens: Count
    covers_seq: Count
    created_at: Timestamp
    kind: MessageKind = ""
    model: Name = ""
    input_tokens: Count | None = None


def _over(run: Fields) -> Fields:
    return run | {"state": "cancelled"} if run["state"] in ("running", "waiting") else run


def _done(call: Fields) -> Fields:
    return call if call["state"] == "done" else call | {"outcome": "cancelled"}


_PARTS = Form(json.loads, encode_parts)
_PARTS_OR_EMPTY = Form(JSON_OR_EMPTY.read, lambda parts: encode_parts(parts) if parts else "")

RUNS = SessionTable(
    "run",
    SavedRun,
    {
        "no": Generated(),
        "user_id": User(),
        "id": Id(),
        "session_no": Session(by_number=True),
        "assistant_id": Saved(),
        "model": Saved(),
        "state": Saved(),
        "epoch": Saved(),
        "owner": Left(),
        "turn": Saved(),
        "calls": Saved(),
        "input_tokens": Saved(),
        "output_tokens": Saved(),
        "cost": Saved(),
        "tainted": Saved("is_tainted", FLAG),
        "deadline_at": Left(None),
        "wake_at": Left(None),
        "error_code": Saved(),
        "error": Saved(),
        "created_at": Saved(),
        "updated_at": Saved(),
        "end_seq": Saved(),
        "step": Left(),
        "place": Left(),
    },
    order="no",
    leaving=_over,
)
CALLS = SessionTable(
    "run_call",
    SavedCall,
    {
        "user_id": User(),
        "run_no": Number("run", "id", field="run_id", is_copied=True),
        "turn": Saved(),
        "number": Saved(),
        "call_id": Saved(),
        "tool": Saved(),
        "arguments": Saved(),
        "state": Left("done"),
        "decision": Saved(),
        "pause_id": Left(),
        "outcome": Saved(),
        "result": Saved(form=_PARTS_OR_EMPTY),
        "fingerprint": Left(),
        "started_at": Saved(form=OR_NULL),
        "ended_at": Saved(form=OR_NULL),
        "took_ms": Saved(),
        "data": Saved(form=JSON_OR_NONE),
        "data_left_out": Saved(),
        "view_id": Left(),  # the view that comes along marks its call
        "origins": Saved(form=JSON_OR_EMPTY),
        "reason": Left(),
    },
    order="run_no",
    leaving=_done,
)
MESSAGES = SessionTable(
    "message",
    SavedMessage,
    {
        "user_id": User(),
        "session_no": Session(by_number=True),
        "seq": Saved(),
        "id": Saved(),
        "run_no": Number("run", "id", field="run_id", is_copied=True),
        "turn": Saved(),
        "role": Saved(),
        "parts": Saved(form=_PARTS),
        "tokens": Saved(),
        "created_at": Saved(),
        "covers_seq": Saved(),
        "kind": Saved(),
        "model": Saved(),
        "input_tokens": Saved(),
    },
    order="seq",
)

_FIND_RUNS = f"""
SELECT {selected(RUNS)} FROM run t WHERE t.user_id = ?1 AND t.session_no = ?2 AND t.no > ?3 ORDER BY t.no LIMIT ?4
"""
_FIND_CALLS = f"""
SELECT t.run_no AS after_no, {selected(CALLS)}
FROM run r JOIN run_call t ON t.user_id = r.user_id AND t.run_no = r.no
WHERE r.user_id = ?1 AND r.session_no = ?2 AND (t.run_no, t.turn, t.number) > (?3, ?4, ?5)
ORDER BY t.run_no, t.turn, t.number LIMIT ?6
"""
_FIND_MESSAGES = f"""
SELECT {selected(MESSAGES)} FROM message t
WHERE t.user_id = ?1 AND t.session_no = ?2 AND t.seq > ?3 AND t.seq <= ?4 ORDER BY t.seq LIMIT ?5
"""


async def read_runs(database: Database, call: Call) -> AsyncIterator[SavedRun]:
    """Yield the runs of the call's session, oldest first; not those of sessions that it is a fork of."""
    session_no = await _session_no(database, call)
    after = 0
    rows: list[Row] = [()] * ROWS_PER_BATCH
    while session_no and len(rows) == ROWS_PER_BATCH:
        rows = await database.find(_FIND_RUNS, call.user_id, session_no, after, ROWS_PER_BATCH, user_id=call.user_id)
        for row in rows:
            after = row[0]
            yield document_of(RUNS, row)


async def read_calls(database: Database, call: Call) -> AsyncIterator[SavedCall]:
    """Yield the calls of these runs, in their order."""
    session_no = await _session_no(database, call)
    after = (0, 0, 0)
    rows: list[Row] = [()] * ROWS_PER_BATCH
    while session_no and len(rows) == ROWS_PER_BATCH:
        rows = await database.find(_FIND_CALLS, call.user_id, session_no, *after, ROWS_PER_BATCH, user_id=call.user_id)
        for row in rows:
            made = document_of(CALLS, row[1:])
            after = row[0], made.turn, made.number
            yield made


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
                return await tx.all(_FIND_MESSAGES, *key, after, segment.up_to, ROWS_PER_BATCH)

            rows = await database.read(work, user_id=call.user_id)
            for row in rows:
                message = document_of(MESSAGES, row)
                yield message if is_own else message.model_copy(update={"run_id": ""})
            if len(rows) < ROWS_PER_BATCH:
                break
            after = rows[-1][0]


class RunRestorer:
    """Writes runs and messages of another place into the call's session, which is new. Runs come first."""

    def __init__(self, database: Database, call: Call) -> None:
        self._database = database
        self._call = call
        self._runs: dict[str, str] = {}
        self._answers: set[tuple[str, int, str]] = set()
        self._calls: set[tuple[str, int, str]] = set()
        self._ids: set[str] = set()
        self._last_seq = 0

    def new_run_id(self, id: str) -> str:
        """Return the id under which a run is known here; that which it has if it is not here."""
        return self._runs.get(id, id)

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
            self._runs[run.id] = new_id()
        await self._insert(RUNS, [row_of(RUNS, self._call, self._runs[run.id], run, self._runs) for run in runs])

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
        await self._insert(CALLS, [row_of(CALLS, self._call, "", made, self._runs) for made in calls])

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
        searched = [message.seq for message in messages if message.role != "summary"]
        await self._insert(
            MESSAGES, [row_of(MESSAGES, self._call, "", message, self._runs) for message in messages], searched
        )

    async def _insert(self, table: SessionTable[Any], rows: Sequence[Row], searched: Sequence[int] = ()) -> None:
        async def work(tx: Transaction) -> None:
            session_no = await ensure_session(tx, self._call)
            await tx.run_many(insert_statement(table), rows)
            for seq in searched:
                words = MessageWords("")  # made by the next searches
                await write_words(tx, self._database.dialect, self._call.user_id, session_no, seq, words)

        await self._database.write(work, user_id=self._call.user_id)


def renamed_run(payload: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    """Return the payload of an event with a run's new id, also where a segment of the run is meant."""
    return {
        key: new + value[len(old) :] if isinstance(value, str) and _names(value, old) else value
        for key, value in payload.items()
    }


def _names(value: str, run_id: str) -> bool:
    return bool(run_id) and (value == run_id or value.startswith(f"{run_id}:"))


def _inconsistent() -> InvalidArguments:
    return InvalidArguments(say("The archive has messages or runs that contradict each other."))
