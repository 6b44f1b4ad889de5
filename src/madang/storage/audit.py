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
from datetime import UTC, datetime
from typing import Any

from madang.core.calls import Call
from madang.core.errors import MadangError
from madang.core.ids import UserId
from madang.storage.database import Database, MigrationSet, Row, Transaction, Work, private_rows

FLUSH_S = 0.25
KEPT_ROWS = 100_000
LONGEST_VALUE = 120

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
        self._rows: list[Row] = []
        self._flusher: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()

    def record(self, entry: AuditEntry) -> None:
        """Note a call; it is on disk a moment later."""
        call = entry.call
        whole = json.dumps(entry.arguments, sort_keys=True, default=str)
        self._rows.append(
            (
                datetime.now(UTC).isoformat(timespec="milliseconds"),
                call.user_id,
                call.assistant_id,
                call.session_id,
                call.door,
                entry.tool,
                entry.effect,
                json.dumps(_shortened(entry.arguments), ensure_ascii=False),
                hashlib.sha256(whole.encode(errors="replace")).hexdigest(),
                entry.outcome,
                entry.answer_bytes,
                round(entry.took_ms, 3),
            )
        )
        if self._flusher is None:
            self._flusher = asyncio.create_task(self._flush_soon())

    async def close(self) -> None:
        """Write what is left."""
        if self._flusher is not None:
            self._flusher.cancel()
            with suppress(asyncio.CancelledError):
                await self._flusher
        await self._flush()

    async def _flush_soon(self) -> None:
        await asyncio.sleep(FLUSH_S)
        self._flusher = None
        await self._flush()

    async def _flush(self) -> None:
        # One after the other, so that closing also waits for what is under way.
        async with self._flushing:
            rows, self._rows = self._rows, []
            by_user: dict[UserId, list[Row]] = {}
            for row in rows:
                by_user.setdefault(row[1], []).append(row)
            for user_id, theirs in by_user.items():
                try:
                    await self._database.prepare(AUDIT_MIGRATIONS)
                    await self._database.write(_keeping(theirs), user_id=user_id)
                except MadangError as error:
                    # A full disk must not stop the tools that still can work; the log tells that the trail has a hole.
                    logger.error("%d audit rows were lost: %s", len(theirs), error)


def _keeping(rows: list[Row]) -> Work[None]:
    async def write(tx: Transaction) -> None:
        await tx.run_many(_INSERT, rows)
        await tx.run("DELETE FROM audit WHERE seq <= (SELECT max(seq) FROM audit) - ?1", KEPT_ROWS)

    return write


_INSERT = """
INSERT INTO audit (at, user_id, assistant_id, session_id, door, tool, effect, arguments, arguments_sha256, outcome,
  answer_bytes, took_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
"""


def _shortened(value: Any, depth: int = 3) -> Any:
    """Return arguments small enough to be read: the hash stands for what is cut off."""
    if isinstance(value, str):
        text = value.encode(errors="replace").decode()
        return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… ({len(text)} characters)"
    if isinstance(value, Mapping):
        if depth == 0:
            return f"{{{len(value)} fields}}"
        return {str(_shortened(key)): _shortened(inner, depth - 1) for key, inner in list(value.items())[:20]}
    if isinstance(value, (list, tuple)):
        return f"[{len(value)} items]" if depth == 0 or len(value) > 20 else [_shortened(v, depth - 1) for v in value]
    return value if isinstance(value, (bool, int, float)) or value is None else str(value)
