"""Runs without a model: each asks, waits and goes on, as a short story says, and another process can go on with it.

What a run does next follows from its row and from what it waited for, so it does not matter which process does it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.pauses import PauseRecord
from madang.database.port import Database, ResultT, Transaction, Work
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.database.sqlite.database import SqliteDatabase
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from madang.records.events import NewEvent
from madang.records.pauses import PauseStore
from madang.records.runs.journal import Step
from madang.records.runs.records import LIVE_STATES, Candidate, LostRun, Run
from madang.records.runs.store import RunStore
from madang.records.sessions import SessionStore
from madang.services import prebuilt_schemas
from madang.services.playbook.service import PlaybookService
from madang.services.ui.service import UiService
from madang.system import clock

CALL = Call(assistant_id=AssistantId("default"), actor="person", door="host")
PARALLEL = 25

ASK = ("prompt_user", {"prompt": "Which colour?", "type": "text"})
SHOW: tuple[str, dict[str, Any]] = ("show_playbooks", {})
STOP = ("wait_for_user", {"message": "Sit down"})


@dataclass(frozen=True)
class Story:
    """What a run asks, all at once, and how each of it ends."""

    asks: Sequence[tuple[str, dict[str, Any]]]
    outcomes: Sequence[str]
    expires: bool = False


STORIES = {
    "text": Story([ASK], ["answered"]),
    "choice": Story([SHOW], ["answered"]),
    "wait": Story([STOP], ["answered"]),
    "two at once": Story([ASK, STOP], ["answered", "answered"]),
    "expired": Story([ASK], ["expired"], expires=True),
    "superseded": Story([SHOW, SHOW], ["superseded", "answered"]),
}


class MortalDatabase:
    """A database that counts what is written through it, and kills its process before or after one commit.

    Before: with all statements of the unit run, and none committed. `dies_at` is "3-" or "3+".
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.count = 0
        self.dies_at = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def write(self, work: Work[ResultT], *, user_id: UserId | None = None, is_optional: bool = False) -> ResultT:
        self.count += 1
        number = self.count

        async def mortal(tx: Transaction) -> ResultT:
            result = await work(tx)
            self._die(f"{number}-")
            return result

        result = await self._database.write(mortal, user_id=user_id, is_optional=is_optional)
        self._die(f"{number}+")
        return result

    def _die(self, point: str) -> None:
        if self.dies_at == point:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Process:
    """Everything that one process has: the provider, the runs, and the person in front of it."""

    database: MortalDatabase
    provider: Provider
    runs: RunStore
    pauses: PauseStore
    held: dict[str, Run] = field(default_factory=dict)

    async def play(self, story: str, session: str) -> None:
        """Play a story from its beginning to its end."""
        await self.go_on(await self.start(story, session))
        await self.settle(story, session)

    async def add_playbook(self) -> None:
        call, arguments = replace(CALL, session_id=SessionId("setup")), {"goal": "Brew tea", "workflow": []}
        reply = await self.provider.execute_tool(call, "create_playbook", arguments)
        assert not reply.is_error, reply.text

    async def start(self, story: str, session: str) -> Run:
        call = replace(CALL, session_id=SessionId(session))
        return await self.runs.start(call, Step(events=[NewEvent("started", {})]), model=story)

    async def recover(self, story: str, session: str) -> None:
        """Bring to its end what another process began, as a client does whose request was never answered."""
        if await self.last_run(session) is None:
            await self.go_on(await self.start(story, session))
        await self.claim_all()
        await self.settle(story, session)

    async def settle(self, story: str, session: str) -> None:
        """Be the person, and go on with the run, until it is over."""
        while (run := await self.last_run(session)) is not None and run.state in LIVE_STATES:
            if STORIES[story].expires:
                with clock_set_by(days=8):
                    await self.claim_all()
                continue
            for pause in await self.pauses.list_by_run(run.user_id, run.id):
                if pause.is_open:
                    await self.answer(pause)
                    break
            await self.claim_all()

    async def claim_all(self) -> list[str]:
        """Claim what a look finds, go on with it, and return the ids of the runs that were got."""
        claims = (self.runs.claim(candidate, _claimed) for candidate in (await self.runs.look()).candidates)
        runs = [run for run in await asyncio.gather(*claims) if run is not None]
        await asyncio.gather(*map(self.go_on, runs))
        return [run.id for run in runs]

    async def go_on(self, run: Run) -> None:
        """Do what is next in a run of this process: note what was settled and finish, or ask and wait."""
        story = STORIES[run.model]
        if run.pauses:
            replies = [await self.provider.outcome(run.call(), pause) for pause in run.pauses]
            results = [
                NewEvent("result", {"callId": pause.call_id, "outcome": pause.status, "text": reply.text})
                for pause, reply in zip(run.pauses, replies, strict=True)
            ]
            run = await self.runs.commit(run, Step(events=results, turn=1, noted=[pause.id for pause in run.pauses]))
        if run.turn:
            await self.runs.commit(run, Step(state="finished", events=[NewEvent("finished", {})]))
            return
        ids = []
        for number, (tool, arguments) in enumerate(story.asks):
            call = run.call(f"call-{number}", f"{run.id}:{run.turn}:{number}")
            reply = await self.provider.execute_tool(call, tool, arguments)
            assert reply.pause_id, reply.text
            ids.append(reply.pause_id)
        await self.runs.commit(run, Step(state="waiting", events=[NewEvent("waiting", {"pauses": ids})], awaited=ids))

    async def answer(self, pause: PauseRecord) -> None:
        call = replace(CALL, session_id=pause.session_id)
        match pause.kind:
            case "prompt":
                tool, arguments = "reply_prompt", {"messageId": pause.id, "answer": "blue"}
            case "wait":
                tool, arguments = "resume_from_wait", {"waitId": pause.id}
            case _:
                listed = await self.provider.execute_tool(call, "list_playbooks", {})
                id = listed.data["page"]["items"][0]["id"]
                tool, arguments = "select_playbook", {"id": id, "pauseId": pause.id}
        reply = await self.provider.execute_tool(call, tool, arguments)
        assert reply.settles == pause.id, reply.text

    async def last_run(self, session: str) -> Run | None:
        """Return the newest run of a session."""
        sql = (
            "SELECT run.id FROM run JOIN session ON session.user_id = run.user_id AND session.no = run.session_no "
            "WHERE run.user_id = ?1 AND session.id = ?2 ORDER BY run.no DESC LIMIT 1"
        )
        rows = await self.database.find(sql, CALL.user_id, session, user_id=CALL.user_id)
        return await self.runs.get(CALL.user_id, rows[0][0]) if rows else None

    # What several processes do at once

    async def prepare_answered(self, count: int) -> None:
        """Let so many runs wait, each in its session, and end what they wait for."""

        async def one(number: int) -> None:
            async with few:
                session = f"race-{number}"
                await self.go_on(await self.start("wait", session))
                run = await self.last_run(session)
                assert run is not None
                [pause] = await self.pauses.list_by_run(run.user_id, run.id)
                await self.answer(pause)

        few = asyncio.Semaphore(PARALLEL)
        await asyncio.gather(*map(one, range(count)))

    async def contend(self) -> list[str]:
        """Claim until nothing is left."""
        claimed: list[str] = []
        while (await self.runs.look()).candidates:
            claimed += await self.claim_all()
        return claimed

    # What a test does with a run that its owner has not gone on with

    async def hold(self, story: str, session: str) -> None:
        """Start a run and leave it there."""
        self.held[session] = await self.start(story, session)

    async def steal(self, session: str) -> None:
        """Claim the run of an owner that is alive, as if its lock had lied, and leave it there."""
        run = await self.last_run(session)
        assert run is not None
        stolen = await self.runs.claim(Candidate(run.user_id, run.no, run.owner), _claimed)
        assert stolen is not None
        self.held[session] = stolen

    async def write_to(self, session: str) -> bool:
        """Write to a run that is held, and tell whether that could be done."""
        with suppress(LostRun):
            self.held[session] = await self.runs.commit(self.held[session], Step(events=[NewEvent("step", {})]))
            return True
        return False

    async def let_wait(self, session: str) -> bool:
        """Let a run that is held ask and wait, and tell whether that could be done."""
        with suppress(LostRun):
            await self.go_on(self.held[session])
            return True
        return False


def _claimed(run: Run) -> list[NewEvent]:
    return [NewEvent("interrupted" if run.was_interrupted else "resumed", {"epoch": run.epoch})]


def set_clock(**later: float) -> None:
    """Set the clock of this process so much later than it is, or earlier."""
    clock.now = lambda: datetime.now(UTC) + timedelta(**later)
    clock.SETTLE_S = 0.0


@contextmanager
def clock_set_by(**later: float) -> Iterator[None]:
    before: Callable[[], datetime] = clock.now
    set_clock(**later)
    try:
        yield
    finally:
        clock.now = before


def open_database(where: str) -> Database:
    """Return the database at a path or URL."""
    return PostgresDatabase(parse_database_url(where)) if "://" in where else SqliteDatabase(Path(where))


@asynccontextmanager
async def open_process(where: str) -> AsyncIterator[Process]:
    """Open what one process has on a database."""
    database = open_database(where)
    mortal = MortalDatabase(database)
    counted = cast(Database, mortal)
    # Audit rows are written in the background, at no certain moment: they are not counted.
    provider = Provider(AuditLog(database), sessions=SessionStore(counted), schemas=prebuilt_schemas())
    for service in (PlaybookService(counted), UiService(counted)):
        provider.register(service)
    liveness = database.new_liveness()
    runs = RunStore(counted, liveness)
    try:
        await provider.open_all()
        await runs.open()
        yield Process(mortal, provider, runs, PauseStore(counted))
    finally:
        await liveness.close()
        await provider.close()
        await database.close()
