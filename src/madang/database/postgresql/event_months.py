"""The partitions of the event log on a database server: one for each month, made ahead, dropped when it is too old.

Row-level security of the log holds for whoever comes through it. A partition that is named directly has it too, with no
policy at all: it shows nothing to anybody.
"""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime

from madang.core.errors import Unavailable
from madang.database.port import Database, Transaction
from madang.database.postgresql.advisory import MIGRATIONS, advisory_key
from madang.system.clock import parse_timestamp

MONTHS_AHEAD = 2
LOCK_S = 5.0

logger = logging.getLogger(__name__)

# The default partition takes what no month does. A month whose events it holds already cannot be made: they stay there.
# The session table is locked first, as writers of events do; the other way round the two would wait for each other.
EVENT_MONTH_FUNCTION = """
CREATE FUNCTION add_event_partition(name TEXT, bounds TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
BEGIN
  IF to_regclass(name) IS NOT NULL THEN
    RETURN false;
  END IF;
  LOCK TABLE session IN SHARE ROW EXCLUSIVE MODE;
  EXECUTE format('CREATE TABLE %I PARTITION OF event %s', name, bounds);
  EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
  EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_insert_scale_factor = 0.05)', name);
  RETURN true;
EXCEPTION WHEN check_violation THEN
  RETURN false;
END
$$;
SELECT add_event_partition('event_rest', 'DEFAULT');
"""

_NAME = re.compile(r"event_(\d{4})_(\d\d)")
_NAMES = """
SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass('event')
"""


async def make_coming_months(database: Database) -> None:
    """Make the partitions of this month and the next ones, by the server's clock. An embedded database has none."""
    if database.dialect != "postgresql":
        return
    ((moment,),) = await database.find("SELECT now() AS moment")
    names = {row[0] for row in await database.find(_NAMES)}
    first = _month(parse_timestamp(moment))
    missing = [month for month in range(first, first + MONTHS_AHEAD + 1) if _name(month) not in names]
    if not missing:
        return

    async def work(tx: Transaction) -> None:
        await _lock(tx)
        for month in missing:
            bounds = f"FOR VALUES FROM ('{_start(month)}') TO ('{_start(month + 1)}')"
            await tx.one("SELECT add_event_partition(?1, ?2)", _name(month), bounds)

    try:
        await database.write(work)
    except Unavailable as error:
        logger.warning(
            "Partitions of coming months could not be made, which is tried again at the next look: %s", error
        )


async def drop_months_before(database: Database, moment: str) -> int:
    """Drop the partitions that hold nothing newer than `moment`, and return how many. An embedded database has none."""
    if database.dialect != "postgresql":
        return 0
    limit = _month(parse_timestamp(moment))
    months = [_parsed(row[0]) for row in await database.find(_NAMES)]
    old = [month for month in months if month is not None and month < limit]
    if not old:
        return 0

    async def work(tx: Transaction) -> None:
        await _lock(tx)
        await tx.run("LOCK TABLE session IN SHARE ROW EXCLUSIVE MODE")
        for month in old:
            await tx.run(f"DROP TABLE IF EXISTS {_name(month)}")

    try:
        await database.write(work)
    except Unavailable as error:
        logger.warning("Old months of the event log could not be dropped, which is tried again later: %s", error)
        return 0
    return len(old)


async def _lock(tx: Transaction) -> None:
    # Whatever comes after a table lock that waits has to wait as well: better to try again later.
    await tx.run(f"SET LOCAL lock_timeout = '{LOCK_S}s'")
    await tx.one(f"SELECT pg_advisory_xact_lock({advisory_key(MIGRATIONS)})")


def _month(moment: datetime) -> int:
    """Return the number of a moment's month: months have no length, so they are counted."""
    moment = moment.astimezone(UTC)
    return moment.year * 12 + moment.month - 1


def _name(month: int) -> str:
    return f"event_{month // 12:04}_{month % 12 + 1:02}"


def _parsed(name: str) -> int | None:
    match = _NAME.fullmatch(name)
    return int(match[1]) * 12 + int(match[2]) - 1 if match else None


def _start(month: int) -> str:
    return f"{month // 12:04}-{month % 12 + 1:02}-01 00:00:00+00"
