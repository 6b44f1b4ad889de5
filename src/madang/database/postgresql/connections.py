"""Connections: to which of several servers, what each new one is told, and which of a pool are used again.

Keepalives are the server's: a machine that vanishes sends no FIN, and its locks would stay for hours. They are set by
statement, not as startup parameters: a pooler refuses connections with parameters that it does not know.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import asyncpg

from madang.database.postgresql.address import each_server
from madang.database.postgresql.errors import CONNECTION_ERRORS
from madang.database.postgresql.moments import SETTINGS, use_timestamps
from madang.database.postgresql.notifier import Connection

CONNECT_S = 5.0
SERVER_SETTINGS = {"application_name": "madang", **SETTINGS}
KEEPALIVES = {
    "tcp_keepalives_idle": 10,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
"""In seconds, but for the last: after 25 s without an answer the server gives a connection up."""
_SET = "; ".join(f"SET {name} = {value}" for name, value in KEEPALIVES.items())


class Connector:
    """Opens connections to the server of a URL, or to that of several which answers and can be written.

    asyncpg has one timeout for all servers of a URL: the first one, on a machine that vanished, would use it up.
    """

    def __init__(self, url: str) -> None:
        self._urls = each_server(url)

    async def connect(self, dsn: str | None = None, **options: Any) -> asyncpg.Connection[Any]:
        """Open a connection within `CONNECT_S`. asyncpg's pools call it as they would call `asyncpg.connect`."""
        failure: Exception | None = None
        for url in self._urls:
            try:
                connection: asyncpg.Connection[Any] = await asyncpg.connect(
                    url, timeout=CONNECT_S / len(self._urls), **options
                )
            except CONNECTION_ERRORS as error:
                # That another one can only be read says less than why the server that could be written is not there.
                if failure is None or isinstance(failure, asyncpg.TargetServerAttributeNotMatched):
                    failure = error
                continue
            # The next connection is soon there: only the first one after a failover waits for the old server.
            self._urls = (url, *(other for other in self._urls if other != url))
            return connection
        assert failure is not None
        raise failure


async def use_keepalives(connection: asyncpg.Connection[Any]) -> asyncpg.Connection[Any]:
    """Have the server notice soon that the other end of a connection is gone, and return the connection."""
    with suppress(asyncpg.PostgresError):  # one that is like PostgreSQL need not have them
        await connection.execute(_SET)
    return connection


class AnsweringConnections:
    """The connections of a pool that were opened, or have answered, since one did not: only these are used again.

    The others of a server whose machine vanished are silent as well, and each would be waited for in turn.
    """

    def __init__(self) -> None:
        self._pids: set[int] = set()

    async def prepare(self, connection: asyncpg.Connection[Any]) -> None:
        """Prepare a new connection of the pool."""
        await use_timestamps(connection)
        await use_keepalives(connection)
        pid = connection.get_server_pid()
        self._pids.add(pid)
        connection.add_termination_listener(lambda _: self._pids.discard(pid))

    async def acquire(self, pool: asyncpg.Pool[Any]) -> Connection:
        """Take one from the pool."""
        while True:
            connection = await pool.acquire()
            if connection.get_server_pid() in self._pids:
                return connection
            terminate(connection)
            await pool.release(connection)

    def add(self, pid: int) -> None:
        """Note that the server's process `pid` has answered."""
        self._pids.add(pid)

    def clear(self) -> None:
        """Note that one has not answered in time."""
        self._pids.clear()


def terminate(connection: Connection) -> None:
    if not is_lost(connection):
        connection.terminate()


def is_lost(connection: Connection) -> bool:
    """Return whether the connection is closed. asyncpg takes such a one away, and then refuses even this question."""
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:
        return True
