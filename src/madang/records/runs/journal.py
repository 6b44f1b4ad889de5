"""What a run says and does, as rows: messages and calls, written in the unit of the step that made them.

Parts of messages and results of calls are JSON whose meaning is the agent's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from madang.core.errors import LimitExceeded
from madang.core.ids import SessionId, UserId
from madang.core.pauses import PauseRecord
from madang.core.phrases import Phrase, dump_phrase, parse_phrase, say
from madang.core.run_events import CallOutcome as CallOutcome
from madang.core.trust import Origin, parse_origins
from madang.database.port import Row, Transaction
from madang.records.events import NewEvent
from madang.records.runs.records import Run
from madang.records.runs.usage import AnswerUsage, Calibration
from madang.records.runs.word_rows import MessageWords
from madang.system.clock import timestamp

MAX_MESSAGE_BYTES = 8 * 1024 * 1024

Role = Literal["user", "assistant", "tool", "summary"]

MessageKind = Literal["", "action", "answered_late", "stopped", "cut", "mend", "check"]
"""What a message is beside its role. `action`, `answered_late`: the model is told what happened beside its run;
`stopped`: the person stopped the model in the middle of it; `cut`: it ended before it was whole. `mend`: the model is
told what was wrong with its answer, and asked again; `check`: it is asked whether everything was done."""

CallState = Literal["received", "asking", "approved", "started", "waiting", "done"]
"""`asking`: its approval is open; `approved`: it may begin; `waiting`: it has begun, and a pause of it is open."""

Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that is to be stored. `event` is the place, in the events of its step, of the one that tells of it."""

    id: str
    role: Role
    parts: Sequence[Part]
    event: int
    tokens: int = 0
    turn: int = 0
    covers_seq: int = 0
    """Of a summary: the number of the last message that it stands for."""
    words: MessageWords | None = None
    kind: MessageKind = ""
    model: str = ""
    """Of an answer: who gave it, and how much it was sent."""
    input_tokens: int | None = None
    origins: tuple[Origin, ...] = ()
    """Where untrusted words in it came from, beside those of the results that it gives."""


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message. `seq` is the number of the event that tells of it; 0 while it is queued."""

    id: str
    seq: int
    role: Role
    parts: tuple[Part, ...]
    tokens: int
    turn: int
    created_at: str
    covers_seq: int = 0
    """Of a summary: the number of the last message that it stands for."""
    kind: MessageKind = ""
    model: str = ""
    input_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """What the model is to be given before its next request."""

    id: str
    kind: Literal["message", "action"]
    """`message`: the person wrote it, and the run goes on for it; `action`: they did something by themselves."""
    parts: tuple[Part, ...]
    tokens: int
    created_at: str


@dataclass(frozen=True, slots=True)
class RunNews:
    """What happened beside a run that its model does not know yet."""

    queued: tuple[QueuedMessage, ...] = ()
    answered: tuple[PauseRecord, ...] = ()
    """What the person answered after its run went on or ended without it."""


@dataclass(frozen=True, slots=True)
class NewRunCall:
    """A call that the model asks for in an answer. `arguments` are its own words, which need not be JSON."""

    number: int
    call_id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class RunCall:
    """A call of a run, as it stands."""

    turn: int
    number: int
    call_id: str
    tool: str
    arguments: str
    state: CallState
    decision: str
    """What was decided of it: `allow`, `deny`, or empty."""
    pause_id: str
    outcome: CallOutcome
    result: tuple[Part, ...]
    """What the model is told, once it is done."""
    took_ms: int | None = None
    data: Mapping[str, Any] | None = None
    """The structured half of the result, for the person."""
    data_left_out: int = 0
    """How many bytes that had, if it was too much to be kept."""
    view_id: str = ""
    origins: tuple[Origin, ...] = ()
    """Where untrusted words in the result came from."""
    reason: Phrase | None = None
    """Why the person was asked before it was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChange:
    """What a step changes of one call of the present turn; None leaves a column as it is."""

    number: int
    state: CallState
    outcome: CallOutcome = ""
    decision: str | None = None
    pause_id: str | None = None
    result: Sequence[Part] = ()
    fingerprint: str = ""
    """By it a run that turns in a circle is noticed: which call this is, and maybe, behind a colon, what the plan was
    after it."""
    took_ms: int | None = None
    data: Mapping[str, Any] | None = None
    data_left_out: int = 0
    view_id: str | None = None
    origins: tuple[Origin, ...] = ()


StepState = Literal["running", "waiting", "finished", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """All that one step of a run writes, in one transaction, and the state that it leads to."""

    state: StepState = "running"
    events: Sequence[NewEvent] = ()
    turn: int | None = None
    """The turn that the step begins; None: it belongs to the present one."""
    messages: Sequence[NewMessage] = ()
    calls: Sequence[NewRunCall] = ()
    """Of the turn that the step begins."""
    changes: Sequence[CallChange] = ()
    origins: Sequence[Origin] = ()
    """Where untrusted words came from that the model was shown beside its messages: in the state of the services."""
    awaited: Sequence[str] = ()
    """Ids of the run's pauses that a waiting run waits for, until all of them are settled or have expired."""
    noted: Sequence[str] = ()
    """Ids of pauses whose outcome is kept by this step: a next owner is not told of them again."""
    withdrawn: Sequence[str] = ()
    """Ids of pauses that the run no longer asks."""
    given: Sequence[str] = ()
    """Ids of queued messages that the step's messages replace."""
    answered_late: Sequence[str] = ()
    """Ids of pauses whose answers, which came after the run went on without them, the step's messages tell."""
    streamed: Sequence[int] = ()
    """Numbers of messages whose deltas end here: they are stored whole, or begun anew."""
    usage: AnswerUsage | None = None
    calibration: Calibration | None = None
    error_code: str = ""
    error: str = ""

    @property
    def shown_origins(self) -> tuple[Origin, ...]:
        """Where all untrusted words came from that this step shows the model, or will."""
        of_calls = (origin for change in self.changes for origin in change.origins)
        return (*of_calls, *(origin for message in self.messages for origin in message.origins), *self.origins)

    @property
    def ended_calls(self) -> int:
        """How many calls were made. One that is done with the answer that asks for it was not."""
        asked = {call.number for call in self.calls}
        return sum(change.state == "done" and change.number not in asked for change in self.changes)


class StaleNews(Exception):
    """A queued message was withdrawn after it was read. Nothing of the step was written: read the news anew."""


CALL_COLUMNS = (
    "turn, number, call_id, tool, arguments, state, decision, pause_id, outcome, result, took_ms, data, data_left_out, "
    "view_id, origins, reason"
)
MESSAGE_COLUMNS = "id, seq, role, parts, tokens, turn, created_at, covers_seq, kind, model, input_tokens"


async def write_reason(tx: Transaction, run: Run, call: RunCall, reason: Phrase) -> None:
    """Write why the person is asked for a call. It belongs into the unit that opens the approval: from then on people
    see it, and by the reason they are told for how long they may allow it."""
    await tx.run(
        "UPDATE run_call SET reason = ?5 WHERE user_id = ?1 AND run_no = ?2 AND turn = ?3 AND number = ?4",
        run.user_id,
        run.no,
        call.turn,
        call.number,
        dump_phrase(reason),
    )


async def end_calls(tx: Transaction, run: Run) -> None:
    """Mark what a run that is over has not done as cancelled, and what it has asked as unanswered."""
    await tx.run(
        "UPDATE run_call SET state = 'done', ended_at = ?3, outcome = CASE WHEN state = 'waiting' AND EXISTS "
        "(SELECT 1 FROM pause p WHERE p.user_id = run_call.user_id AND p.id = run_call.pause_id "
        "AND p.status <> 'withdrawn') THEN 'unanswered' ELSE 'cancelled' END "
        "WHERE user_id = ?1 AND run_no = ?2 AND state <> 'done'",
        run.user_id,
        run.no,
        timestamp(),
    )


async def delete_queued(tx: Transaction, run: Run, session_no: int, id: str) -> int:
    """Take a message out of the queue, and return how many that were: one that was withdrawn is not there."""
    return await tx.run(
        "DELETE FROM queued_message WHERE user_id = ?1 AND session_no = ?2 AND id = ?3", run.user_id, session_no, id
    )


async def find_queued(tx: Transaction, user_id: UserId, session_id: SessionId) -> tuple[QueuedMessage, ...]:
    """Return what the person wrote or did and the model was not given yet, oldest first."""
    rows = await tx.all(
        "SELECT q.id, q.kind, q.parts, q.tokens, q.created_at FROM queued_message q "
        "JOIN session s ON s.user_id = q.user_id AND s.no = q.session_no "
        "WHERE s.user_id = ?1 AND s.id = ?2 AND q.kind IN ('message', 'action') ORDER BY q.seq, q.id",
        user_id,
        session_id,
    )
    return tuple(QueuedMessage(id, kind, tuple(json.loads(parts)), *rest) for id, kind, parts, *rest in rows)


def encode_parts(parts: Sequence[Part]) -> str:
    text = json.dumps(list(parts), ensure_ascii=False, separators=(",", ":"))
    if len(text.encode("utf-8", "surrogatepass")) > MAX_MESSAGE_BYTES:
        raise LimitExceeded(say("A message may have {limit} bytes.", limit=MAX_MESSAGE_BYTES))
    return text


def parse_message(row: Row) -> Message:
    id, seq, role, parts, *rest = row
    return Message(id, seq, role, parse_parts(parts), *rest)


def parse_parts(text: str) -> tuple[Part, ...]:
    return tuple(json.loads(text))


def parse_call(row: Row) -> RunCall:
    turn, number, call_id, tool, arguments, state, decision, pause_id, outcome, result, took_ms, data, *rest = row
    left_out, view_id, origins, reason = rest
    return RunCall(
        turn,
        number,
        call_id,
        tool,
        arguments,
        state,
        decision,
        pause_id,
        outcome,
        tuple(json.loads(result)) if result else (),
        took_ms,
        json.loads(data) if data else None,
        left_out,
        view_id,
        parse_origins(origins),
        parse_phrase(reason) if reason else None,
    )
