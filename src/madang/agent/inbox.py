"""What waits for the person, of whatever client and session: reading it in full, and settling it.

It needs no model and no run of this process: a settled pause wakes its run wherever one is looked for. What a pause is
about, and whether an answer fits, its owner knows: the service that opened it, or here, for approvals and the turns of
a model, the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from madang.agent.approvals import Approvals
from madang.agent.manual import ManualTurns
from madang.core.calls import Call
from madang.core.ids import UserId
from madang.core.pauses import PauseAnswer, PauseForm, PauseRecord
from madang.database.port import Database
from madang.provider.pauses import PauseOwners
from madang.provider.provider import Provider
from madang.records.decisions import DecisionStore
from madang.records.pauses import PauseStore
from madang.records.run_journal_tables import JOURNAL_MIGRATIONS
from madang.records.runs.records import Run
from madang.records.runs.rows import find_awaited
from madang.system.clock import timestamp


class Inbox:
    """The open pauses of a user."""

    def __init__(self, database: Database, provider: Provider) -> None:
        self._database = database
        self._provider = provider
        self._pauses = PauseStore(database)
        self._owners: PauseOwners = {
            "approval": Approvals(database),
            "model": ManualTurns(database),
        }

    async def open(self) -> None:
        """Make the tables, those of runs among them; this process owns none."""
        await self._pauses.open()
        await self._database.prepare(JOURNAL_MIGRATIONS)
        await DecisionStore(self._database).open()

    async def list_open(self, user_id: UserId, limit: int = 100, after: str = "") -> list[PauseRecord]:
        """Return what is open, newest first: up to `limit`, older than the id `after`."""
        return await self._pauses.list_open(user_id, limit, after)

    async def list_by_run(self, run: Run) -> list[PauseRecord]:
        """Return all that a run has asked, oldest first."""
        return await self._pauses.list_by_run(run.user_id, run.id)

    async def list_awaited(self, run: Run) -> list[PauseRecord]:
        """Return what a run waits for now, oldest first. It may have more open, which it goes on without."""
        now = timestamp()
        return await self._database.read(lambda tx: find_awaited(tx, run, now), user_id=run.user_id, brief=True)

    async def get(self, call: Call, id: str) -> PauseRecord | None:
        """Return a pause of the call's user as it is now."""
        return await self._pauses.get(call, id)

    async def read(self, call: Call, pause: PauseRecord) -> PauseForm:
        """Return a pause with all that the person needs to settle it."""
        (form,) = await self.read_all(call, [pause])
        return form

    async def read_all(self, call: Call, pauses: Sequence[PauseRecord]) -> list[PauseForm]:
        """Return pauses of whatever sessions with all that the person needs to settle them, in their order."""
        return await self._provider.read_pauses(call, pauses, self._owners)

    async def settle(self, call: Call, pause: PauseRecord, answer: PauseAnswer) -> PauseRecord:
        """Settle a pause with what the person said, and return it as it then is.

        Raises:
            ToolError: the answer is not accepted: it does not fit, came too late, or is not for this actor to give.
        """
        place = replace(call, session_id=pause.session_id, assistant_id=pause.assistant_id or call.assistant_id)
        return await self._provider.settle_pause(place, pause, answer, self._owners)
