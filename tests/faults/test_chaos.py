"""Hosts, databases and machines that go away under runs: none stands still while one could work, and plans are exact.

Small in the suite; whole with MADANG_TEST_CHAOS, which takes ten minutes: outages of 6 and 65 seconds, a lock that is
held for 15 seconds, the kill of one of three hosts under 20 runs, a failover under as many, users with hosts of their
own, a machine that vanishes.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import apsw
import pytest

from madang.database.port import Database
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.database.sqlite.database import SqliteDatabase
from madang.database.subscriptions import parse_topic, topic
from madang.records.runs.store import open_run_tables
from tests.agent.bench import eventually
from tests.faults.chaos import CEILING_S, STILL_S, TODOS, Host, Watcher, host, plays
from tests.model_server import ModelServer
from tests.postgresql import OPTIONS, UNSAFE, USER, Server, database_in, two_servers, url_in, url_of

IS_WHOLE = bool(os.environ.get("MADANG_TEST_CHAOS"))
whole = pytest.mark.skipif(not IS_WHOLE, reason="MADANG_TEST_CHAOS is not set")


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        server.plays(plays)
        yield server


@asynccontextmanager
async def watching(database: Database) -> AsyncIterator[Watcher]:
    await open_run_tables(database)
    try:
        yield Watcher(database)
    finally:
        await database.close()


async def check(watcher: Watcher, sessions: Sequence[str], judge: Host, user: str = "local") -> None:
    """Wait for the runs, and check that none was left, lost anything, or did anything twice."""
    states = await watcher.until_over(sessions, user)
    assert states == dict.fromkeys(sessions, "finished")
    for session in sessions:
        assert await judge.todos(session) == TODOS
    if IS_WHOLE:  # a busy machine may need longer: the invariant is for those who ask for it
        assert max(watcher.still.values(), default=0.0) < STILL_S, watcher.still


async def under_way(model: ModelServer, requests: int) -> None:
    """Wait until the model was asked so often."""

    async def count() -> int:
        return len(model.requests)

    await eventually(count, lambda asked: asked >= requests)


async def test_the_runs_of_a_killed_host_go_on_at_the_others(tmp_path: Path, model: ModelServer) -> None:
    url, runs, hosts = url_in(tmp_path), *((20, 3) if IS_WHOLE else (3, 2))
    async with AsyncExitStack() as stack:
        watcher = await stack.enter_async_context(watching(database_in(tmp_path)))
        opened = [host(tmp_path / f"host-{number}", model, url) for number in range(hosts)]
        first, second, *_ = [await stack.enter_async_context(one) for one in opened]
        sessions = [await first.begin(f"Tea {number}") for number in range(runs)]
        await under_way(model, 2 * runs)
        await first.kill()

        await check(watcher, sessions, second)


@whole
async def test_a_host_that_is_stopped_hands_over_and_ends(tmp_path: Path, model: ModelServer) -> None:
    url = url_in(tmp_path)
    async with AsyncExitStack() as stack:
        watcher = await stack.enter_async_context(watching(database_in(tmp_path)))
        second = await stack.enter_async_context(host(tmp_path / "second", model, url))
        async with host(tmp_path / "first", model, url) as first:
            sessions = [await first.begin(f"Tea {number}") for number in range(3)]
            await under_way(model, 6)

        await check(watcher, sessions, second)


@whole
@pytest.mark.parametrize("away_s", [6, 65])
async def test_an_outage_of_the_server_strands_nothing(
    tmp_path: Path, model: ModelServer, postgresql: Server, away_s: int
) -> None:
    url = url_in(tmp_path)
    async with AsyncExitStack() as stack:
        watcher = await stack.enter_async_context(watching(database_in(tmp_path)))
        opened = [host(tmp_path / f"host-{number}", model, url) for number in range(2)]
        hosts = [await stack.enter_async_context(one) for one in opened]
        sessions = [await hosts[number % 2].begin(f"Tea {number}") for number in range(24)]
        await under_way(model, 40)
        await asyncio.to_thread(postgresql.stop, "immediate")
        await asyncio.sleep(away_s)
        await asyncio.to_thread(postgresql.start)

        await check(watcher, sessions, hosts[0])
        # And it goes on working: what is new is begun, and a host that is killed now is taken over from.
        late = await hosts[1].begin("Late")
        await hosts[1].kill()
        await check(watcher, [late], hosts[0])


@pytest.mark.parametrize("is_silent", [False, pytest.param(True, marks=whole)])
async def test_a_failover_strands_nothing(tmp_path: Path, model: ModelServer, is_silent: bool) -> None:
    """A commit waits for the replica, so what it has is all that was acknowledged: plans are exact there, too.

    The primary breaks its connections when it goes, or is silent, as one whose machine vanished.
    """
    runs, count = (20, 3) if IS_WHOLE else (3, 1)
    async with AsyncExitStack() as stack:
        primary, replica = stack.enter_context(two_servers())
        primary.new_database("madang")
        url = url_of((primary, replica), "madang", target_session_attrs="read-write")
        database = PostgresDatabase(parse_database_url(url))
        watcher = await stack.enter_async_context(watching(database))
        opened = [host(tmp_path / f"host-{number}", model, url) for number in range(count)]
        hosts = [await stack.enter_async_context(one) for one in opened]
        changes = await stack.enter_async_context(aclosing(database.changes(topic("session", "local"))))
        await anext(changes)
        sessions = [await hosts[number % count].begin(f"Tea {number}") for number in range(runs)]
        await under_way(model, 2 * runs)
        if is_silent:
            stack.enter_context(primary.frozen())
        else:
            await asyncio.to_thread(primary.stop, "immediate")
        await asyncio.sleep(10 if IS_WHOLE else 0)  # who promotes it takes that long; until then it can only be read
        await asyncio.to_thread(replica.promote)

        await check(watcher, sessions, hosts[0])
        # All of it has moved: locks are held there, and who listened before hears of what is new.
        await eventually(partial(timelines, database), lambda found: found == ["00000002"] * count)
        late = await hosts[-1].begin("Late")
        async with asyncio.timeout(CEILING_S):
            while not any(late in parse_topic(each) for each in await anext(changes)):
                pass
        if IS_WHOLE:  # and a host that is killed now is taken over from
            await hosts[-1].kill()
        await check(watcher, [late], hosts[0])


async def timelines(database: Database) -> list[str]:
    """Return on which timeline of the server's log each process has its lock."""
    return [str(timeline) for (timeline,) in await database.find("SELECT timeline FROM process")]


@whole
async def test_a_lock_that_another_program_holds_strands_nothing(tmp_path: Path, model: ModelServer) -> None:
    async with host(tmp_path, model) as only, watching(SqliteDatabase(tmp_path / "madang.db")) as watcher:
        sessions = [await only.begin(f"Tea {number}") for number in range(6)]
        await under_way(model, 10)
        with closing(apsw.Connection(str(tmp_path / "madang.db"))) as other:
            other.execute("BEGIN IMMEDIATE")
            await asyncio.sleep(15)
            other.execute("ROLLBACK")

        states = await watcher.until_over(sessions)
        assert states == dict.fromkeys(sessions, "finished")
        for session in sessions:
            assert await only.todos(session) == TODOS


@whole
async def test_nothing_of_one_user_goes_to_the_model_of_another(tmp_path: Path, model: ModelServer) -> None:
    url = url_in(tmp_path)
    async with AsyncExitStack() as stack:
        watcher = await stack.enter_async_context(watching(database_in(tmp_path)))
        his = await stack.enter_async_context(ModelServer())
        his.plays(plays)
        bob = await stack.enter_async_context(host(tmp_path / "bob", his, url, "bob"))
        ann = await stack.enter_async_context(host(tmp_path / "ann", model, url, "ann"))
        sessions = [await ann.begin(f"Ann's tea {number}") for number in range(6)]
        theirs = [await bob.begin(f"Bob's tea {number}") for number in range(6)]
        await under_way(model, 10)
        await ann.kill()
        await check(watcher, theirs, bob, "bob")
        async with host(tmp_path / "ann-again", model, url, "ann") as again:
            await check(watcher, sessions, again, "ann")

        assert not any(b"Ann's tea" in request.raw for request in his.requests)
        assert not any(b"Bob's tea" in request.raw for request in model.requests)


NAMESPACE, NEAR, FAR = "madang-chaos", "10.231.77.1", "10.231.77.2"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def machine(server: Server) -> Iterator[None]:
    """Have a machine of its own, as far as the network goes, that reaches the server over TCP."""
    ip("netns", "add", NAMESPACE)
    try:
        ip("link", "add", "chaos0", "type", "veth", "peer", "name", "chaos1", "netns", NAMESPACE)
        for prefix, name, address in (((), "chaos0", NEAR), (("-n", NAMESPACE), "chaos1", FAR)):
            ip(*prefix, "addr", "add", f"{address}/24", "dev", name)
            ip(*prefix, "link", "set", name, "up")
        with (server.folder / "data" / "pg_hba.conf").open("a") as access:
            access.write(f"\nhost all all {FAR}/32 trust\n")
        server.stop()
        options = OPTIONS.format(folder=server.folder).replace("listen_addresses=''", f"listen_addresses={NEAR}")
        server._control("start", "-w", "-l", str(server.folder / "log"), "-o", f"{options} {UNSAFE}")
        try:
            yield
        finally:
            server.stop()
            server.start()
    finally:
        ip("link", "del", "chaos0")
        ip("netns", "del", NAMESPACE)


@whole
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("ip") is None, reason="network namespaces need root and ip")
async def test_a_machine_that_vanishes_without_a_word_is_noticed(tmp_path: Path, postgresql: Server) -> None:
    """Its cable is pulled, then it is killed: no FIN reaches the server, whose keepalives give it up."""
    url = f"postgresql://{USER}@{NEAR}{urlsplit(url_in(tmp_path)).path}"
    with machine(postgresql):
        database = database_in(tmp_path)
        looking, heard = database.new_liveness(), asyncio.Event()
        await looking.open()
        looking.listen(heard.set)
        far = await asyncio.create_subprocess_exec(
            *("ip", "netns", "exec", NAMESPACE, sys.executable, "-m", "tests.stores.children", "be_alive"),
            *(str(tmp_path), url),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert far.stdout is not None
        id = (await far.stdout.readline()).decode().strip()
        await eventually(lambda: database.find("SELECT 1"), lambda _: id in looking._present)

        ip("link", "set", "chaos0", "down")
        far.kill()
        await far.wait()
        began_s = time.monotonic()
        async with asyncio.timeout(120):
            await heard.wait()
        took_s = time.monotonic() - began_s
        assert await looking.find_dead([id]) == {id}
        await looking.close()
        await database.close()

    assert took_s < 45, took_s  # 25 s of the server, and a heartbeat
