"""Finding runs that can be claimed, and giving own ones up for others to claim."""

from __future__ import annotations

import random

from madang.core.calls import Call
from madang.core.ids import UserId
from madang.database.liveness import Liveness
from madang.database.port import Database, Row, Transaction
from madang.records.runs.records import SELECT_RUN, Candidate, Look, parse_run, run_topic
from madang.records.runs.rows import (
    FIND_ANSWERED,
    FIND_DUE,
    FIND_IN_SESSION,
    FIND_NUDGED,
    FIND_OWNED,
    FIND_OWNERS,
    find_wake,
    set_live,
    set_place,
)

MAX_CANDIDATES = 64


async def find_claimable(database: Database, liveness: Liveness, user_id: UserId, now: str) -> Look:
    """Return the user's runs that may be claimed at a moment, and sessions whose answers wait for one."""
    queries, me = (FIND_NUDGED, FIND_DUE, FIND_ANSWERED), liveness.me
    ready = " UNION ALL ".join(f"SELECT * FROM ({sql} LIMIT {MAX_CANDIDATES}) AS part" for sql in queries)

    async def work(tx: Transaction) -> tuple[list[str], list[Row], str, list[Row]]:
        owners = [row[0] for row in await tx.all(FIND_OWNERS, user_id)]
        rows = await tx.all(ready, user_id, now)
        owned = await tx.all(FIND_OWNED.format(owners="?2"), user_id, me) if me in owners else []
        return owners, rows, await find_wake(tx, user_id), owned

    owners, rows, wake_at, owned = await database.read(work, user_id=user_id, brief=True)
    dead = sorted(await liveness.find_dead(owners))[:MAX_CANDIDATES]
    if dead:
        marks = ", ".join(f"?{number}" for number in range(2, len(dead) + 2))
        sql = f"{FIND_OWNED.format(owners=marks)} LIMIT {MAX_CANDIDATES}"
        rows += await database.find(sql, user_id, *dead, user_id=user_id)
    candidates = [Candidate(*row) for row in dict.fromkeys(rows)]
    random.shuffle(candidates)
    return Look(candidates, wake_at, [Candidate(*row) for row in owned])


async def find_claimable_in(database: Database, liveness: Liveness, call: Call, now: str) -> Look:
    """Do the same for the call's session alone."""

    async def work(tx: Transaction) -> tuple[list[Row], str]:
        rows = await tx.all(FIND_IN_SESSION, call.user_id, call.session, now)
        return rows, await find_wake(tx, call.user_id)

    rows, wake_at = await database.read(work, user_id=call.user_id, brief=True)
    found = [Candidate(*row) for row in dict.fromkeys(rows)]
    dead = await liveness.find_dead([one.owner for one in found if one.owner])
    owned = [one for one in found if one.owner == liveness.me]
    return Look([one for one in found if not one.owner or one.owner in dead], wake_at, owned)


async def release_runs(database: Database, liveness: Liveness, user_id: UserId) -> int:
    """Give up all runs of this process in one unit that tells the others, and return how many there were.

    The epoch grows, so that nothing of theirs that is still on its way here is written.
    """
    owned = FIND_OWNED.format(owners="?2")
    if not await database.find(owned, user_id, liveness.me, user_id=user_id):
        return 0

    async def work(tx: Transaction) -> int:
        candidates = [Candidate(*row) for row in await tx.all(owned, user_id, liveness.me)]
        for candidate in candidates:
            row = await tx.one(
                f"{SELECT_RUN} WHERE run.user_id = ?1 AND run.no = ?2 AND run.state = 'running'",
                user_id,
                candidate.run_no,
            )
            if row is None:
                continue
            run = parse_run(row)
            await tx.run("UPDATE run SET owner = '', epoch = epoch + 1 WHERE user_id = ?1 AND no = ?2", user_id, run.no)
            await set_live(tx, run, "running", is_nudged=True)
            await set_place(tx, run, "")  # whoever is there goes on with it now
            await tx.notify(run_topic(run))
        return len(candidates)

    return await database.write(work, user_id=user_id, is_optional=True)
