"""A clock that is set back while a session goes on: what comes later is later all the same."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest

from madang.core.calls import Call
from madang.database.port import Transaction
from madang.records.events import NewEvent
from madang.records.runs.actions import MAX_ACTIONS, ActionStore
from madang.records.runs.endings import read_session_runs
from madang.records.runs.journal import Step
from madang.records.runs.messages import MessageStore
from madang.system import clock
from madang.system.clock import SteadyClock, format_timestamp, now
from tests.records.runs.owners import CALL, Owner


def told(id: str) -> NewEvent:
    return NewEvent("queued", {"id": id})


def set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the clock of ids an hour back."""
    read = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: read() - 3_600_000_000_000)


async def queued(owner: Owner, call: Call = CALL) -> list[str]:
    return [message.parts[0]["text"] for message in await MessageStore(owner.database).list_waiting(call)]


async def test_messages_that_wait_are_in_the_order_in_which_they_were_written(
    owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, _ = owners
    await owner.start()
    messages, actions = MessageStore(owner.database), ActionStore(owner.database)
    for text in ("first", "second"):
        await messages.queue(CALL, [{"type": "text", "text": text}], 1, told)
        set_back(monkeypatch)
    await actions.note(CALL, "third", (), told)

    assert await queued(owner) == ["first", "second", "third"]


async def test_of_too_many_actions_the_first_give_way(owners: list[Owner], monkeypatch: pytest.MonkeyPatch) -> None:
    owner, _ = owners
    await owner.start()
    actions = ActionStore(owner.database)
    for number in range(MAX_ACTIONS):
        await actions.note(CALL, str(number), (), told)
    set_back(monkeypatch)
    await actions.note(CALL, "last", (), told)

    assert await queued(owner) == [*map(str, range(1, MAX_ACTIONS)), "last"]


async def test_the_last_run_of_a_session_is_the_one_that_ended_last(owners: list[Owner]) -> None:
    owner, _ = owners
    first = await owner.start()
    await owner.store.commit(first, Step(state="failed", events=[NewEvent("failed", {})]))

    async def work(tx: Transaction) -> None:
        await tx.run("UPDATE run SET created_at = ?1", format_timestamp(now() + timedelta(hours=1)))

    await owner.database.write(work, user_id=CALL.user_id)
    second = await owner.start()

    assert await last(owner) == (second.id, "running")
    await owner.store.commit(second, Step(state="finished", events=[NewEvent("finished", {})]))
    assert await last(owner) == (second.id, "finished")


async def last(owner: Owner) -> tuple[str, str]:
    runs = await read_session_runs(owner.database, CALL, 0, 100)
    assert runs.last is not None
    return runs.last.id, runs.last.state


# Clocks that jump while a run waits


class Clock:
    """The clock on the wall, which can be set, and one that only goes on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._begin, self._off, self.elapsed_s = now(), timedelta(), 0.0
        monkeypatch.setattr(clock, "now", self.now)

    def now(self) -> datetime:
        return self._begin + timedelta(seconds=self.elapsed_s) + self._off

    def set_by(self, off: timedelta) -> None:
        self._off = off


AHEAD = (timedelta(seconds=20), timedelta(hours=1), timedelta(days=3))


@pytest.mark.parametrize("jump", [*AHEAD, *(-jump for jump in AHEAD)], ids=str)
async def test_a_jump_that_is_undone_ends_no_question(
    owners: list[Owner], monkeypatch: pytest.MonkeyPatch, jump: timedelta
) -> None:
    wall = Clock(monkeypatch)
    for owner in owners:
        owner.store.clock = SteadyClock(lambda: wall.elapsed_s)
    first, second = owners
    run = await first.start()
    id = await first.ask(run, expires_s=10)
    run = await first.store.commit(run, Step(state="waiting", events=[NewEvent("waiting", {})], awaited=[id]))

    wall.set_by(jump)
    wall.elapsed_s += 5
    for owner in owners:
        assert await owner.claim() == []
    wall.set_by(timedelta())
    assert await first.answer(run, id) is not None

    [claimed] = await second.claim()
    assert [pause.status for pause in claimed.pauses] == ["answered"]
    assert await first.kinds(run) == ["started", "waiting", "resumed"]


@pytest.mark.parametrize("jump", AHEAD, ids=str)
async def test_a_jump_that_lasts_is_believed_after_a_while(
    owners: list[Owner], monkeypatch: pytest.MonkeyPatch, jump: timedelta
) -> None:
    """As of a machine that slept: what expired meanwhile has expired."""
    wall = Clock(monkeypatch)
    owner, _ = owners
    owner.store.clock = SteadyClock(lambda: wall.elapsed_s)
    run = await owner.start()
    id = await owner.ask(run, expires_s=10)
    await owner.store.commit(run, Step(state="waiting", events=[NewEvent("waiting", {})], awaited=[id]))

    wall.set_by(jump)
    wall.elapsed_s += 1
    assert await owner.claim() == []
    wall.elapsed_s += clock.SETTLE_S

    [claimed] = await owner.claim()
    assert [pause.status for pause in claimed.pauses] == ["expired"]


async def test_time_that_passes_is_no_jump(owners: list[Owner], monkeypatch: pytest.MonkeyPatch) -> None:
    wall = Clock(monkeypatch)
    owner, _ = owners
    owner.store.clock = SteadyClock(lambda: wall.elapsed_s)
    run = await owner.start()
    id = await owner.ask(run, expires_s=3600)
    await owner.store.commit(run, Step(state="waiting", events=[NewEvent("waiting", {})], awaited=[id]))

    wall.elapsed_s += 3601

    [claimed] = await owner.claim()
    assert [pause.status for pause in claimed.pauses] == ["expired"]
