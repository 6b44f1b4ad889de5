"""Runs that are killed before and after every commit, raced for, and stolen: one owner, one question, one resume."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from madang.database.port import Database, Row, Transaction
from madang.records.events import EventLog
from madang.records.pauses import PauseStore
from tests.crash.runs import CALL, STORIES, open_database
from tests.crash.workers import Workers, workers
from tests.postgresql import url_in

RECOVERY_S = 30.0
"""A ceiling against hangs; it is tenths of a second on a quiet machine."""
WORDS = {
    "prompt_user": {"answered": "blue", "expired": "expired"},
    "wait_for_user": {"answered": "Sit down"},
    "show_playbooks": {"answered": "Brew tea", "superseded": "show_playbooks"},
}


@pytest.fixture(params=["disk", "server"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_in(tmp_path) if request.param == "server" else str(tmp_path / "madang.db")


@pytest.fixture
async def processes(where: str) -> AsyncIterator[Workers]:
    async with workers(where) as source:
        yield source


@pytest.fixture
async def database(where: str) -> AsyncIterator[Database]:
    """The database, to see for oneself what is in it."""
    database = open_database(where)
    await EventLog(database).open()
    await PauseStore(database).open()
    yield database
    await database.close()


@dataclass(frozen=True)
class Kept:
    """What is in the database of one session."""

    runs: list[Row]
    """State, epoch and owner of each."""
    events: list[tuple[str, dict[str, Any]]]
    pauses: list[Row]
    """Operation, status and whether it is still awaited."""
    live: int

    def kinds(self, kind: str) -> list[dict[str, Any]]:
        return [payload for other, payload in self.events if other == kind]


async def read(database: Database, session: str) -> Kept:
    key = (CALL.user_id, session)
    of_session = "user_id = ?1 AND session_no = (SELECT no FROM session WHERE user_id = ?1 AND id = ?2)"

    async def work(tx: Transaction) -> Kept:
        events = await tx.all(f"SELECT seq, kind, payload FROM event WHERE {of_session} ORDER BY seq", *key)
        last = await tx.one("SELECT last_seq FROM session WHERE user_id = ?1 AND id = ?2", *key)
        assert last is not None
        assert [seq for seq, _, _ in events] == list(range(1, last[0] + 1)), session
        live = f"SELECT 1 FROM run_live WHERE user_id = ?1 AND run_no IN (SELECT no FROM run WHERE {of_session})"
        return Kept(
            await tx.all(f"SELECT state, epoch, owner FROM run WHERE {of_session} ORDER BY no", *key),
            [(kind, json.loads(payload)) for _, kind, payload in events],
            await tx.all(
                "SELECT operation_id, status, awaited FROM pause WHERE user_id = ?1 AND session_id = ?2 "
                "ORDER BY operation_id",
                *key,
            ),
            len(await tx.all(live, *key)),
        )

    return await database.read(work, user_id=CALL.user_id)


async def check(database: Database, name: str, session: str) -> None:
    """Check that a story was told once, whatever happened on the way."""
    story, kept = STORIES[name], await read(database, session)
    [(state, epoch, owner)] = kept.runs
    assert (state, owner, kept.live) == ("finished", "", 0)
    # One question for each operation, settled as the story says.
    assert len({operation for operation, _, _ in kept.pauses}) == len(kept.pauses)
    assert [(status, awaited) for _, status, awaited in kept.pauses] == [(one, 0) for one in story.outcomes]
    # It started, waited, was resumed and finished once; beside that, an owner died at most once.
    for kind in ("started", "waiting", "resumed", "finished"):
        assert len(kept.kinds(kind)) == 1, (kind, kept.events)
    assert epoch == 2 + len(kept.kinds("interrupted")) <= 3
    # Each call has one result, in the words of what settled it.
    results = kept.kinds("result")
    assert [result["callId"] for result in results] == [f"call-{number}" for number in range(len(story.asks))]
    assert [result["outcome"] for result in results] == list(story.outcomes)
    for (tool, _), result in zip(story.asks, results, strict=True):
        assert WORDS[tool][result["outcome"]] in result["text"], result


async def test_killed_before_and_after_every_commit(processes: Workers, database: Database) -> None:
    victim = await processes.ready()
    await victim.do("add_playbook")
    points = []
    for story in STORIES:
        count = await victim.do("play", story, f"{story} whole", "")
        await check(database, story, f"{story} whole")
        points += [(story, f"{number}{side}") for number in range(1, count + 1) for side in "-+"]
    if database.dialect == "postgresql":
        points = points[::3]
    assert len(points) >= (10 if database.dialect == "postgresql" else 40)

    heir = await processes.start()
    for story, point in points:
        session = f"{story} {point}"
        assert await victim.do("play", story, session, point) is None, f"{session}: not killed"
        died_s = time.monotonic()
        assert await heir.outcome() == "open"
        await heir.do("recover", story, session)
        assert time.monotonic() - died_s < RECOVERY_S
        await check(database, story, session)
        victim, heir = heir, await processes.start()


@pytest.mark.parametrize("where", ["disk"], indirect=True)
async def test_a_thousand_answered_waits_are_resumed_once_each(processes: Workers, database: Database) -> None:
    await race(processes, database, 1000)


@pytest.mark.parametrize("where", ["server"], indirect=True)
async def test_answered_waits_on_a_server_are_resumed_once_each(processes: Workers, database: Database) -> None:
    await race(processes, database, 200)


async def race(processes: Workers, database: Database, count: int) -> None:
    """Three processes, whose clocks are a day apart, look at once for all that was answered."""
    first = await processes.ready()
    await first.do("prepare_answered", count)
    contenders = [first, *[await processes.ready() for _ in range(2)]]
    for days, contender in zip((0, 1, -1), contenders, strict=True):
        await contender.do("set_clock", days)
    claimed = await asyncio.gather(*(contender.do("contend") for contender in contenders))

    ids = [id for one in claimed for id in one]
    assert len(ids) == len(set(ids)) == count
    assert all(claimed), "one of them got none"
    sql = "SELECT kind, count(*) AS number, count(DISTINCT session_no) AS sessions FROM event GROUP BY kind"
    kinds = {kind: numbers for kind, *numbers in await database.find(sql, user_id=CALL.user_id)}
    once = [count, count]
    assert kinds == {"started": once, "waiting": once, "resumed": once, "result": once, "finished": once}
    ends = "SELECT state, epoch, count(*) AS number FROM run GROUP BY state, epoch"
    assert await database.find(ends, user_id=CALL.user_id) == [("finished", 2, count)]


async def test_a_wrong_clock_takes_nothing_from_a_living_owner(processes: Workers, database: Database) -> None:
    """Of three processes with clocks a day apart each owns a run, and none takes another's, or what still waits."""
    owners = [await processes.ready() for _ in range(3)]
    for days, owner in zip((0, 1, -1), owners, strict=True):
        await owner.do("set_clock", days)
        await owner.do("hold", "text", f"held {days}")
    await owners[2].do("hold", "text", "waits")
    await owners[2].do("let_wait", "waits")
    for _ in range(3):
        for owner in owners:
            assert await owner.do("claim_all") == []
    for days, owner in zip((0, 1, -1), owners, strict=True):
        assert await owner.do("write_to", f"held {days}")
        assert [epoch for _, epoch, _ in (await read(database, f"held {days}")).runs] == [1]
    assert [(state, epoch) for state, epoch, _ in (await read(database, "waits")).runs] == [("waiting", 1)]


async def test_who_was_taken_for_dead_writes_nothing_more(processes: Workers, database: Database) -> None:
    owner, thief = await processes.ready(), await processes.ready()
    await owner.do("hold", "text", "stolen")
    assert await owner.do("write_to", "stolen")
    assert await thief.do("claim_all") == []
    await thief.do("steal", "stolen")
    before = await read(database, "stolen")

    assert not await owner.do("write_to", "stolen")
    assert not await owner.do("let_wait", "stolen")
    after = await read(database, "stolen")
    assert (after.runs, after.events) == (before.runs, before.events)
    # What it asked all the same is the one question of that operation, and the new owner's.
    assert await thief.do("let_wait", "stolen")
    assert len((await read(database, "stolen")).pauses) == 1
    await thief.do("settle", "text", "stolen")
    assert [kind for kind, _ in (await read(database, "stolen")).events] == [
        "started", "step", "interrupted", "waiting", "resumed", "result", "finished",
    ]  # fmt: skip
