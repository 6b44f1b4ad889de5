"""Questions outlive the run that asked them: an answer afterwards starts a run, once, and is told once."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from madang.records.runs.journal import CallChange, NewRunCall, Step, StepState
from madang.records.runs.records import Run
from madang.system import clock
from tests.records.runs.owners import Owner


async def unanswered(owner: Owner, session: str = "monday") -> tuple[Run, str]:
    """Return a run that goes on without an answer to what it asked, and the id of that."""
    run = await owner.start(session)
    asking = NewRunCall(0, "call-0", "prompt_user", "{}")
    run = await owner.store.commit(run, Step(turn=1, calls=[asking]))
    id = await owner.ask(run)
    change = CallChange(number=0, state="done", outcome="unanswered", pause_id=id)
    return await owner.store.commit(run, Step(changes=[change])), id


async def ended(owner: Owner, state: StepState = "finished") -> tuple[Run, str]:
    """Return a run that has asked something and is over, and the id of what it asked."""
    run, id = await unanswered(owner)
    return await owner.store.commit(run, Step(state=state)), id


async def told(owner: Owner, run: Run) -> list[str]:
    return [pause.id for pause in (await owner.store.read_news(run)).answered]


@pytest.mark.parametrize("state", ["finished", "failed"])
async def test_an_answer_after_the_end_starts_one_run(owners: list[Owner], state: StepState) -> None:
    old, new = owners
    over, id = await ended(old, state)
    assert (await new.store.look()).candidates == []
    await new.answer(over, id)

    [candidate] = (await new.store.look()).candidates
    assert (await new.store.look_in(over.call())).candidates == [candidate]
    claims = await asyncio.gather(*(owner.store.claim(candidate) for owner in owners * 5))
    [run] = [run for run in claims if run is not None]
    assert (run.id != over.id, run.session_id, run.assistant_id) == (True, over.session_id, over.assistant_id)
    assert await told(new, run) == [id]
    owner = old if run.owner == old.liveness.me else new
    run = await owner.store.commit(run, Step(answered_late=[id]))
    assert await told(new, run) == []
    assert (await owner.store.commit(run, Step(state="finished"))).state == "finished"
    assert (await new.store.look()).candidates == []


async def test_a_run_that_ends_before_it_was_told_is_not_started_again_and_again(owners: list[Owner]) -> None:
    owner, _ = owners
    over, id = await ended(owner)
    await owner.answer(over, id)
    [run] = await owner.claim()
    await owner.store.commit(run, Step(state="failed", error_code="setup", error="no model"))

    assert await owner.claim() == []
    assert await told(owner, await owner.start()) == [id]


async def test_an_answer_that_no_process_took_up_is_kept_as_long_as_it_takes(
    owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, _ = owners
    over, id = await ended(owner)
    await owner.answer(over, id)
    months_later = clock.now() + timedelta(days=90)
    monkeypatch.setattr(clock, "now", lambda: months_later)
    await owner.ask(await owner.start("elsewhere"))  # which deletes what is old

    [run] = await owner.claim()
    assert await told(owner, run) == [id]


async def test_a_run_that_is_there_is_told_and_no_second_one_is_started(owners: list[Owner]) -> None:
    owner, other = owners
    over, id = await ended(owner)
    run = await owner.start()
    await other.answer(over, id)

    assert await other.claim() == []
    assert await told(owner, run) == [id]
    assert (await owner.store.commit(run, Step(state="finished"))).state == "running"  # not before it was told


async def test_a_run_that_waits_goes_on_for_what_an_earlier_one_had_asked(owners: list[Owner]) -> None:
    owner, other = owners
    over, id = await ended(owner)
    run = await owner.start()
    await owner.store.commit(run, Step(state="waiting", awaited=[await owner.ask(run, 1)]))
    await other.answer(over, id)

    assert [one.id for one in await other.claim()] == [run.id]
    assert await told(other, run) == [id]


async def test_an_answer_and_an_end_at_once_lose_nothing(owners: list[Owner]) -> None:
    """Whichever comes first: the run goes on, or one is started."""
    owner, other = owners
    for number in range(20):
        run, id = await unanswered(owner, f"session {number}")
        after, _ = await asyncio.gather(
            owner.store.commit(run, Step(state="finished")),
            other.answer(run, id),
        )
        if after.state != "running":
            [after] = await owner.claim()
            assert await told(owner, after) == [id]


async def test_a_stop_withdraws_and_starts_nothing(owners: list[Owner]) -> None:
    owner, other = owners
    run = await owner.start()
    id = await owner.ask(run)
    withdrawn: list[str] = []

    def end(_: Run, __: str, ids: list[str]) -> Step:
        withdrawn.extend(ids)
        return Step()

    await other.store.cancel(run.user_id, run.id, end)  # type: ignore[arg-type]

    assert withdrawn == [id]
    assert await owner.answer(run, id) is None
    assert await owner.claim() == []
