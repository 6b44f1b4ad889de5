"""A run as it is kept, and what can be taken over."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

from madang.core.calls import Call, Locale
from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.pauses import PauseRecord
from madang.database.port import Row
from madang.database.subscriptions import topic

RunState = Literal["running", "waiting", "finished", "failed", "cancelled"]
LIVE_STATES: tuple[RunState, ...] = ("running", "waiting")


class LostRun(Exception):
    """The run is no longer this process's: another claimed it, or it ended. Nothing was written; stop at once."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run, as it was when it was read. Whoever holds it with its present epoch, while it is running, may write."""

    no: int
    """For statements: it never leaves the process."""
    id: str
    user_id: UserId
    session_id: SessionId
    assistant_id: AssistantId
    model: str
    state: RunState
    epoch: int
    """Counts its owners, one after the other. Each write requires it, so that only the last one can write."""
    owner: str
    """The process that runs it; empty unless it is running."""
    turn: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    is_tainted: bool
    """Whether something that cannot be trusted was read in it."""
    deadline_at: str
    wake_at: str
    """When the first of the pauses that it waits for expires; empty if none does."""
    error_code: str
    error: str
    created_at: str
    updated_at: str
    place: str = ""
    """Where its last owner had the files of its session; empty if that is one place for all."""
    has_moved: bool = False
    """Claimed by a process that has the files of its session elsewhere than its last owner had them."""
    was_interrupted: bool = False
    """Claimed from an owner that died at work: what that one began may or may not have been done."""
    pauses: tuple[PauseRecord, ...] = ()
    """What it waited for and has not taken note of yet. Only a claim reads them. One that is still open was not
    answered: the person wrote something instead."""

    def call(self, call_id: str = "", operation_id: str = "", locale: Locale = "en") -> Call:
        """Return the context of a call that the run's model makes."""
        return Call(
            assistant_id=self.assistant_id or None,
            session_id=self.session_id,
            user_id=self.user_id,
            locale=locale,
            door="agent",
            actor="model",
            run_id=self.id,
            call_id=call_id,
            operation_id=operation_id,
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run that can perhaps be claimed, as a look found it, or a session whose answers start one."""

    user_id: UserId
    run_no: int
    """0: there is none yet."""
    owner: str
    """The owner that died; empty if the run waits."""
    session_no: int = 0
    """Of the session that is to get a run, else 0."""
    place: str = ""
    """Where the files are that its last owner had; empty if that is not known, or the run was given up."""


class Look(NamedTuple):
    """What there is to take over now, in random order, and when it is worth to look again even if nothing changes."""

    candidates: list[Candidate]
    wake_at: str
    """The next expiry that a run waits for; empty if there is none."""
    owned: list[Candidate]
    """The runs that this process owns, whether it works on them or not."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A part of a message that is still being written: its characters from `at_char` on."""

    run: Run
    message_no: int
    at_char: int
    text: str


SELECT_RUN = (
    "SELECT run.no, run.id, run.user_id, session.id AS session_id, run.assistant_id, run.model, run.state, run.epoch, "
    "run.owner, run.turn, run.calls, run.input_tokens, run.output_tokens, run.cost, run.tainted, run.deadline_at, "
    "run.wake_at, run.error_code, run.error, run.created_at, run.updated_at, run.place "
    "FROM run JOIN session ON session.user_id = run.user_id AND session.no = run.session_no"
)
_FIELDS = [field.name for field in fields(Run) if field.name not in ("has_moved", "was_interrupted", "pauses")]


def parse_run(row: Row) -> Run:
    """Return the run of a row of `SELECT_RUN`."""
    values = dict(zip(_FIELDS, row, strict=True))
    for name in ("deadline_at", "wake_at"):
        values[name] = values[name] or ""
    return Run(**{**values, "is_tainted": bool(values["is_tainted"])})


def run_topic(run: Run) -> str:
    return topic("run", run.user_id, run.session_id, run.id)
