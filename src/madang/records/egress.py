"""Requests that left this computer: how many a day to which host, for the person to read. Never what was in them."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from madang.core.errors import MadangError
from madang.core.ids import UserId
from madang.core.texts import visible_name
from madang.database.port import Database, MigrationSet, Transaction, private_rows
from madang.system.clock import format_timestamp, now, timestamp

FLUSH_S = 0.25
KEPT_DAYS = 365
MAX_HOST_CHARS = 253
MAX_HOSTS_LISTED = 500

EgressPurpose = Literal["model"]
"""What a request was for."""


def _table(time: str, number: str, end: str = "") -> str:
    return f"""
        CREATE TABLE egress (
          user_id TEXT NOT NULL, day TEXT NOT NULL, host TEXT NOT NULL, purpose TEXT NOT NULL,
          count {number} NOT NULL, last_at {time} NOT NULL,
          PRIMARY KEY (user_id, day, host, purpose)
        ){end};
        """


EGRESS_MIGRATIONS = MigrationSet(
    "egress",
    sqlite=(_table("TEXT", "INTEGER", " WITHOUT ROWID"),),
    postgresql=(_table("TIMESTAMPTZ", "BIGINT") + private_rows("egress"),),
)


@dataclass(frozen=True, slots=True)
class EgressTotal:
    """The requests to one host."""

    host: str
    purpose: str
    count: int
    last_at: str


class EgressLog:
    """Counts requests as they leave, and writes the counts a moment later."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: Counter[tuple[UserId, str, EgressPurpose]] = Counter()
        self._flusher: asyncio.Task[None] | None = None

    def record(self, user_id: UserId, host: str, purpose: EgressPurpose) -> None:
        """Count one request, whatever comes of it."""
        self._counts[user_id, visible_name(host.lower())[:MAX_HOST_CHARS], purpose] += 1
        if self._flusher is None:
            self._flusher = asyncio.create_task(self._flush_soon())

    async def list_totals(self, user_id: UserId, days: int) -> list[EgressTotal]:
        """Return the requests of the last days by host, the latest first."""
        await self._flush()
        await self._database.prepare(EGRESS_MIGRATIONS)
        rows = await self._database.find(
            "SELECT host, purpose, sum(count) AS total, max(last_at) AS last FROM egress "
            "WHERE user_id = ?1 AND day > ?2 GROUP BY host, purpose ORDER BY last DESC, host LIMIT ?3",
            user_id,
            _day(days),
            MAX_HOSTS_LISTED,
            user_id=user_id,
        )
        return [EgressTotal(host, purpose, int(count), last_at) for host, purpose, count, last_at in rows]

    async def close(self) -> None:
        """Write what is left."""
        if self._flusher is not None:
            self._flusher.cancel()
            with suppress(asyncio.CancelledError):
                await self._flusher
        await self._flush()
        if self._counts:
            logging.getLogger(__name__).error("%d counted request(s) were lost", self._counts.total())

    async def _flush_soon(self) -> None:
        await asyncio.sleep(FLUSH_S)
        self._flusher = None
        await self._flush()

    async def _flush(self) -> None:
        counts, self._counts = self._counts, Counter()
        for user_id in {user_id for user_id, _, _ in counts}:
            rows = [
                (user_id, _day(0), host, purpose, count, timestamp())
                for (user, host, purpose), count in counts.items()
                if user == user_id
            ]

            async def work(tx: Transaction, rows: Sequence[Sequence[object]] = rows, user_id: UserId = user_id) -> None:
                await tx.run_many(_ADD, rows)
                await tx.run("DELETE FROM egress WHERE user_id = ?1 AND day < ?2", user_id, _day(KEPT_DAYS))

            try:
                await self._database.prepare(EGRESS_MIGRATIONS)
                await self._database.write(work, user_id=user_id, is_optional=True)
            except MadangError:  # a lock or a full disk: they are written with the next ones
                self._counts.update({key: count for key, count in counts.items() if key[0] == user_id})


_ADD = """
INSERT INTO egress (user_id, day, host, purpose, count, last_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (user_id, day, host, purpose)
DO UPDATE SET count = egress.count + excluded.count, last_at = excluded.last_at
"""


def _day(days_ago: int) -> str:
    return format_timestamp(now() - timedelta(days=days_ago))[:10]
