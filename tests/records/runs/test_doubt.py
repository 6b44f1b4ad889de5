"""A step whose COMMIT was sent and never answered: it is tried again, and written once."""

from __future__ import annotations

from pathlib import Path

import pytest

from madang.core.errors import StoreUnavailable
from madang.core.ids import UserId, new_id
from madang.core.phrases import say
from madang.database.patience import Patience, PatientDatabase
from madang.database.port import ResultT, Work
from madang.records.events import NewEvent
from madang.records.runs.journal import CallChange, NewMessage, NewRunCall, Step, StepState
from madang.records.runs.records import LostRun
from madang.records.runs.store import RunStore
from tests.records.runs.owners import CALL, Owner


class Unheard(PatientDatabase):
    """Writes, and loses the answers to the next few writes, as a connection does that breaks at the wrong moment."""

    lost = 0

    async def write(self, work: Work[ResultT], *, user_id: UserId | None = None, is_optional: bool = False) -> ResultT:
        async def once() -> ResultT:
            result = await self._database.write(work, user_id=user_id, is_optional=is_optional)
            if self.lost:
                self.lost -= 1
                raise StoreUnavailable(say("The connection to the database was lost while the change was being saved."))
            return result

        return await self._patience.insist(once)


@pytest.mark.parametrize("state", ["running", "waiting", "finished", "failed"])
async def test_a_step_in_doubt_is_written_once(owners: list[Owner], state: StepState, tmp_path: Path) -> None:
    owner, other = owners
    database = Unheard(owner.database, Patience())
    store = RunStore(database, owner.liveness)
    run = await owner.start()
    run = await store.commit(run, Step(turn=1, calls=[NewRunCall(0, "c", "add_todo", "{}")]))
    awaited = [await owner.ask(run)] if state == "waiting" else []
    message = NewMessage(new_id(), "tool", [{"type": "text", "text": "tea"}], 0)
    database.lost = 2

    after = await store.commit(
        run,
        Step(
            state=state,
            events=[NewEvent("told", {})],
            messages=[message],
            changes=[CallChange(number=0, state="done", outcome="ok")],
            awaited=awaited,
        ),
    )

    assert database.lost == 0
    assert (after.state, after.calls) == (state, 1)
    assert await owner.kinds(run) == ["started", "told"]
    if state == "running":
        assert (await store.commit(after, Step(events=[NewEvent("next", {})]))).state == "running"
    await other.store.cancel(CALL.user_id, run.id)
    with pytest.raises(LostRun):
        await store.commit(after, Step(events=[NewEvent("late", {})]))
