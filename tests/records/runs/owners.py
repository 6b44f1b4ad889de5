"""An owner of runs that asks a question without a service, and a person that answers it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, new_id
from madang.core.pauses import PauseRecord
from madang.database.liveness import Liveness
from madang.database.port import Database, Transaction
from madang.records.events import EventLog, NewEvent
from madang.records.pauses import open_pause, settle_pause
from madang.records.runs.journal import Step
from madang.records.runs.records import Run
from madang.records.runs.store import RunStore
from madang.system import clock

CALL = Call(assistant_id=AssistantId("default"), session_id=SessionId("monday"), actor="person")
STARTED = [NewEvent("started", {})]


@dataclass(frozen=True)
class Owner:
    """One process, as far as runs are concerned."""

    store: RunStore
    liveness: Liveness
    database: Database

    async def start(self, session: str = "monday", call: Call = CALL) -> Run:
        return await self.store.start(replace(call, session_id=SessionId(session)), Step(events=STARTED))

    async def ask(self, run: Run, number: int = 0, expires_s: float | None = 3600) -> str:
        """Open a pause of the run, once for each number, and return its id."""
        call, id = run.call(f"call-{number}", f"{run.id}:{run.turn}:{number}"), new_id()
        moment = clock.now() + timedelta(seconds=expires_s or 0)
        expires_at = clock.format_timestamp(moment) if expires_s is not None else ""

        async def work(tx: Transaction) -> PauseRecord:
            pause, _ = await open_pause(
                tx, call, id=id, kind="prompt", service="ui", tool="prompt_user", title="Why?", expires_at=expires_at
            )
            return pause

        return (await self.database.write(work, user_id=run.user_id)).id

    async def answer(self, run: Run, id: str) -> PauseRecord | None:
        call = replace(CALL, user_id=run.user_id, session_id=run.session_id)

        async def work(tx: Transaction) -> PauseRecord | None:
            return await settle_pause(tx, call, id, status="answered", tool="reply_prompt", arguments={"answer": "so"})

        return await self.database.write(work, user_id=run.user_id)

    async def claim(self) -> list[Run]:
        """Claim what can be claimed."""
        claimed = [await self.store.claim(candidate, resumed) for candidate in (await self.store.look()).candidates]
        return [run for run in claimed if run is not None]

    async def kinds(self, run: Run) -> list[str]:
        """Return the kinds of the session's events, which are numbered without a gap."""
        page = await EventLog(self.database).read(run.call())
        assert [event.seq for event in page.events] == list(range(1, page.last_seq + 1))
        return [event.kind for event in page.events]


def resumed(run: Run) -> list[NewEvent]:
    return [NewEvent("interrupted" if run.was_interrupted else "resumed", {"epoch": run.epoch})]
