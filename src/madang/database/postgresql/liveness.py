"""Liveness on a database server: a session advisory lock, on one direct connection that lives as long as the process.

Locks are not replicated: on a server that took over, or was restarted, an owner holds none until it has come back. So
the table `process` says on which server each took its lock, and one that has not been on this server yet is given time
to come, by the monotonic clock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Any

import asyncpg

from madang.database.liveness import HEARTBEAT_S, Liveness
from madang.database.port import Database, MigrationSet
from madang.database.postgresql.advisory import advisory_key
from madang.database.postgresql.errors import CONNECTION_ERRORS, unavailable
from madang.system.clock import POSTGRESQL_NOW

RETURN_S = 10.0
"""How long an owner that was on another server is not dead: it connects and takes its lock again meanwhile."""
RECONNECT_S = 0.1
ANSWER_S = 5.0

PROCESS_MIGRATIONS = MigrationSet(
    "processes",
    sqlite=(),
    postgresql=(
        f"""
        CREATE TABLE process (
          id TEXT PRIMARY KEY, started_at TIMESTAMPTZ NOT NULL DEFAULT {POSTGRESQL_NOW},
          server_start TIMESTAMPTZ NOT NULL, timeline TEXT NOT NULL
        )
        """,
        "ALTER TABLE process ADD place TEXT NOT NULL DEFAULT ''",
    ),
)

# The timeline of the log that is being written: the control file learns of a new one only at a checkpoint.
_TIMELINE = "left(pg_walfile_name(pg_current_wal_lsn()), 8)"
_KEEP_OWN = f"""
INSERT INTO process (id, server_start, timeline, place) VALUES ($1, pg_postmaster_start_time(), {_TIMELINE}, $2)
ON CONFLICT (id) DO UPDATE SET server_start = excluded.server_start, timeline = excluded.timeline
"""
# One that waits for its lock is alive too: of a broken connection, the server may hold the old one for a while. One
# without a row was found dead before.
_UNLOCKED = f"""
SELECT owner.id, process.id IS NULL OR (server_start = pg_postmaster_start_time() AND timeline = {_TIMELINE})
FROM unnest($1::text[], $2::bigint[]) AS owner (id, key) LEFT JOIN process ON process.id = owner.id
WHERE NOT EXISTS (
  SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (classid::bigint << 32 | objid::bigint) = owner.key
)
"""


class ServerLiveness(Liveness):
    """Liveness by a lock on a server. `connect` leads to the server itself: a pooler gives one lock to several."""

    def __init__(
        self,
        database: Database,
        connect: Callable[[], Awaitable[asyncpg.Connection[Any]]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._database = database
        self._connect = connect
        self._clock = clock
        self._connection: asyncpg.Connection[Any] | None = None
        self._connected_s = 0.0
        # asyncpg runs one statement at a time on a connection.
        self._using = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        if self._task is not None:
            return
        await self._database.prepare(PROCESS_MIGRATIONS)
        try:
            await self._take_lock()
        except Exception as error:
            raise unavailable(error) or error from None
        self._task = asyncio.create_task(self._hold_lock())

    async def find_dead(self, owners: Collection[str]) -> frozenset[str]:
        others = [owner for owner in owners if owner != self.me]
        async with self._using:
            connection = self._connection
            if connection is None or not others:
                return frozenset()
            try:
                return await self._find_dead(connection, others)
            except (*CONNECTION_ERRORS, asyncpg.PostgresError):
                connection.terminate()
                return frozenset()

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*CONNECTION_ERRORS, asyncpg.PostgresError):
                await connection.execute("DELETE FROM process WHERE id = $1", self.me, timeout=ANSWER_S)
                await connection.close(timeout=ANSWER_S)

    async def _find_dead(self, connection: asyncpg.Connection[Any], owners: list[str]) -> frozenset[str]:
        keys = [_key(owner) for owner in owners]
        rows = await connection.fetch(_UNLOCKED, owners, keys, timeout=ANSWER_S)
        has_waited = self._clock() - self._connected_s >= RETURN_S
        dead = [id for id, was_here in rows if was_here or has_waited]
        if dead:
            await connection.execute("DELETE FROM process WHERE id = ANY ($1::text[])", dead, timeout=ANSWER_S)
        return frozenset(dead)

    async def _take_lock(self) -> None:
        connection = await self._connect()
        try:
            await connection.execute(f"SELECT pg_advisory_lock({_key(self.me)})")
            await connection.execute(_KEEP_OWN, self.me, self.place)
        except BaseException:
            connection.terminate()
            raise
        self._connection, self._connected_s = connection, self._clock()

    async def _hold_lock(self) -> None:
        while True:
            if self._connection is not None:
                await self._until_lost(self._connection)
                self._connection = None
            with suppress(*CONNECTION_ERRORS, asyncpg.PostgresError):
                await self._take_lock()
                continue
            await asyncio.sleep(RECONNECT_S)

    async def _until_lost(self, connection: asyncpg.Connection[Any]) -> None:
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        while not lost.is_set() and not connection.is_closed():
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    await lost.wait()
            except TimeoutError:
                await self._beat(connection)

    async def _beat(self, connection: asyncpg.Connection[Any]) -> None:
        """Use the connection, so that one whose other end vanished is noticed, and forget and tell those that died."""
        async with self._using:
            try:
                rows = await connection.fetch("SELECT id, place FROM process WHERE id <> $1", self.me, timeout=ANSWER_S)
                dead = await self._find_dead(connection, [id for id, _ in rows])
            except (*CONNECTION_ERRORS, asyncpg.PostgresError):
                connection.terminate()
                return
        alive = {id: place for id, place in rows if id not in dead}
        self._places = frozenset(alive.values())
        self._note_present(alive)


def _key(owner: str) -> int:
    return advisory_key(f"process/{owner}")
