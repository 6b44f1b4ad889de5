"""Telling changes through LISTEN and NOTIFY: the server passes each commit's topics on to every process at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import asyncpg

from madang.core.errors import Unavailable
from madang.core.phrases import say
from madang.storage.postgresql.errors import LOST, closed
from madang.storage.watchers import Watcher

CHANNEL = "madang"
RETRY_S = 0.25
PATIENCE_S = 5.0
# A connection whose other end vanished without a word looks like a quiet one until something is asked over it.
HEARTBEAT_S = 10.0


class Listener:
    """The one connection of this process that hears of changes. It is there only while somebody watches."""

    def __init__(self, connect: Callable[[], Awaitable[asyncpg.Connection[Any]]]) -> None:
        self._connect = connect
        self._watchers: set[Watcher] = set()
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_open = False

    def open(self) -> None:
        """Let watching begin."""
        self._is_open = True

    async def changes(self, topics: tuple[str, ...]) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set once watching has begun, then what changed at or below `topics`, until the end.

        Raises:
            Unavailable: it is not open, or the server cannot be reached.
        """
        if not self._is_open:
            raise closed()
        watcher = Watcher(topics)
        self._watchers.add(watcher)
        if self._task is None:
            self._task = asyncio.create_task(self._listen())
        try:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await self._listening.wait()
            except TimeoutError:
                raise Unavailable(
                    say("The database server cannot be reached to hear of changes."),
                    hint=say("Call again in a moment."),
                ) from None
            async for changed in watcher.changes():
                yield changed
        finally:
            self._watchers.discard(watcher)
            if not self._watchers:
                self._stop()

    async def close(self) -> None:
        """End every iterator."""
        self._is_open = False
        for watcher in self._watchers:
            watcher.end()
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
            with suppress(*LOST, asyncpg.PostgresError):
                connection = await self._connect()
                try:
                    await connection.add_listener(CHANNEL, self._heard)
                    self._listening.set()
                    if not is_first:
                        # Nobody knows what was said meanwhile: all have to look for themselves.
                        for watcher in self._watchers:
                            watcher.tell_to_look()
                    is_first = False
                    await _until_lost(connection)
                finally:
                    connection.terminate()
            self._listening.clear()
            await asyncio.sleep(RETRY_S)

    def _heard(self, _connection: object, _pid: int, _channel: str, topic: object) -> None:
        for watcher in self._watchers:
            watcher.tell([str(topic)])


async def _until_lost(connection: asyncpg.Connection[Any]) -> None:
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    while not lost.is_set() and not connection.is_closed():
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                await lost.wait()
        except TimeoutError:
            await connection.execute("SELECT 1", timeout=PATIENCE_S)
