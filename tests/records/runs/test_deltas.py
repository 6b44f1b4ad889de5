"""Deltas of many runs of many users in one write, each under its own user's policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from madang.core.ids import UserId
from madang.database.port import Transaction
from madang.records.runs.deltas import DeltaStore, delete_deltas
from madang.records.runs.journal import Step
from madang.records.runs.records import Delta
from tests.records.runs.owners import CALL, Owner

EVE = UserId("eve")


async def test_one_write_for_runs_of_several_users_tells_which_were_lost(owners: list[Owner]) -> None:
    owner, other = owners
    deltas = DeltaStore(owner.database)
    mine, hers = await owner.start(), await owner.start(call=replace(CALL, user_id=EVE))
    lost = await owner.start("tuesday")
    await other.store.cancel(lost.user_id, lost.id)

    gone = await deltas.flush(
        [Delta(run, 1, at, text) for run in (mine, lost, hers) for at, text in ((0, "안녕"), (2, " there"))]
    )

    assert gone == [lost]
    assert await deltas.read(mine, 1) == await deltas.read(hers, 1) == [(0, "안녕"), (2, " there")]
    assert await deltas.read(lost, 1) == []
    assert await deltas.read(mine, 2) == []
    assert await deltas.flush([]) == []


async def test_nobody_writes_under_another_user(owners: list[Owner]) -> None:
    """The number of somebody else's run under one's own name is a lost run."""
    owner, _ = owners
    deltas = DeltaStore(owner.database)
    mine = await owner.start()
    forged = replace(mine, user_id=EVE)

    assert await deltas.flush([Delta(forged, 1, 0, "mine now")]) == [forged]
    assert await deltas.read(mine, 1) == []


async def test_a_later_owner_is_not_overwritten_by_an_earlier_one(owners: list[Owner]) -> None:
    """On a server, a run may be claimed between the look at its row and the commit of a delta."""
    old, new = owners
    deltas = DeltaStore(old.database)
    run = await old.start()
    await old.liveness.close()
    await deltas.flush([Delta(run, 1, 0, "old"), Delta(run, 1, 3, "old")])
    [claimed] = await new.claim()

    assert await deltas.read(claimed, 1) == []
    assert await deltas.flush([Delta(claimed, 1, 0, "new"), Delta(run, 1, 0, "late")]) == [run]
    assert await deltas.read(claimed, 1) == [(0, "new")]


@pytest.mark.parametrize("how", ["stored", "finished"])
async def test_deltas_die_with_their_message_and_their_run(owners: list[Owner], how: str) -> None:
    owner, _ = owners
    run = await owner.start()
    await DeltaStore(owner.database).flush([Delta(run, 1, 0, "half")])

    async def store(tx: Transaction) -> None:
        await delete_deltas(tx, run, 1)

    async def count(tx: Transaction) -> Any:
        return await tx.one("SELECT count(*) FROM run_delta")

    assert await owner.database.read(count, user_id=run.user_id) == (1,)
    await (
        owner.store.commit(run, Step(state="finished"))
        if how == "finished"
        else owner.database.write(store, user_id=run.user_id)
    )
    assert await owner.database.read(count, user_id=run.user_id) == (0,)
