"""What a process that works for one session alone asks of runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from madang.core.ids import SessionId, UserId
from madang.records.events import NewEvent
from madang.records.runs.journal import Step
from madang.records.runs.latest import find_latest_session
from madang.records.runs.records import Candidate
from madang.system import clock
from tests.records.runs.owners import CALL, Owner

TUESDAY = replace(CALL, session_id=SessionId("tuesday"))


async def test_a_run_of_its_session_is_found_when_it_can_go_on(owners: list[Owner]) -> None:
    owner, other = owners
    await owner.start("tuesday")
    run = await owner.start()

    assert await other.store.get_live(CALL) == run
    assert (await other.store.look_in(CALL)).candidates == []
    id = await owner.ask(run)
    await owner.store.commit(run, Step(state="waiting", events=[NewEvent("waiting", {})], awaited=[id]))
    assert (await other.store.look_in(CALL)).candidates == []
    await owner.answer(run, id)
    [candidate] = (await other.store.look_in(CALL)).candidates
    claimed = await other.store.claim(candidate)
    assert claimed is not None
    assert (await owner.store.look_in(CALL)).candidates == []
    await other.store.commit(claimed, Step(state="finished"))
    assert await owner.store.get_live(CALL) is None
    assert await owner.store.get_live(replace(CALL, user_id=UserId("eve"))) is None


async def test_a_run_whose_owner_died_is_free_and_others_are_held(owners: list[Owner]) -> None:
    owner, other = owners
    run = await owner.start()

    assert await other.store.is_held(run)
    assert not await owner.store.is_held(run)
    await owner.liveness.close()
    assert not await other.store.is_held(run)
    assert (await other.store.look_in(CALL)).candidates == [Candidate(run.user_id, run.no, run.owner)]
    assert (await other.store.look_in(TUESDAY)).candidates == []


async def test_the_latest_session_is_the_one_whose_run_went_on_last(
    owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, _ = owners
    assert await find_latest_session(owner.database, CALL.user_id) is None
    first = await owner.start()
    second = await owner.start("tuesday")

    assert await find_latest_session(owner.database, CALL.user_id) == "tuesday"
    await owner.store.commit(second, Step(state="finished"))
    later = datetime.now(UTC) + timedelta(seconds=5)
    monkeypatch.setattr(clock, "now", lambda: later)
    await owner.store.commit(first, Step(events=[NewEvent("step", {})]))
    assert await find_latest_session(owner.database, CALL.user_id) == "monday"
    assert await find_latest_session(owner.database, UserId("eve")) is None
