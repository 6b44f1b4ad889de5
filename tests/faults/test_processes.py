"""Many processes on one data folder: a lock that is held, mixed work at once, and updates that must not be lost."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from contextlib import AsyncExitStack
from pathlib import Path

from madang.database.port import LOCK_WAIT_S
from madang.database.sqlite.database import SqliteDatabase
from tests.faults.children import child
from tests.faults.story import check_file, open_story, state
from tests.stores.children import Child
from tests.stores.children import child as storage_child

CLIENTS = int(os.environ.get("MADANG_TEST_CLIENTS", "20"))
UPDATES = int(os.environ.get("MADANG_TEST_UPDATES", "20"))
UPDATING_PROCESSES = 4
PROCESSES = 8
ROUNDS = 12
WITHIN_S = 60 + CLIENTS * UPDATES / 5

logger = logging.getLogger(__name__)


async def test_a_lock_held_by_a_foreign_process_delays_writes_alone(tmp_path: Path) -> None:
    """For longer than calls wait, with the wait as it is in life: a call that was refused is not done later either."""
    path = tmp_path / "madang.db"
    async with open_story(SqliteDatabase(path)) as asker, storage_child("hold_write_lock", path) as other:
        await asker.done("add_todo", name="before")
        assert await other.line() == "held"
        before = await state(asker)

        started = time.monotonic()
        writing = asyncio.gather(
            asker.ask("add_todo", name="refused"),
            asker.ask("create_playbook", goal="refused", workflow=[]),
            asker.ask("clear_session"),
        )
        assert await state(asker) == before
        assert not writing.done()
        refused = await writing
        took_s = time.monotonic() - started

        # The second reader of the same folder starts and reads as well.
        async with open_story(SqliteDatabase(path)) as second:
            assert await state(second) == before
            await other.go()
            assert await other.line() == "released"
            await second.done("add_todo", name="after")
        await other.end()

        assert [reply.error_code for reply in refused] == ["unavailable"] * 3
        assert all("Another process keeps the database locked. Nothing was written." in reply.text for reply in refused)
        assert LOCK_WAIT_S * 0.9 <= took_s <= 5
        todos = (await asker.done("get_current_state")).data["todos"]
        assert [todo["name"] for todo in todos] == ["before", "after"]
        assert (await asker.done("list_playbooks")).data["page"]["totalItems"] == 0
    check_file(path)


async def test_eight_processes_with_mixed_work_lose_nothing_and_see_the_same_end(tmp_path: Path) -> None:
    path = tmp_path / "madang.db"
    async with open_story(SqliteDatabase(path)) as asker, AsyncExitStack() as stack:
        shared = (await asker.done("create_playbook", goal="shared", workflow=[])).data["playbook"]
        names = [f"p{number}" for number in range(PROCESSES)]
        others: list[Child] = []
        for name in names:
            others.append(await stack.enter_async_context(child("mixed", tmp_path, name, shared["id"], ROUNDS)))
        for word in ("ready", "done"):
            for other in others:
                assert await other.line() == word
            if word == "ready":
                for other in others:
                    await other.go()
        for other in others:
            assert await other.line() == "ready"
            await other.go()
        seen = [json.loads(await other.line()) for other in others]
        for other in others:
            await other.end()
        mine = await state(asker)

    assert all(one == mine for one in seen)
    (shared_version,) = [version for goal, _, version, _ in mine["playbooks"] if goal == "shared"]
    assert shared_version == 1 + PROCESSES * ROUNDS
    assert len(mine["runs"]) == PROCESSES * ROUNDS
    everything = [f"{name}-{round}" for name in names for round in range(ROUNDS)]
    kept = [f"{name}-{round}" for name in names for round in range(ROUNDS) if round % 3]
    assert sorted(goal for goal, _, version, _ in mine["playbooks"] if version == 2) == sorted(kept)
    assert sorted(todo["name"] for todo in mine["plan"]["todos"]) == sorted(everything)
    assert [todo["id"] for todo in mine["plan"]["todos"]] == list(range(1, len(everything) + 1))
    check_file(path)


async def test_t54_versioned_updates_by_many_clients_in_four_processes_are_all_counted(tmp_path: Path) -> None:
    """Whoever meets a conflict reads again and tries again: acknowledged updates and the final version agree."""
    async with open_story(SqliteDatabase(tmp_path / "madang.db")) as asker, AsyncExitStack() as stack:
        playbook = (await asker.done("create_playbook", goal="shared", workflow=[])).data["playbook"]
        arguments = (playbook["id"], CLIENTS // UPDATING_PROCESSES, UPDATES)
        others = [
            await stack.enter_async_context(child("update", tmp_path, *arguments)) for _ in range(UPDATING_PROCESSES)
        ]
        for other in others:
            assert await other.line() == "ready"
        started = time.monotonic()
        for other in others:
            await other.go()
        counts = []
        for other in others:
            counts.append([int(word) for word in (await other.line(WITHIN_S)).split()])
        took_s = time.monotonic() - started
        for other in others:
            await other.end()
        final = (await asker.done("get_playbook", id=playbook["id"])).data["playbook"]["version"]

    acknowledged, conflicts = sum(count[0] for count in counts), sum(count[1] for count in counts)
    logger.info("%d updates acknowledged, version %d, %d conflicts, %.1f s", acknowledged, final, conflicts, took_s)
    assert acknowledged == CLIENTS // UPDATING_PROCESSES * UPDATING_PROCESSES * UPDATES
    assert final == 1 + acknowledged
    check_file(tmp_path / "madang.db")
