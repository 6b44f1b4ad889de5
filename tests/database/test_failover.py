"""Several servers in one URL, or a name that moves from one to another: the one that can be written is found again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from madang.core.errors import SetupError, StoreUnavailable
from madang.database.port import Database
from madang.database.postgresql import connections, database
from madang.database.postgresql.address import each_server, parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from tests.agent.bench import eventually
from tests.backends import insert, numbers, opened
from tests.postgresql import USER, Server, two_servers, url_of

REPLAYED = "SELECT replay_lsn = pg_current_wal_lsn() FROM pg_stat_replication"


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Server]]:
    """A primary and its replica, for tests that leave them so."""
    with two_servers() as pair:
        yield pair


@asynccontextmanager
async def database_of(url: str) -> AsyncIterator[Database]:
    async with opened(PostgresDatabase(parse_database_url(url))) as one:
        yield one


async def pools_full(one: Database) -> None:
    """Open several connections of the pool, which are idle afterwards."""
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(one.find("SELECT pg_sleep(0.1)"))


async def refusal(unit: Awaitable[object]) -> str:
    with pytest.raises(StoreUnavailable) as caught:
        await unit
    return str(caught.value)


def test_each_server_of_a_url_has_one_of_its_own() -> None:
    assert each_server("postgresql://me:x%2Cy@a/db?sslmode=require") == ("postgresql://me:x%2Cy@a/db?sslmode=require",)
    assert each_server("postgresql:///db") == ("postgresql:///db",)
    assert each_server("postgresql://me@a:1,[::1]:2/db") == (
        "postgresql://me@a:1/db?target_session_attrs=read-write",
        "postgresql://me@[::1]:2/db?target_session_attrs=read-write",
    )
    assert each_server("postgresql://me@/db?host=a,/run&port=1&target_session_attrs=any") == (
        "postgresql://me@/db?host=a&target_session_attrs=any&port=1",
        "postgresql://me@/db?host=%2Frun&target_session_attrs=any&port=1",
    )
    direct = parse_database_url("postgresql://me@pool/db?direct=a:1,b:2").direct_url
    assert each_server(direct) == (
        "postgresql://me@/db?host=a&target_session_attrs=read-write&port=1",
        "postgresql://me@/db?host=b&target_session_attrs=read-write&port=2",
    )


def test_ports_that_are_not_as_many_as_servers_are_refused() -> None:
    with pytest.raises(SetupError):
        parse_database_url("postgresql://me@/db?host=a,b,c&port=1,2")


async def test_a_replica_does_not_stand_in_for_a_primary_that_is_away(servers: tuple[Server, Server]) -> None:
    primary, replica = servers
    primary.new_database("away")
    async with database_of(url_of((primary, replica), "away")) as one:
        await insert(one, 1)
        primary.stop("immediate")
        await refusal(numbers(one))  # the connection was broken
        await refusal(numbers(one))  # what the replica tells may be old
        primary.start()

        await insert(one, 3)

        assert await numbers(one) == [1, 3]


async def test_a_name_that_leads_elsewhere_now_is_followed(servers: tuple[Server, Server]) -> None:
    """As the DNS name of a managed server: for a while it leads to what is now a replica."""
    primary, replica = servers
    primary.new_database("moved")
    name = replica.folder / "name"
    name.symlink_to(primary.folder)
    async with database_of(f"postgresql://{USER}@/moved?host={name}") as one:
        await insert(one, 1)
        await eventually(partial(asyncio.to_thread, primary.sql, REPLAYED), "t".__eq__)
        primary.stop("immediate")
        name.unlink()
        name.symlink_to(replica.folder)
        await refusal(insert(one, 2))  # the connection was broken
        assert "read-only" in await refusal(insert(one, 2))
        primary.start()
        name.unlink()
        name.symlink_to(primary.folder)

        await insert(one, 3)

        assert await numbers(one) == [1, 3]


async def test_a_server_that_vanished_does_not_hide_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connections are still there and silent, and new ones to it are not answered either."""
    monkeypatch.setattr(database, "STATEMENT_S", 4.0)
    monkeypatch.setattr(connections, "CONNECT_S", 2.0)
    with two_servers() as (primary, replica):
        primary.new_database("madang")
        async with database_of(url_of((primary, replica), "madang")) as one:
            await insert(one, 1)
            await pools_full(one)
            with primary.frozen():
                await asyncio.to_thread(replica.promote)
                await refusal(insert(one, 2))

                async with asyncio.timeout(3.9):  # a second for one connection, and none of the others is waited for
                    await insert(one, 3)

                assert await numbers(one) == [1, 3]


async def test_where_no_server_can_be_written_it_says_so(servers: tuple[Server, Server]) -> None:
    _, replica = servers

    with pytest.raises(SetupError) as caught:
        await PostgresDatabase(parse_database_url(url_of((replica, replica), "postgres"))).describe()

    assert "none of its servers can be written" in str(caught.value)
