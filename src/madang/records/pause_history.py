"""What was asked and is over: answered, or ended without an answer. Newest first, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from madang.core.ids import UserId
from madang.core.paging import parse_cursor
from madang.core.pauses import PauseRecord, PauseStatus
from madang.database.port import Database, Row, Transaction
from madang.records.pause_rows import PAUSE_COLUMNS, has_expired, parse_pause
from madang.system.clock import timestamp

ANSWERED: tuple[PauseStatus, ...] = ("answered",)
UNANSWERED: tuple[PauseStatus, ...] = ("expired", "withdrawn", "superseded", "cancelled")

_SELECT = f"SELECT {PAUSE_COLUMNS} FROM pause WHERE user_id = ?1 AND kind <> 'model'"
# That one has expired need not be written: then its end is its expiry. Each half follows `pause_by_age`.
_SETTLED = (
    f"{_SELECT} AND settled_at > ?2 AND (settled_at, id) < (?3, ?4) AND status IN ({{statuses}}) "
    "ORDER BY settled_at DESC, id DESC LIMIT ?5"
)
_EXPIRED = (
    f"{_SELECT} AND {has_expired('?6')} AND expires_at > ?2 AND (expires_at, id) < (?3, ?4) "
    "ORDER BY expires_at DESC, id DESC LIMIT ?5"
)


@dataclass(frozen=True, slots=True)
class PausePage:
    """Pauses that are over."""

    items: list[PauseRecord]
    next: str
    """Where the next page begins; empty after the last one."""


async def list_settled(
    database: Database, user_id: UserId, statuses: Sequence[PauseStatus], *, since: str, limit: int, after: str = ""
) -> PausePage:
    """Return what ended in one of these ways after `since`, beginning `after` an earlier page's `next`.

    The turns in which the person was the model are not among it: nobody was asked.

    Raises:
        InvalidCursor: `after` is none.
    """
    now, place = timestamp(), parse_cursor(after)
    settled = _SETTLED.format(statuses=", ".join(f"'{status}'" for status in statuses))

    async def work(tx: Transaction) -> list[Row]:
        rows = await tx.all(settled, user_id, since, *place, limit + 1)
        if "expired" in statuses:
            rows += await tx.all(_EXPIRED, user_id, since, *place, limit + 1, now)
        return rows

    rows = await database.read(work, user_id=user_id, brief=True)
    pauses = sorted((parse_pause(row, now) for row in rows), key=_order, reverse=True)
    items = pauses[:limit]
    return PausePage(items, " ".join(_order(items[-1])) if len(pauses) > limit else "")


def _order(pause: PauseRecord) -> tuple[str, str]:
    return pause.settled_at, pause.id
