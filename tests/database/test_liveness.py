"""Which processes are alive: by a lock that is dropped when one dies, never by a clock."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import asyncpg
import pytest
from anyio.lowlevel import checkpoint

from madang.core.errors import Unavailable
from madang.core.ids import new_id
from madang.database.liveness import FileLiveness, Liveness, SingleProcess
from madang.database.port import Database, Transaction
from madang.database.postgresql import liveness as server_liveness
from madang.database.postgresql.liveness import PROCESS_MIGRATIONS, ServerLiveness
from madang.system.locks import try_lock
from tests.backends import BACK_ENDS, NUMBERS
from tests.postgresql import Server, database_in, url_in
from tests.stores.children import child


@pytest.fixture(params=["disk", "server"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database: Database = BACK_ENDS[request.param](tmp_path)
    await database.prepare(NUMBERS)
    yield database
    await database.close()


@pytest.fixture
async def opened(database: Database) -> AsyncIterator[tuple[Liveness, Liveness]]:
    async with AsyncExitStack() as stack:
        pair = database.new_liveness(), database.new_liveness()
        for one in pair:
            stack.push_async_callback(one.close)
            await one.open()
        yield pair


async def test_who_holds_a_lock_is_alive_until_it_is_closed(opened: tuple[Liveness, Liveness]) -> None:
    one, other = opened
    await one.open()  # twice is once

    assert await one.is_alive(one.me)
    assert await one.is_alive(other.me)
    assert await one.find_dead([one.me, other.me, "never"]) == {"never"}

    await other.close()
    await other.close()
    assert await one.find_dead([one.me, other.me]) == {other.me}
    assert await one.is_alive(one.me)


async def test_a_killed_process_is_dead_at_once(database: Database, tmp_path: Path) -> None:
    mine = database.new_liveness()
    await mine.open()
    url = [url_in(tmp_path)] if database.dialect == "postgresql" else []
    async with child("be_alive", tmp_path, *url) as owner:
        id = (await owner.line()).strip()
        assert await mine.is_alive(id)
        os.kill(owner.process.pid, signal.SIGSTOP)  # a process that is stopped for however long is not dead
        await asyncio.sleep(0.1)
        assert await mine.is_alive(id)
        owner.process.kill()
        with anyio.fail_after(60):
            while await mine.is_alive(id):
                await checkpoint()
    assert await mine.find_dead([id, mine.me]) == {id}
    await mine.close()


async def test_in_memory_there_is_no_other_process() -> None:
    liveness = BACK_ENDS["memory"](Path()).new_liveness()
    await liveness.open()

    assert isinstance(liveness, SingleProcess)
    assert await liveness.find_dead([liveness.me, "other"]) == {"other"}
    await liveness.close()


# Files


async def test_files_of_the_dead_are_removed_by_the_next_process(tmp_path: Path) -> None:
    folder = tmp_path / "owners"
    living = FileLiveness(folder)
    await living.open()
    (folder / "dead").touch()

    other = FileLiveness(folder)
    await other.open()

    assert {path.name for path in folder.iterdir()} == {living.me, other.me}
    assert (folder.stat().st_mode & 0o777, (folder / other.me).stat().st_mode & 0o777) == (0o700, 0o600)
    await other.close()
    assert {path.name for path in folder.iterdir()} == {living.me}
    await living.close()


async def test_programs_that_a_process_starts_do_not_keep_it_alive(tmp_path: Path) -> None:
    owner, other = FileLiveness(tmp_path / "owners"), FileLiveness(tmp_path / "owners")
    await owner.open()
    await other.open()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False) as program:
        await owner.close()
        assert not await other.is_alive(owner.me)
        program.communicate(b"\n")
    await other.close()


async def test_a_file_that_was_removed_before_its_lock_was_taken_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process finds the new file without a lock just then, and takes it for one of the dead."""
    folder = tmp_path / "owners"
    other, starting = FileLiveness(folder), FileLiveness(folder)
    await other.open()
    seen: list[bool] = []
    looks = iter([other])

    def find_between(fd: int, *, shared: bool = False) -> bool:
        for looking in looks:
            seen.append(looking._is_dead(starting.me))
        return try_lock(fd, shared=shared)

    monkeypatch.setattr("madang.database.liveness.try_lock", find_between)
    await starting.open()
    monkeypatch.undo()

    assert seen == [True]
    assert await other.is_alive(starting.me)
    await starting.close()
    await other.close()


async def test_many_that_start_and_look_at_once_are_all_alive(tmp_path: Path) -> None:
    processes = [FileLiveness(tmp_path / "owners") for _ in range(20)]
    stop = asyncio.Event()

    async def look() -> None:
        while not stop.is_set():
            await asyncio.to_thread(lambda: [FileLiveness(tmp_path / "owners")._is_dead(one.me) for one in processes])

    async with asyncio.TaskGroup() as group:
        group.create_task(look())
        await asyncio.gather(*(asyncio.to_thread(asyncio.run, one.open()) for one in processes))
        for _ in range(50):
            await asyncio.sleep(0.001)
        stop.set()

    for one in processes:
        assert await processes[0].is_alive(one.me)
    for one in processes:
        await one.close()


async def test_a_folder_that_cannot_be_used_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "owners").touch()
    with pytest.raises(Unavailable):
        await FileLiveness(tmp_path / "owners").open()


# A server


async def test_a_lock_is_taken_again_after_a_broken_connection(tmp_path: Path) -> None:
    database = database_in(tmp_path)
    owner, other = database.new_liveness(), database.new_liveness()
    await owner.open()
    await other.open()
    assert isinstance(owner, ServerLiveness)
    assert owner._connection is not None
    first = owner._connection
    first.terminate()

    with anyio.fail_after(60):
        while owner._connection in (None, first):
            await checkpoint()
    assert await other.is_alive(owner.me)
    for one in (owner, other):
        await one.close()
    await database.close()


async def test_without_a_connection_nobody_is_dead(tmp_path: Path) -> None:
    database = database_in(tmp_path)
    liveness = database.new_liveness()
    assert await liveness.is_alive("anybody")
    await liveness.open()
    assert not await liveness.is_alive("anybody")
    await liveness.close()
    await database.close()


async def test_after_a_change_of_server_nobody_is_dead_for_a_while(tmp_path: Path) -> None:
    """As after a failover: the rows say another server, and no lock is held yet."""
    database = database_in(tmp_path)
    await database.prepare(PROCESS_MIGRATIONS)
    moment = 1000.0
    late, dead = new_id(), new_id()

    async def work(tx: Transaction) -> None:
        for id in (late, dead):
            await tx.run(
                "INSERT INTO process (id, server_start, timeline) VALUES (?1, '2001-01-01T00:00:00Z', '00000009')", id
            )

    await database.write(work)
    looking = ServerLiveness(database, database._connect, clock=lambda: moment)
    await looking.open()
    assert await looking.find_dead([late, dead]) == frozenset()

    moment += server_liveness.RETURN_S - 1
    back = ServerLiveness(database, database._connect)
    back.me = late
    await back.open()
    assert await looking.find_dead([late, dead]) == frozenset()

    moment += 1
    assert await looking.find_dead([late, dead]) == {dead}
    await back.close()
    # It was on this server, so nothing has to be waited for.
    assert await looking.find_dead([late]) == {late}
    await looking.close()
    await database.close()


async def test_a_server_that_crashes_takes_nobody_with_it(tmp_path: Path, postgresql: Server) -> None:
    """Locks are gone with the server; owners are not. One that comes back late is waited for."""
    database = database_in(tmp_path)
    may_come_back = asyncio.Event()

    async def connect_late() -> asyncpg.Connection[Any]:
        await may_come_back.wait()
        return await database._connect()

    owner, other = database.new_liveness(), database.new_liveness()
    assert isinstance(owner, ServerLiveness)
    assert isinstance(other, ServerLiveness)
    for one in (owner, other):
        await one.open()
    owner._connect = connect_late
    first = other._connection

    postgresql.stop("immediate")
    assert await other.find_dead([owner.me]) == frozenset()
    postgresql.start()
    with anyio.fail_after(60):
        while other._connection in (None, first):
            await checkpoint()
    assert await other.find_dead([owner.me, other.me, "another"]) == {"another"}

    may_come_back.set()
    with anyio.fail_after(60):
        while owner._connection is None:
            await checkpoint()
    await owner.close()
    assert await other.find_dead([owner.me]) == {owner.me}
    await other.close()
    await database.close()


async def test_who_goes_is_noticed_by_the_next_heartbeat_of_each(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by those that find its trace gone because another has cleared it away."""
    for module in ("madang.database.liveness", "madang.database.postgresql.liveness"):
        monkeypatch.setattr(f"{module}.HEARTBEAT_S", 0.05)
    owner, *others = [database.new_liveness() for _ in range(4)]
    heard = [asyncio.Event() for _ in others]
    for one, event in zip(others, heard, strict=True):
        one.listen(event.set)
    for one in (owner, *others):
        await one.open()
    with anyio.fail_after(60):
        while any(owner.me not in one._present for one in others):
            await checkpoint()
    assert not any(event.is_set() for event in heard)

    await owner.close()

    with anyio.fail_after(60):
        for event in heard:
            await event.wait()
    for one in others:
        await one.close()


async def test_the_server_looks_after_connections_whose_other_end_may_vanish(tmp_path: Path) -> None:
    """The values themselves cannot be seen over a socket of this machine, only that they were set."""
    database = database_in(tmp_path)
    await database.prepare(NUMBERS)
    names = "SELECT count(*) FROM pg_settings WHERE name LIKE 'tcp%' AND source = 'session'"
    connection = await database._connect()
    try:
        assert await connection.fetchval(names) == 4
    finally:
        await connection.close()
    assert await database.find(names) == [(4,)]
    await database.close()
