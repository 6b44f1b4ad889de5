"""The audit trail: one row per tool call, for the person to read.

Rows are written together, a moment after their calls, so that a read does not cost a flush to disk. A killed process
loses the last moment of the trail, never what the calls themselves wrote.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from math import isfinite
from typing import Any

from madang.core.calls import Call
from madang.core.errors import LimitExceeded, MadangError
from madang.core.ids import UserId
from madang.storage.clock import format_timestamp, now
from madang.storage.database import Database, MigrationSet, Row, Transaction, private_rows

FLUSH_S = 0.25
KEPT_ROWS = 100_000
MAX_QUEUED_ENTRIES = 10_000
MAX_VALUE_CHARS = 120

logger = logging.getLogger(__name__)

AUDIT_MIGRATIONS = MigrationSet(
    "audit",
    sqlite=(
        """
        CREATE TABLE audit (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          at TEXT NOT NULL, user_id TEXT NOT NULL, assistant_id TEXT, session_id TEXT, door TEXT NOT NULL,
          tool TEXT NOT NULL, effect TEXT NOT NULL, arguments TEXT NOT NULL, arguments_sha256 TEXT NOT NULL,
          outcome TEXT NOT NULL, answer_bytes INTEGER NOT NULL, took_ms REAL NOT NULL
        )
        """,
    ),
    postgresql=(
        f"""
        CREATE TABLE audit (
          seq BIGINT GENERATED ALWAYS AS IDENTITY,
          at TEXT NOT NULL, user_id TEXT NOT NULL, assistant_id TEXT, session_id TEXT, door TEXT NOT NULL,
          tool TEXT NOT NULL, effect TEXT NOT NULL, arguments TEXT NOT NULL, arguments_sha256 TEXT NOT NULL,
          outcome TEXT NOT NULL, answer_bytes INTEGER NOT NULL, took_ms DOUBLE PRECISION NOT NULL,
          PRIMARY KEY (user_id, seq)
        );
        {private_rows("audit")}
        """,
    ),
)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What happened in one call. `outcome` is `ok` or an error's code."""

    call: Call
    tool: str
    effect: str
    arguments: Mapping[str, Any]
    outcome: str
    answer_bytes: int
    took_ms: float


class AuditLog:
    """Keeps the trail. It opens the database with its first rows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue: list[tuple[datetime, AuditEntry]] = []
        self._flusher: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def record(self, entry: AuditEntry) -> None:
        """Queue a row for a call; it is on disk a moment later."""
        self._queue.append((now(), entry))
        if self._flusher is None:
            self._flusher = asyncio.create_task(self._flush_soon())

    async def close(self) -> None:
        """Write what is left."""
        if self._flusher is not None:
            self._flusher.cancel()
            with suppress(asyncio.CancelledError):
                await self._flusher
        await self._flush()
        if self._queue:
            logger.error("%d audit rows were lost: the database could not be written", len(self._queue))

    async def _flush_soon(self) -> None:
        await asyncio.sleep(FLUSH_S)
        self._flusher = None
        await self._flush()
        if self._queue and self._flusher is None:
            self._flusher = asyncio.create_task(self._flush_soon())

    async def _flush(self) -> None:
        async with self._writing:  # closing waits here for rows that are being written
            queue, self._queue = self._queue, []
            by_user: dict[UserId, list[tuple[datetime, AuditEntry]]] = {}
            for at, entry in queue:
                by_user.setdefault(entry.call.user_id, []).append((at, entry))
            for user_id, entries in by_user.items():
                await self._write(user_id, entries)

    async def _write(self, user_id: UserId, entries: list[tuple[datetime, AuditEntry]]) -> None:
        async def write(tx: Transaction) -> None:
            # Rows are made here, all together and in the writer's thread, so that no call waits for it.
            await tx.run_many(_INSERT, [_row(at, entry) for at, entry in entries])
            await tx.run("DELETE FROM audit WHERE seq <= (SELECT max(seq) FROM audit) - ?1", KEPT_ROWS)

        try:
            await self._database.prepare(AUDIT_MIGRATIONS)
            await self._database.write(write, user_id=user_id)
        except MadangError as error:
            # A full disk or a lock must not stop the tools that still can work. The rows are queued again, up to a
            # bound; rows that are dropped are counted in the log.
            waiting = entries + self._queue
            self._queue = waiting[-MAX_QUEUED_ENTRIES:]
            if len(waiting) > MAX_QUEUED_ENTRIES:
                logger.error("%d audit rows were lost: %s", len(waiting) - MAX_QUEUED_ENTRIES, error)


_INSERT = """
INSERT INTO audit (at, user_id, assistant_id, session_id, door, tool, effect, arguments, arguments_sha256, outcome,
  answer_bytes, took_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
"""


def _row(at: datetime, entry: AuditEntry) -> Row:
    call = entry.call
    return (
        format_timestamp(at),
        call.user_id,
        call.assistant_id,
        call.session_id,
        call.door,
        entry.tool,
        entry.effect,
        json.dumps(_shortened(entry.arguments), ensure_ascii=False),
        # What was refused for its size is not worth reading through once more.
        "" if entry.outcome == LimitExceeded.code else _digest(entry.arguments),
        entry.outcome,
        entry.answer_bytes,
        round(entry.took_ms, 3),
    )


def _digest(arguments: Mapping[str, Any]) -> str:
    """Return the hash of the arguments, or nothing for some that no tool would take: too deep, or not JSON at all."""
    try:
        whole = json.dumps(arguments, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        return ""
    return hashlib.sha256(whole.encode(errors="replace")).hexdigest()


def _shortened(value: Any, depth: int = 3) -> Any:
    """Return arguments small enough to be read: the hash stands for what is cut off."""
    if isinstance(value, str):
        text = value.encode(errors="replace").decode()
        return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}… ({len(text)} characters)"
    if isinstance(value, Mapping):
        if depth == 0:
            return f"{{{len(value)} fields}}"
        return {str(_shortened(key, 0)): _shortened(inner, depth - 1) for key, inner in islice(value.items(), 20)}
    if isinstance(value, (list, tuple)):
        return f"[{len(value)} items]" if depth == 0 or len(value) > 20 else [_shortened(v, depth - 1) for v in value]
    if isinstance(value, int) and value.bit_length() > 64:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, (bool, int)) or value is None or (isinstance(value, float) and isfinite(value)):
        return value
    return _shortened(str(value))
