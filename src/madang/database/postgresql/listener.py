"""Hearing of changes, through LISTEN: the server sends the topics of committed units to every process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import asyncpg

from madang.core.errors import StoreUnavailable
from madang.core.phrases import say
from madang.database.postgresql.errors import CONNECTION_ERRORS, closed
from madang.database.postgresql.notifier import CHANNEL
from madang.database.subscriptions import Subscription, SubscriptionIndex

RECONNECT_S = 0.25
ANSWER_S = 5.0
# A connection whose other end vanished looks like a quiet one until a query is sent over it.
HEARTBEAT_S = 10.0


class Listener:
    """The subscriptions of this process, and the one connection that serves them. Without any, it is closed."""

    def __init__(self, connect: Callable[[], Awaitable[asyncpg.Connection[Any]]]) -> None:
        self._connect = connect
        self._subscriptions = SubscriptionIndex()
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_open = False

    def open(self) -> None:
        """Let subscriptions begin."""
        self._is_open = True

    async def changes(self, topics: tuple[str, ...]) -> AsyncGenerator[frozenset[str], None]:
        """Yield an empty set once the subscription has begun, then what changed at or below `topics`, until the end.

        Raises:
            StoreUnavailable: it is not open, or the server cannot be reached.
        """
        if not self._is_open:
            raise closed()
        subscription = Subscription(topics)
        self._subscriptions.add(subscription)
        if self._task is None:
            self._task = asyncio.create_task(self._listen())
        try:
            try:
                async with asyncio.timeout(ANSWER_S):
                    await self._listening.wait()
            except TimeoutError:
                raise StoreUnavailable(
                    say("The database server cannot be reached to hear of changes."),
                    hint=say("Call again in a moment."),
                ) from None
            async for changed in subscription.changes():
                yield changed
        finally:
            self._subscriptions.discard(subscription)
            if not self._subscriptions:
                self._stop()

    async def close(self) -> None:
        """End every iterator."""
        self._is_open = False
        self._subscriptions.close()
        task = self._task
        self._stop()
        if task is not None:
            with suppress(asyncio.CancelledError):
                await task

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._listening.clear()

    async def _listen(self) -> None:
        is_first = True
        while True:
            with suppress(*CONNECTION_ERRORS, asyncpg.PostgresError):
                connection = await self._connect()
                try:
                    await connection.add_listener(CHANNEL, self._on_notify)
                    self._listening.set()
                    if not is_first:
                        # Notices may have been missed meanwhile: anything may have changed.
                        self._subscriptions.publish_all()
                    is_first = False
                    await _until_lost(connection)
                finally:
                    connection.terminate()
            self._listening.clear()
            await asyncio.sleep(RECONNECT_S)

    def _on_notify(self, _connection: object, _pid: int, _channel: str, topic: object) -> None:
        self._subscriptions.publish(str(topic))


async def _until_lost(connection: asyncpg.Connection[Any]) -> None:
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    while not lost.is_set() and not connection.is_closed():
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                await lost.wait()
        except TimeoutError:
            await connection.execute("SELECT 1", timeout=ANSWER_S)
