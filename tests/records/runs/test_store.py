"""Runs as rows: one owner at a time, who alone can write, and what a run waits for wakes it once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from anyio import fail_after

from madang.core.errors import Conflict
from madang.core.ids import UserId
from madang.core.trust import Origin
from madang.records.events import NewEvent
from madang.records.pauses import PauseStore
from madang.records.run_journal_tables import JOURNAL_MIGRATIONS
from madang.records.run_tables import RUN_MIGRATIONS
from madang.records.runs.journal import CallChange, NewRunCall, Step, StepState
from madang.records.runs.records import LostRun, Run
from madang.records.runs.rows import FIND_OWNERS, LOOKS
from madang.records.runs.store import RunStore
from madang.records.runs.usage import AnswerUsage
from madang.records.session_tables import SESSION_MIGRATIONS
from madang.records.sessions import SessionStore
from madang.system import clock
from tests.records.runs.owners import CALL, STARTED, Owner

EVE = UserId("eve")


async def waiting(owner: Owner, session: str = "monday", **how: Any) -> tuple[Run, str]:
    """Start a run that asks and waits."""
    run = await owner.start(session)
    id = await owner.ask(run, **how)
    return await owner.store.commit(run, Step(state="waiting", events=[NewEvent("waiting", {})], awaited=[id])), id


def set_clock(monkeypatch: pytest.MonkeyPatch, **later: float) -> None:
    moment = datetime.now(UTC) + timedelta(**later)
    monkeypatch.setattr(clock, "now", lambda: moment)
    monkeypatch.setattr(clock, "SETTLE_S", 0.0)  # it is later, not a clock that has jumped


async def test_a_run_is_kept_as_it_was_started(owners: list[Owner]) -> None:
    owner, _ = owners
    run = await owner.store.start(CALL, Step(events=STARTED), model="scripted", deadline_at="2030-01-01T00:00:00.000Z")

    assert (run.state, run.epoch, run.owner, run.model) == ("running", 1, owner.liveness.me, "scripted")
    assert (run.session_id, run.assistant_id, run.deadline_at) == ("monday", "default", "2030-01-01T00:00:00.000Z")
    assert await owner.store.get(CALL.user_id, run.id) == run
    assert await owner.store.list_live(CALL.user_id) == [run]
    assert await owner.store.get(EVE, run.id) is None
    assert await owner.store.list_live(EVE) == []
    assert await owner.kinds(run) == ["started"]


async def test_a_session_has_one_run_that_is_not_over(owners: list[Owner]) -> None:
    one, other = owners
    outcomes = await asyncio.gather(*(owner.start() for owner in owners * 5), return_exceptions=True)
    runs = [run for run in outcomes if isinstance(run, Run)]

    assert len(runs) == 1
    assert {type(error) for error in outcomes if not isinstance(error, Run)} == {Conflict}
    with pytest.raises(Conflict, match=f"The run {runs[0].id} of this session is not over"):
        await other.start()
    await one.start("tuesday")
    await (one if runs[0].owner == one.liveness.me else other).store.commit(runs[0], Step(state="finished"))
    assert (await other.start()).id != runs[0].id
    assert await one.kinds(runs[0]) == ["started", "started"]


async def test_a_step_is_one_unit_with_its_events(owners: list[Owner]) -> None:
    owner, _ = owners
    run = await owner.start()
    asked = [NewRunCall(number, f"c{number}", "grep", "{}") for number in range(2)]
    first = Step(events=[NewEvent("step", {})], turn=1, calls=asked, usage=AnswerUsage("m", 3, cost=0.5))
    saved = await owner.store.commit(run, first)
    done = [CallChange(number=number, state="done") for number in range(2)]
    saved = await owner.store.commit(
        saved, Step(changes=done, usage=AnswerUsage("m", output_tokens=4, cost=0.25), origins=[Origin("file", "a")])
    )
    saved = await owner.store.commit(saved, Step(events=[NewEvent("step", {})]))

    assert (saved.turn, saved.calls, saved.input_tokens, saved.output_tokens) == (1, 2, 3, 4)
    assert (saved.cost, saved.is_tainted, saved.epoch) == (0.75, True, 1)
    failed = await owner.store.commit(
        saved, Step(state="failed", events=[NewEvent("failed", {})], error_code="loop", error="Again and again.")
    )
    assert (failed.state, failed.error_code, failed.error, failed.owner) == ("failed", "loop", "Again and again.", "")
    assert await owner.kinds(run) == ["started", "step", "step", "failed"]
    assert await owner.store.list_live(CALL.user_id) == []


@pytest.mark.parametrize("state", ["running", "waiting", "finished", "failed"])
async def test_a_step_keeps_all_that_it_carries_whatever_state_it_leads_to(
    owners: list[Owner], state: StepState
) -> None:
    owner, _ = owners
    run = await owner.start()
    id = await owner.ask(run)
    run = await owner.store.commit(run, Step(turn=1, calls=[NewRunCall(0, "c0", "grep", "{}")]))

    saved = await owner.store.commit(
        run,
        Step(
            state=state,
            events=[NewEvent("step", {})],
            changes=[CallChange(number=0, state="done", outcome="ok", origins=(Origin("file", "a.md"),))],
            awaited=[id] if state == "waiting" else [],
            usage=AnswerUsage("m", 3, 0, 4, 0.5),
        ),
    )

    assert (saved.state, saved.calls, saved.is_tainted) == (state, 1, True)
    assert (saved.input_tokens, saved.output_tokens, saved.cost) == (3, 4, 0.5)
    session = await SessionStore(owner.database).get(run.call())
    assert session is not None
    assert (session.is_tainted, session.origins) == (True, (Origin("file", "a.md"),))
    assert (await owner.kinds(run))[-1] == "step"


ENDED: dict[str, Callable[[Owner, Run], Awaitable[object]]] = {
    "claimed": lambda owner, run: owner.claim(),
    "cancelled": lambda owner, run: owner.store.cancel(run.user_id, run.id),
    "finished": lambda owner, run: owner.store.commit(run, Step(state="finished")),
    "deleted": lambda owner, run: SessionStore(owner.database).delete(run.call()),
}


@pytest.mark.parametrize("how", ENDED)
async def test_an_owner_that_lost_its_run_writes_nothing_more(owners: list[Owner], how: str) -> None:
    old, new = owners
    run = await old.start()
    await old.ask(run)
    waits_for = await old.ask(run, 1)
    if how == "claimed":  # liveness may err
        await old.liveness.close()
    await ENDED[how](new, run)
    events = await old.kinds(run)

    lost = [NewEvent("lost", {})]
    for write in (
        old.store.commit(run, Step(events=lost, turn=5)),
        old.store.commit(run, Step(state="waiting", events=lost, awaited=[waits_for])),
        old.store.commit(run, Step(state="finished", events=lost)),
        old.store.commit(run, Step(state="failed", events=lost, error_code="no", error="no")),
    ):
        with pytest.raises((LostRun, ValueError) if how == "deleted" else LostRun):
            await write
    assert await old.kinds(run) == events
    after = await new.store.get(run.user_id, run.id)
    assert (after is None) == (how == "deleted")
    if after is not None:
        assert (after.state, after.turn) == ("running" if how == "claimed" else how, 0)


async def test_what_an_owner_left_behind_is_claimed_once(owners: list[Owner]) -> None:
    old, new = owners
    run = await old.start()
    assert (await new.store.look()).candidates == []
    await old.liveness.close()

    candidates = (await new.store.look()).candidates
    assert [candidate.owner for candidate in candidates] == [run.owner]
    claims = await asyncio.gather(*(new.store.claim(candidates[0]) for _ in range(5)))
    [claimed] = [run for run in claims if run is not None]
    assert (claimed.epoch, claimed.owner, claimed.was_interrupted) == (2, new.liveness.me, True)
    assert (await new.store.look()).candidates == []
    await new.store.commit(claimed, Step(state="finished"))


async def test_an_answer_wakes_its_run_once(owners: list[Owner]) -> None:
    old, new = owners
    run, id = await waiting(old)
    assert (run.state, run.owner) == ("waiting", "")
    assert (await old.store.look()).wake_at == run.wake_at != ""
    assert await new.claim() == await old.claim() == []

    await new.answer(run, id)
    claimed = [*await new.claim(), *await old.claim()]

    assert [(one.id, one.epoch, one.was_interrupted) for one in claimed] == [(run.id, 2, False)]
    assert [(pause.id, pause.status) for pause in claimed[0].pauses] == [(id, "answered")]
    await new.store.commit(claimed[0], Step(state="finished", events=[NewEvent("finished", {})]))
    assert await new.kinds(run) == ["started", "waiting", "resumed", "finished"]


async def test_an_answer_before_the_run_waits_is_found_by_the_next_look(owners: list[Owner]) -> None:
    old, new = owners
    run = await old.start()
    id = await old.ask(run)
    await new.answer(run, id)
    assert (await new.store.look()).candidates == []  # it runs, and its owner is alive
    await old.store.commit(run, Step(state="waiting", awaited=[id]))

    assert [one.id for one in await new.claim()] == [run.id]


async def test_a_run_wakes_when_all_that_it_waits_for_is_settled(owners: list[Owner]) -> None:
    old, new = owners
    run = await old.start()
    first, second = await old.ask(run), await old.ask(run, 1, None)
    await old.store.commit(run, Step(state="waiting", awaited=[first, second]))
    await new.answer(run, first)

    assert len((await new.store.look()).candidates) == 1
    assert await new.claim() == []
    assert (await new.store.look()).candidates == []  # until there is news again
    assert (await new.store.look()).wake_at == ""

    await new.answer(run, second)
    [claimed] = await new.claim()
    assert [pause.id for pause in claimed.pauses] == sorted([first, second])


async def test_a_run_wakes_when_what_it_waits_for_has_expired(
    owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = owners
    run = await old.start()
    ids = [await old.ask(run, number, expires_s) for number, expires_s in enumerate((60, 120))]
    await old.store.commit(run, Step(state="waiting", awaited=ids))
    assert (await new.store.look()).candidates == []

    set_clock(monkeypatch, seconds=90)
    assert await new.claim() == []
    assert (await new.store.look()).candidates == []
    set_clock(monkeypatch, seconds=121)
    [claimed] = await new.claim()

    assert [pause.status for pause in claimed.pauses] == ["expired", "expired"]
    monkeypatch.undo()
    # The run was told so, whatever the clock says later.
    assert [pause.status for pause in await PauseStore(new.database).list_by_run(run.user_id, run.id)] == [
        "expired",
        "expired",
    ]
    assert await new.answer(run, ids[0]) is None


async def test_what_was_settled_is_told_again_until_it_is_noted(owners: list[Owner]) -> None:
    """An owner can die between its claim and its next write."""
    old, new = owners
    run, id = await waiting(old)
    await old.answer(run, id)
    [claimed] = await old.claim()
    await old.liveness.close()

    [again] = await new.claim()
    assert (again.epoch, again.was_interrupted, again.pauses) == (claimed.epoch + 1, True, claimed.pauses)
    await new.store.commit(again, Step(events=[NewEvent("answered", {})], noted=[id]))
    await new.liveness.close()
    third = replace(old, liveness=old.database.new_liveness())
    third = replace(third, store=RunStore(third.database, third.liveness))
    await third.store.open()

    [later] = await third.claim()
    assert (later.epoch, later.pauses) == (again.epoch + 1, ())
    await third.liveness.close()


async def test_a_run_that_is_cancelled_withdraws_what_it_asked(owners: list[Owner]) -> None:
    old, new = owners
    run, id = await waiting(old)
    cancelled = await new.store.cancel(run.user_id, run.id, lambda *_: Step(events=[NewEvent("cancelled", {})]))

    assert cancelled is not None
    assert (cancelled.state, cancelled.epoch, cancelled.wake_at) == ("cancelled", run.epoch + 1, "")
    pause = await PauseStore(new.database).get(CALL, id)
    assert pause is not None
    assert (pause.status, pause.settled_by) == ("withdrawn", "run")
    assert await new.answer(run, id) is None
    assert await new.store.cancel(run.user_id, run.id) is None
    assert await new.store.cancel(EVE, run.id) is None
    assert (await new.store.look()).candidates == []
    assert await new.kinds(run) == ["started", "waiting", "cancelled"]


async def test_a_run_that_is_over_asks_nothing_more(owners: list[Owner]) -> None:
    """Its owner may not have heard of the end yet."""
    old, new = owners
    run = await old.start()
    asked = await old.ask(run)
    await new.store.cancel(run.user_id, run.id)

    assert await old.ask(run) == asked
    with pytest.raises(Conflict, match=f"The run {run.id} is over"):
        await old.ask(run, 1)


async def test_a_question_at_the_moment_of_the_end_is_withdrawn_or_refused(owners: list[Owner]) -> None:
    old, new = owners
    runs = [await old.start(f"session-{number}") for number in range(20)]
    ends = (new.store.cancel(run.user_id, run.id) for run in runs)
    asks = (old.ask(run, number) for run in runs for number in range(2))
    outcomes = await asyncio.gather(*ends, *asks, return_exceptions=True)

    assert {type(outcome) for outcome in outcomes} <= {Run, str, Conflict}
    assert await PauseStore(new.database).list_open(CALL.user_id, 100) == []


async def test_a_run_waits_only_for_its_own(owners: list[Owner]) -> None:
    owner, _ = owners
    run, other = await owner.start(), await owner.start("tuesday")
    foreign = await owner.ask(other)

    for ids in ([], ["nothing"], [foreign], [await owner.ask(run), foreign]):
        with pytest.raises(ValueError, match="its own"):
            await owner.store.commit(run, Step(state="waiting", awaited=ids))
    assert (await owner.store.commit(run, Step())).state == "running"


async def test_changes_of_runs_are_heard_by_whoever_watches(owners: list[Owner]) -> None:
    old, new = owners
    changes = new.store.changes()
    with fail_after(60):
        assert await anext(changes) == frozenset()
        run, id = await waiting(old)
        assert await anext(changes)
        await old.answer(run, id)
        assert await anext(changes) == {f"run/local/monday/{run.id}/"}
    await changes.aclose()  # type: ignore[attr-defined]


async def test_a_look_reads_no_more_than_it_returns(tmp_path: Path) -> None:
    """Over 100,000 runs as over one: each part of it finds its rows by an index."""
    connection = apsw.Connection(str(tmp_path / "runs.db"))
    for migrations in (SESSION_MIGRATIONS, RUN_MIGRATIONS, JOURNAL_MIGRATIONS):
        for sql in migrations.sqlite:
            connection.execute(sql)
    for sql in (FIND_OWNERS, *LOOKS):
        literal = sql.format(owners="'one', 'other'").replace("?1", "'local'").replace("?2", "'2030'")
        steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {literal}")]
        tables = [step for step in steps if "run_live" in step or step.startswith("SEARCH q ")]
        assert tables, sql
        assert all(re.search("USING (COVERING )?INDEX (run_live_|queued_answer)", step) for step in tables), steps
    connection.close()
