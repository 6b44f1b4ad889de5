"""What models took: tokens and cost by session, day and model, and how far estimates of tokens are off, by model.

Both are written in the unit that stores the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from madang.core.calls import Call
from madang.core.ids import SessionId, UserId
from madang.database.port import Database, MigrationSet, Row, Transaction, private_rows
from madang.system.clock import timestamp

MAX_CALIBRATIONS = 100
"""Of one user: those of models that were not used for longest go."""
MAX_STORED_MODEL_CHARS = 200
"""The rest of a longer name is cut."""


def _tables(number: str, real: str, end: str = "") -> str:
    return f"""
        CREATE TABLE usage (
          user_id TEXT NOT NULL, session_no {number} NOT NULL, day TEXT NOT NULL, model TEXT NOT NULL,
          requests {number} NOT NULL, input_tokens {number} NOT NULL, cached_tokens {number} NOT NULL,
          output_tokens {number} NOT NULL, cost {real} NOT NULL, unpriced {number} NOT NULL,
          PRIMARY KEY (user_id, session_no, day, model),
          FOREIGN KEY (user_id, session_no) REFERENCES session (user_id, no) ON DELETE CASCADE
        ){end};
        CREATE INDEX usage_by_day ON usage (user_id, day);
        CREATE TABLE calibration (
          user_id TEXT NOT NULL, model TEXT NOT NULL, factor {real} NOT NULL, window_tokens {number} NOT NULL,
          used_at TEXT NOT NULL,
          PRIMARY KEY (user_id, model)
        ){end};
        """


USAGE_MIGRATIONS = MigrationSet(
    "usage",
    sqlite=(_tables("INTEGER", "REAL", " WITHOUT ROWID"),),
    postgresql=(_tables("BIGINT", "DOUBLE PRECISION") + private_rows("usage", "calibration"),),
)


@dataclass(frozen=True, slots=True)
class AnswerUsage:
    """What one answer took."""

    model: str
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """None is not known."""


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """What the answers of a model took in a session on a day (UTC), or of all that were added up."""

    session_id: SessionId
    day: str
    model: str
    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: float
    unpriced: int
    """Requests whose cost is not known."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is known of how a model counts."""

    model: str
    factor: float = 1.0
    """How many of its tokens one of our estimated ones is."""
    window_tokens: int = 0
    """What it was found to take at most, in its tokens; 0 is not known."""


_ADD = """
INSERT INTO usage (user_id, session_no, day, model, requests, input_tokens, cached_tokens, output_tokens, cost,
  unpriced)
VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (user_id, session_no, day, model) DO UPDATE SET requests = usage.requests + 1,
  input_tokens = usage.input_tokens + excluded.input_tokens,
  cached_tokens = usage.cached_tokens + excluded.cached_tokens,
  output_tokens = usage.output_tokens + excluded.output_tokens,
  cost = usage.cost + excluded.cost, unpriced = usage.unpriced + excluded.unpriced
"""
_CALIBRATE = """
INSERT INTO calibration (user_id, model, factor, window_tokens, used_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (user_id, model) DO UPDATE SET
  factor = excluded.factor, window_tokens = excluded.window_tokens, used_at = excluded.used_at
"""
_FORGET_OLDEST = f"""
DELETE FROM calibration WHERE user_id = ?1 AND model IN (
  SELECT model FROM calibration WHERE user_id = ?1 ORDER BY used_at DESC, model LIMIT 1000 OFFSET {MAX_CALIBRATIONS}
)
"""
_TOTALS = """
SELECT s.id, u.day, u.model, u.requests, u.input_tokens, u.cached_tokens, u.output_tokens, u.cost, u.unpriced
FROM usage u JOIN session s ON s.user_id = u.user_id AND s.no = u.session_no
WHERE u.user_id = ?1 AND (?2 = '' OR s.id = ?2) AND u.day >= ?3 ORDER BY u.day DESC, s.id, u.model
"""


async def write_usage(tx: Transaction, user_id: UserId, session_no: int, usage: AnswerUsage) -> None:
    """Add what an answer took."""
    await tx.run(
        _ADD,
        user_id,
        session_no,
        timestamp()[:10],
        usage.model[:MAX_STORED_MODEL_CHARS],
        usage.input_tokens,
        usage.cached_tokens,
        usage.output_tokens,
        usage.cost or 0.0,
        int(usage.cost is None),
    )


async def write_calibration(tx: Transaction, user_id: UserId, calibration: Calibration) -> None:
    """Keep what was learnt of how a model counts."""
    model = calibration.model[:MAX_STORED_MODEL_CHARS]
    await tx.run(_CALIBRATE, user_id, model, calibration.factor, calibration.window_tokens, timestamp())
    await tx.run(_FORGET_OLDEST, user_id)


class UsageStore:
    """Reads what models took, and how they count. The tables are opened with those of `RunStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await self._database.prepare(USAGE_MIGRATIONS)

    async def list_totals(self, call: Call, since: str = "") -> list[UsageTotal]:
        """Return what was taken since a day, newest day first: in the call's session, or in all if it names none."""
        rows: list[Row] = await self._database.read(
            lambda tx: tx.all(_TOTALS, call.user_id, call.session_id or "", since), user_id=call.user_id
        )
        return [UsageTotal(*row) for row in rows]

    async def get_calibration(self, user_id: UserId, model: str) -> Calibration:
        """Return what is known of how a model counts."""
        model = model[:MAX_STORED_MODEL_CHARS]
        rows = await self._database.find(
            "SELECT model, factor, window_tokens FROM calibration WHERE user_id = ?1 AND model = ?2",
            user_id,
            model,
            user_id=user_id,
        )
        return Calibration(*rows[0]) if rows else Calibration(model)
