"""Notices of changes in an embedded database: what one process commits, every process learns within a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from madang.core.errors import SetupError, Unavailable
from madang.core.ids import UserId
from madang.database.file_watch import FileWatch
from madang.database.port import MigrationSet, Row, Transaction
from madang.database.subscriptions import Subscription, SubscriptionIndex

if TYPE_CHECKING:
    from madang.database.port import Database

POLL_S = 0.5
"""Where the file cannot be watched, and for a while after each write to it."""
WRITE_SETTLES_S = 30.0
"""A write to the file is heard when its bytes are written, and its commit can be read once they are on the disk. So
polling goes on for longer than the slowest disk takes."""
QUIET_POLL_S = 60.0
"""Where the file is watched and nobody writes: against an event that was lost."""
RESEND_S = 0.5
MAX_UNSENT_NOTICES = 1000
"""What is kept while the database is locked; the oldest are dropped, as a notice only says what to look at again."""

NOTICE_MIGRATIONS = MigrationSet(
    "notice",
    sqlite=(
        """
        CREATE TABLE notice (seq INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL);
        CREATE TRIGGER notice_trimmed AFTER INSERT ON notice BEGIN
          DELETE FROM notice WHERE seq <= new.seq - 4096;
        END
        """,
    ),
)


class Subscriptions:
    """The subscriptions of this process. One reader of the table serves all of them; without any, nothing is read.

    `path` is the file of the database, which is watched where that can be done, and polled elsewhere. None: it is in
    memory, and no other process writes to it.
    """

    def __init__(self, database: Database, path: Path | None = None) -> None:
        self._database = database
        self._path = path
        self._watch: FileWatch | None = None
        self._written_at = 0.0
        self._subscriptions = SubscriptionIndex()
        self._poller: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._last_seq = 0
        """Of the last notice that was published here."""

    async def changes(self, topics: tuple[str, ...]) -> AsyncGenerator[frozenset[str], None]:
        """Yield an empty set once the subscription has begun, then what changed at or below `topics`, until `close`."""
        last_seq = await self._newest()
        subscription = Subscription(topics)
        self._subscriptions.add(subscription)
        if self._poller is None:
            self._loop = asyncio.get_running_loop()
            self._last_seq = last_seq
            self._watch_file()
            self._poller = asyncio.create_task(self._poll())
        try:
            async for changed in subscription.changes():
                yield changed
        finally:
            self._subscriptions.discard(subscription)
            if not self._subscriptions:
                self._stop()

    def committed(self, last_seq: int, topics: Sequence[str]) -> None:
        """Publish what this process has just committed, as notices up to a number. Called from the writer's thread."""
        loop = self._loop
        if self._poller is not None and loop is not None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._publish_own, last_seq, topics)

    def _publish_own(self, last_seq: int, topics: Sequence[str]) -> None:
        if last_seq - len(topics) != self._last_seq:
            self._wake.set()  # another process has committed before: its notices are in the table
            return
        self._last_seq = last_seq
        for topic in topics:
            self._subscriptions.publish(topic)

    async def close(self) -> None:
        """End every iterator."""
        self._subscriptions.close()
        self._stop()

    def _stop(self) -> None:
        if self._poller is not None:
            self._poller.cancel()
            self._poller = None
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _watch_file(self) -> None:
        if self._path is not None and self._watch is None:
            # Also the file itself: without a write-ahead log, and at a checkpoint, that is what is written.
            names = (self._path.name, f"{self._path.name}-wal")
            self._watch = FileWatch.open(self._path.parent, names, self._hear_write, self._lose_watch)
            self._written_at = asyncio.get_running_loop().time()  # what is being written now is not heard of

    def _hear_write(self) -> None:
        was_quiet, self._written_at = self._is_quiet(), asyncio.get_running_loop().time()
        if was_quiet:  # else a poll is near, and writes of this process, which are many, cost no read each
            self._wake.set()

    def _lose_watch(self) -> None:
        self._watch = None
        self._wake.set()

    def _is_quiet(self) -> bool:
        """Tell whether nothing has to be read before a write is heard of."""
        is_settled = asyncio.get_running_loop().time() - self._written_at > WRITE_SETTLES_S
        return self._watch is not None and is_settled

    async def _poll(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), QUIET_POLL_S if self._is_quiet() else POLL_S)
            self._wake.clear()
            await self._publish_new()

    async def _publish_new(self) -> None:
        """Publish what other processes have committed since the last time."""
        try:
            rows = await self._since(self._last_seq)
        except Unavailable:
            return  # a locked or closed database has no news now; the next poll asks again
        rows = [row for row in rows if row[0] > self._last_seq]  # some may have been published meanwhile
        if not rows:
            return
        # Rows that were trimmed before this poll leave a gap: then anything may have changed.
        has_gap = rows[0][0] > self._last_seq + 1
        self._last_seq = rows[-1][0]
        if has_gap:
            self._subscriptions.publish_all()
            return
        for topic in dict.fromkeys(topic for _, topic in rows):
            self._subscriptions.publish(topic)

    async def _newest(self) -> int:
        async def newest(tx: Transaction) -> Row | None:
            return await tx.one("SELECT max(seq) FROM notice")

        row = await self._database.read(newest)
        return (row and row[0]) or 0

    async def _since(self, seq: int) -> list[Row]:
        async def since(tx: Transaction) -> list[Row]:
            return await tx.all("SELECT seq, topic FROM notice WHERE seq > ?1 ORDER BY seq", seq)

        return await self._database.read(since)


_NO_TABLES = MigrationSet("notices", sqlite=())
"""Opens the database and makes nothing: each back end has its own means to notify."""


class Notices:
    """Publishes changes of what is not in the database, such as files, through it. Stores notify in their own units.

    The change has been made: a database that is locked or away neither delays it nor makes it look as if it had
    failed. Such a notice is sent as soon as it can be; until then it is coalesced with the others of its topic.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_open = False
        self._unsent: dict[tuple[UserId, str], None] = {}
        self._sender: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Open the database, if that can be done now: what is published or subscribed to later tries again."""
        with suppress(Unavailable, SetupError):
            await self._prepare()

    async def publish(self, topic: str, *, user_id: UserId) -> None:
        """Notify the subscribers of a topic, in every process: at once if that can be done, else later."""
        if self._sender is None and self._is_open and await self._send(topic, user_id):
            return
        self._unsent[user_id, topic] = None
        while len(self._unsent) > MAX_UNSENT_NOTICES:
            del self._unsent[next(iter(self._unsent))]
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_later())

    async def changes(self, *topics: str) -> AsyncGenerator[frozenset[str], None]:
        """Yield an empty set once the subscription has begun, then what changed at or below `topics`."""
        await self._prepare()
        async for changed in self._database.changes(*topics):
            yield changed

    async def close(self) -> None:
        """Send what can be sent now."""
        if self._sender is not None:
            self._sender.cancel()
            with suppress(asyncio.CancelledError):
                await self._sender
            self._sender = None
        if self._is_open:
            await self._send_all()

    async def _prepare(self) -> None:
        await self._database.prepare(_NO_TABLES)
        self._is_open = True

    async def _send_later(self) -> None:
        while self._unsent:
            await asyncio.sleep(RESEND_S)
            if not self._is_open:
                await self.open()
            if self._is_open:
                await self._send_all()
        self._sender = None

    async def _send_all(self) -> None:
        for user_id, topic in list(self._unsent):
            if not await self._send(topic, user_id):
                return
            del self._unsent[user_id, topic]

    async def _send(self, topic: str, user_id: UserId) -> bool:
        async def notify(tx: Transaction) -> None:
            await tx.notify(topic)

        try:
            await self._database.write(notify, user_id=user_id, is_optional=True)
        except Unavailable:
            return False
        return True
