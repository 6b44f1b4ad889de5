"""Runs of two users in one database: a process finds and claims those of its own user alone, whatever wakes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from anyio import fail_after

from madang.core.ids import UserId
from madang.database.port import Database
from madang.records.runs.journal import Step
from madang.records.runs.records import Candidate, Run
from madang.records.runs.store import RunStore
from madang.system import clock
from tests.records.runs.owners import CALL, Owner

EVE = replace(CALL, user_id=UserId("eve"))


@asynccontextmanager
async def working_for_eve(database: Database) -> AsyncIterator[Owner]:
    liveness = database.new_liveness()
    store = RunStore(database, liveness, user_id=EVE.user_id)
    await store.open()
    yield Owner(store, liveness, database)
    await liveness.close()


async def answered(owner: Owner, run: Run) -> None:
    id = await owner.ask(run)
    await owner.store.commit(run, Step(state="waiting", awaited=[id]))
    await owner.answer(run, id)


async def due(owner: Owner, run: Run) -> None:
    await owner.store.commit(run, Step(state="waiting", awaited=[await owner.ask(run, expires_s=60)]))


async def left_behind(owner: Owner, run: Run) -> None:
    await owner.liveness.close()


Wake = Callable[[Owner, Run], Awaitable[None]]


@pytest.mark.parametrize("wake", [answered, due, left_behind])
async def test_a_run_of_another_user_is_never_claimed(
    owners: list[Owner], wake: Wake, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, mine = owners
    run = await old.start(call=EVE)
    await wake(old, run)
    later = datetime.now(UTC) + timedelta(seconds=90)
    monkeypatch.setattr(clock, "now", lambda: later)
    monkeypatch.setattr(clock, "SETTLE_S", 0.0)
    kept = await mine.store.get(run.user_id, run.id)
    assert kept is not None

    assert (await mine.store.look()).candidates == []
    assert (await mine.store.look()).wake_at == ""
    assert await mine.store.claim(Candidate(kept.user_id, kept.no, kept.owner)) is None
    assert await mine.store.get(run.user_id, run.id) == kept
    async with working_for_eve(mine.database) as eves:
        assert [(claimed.id, claimed.owner) for claimed in await eves.claim()] == [(run.id, eves.liveness.me)]


async def test_a_session_of_another_user_is_not_looked_into_with_a_claim(owners: list[Owner]) -> None:
    """As a process does that works in one session."""
    old, mine = owners
    await old.start(call=EVE)
    await old.liveness.close()

    for candidate in (await mine.store.look_in(EVE)).candidates:
        assert await mine.store.claim(candidate) is None


async def test_changes_of_another_users_runs_wake_nobody(owners: list[Owner]) -> None:
    old, mine = owners
    changes = mine.store.changes()
    with fail_after(60):
        assert await anext(changes) == frozenset()
        await old.start(call=EVE)
        run = await old.start()
        assert await anext(changes) == {f"run/local/monday/{run.id}/"}
    await changes.aclose()  # type: ignore[attr-defined]
