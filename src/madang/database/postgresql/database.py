"""`Database` on a PostgreSQL server.

Two rules carry everything here. What a unit of work sees is decided by the server: its user is set for its transaction
alone, and row-level security shows no other rows. And two units of one user never lose each other's updates: each runs
on a snapshot, and one that conflicts with another is retried, alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import asyncpg

from madang.core.errors import SetupError, StoreUnavailable, Unavailable
from madang.core.ids import UserId
from madang.core.phrases import say
from madang.database.liveness import Liveness
from madang.database.port import (
    ALONE_WAIT_S,
    LOCK_WAIT_S,
    OPTIONAL_WAIT_S,
    Dialect,
    MigrationSet,
    ResultT,
    Row,
    Work,
)
from madang.database.postgresql.address import ServerAddress
from madang.database.postgresql.advisory import MIGRATIONS, advisory_key
from madang.database.postgresql.connections import (
    CONNECT_S,
    SERVER_SETTINGS,
    AnsweringConnections,
    Connector,
    is_lost,
    terminate,
    use_keepalives,
)
from madang.database.postgresql.errors import CONNECTION_ERRORS, RETRYABLE_ERRORS, closed, setup_error, unavailable
from madang.database.postgresql.listener import Listener
from madang.database.postgresql.liveness import ServerLiveness
from madang.database.postgresql.notifier import Connection, Notifier, commit_sql
from madang.database.postgresql.probe import check_connections, check_server
from madang.database.postgresql.sql import as_user, begin_write, numbered, set_user
from madang.database.subscriptions import check_topic

ACQUIRE_S = 10.0
STATEMENT_S = 20.0
MIGRATION_S = 3600.0
CLOSE_S = 10.0

_MIGRATION_TABLE = """
CREATE TABLE IF NOT EXISTS migration (
  set_name TEXT, number INTEGER, applied_at TIMESTAMPTZ NOT NULL DEFAULT now(), PRIMARY KEY (set_name, number)
)
"""


class _Statements:
    """A transaction on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.topics: dict[str, None] = {}
        self.is_in_doubt = False
        """Whether the COMMIT was sent and its outcome, or that of its notices, is not known."""

    async def all(self, sql: str, *parameters: object) -> list[Row]:
        return [tuple(row) for row in await self._connection.fetch(numbered(sql), *parameters)]

    async def one(self, sql: str, *parameters: object) -> Row | None:
        row = await self._connection.fetchrow(numbered(sql), *parameters)
        return None if row is None else tuple(row)

    async def run(self, sql: str, *parameters: object) -> int:
        tag = await self._connection.execute(numbered(sql), *parameters)
        count = tag.rpartition(" ")[2]
        return int(count) if count.isdecimal() else 0

    async def run_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        await self._connection.executemany(numbered(sql), rows)

    async def notify(self, topic: str) -> None:
        self.topics[check_topic(topic)] = None


class PostgresDatabase:
    """`Database` on a server. The event loop that opened it is the one that uses it."""

    dialect: Dialect = "postgresql"
    ranks_text = True

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        self._connector = Connector(address.url)
        self._direct = self._connector if address.direct_url == address.url else Connector(address.direct_url)
        self._pool: asyncpg.Pool[Any] | None = None
        self._answering = AnsweringConnections()
        self._opening = asyncio.Lock()
        self._prepared: set[str] = set()
        self._accepted: set[asyncio.Future[None]] = set()
        self._listener = Listener(self._connect)
        self._notifier = Notifier()

    async def prepare(self, migrations: MigrationSet) -> None:
        async with self._opening:
            if migrations.name in self._prepared:
                return
            try:
                if self._pool is None:
                    self._pool = await self._open()
                    self._listener.open()
                    self._notifier.open(partial(self._on_connection, self._pool))
                await self._migrate(self._pool, migrations)
            except Exception as error:
                raise setup_error(error, self._address) or error from None
            self._prepared.add(migrations.name)

    async def read(self, work: Work[ResultT], *, user_id: UserId | None = None, brief: bool = False) -> ResultT:
        begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT {set_user(user_id)}"
        unit = partial(_unit, work, begin, self._notifier)
        return await self._run(unit, unit)

    async def find(self, sql: str, *parameters: object, user_id: UserId | None = None) -> list[Row]:
        statement = as_user(sql, len(parameters) + 1)

        async def look(connection: Connection) -> list[Row]:
            return [tuple(row) for row in await connection.fetch(statement, *parameters, user_id or "")]

        return await self._run(look)

    async def write(self, work: Work[ResultT], *, user_id: UserId | None = None, is_optional: bool = False) -> ResultT:
        # At first beside the user's other units, on a snapshot: the server refuses it if they touch the same rows.
        # Then alone. READ COMMITTED, because the snapshot of the other kind is older than the lock that is waited for.
        lock = f"pg_advisory_xact_lock_shared({_write_lock(user_id)})"
        beside = partial(begin_write, "REPEATABLE READ", user_id, lock=lock)
        attempts = (beside, _begin_alone(user_id))
        return await self._run_writing(work, attempts, OPTIONAL_WAIT_S if is_optional else LOCK_WAIT_S)

    async def write_alone(self, work: Work[ResultT], *, user_id: UserId | None = None) -> ResultT:
        return await self._run_writing(work, (_begin_alone(user_id),), ALONE_WAIT_S)

    async def write_across_users(self, work: Work[ResultT]) -> ResultT:
        begin = partial(begin_write, "READ COMMITTED", None)
        return await self._run_writing(work, (begin, begin), LOCK_WAIT_S)

    async def check_for_agents(self) -> None:
        try:
            await check_connections(self._connect, partial(self._connect, self._connector), place=self._address.place)
        except Exception as error:
            raise setup_error(error, self._address) or error from None

    def new_liveness(self) -> Liveness:
        return ServerLiveness(self, self._connect)

    def changes(self, *topics: str) -> AsyncGenerator[frozenset[str], None]:
        return self._listener.changes(topics)

    async def close(self) -> None:
        await self._listener.close()
        pool, self._pool = self._pool, None
        self._prepared.clear()
        if pool is None:
            return
        try:
            async with asyncio.timeout(CLOSE_S):
                # The pool would turn away units that wait for a connection; they were accepted, so they come first.
                while self._accepted:
                    await asyncio.wait(self._accepted)
                await self._notifier.flush()
                await pool.close()
        except TimeoutError:
            pool.terminate()
        finally:
            await self._notifier.close()

    async def describe(self) -> str:
        """Return the server's version and how far away it is, for the person who looks after it.

        Raises:
            SetupError: it cannot be used.
        """
        loop = asyncio.get_running_loop()
        try:
            connection = await self._connect()
            try:
                await check_server(connection, self._address.place)
                started = loop.time()
                version = await connection.fetchval("SHOW server_version")
                took_ms = (loop.time() - started) * 1000
            finally:
                await connection.close(timeout=CLOSE_S)
        except Exception as error:
            raise setup_error(error, self._address) or error from None
        return f"PostgreSQL {version} ({self._address.place}), {took_ms:.1f} ms away"

    async def _run_writing(
        self, work: Work[ResultT], begins: Sequence[Callable[[float], str]], wait_s: float
    ) -> ResultT:
        """Run a unit that waits for locks until `wait_s` from now, also if it first waits behind others for them."""
        deadline = asyncio.get_running_loop().time() + wait_s

        async def attempt(begin: Callable[[float], str], connection: Connection) -> ResultT:
            remaining_s = deadline - asyncio.get_running_loop().time()
            return await _unit(work, begin(remaining_s), self._notifier, connection)

        return await self._run(*(partial(attempt, begin) for begin in begins))

    async def _run(self, *attempts: Callable[[Connection], Awaitable[ResultT]]) -> ResultT:
        pool = self._pool
        if pool is None:
            raise closed()
        finished = asyncio.get_running_loop().create_future()
        self._accepted.add(finished)
        *earlier, last = attempts
        try:
            for attempt in earlier:
                with suppress(*RETRYABLE_ERRORS):
                    return await self._on_connection(pool, attempt)
            return await self._on_connection(pool, last)
        except Exception as error:
            raise unavailable(error) or error from None
        finally:
            self._accepted.discard(finished)
            finished.set_result(None)

    async def _on_connection(
        self, pool: asyncpg.Pool[Any], attempt: Callable[[Connection], Awaitable[ResultT]]
    ) -> ResultT:
        # Not by the argument of `acquire`: it would start a task for each.
        async with asyncio.timeout(ACQUIRE_S):
            connection = await self._answering.acquire(pool)
        pid = connection.get_server_pid()
        try:
            result = await attempt(connection)
            self._answering.add(pid)
            return result
        except TimeoutError:
            # The machine of the server may have vanished: who takes the next idle connection would wait as long again.
            self._answering.clear()
            terminate(connection)
            raise
        except StoreUnavailable:  # the answer to a COMMIT did not come
            self._answering.clear()
            raise
        except (*CONNECTION_ERRORS, asyncpg.ReadOnlySQLTransactionError):
            # Its state is unknown, or it leads to a replica: the name, or the list, of servers may lead elsewhere now.
            terminate(connection)
            raise
        finally:
            await pool.release(connection)

    async def _open(self) -> asyncpg.Pool[Any]:
        pool = asyncpg.create_pool(
            connect=self._connector.connect,
            # None is kept open for its own sake: while the server is away, the pool would fill the log about it.
            min_size=0,
            max_size=self._address.pool_size,
            command_timeout=STATEMENT_S,
            statement_cache_size=self._address.statement_cache_size,
            # asyncpg would ask the server to forget everything after each use; all we set ends with its transaction.
            reset=_reset,
            init=self._answering.prepare,
            server_settings=SERVER_SETTINGS,
        )
        await pool
        try:
            async with pool.acquire(timeout=ACQUIRE_S) as connection:
                await check_server(connection, self._address.place)
        except BaseException:
            pool.terminate()
            raise
        return pool

    async def _connect(self, connector: Connector | None = None) -> asyncpg.Connection[Any]:
        """Return a connection to the server itself, for what belongs to one connection as long as it lives."""
        connection = await (connector or self._direct).connect(
            command_timeout=STATEMENT_S,
            statement_cache_size=self._address.statement_cache_size,
            server_settings=SERVER_SETTINGS,
        )
        try:
            return await use_keepalives(connection)
        except BaseException:
            connection.terminate()  # else nobody would close it
            raise

    async def _migrate(self, pool: asyncpg.Pool[Any], migrations: MigrationSet) -> None:
        """Apply the missing steps of a set in one transaction; of several processes, one after the other."""
        if migrations.sqlite and not migrations.postgresql:
            raise SetupError(say("'{name}' has no tables for a database server yet.", name=migrations.name))
        async with pool.acquire(timeout=ACQUIRE_S) as connection:
            applied_count = 0
            with suppress(asyncpg.UndefinedTableError):
                applied_count = await self._applied(connection, migrations)
            if applied_count == len(migrations.postgresql):
                return
            async with connection.transaction():
                await connection.execute(
                    f"SELECT pg_advisory_xact_lock({advisory_key(MIGRATIONS)})", timeout=MIGRATION_S
                )
                await connection.execute(_MIGRATION_TABLE)
                applied_count = await self._applied(connection, migrations)
                for number in range(applied_count + 1, len(migrations.postgresql) + 1):
                    await connection.execute(migrations.postgresql[number - 1], timeout=MIGRATION_S)
                    await connection.execute(
                        "INSERT INTO migration (set_name, number) VALUES ($1, $2)", migrations.name, number
                    )

    async def _applied(self, connection: Connection, migrations: MigrationSet) -> int:
        applied_count = await connection.fetchval(
            "SELECT max(number) FROM migration WHERE set_name = $1", migrations.name
        )
        if (applied_count or 0) > len(migrations.postgresql):
            raise SetupError(
                say("The database {path} was written by a newer Madang.", path=self._address.place),
                hint=say("Update Madang, or use another database."),
            )
        return applied_count or 0


def _write_lock(user_id: UserId | None) -> int:
    return advisory_key(f"user/{user_id or ''}")


def _begin_alone(user_id: UserId | None) -> Callable[[float], str]:
    return partial(begin_write, "READ COMMITTED", user_id, lock=f"pg_advisory_xact_lock({_write_lock(user_id)})")


async def _unit(work: Work[ResultT], begin: str, notifier: Notifier, connection: Connection) -> ResultT:
    statements, backend = _Statements(connection), connection.get_server_pid()
    is_over = False
    try:
        # Without parameters: so the user, the lock and the BEGIN are one round trip.
        await connection.execute(begin)
        result = await work(statements)
        await _commit(connection, statements)
        is_over = True
        return result
    except CONNECTION_ERRORS:
        terminate(connection)
        raise
    finally:
        try:
            # The user and the locks end with the transaction, so nothing is left over for the next unit. Also if none
            # is seen: the BEGIN of one that was cancelled may still be on its way.
            if not is_over and not is_lost(connection):
                try:
                    await connection.execute("ROLLBACK", timeout=CONNECT_S)
                    is_over = True
                except CONNECTION_ERRORS:
                    terminate(connection)
        finally:
            if statements.is_in_doubt:
                notifier.resend(statements.topics, 0 if is_over else backend)


async def _commit(connection: Connection, statements: _Statements) -> None:
    statements.is_in_doubt = True
    try:
        tag = await connection.execute(commit_sql(statements.topics))
    except asyncpg.ProgramLimitExceededError:
        # The server's queue of notices is full. That is no failure of the unit, which has been committed.
        return
    except RETRYABLE_ERRORS:
        statements.is_in_doubt = False  # nothing was committed
        raise
    except asyncpg.InFailedSQLTransactionError:
        tag = "ROLLBACK"
    except Exception as error:
        if isinstance(error, CONNECTION_ERRORS):
            terminate(connection)
        raise unavailable(error, saving=True) or error from None
    statements.is_in_doubt = False
    if tag == "ROLLBACK":
        # A statement failed, the unit went on as if it had not, and the server has undone everything.
        raise Unavailable(say("The database has refused the change. Nothing was written."))


async def _reset(_: object) -> None:
    """Reset a connection for its next use: nothing is left to reset."""
