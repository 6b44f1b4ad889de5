"""Whether a server can be used: its version and role, and whether connections to it are what agents need.

A read-only replica and a pooler that shares connections answer `SELECT 1` as well as the server itself does, so each
thing that is needed is done once.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import asyncpg

from madang.core.errors import SetupError
from madang.core.phrases import Phrase, say
from madang.database.postgresql.notifier import Connection

# Older ones have no views that obey the row-level security of the role that queries them.
MIN_SERVER_VERSION = 15
PROBE_S = 10.0
"""For all of it: whatever a pooler does, a start does not hang."""
NOTICE_S = 3.0

OwnConnection: TypeAlias = "asyncpg.Connection[Any]"
Connect: TypeAlias = Callable[[], Awaitable[OwnConnection]]


async def check_server(connection: OwnConnection | Connection, place: str) -> None:
    """Refuse a server on which users could not be kept apart, or texts not be kept as they are.

    Raises:
        SetupError: it is one.
    """
    row = await connection.fetchrow(
        "SELECT rolname, rolsuper OR rolbypassrls, current_setting('server_encoding'), "
        "current_setting('server_version_num')::int / 10000 FROM pg_roles WHERE rolname = current_user"
    )
    assert row is not None
    user, bypasses, encoding, version = row
    if version < MIN_SERVER_VERSION:
        raise SetupError(
            say("PostgreSQL {found} is too old: {oldest} or newer is needed.", found=version, oldest=MIN_SERVER_VERSION)
        )
    if encoding != "UTF8":
        raise SetupError(
            say("The database {place} is kept in {encoding}.", place=place, encoding=encoding),
            hint=say("Create one in Unicode: createdb --encoding=UTF8 --template=template0 --owner=USER DATABASE"),
        )
    if bypasses:
        # Policies do not hold for such a role, and it could undo a SET ROLE: one wrong statement in a store would show
        # the rows of all users. So it is refused before there is anything to see.
        raise SetupError(
            say("The database user '{user}' may see every row: it is a superuser or has BYPASSRLS.", user=user),
            hint=say("Give Madang one of its own: CREATE ROLE madang LOGIN; ALTER DATABASE … OWNER TO madang"),
        )


async def check_connections(connect: Connect, connect_pooled: Connect, place: str) -> None:
    """Refuse a server that is read-only, and connections that a pooler shares between clients, within `PROBE_S`.

    `connect` leads to the server itself, as far as the address says; `connect_pooled` to where units of work run.

    Raises:
        SetupError: an agent could not work on it.
    """
    try:
        async with asyncio.timeout(PROBE_S):
            async with _open(connect_pooled) as pooled, _open(connect_pooled) as other:
                await _check_writable(pooled, place)
                await _check_statements(pooled, other, place)
            async with _open(connect) as one, _open(connect) as other:
                await _check_writable(one, place)
                await _check_own(one, other, place)
                await _check_lock(one, other, place)
                await _check_notices(one, other, place)
    except TimeoutError:
        raise SetupError(
            say("The database {place} did not answer within {seconds} s.", place=place, seconds=round(PROBE_S)),
            hint=say("Check the server, and the pooler before it if there is one: 'madang doctor' asks again."),
        ) from None


@asynccontextmanager
async def _open(connect: Connect) -> AsyncIterator[OwnConnection]:
    connection = await connect()
    try:
        yield connection
    finally:
        connection.terminate()  # its locks and subscriptions end with it, and it is not waited for


async def _check_writable(connection: OwnConnection, place: str) -> None:
    is_read_only = await connection.fetchval(
        "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool"
    )
    if is_read_only:
        raise SetupError(
            say("The database {place} can only be read: it is a replica, or set to be read-only.", place=place),
            hint=say(
                "Name the primary server, or all of them: postgresql://…@a,b/name?target_session_attrs=read-write"
            ),
        )


async def _check_statements(one: OwnConnection, other: OwnConnection, place: str) -> None:
    """Prepare a statement on two connections, and use it on each while the other holds a transaction."""
    try:
        for first, second in ((one, other), (other, one)):
            await first.fetchval("SELECT $1::int + 1", 1)
            async with second.transaction():
                await second.fetchval("SELECT $1::int + 1", 1)
                await first.fetchval("SELECT $1::int + 1", 1)
    except (asyncpg.DuplicatePreparedStatementError, asyncpg.InvalidSQLStatementNameError):
        raise _pooled(
            say("A pooler before the database {place} mixes up the prepared statements of its clients.", place=place)
        ) from None


async def _check_own(one: OwnConnection, other: OwnConnection, place: str) -> None:
    """Check that each connection keeps its own server process, also while another one is in a transaction."""
    pids = {await _pid(one), await _pid(one)}
    async with other.transaction():
        taken = await _pid(other)
        if taken not in pids:  # else this would wait for that transaction, where the pooler has no other
            pids.add(await _pid(one))
    if len(pids) > 1 or taken in pids:
        raise _pooled(say("A pooler before the database {place} shares connections between its clients.", place=place))


async def _pid(connection: OwnConnection) -> int:
    pid: int = await connection.fetchval("SELECT pg_backend_pid()")
    return pid


async def _check_lock(one: OwnConnection, other: OwnConnection, place: str) -> None:
    """Take a lock on one connection, and look for it from another."""
    key = secrets.randbits(31)
    await one.execute(f"SELECT pg_advisory_lock({key})")
    is_seen = await other.fetchval(
        "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND classid = 0)", key
    )
    is_held = not await other.fetchval(f"SELECT pg_try_advisory_lock({key})")
    if not is_seen or not is_held:
        raise _pooled(say("The database {place} does not hold the lock of a connection.", place=place))


async def _check_notices(one: OwnConnection, other: OwnConnection, place: str) -> None:
    """Listen on one connection, and notify from another."""
    channel, heard = f"madang_probe_{secrets.token_hex(8)}", asyncio.Event()
    await one.add_listener(channel, lambda *_: heard.set())
    await other.execute(f"NOTIFY {channel}")
    try:
        async with asyncio.timeout(NOTICE_S):
            await heard.wait()
    except TimeoutError:
        raise _pooled(say("The database {place} does not deliver notices (LISTEN).", place=place)) from None


def _pooled(message: Phrase) -> SetupError:
    return SetupError(
        message,
        hint=say(
            "Let the pooler pool sessions, or add to MADANG_DATABASE the server behind it and no prepared statements: "
            "direct=HOST:PORT&statement_cache_size=0"
        ),
    )
