"""Telling other processes of committed changes, through NOTIFY.

A NOTIFY inside the transaction of a unit makes all such commits of the server queue for one another's flush to disk. So
a second transaction sends the notices and does not wait for the disk. It travels in one message with the COMMIT, which
the server executes whether or not the client is still there: a killed process has told what it committed (ADR 0010).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from typing import Any, TypeAlias

import asyncpg

from madang.database.postgresql.errors import CONNECTION_ERRORS

CHANNEL = "madang"
RETRY_S = 0.25

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[Any]"
_OnConnection: TypeAlias = Callable[[Callable[[Connection], Awaitable[None]]], Awaitable[None]]

_BUSY = "SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1::int[]) AND state = 'active'"


def commit_sql(topics: Collection[str]) -> str:
    """Return one message that commits, then notifies."""
    # In a transaction that has failed, COMMIT is a rollback without an error, and notices of nothing would go out. SET
    # fails there, and with it the whole message.
    return f"SET LOCAL madang.commit = ''; COMMIT; {notify_sql(topics)}" if topics else "COMMIT"


def notify_sql(topics: Iterable[str]) -> str:
    """Return one message that notifies, in a transaction of its own that does not wait for the disk."""
    notifications = (f"NOTIFY {CHANNEL}, {_literal(topic)}" for topic in topics)
    return "; ".join(("SET LOCAL synchronous_commit = off", *notifications))


def _literal(value: str) -> str:
    """Return `value` as SQL. Names come from outside; as hexadecimal digits they cannot end the string they are in."""
    return "E'\\x" + value.encode().hex("x").replace("x", "\\x") + "'"


class Notifier:
    """Sends notices again whose first sending is in doubt.

    That is so when the caller is cancelled, or the connection lost, between a commit and its notices. They are sent
    whether or not the unit was committed: a needless one makes a subscriber look, a missing one leaves it in the past.
    """

    def __init__(self) -> None:
        self._pending: dict[int, set[str]] = {}
        self._on_connection: _OnConnection | None = None
        self._task: asyncio.Task[None] | None = None

    def open(self, on_connection: _OnConnection) -> None:
        """Send through `on_connection`, which calls a function with a connection that is free."""
        self._on_connection = on_connection

    def resend(self, topics: Collection[str], backend: int = 0) -> None:
        """Send notices of `topics` soon, in the background; those of several units go together.

        `backend` is the server's process that may still be at the commit. A notice that came before it would be
        useless: a subscriber that looks then sees the past.
        """
        if topics:
            self._pending.setdefault(backend, set()).update(topics)
            if self._task is None:
                self._task = asyncio.create_task(self._send())

    async def flush(self) -> None:
        """Return after everything was sent."""
        if self._task is not None:
            await self._task

    async def close(self) -> None:
        """Give up what has not been sent."""
        task, self._task = self._task, None
        self._pending.clear()
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _send(self) -> None:
        assert self._on_connection is not None
        try:
            while self._pending:
                with suppress(*CONNECTION_ERRORS, asyncpg.PostgresError):
                    await self._on_connection(self._send_ready)
                if self._pending:
                    await asyncio.sleep(RETRY_S)
        finally:
            self._task = None

    async def _send_ready(self, connection: Connection) -> None:
        rows = await connection.fetch(_BUSY, list(self._pending))
        busy = {row[0] for row in rows}
        ready = {backend: topics for backend, topics in self._pending.items() if backend not in busy}
        if not ready:
            return
        for backend in ready:
            del self._pending[backend]
        try:
            await connection.execute(notify_sql(set().union(*ready.values())))
        except BaseException:
            for backend, topics in ready.items():
                self.resend(topics, backend)
            raise
