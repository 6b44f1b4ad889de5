"""How long is kept what only grows: the event log, the audit trail, and copies of files that runs changed.

Each user's rows are gone through once a day by one of the processes; a server also drops whole months at once. Copies
are files of this machine: each of its processes looks at them.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from madang.core.errors import MadangError
from madang.database.port import Database
from madang.database.postgresql.event_months import drop_months_before
from madang.files.folders.undo import FileHistory
from madang.records.accounts import AccountStore
from madang.records.audit import AuditLog
from madang.records.events import EventLog
from madang.system.clock import format_timestamp, now

# A process that is started for one call is gone by then, and one that serves has answered its first ones.
START_S = 10.0
LOOK_S = 3600.0
BATCH_USERS = 20

logger = logging.getLogger(__name__)


class Retention:
    """Applies the settings of how long rows are kept."""

    def __init__(
        self,
        database: Database,
        audit: AuditLog,
        *,
        events_days: int,
        audit_days: int,
        copies: FileHistory | None = None,
        copies_days: int = 30,
    ) -> None:
        self._database = database
        self._accounts = AccountStore(database)
        self._events = EventLog(database)
        self._audit = audit
        self._events_days = events_days
        self._audit_days = audit_days
        self._copies = copies
        self._copies_days = copies_days

    async def run(self) -> None:
        """Apply them soon and then once a day, until it is cancelled. A database that is away is tried again later."""
        await asyncio.sleep(START_S)
        while True:
            try:
                await self.apply()
            except (MadangError, OSError) as error:
                logger.warning("Old rows could not be deleted: %s", error)
            await asyncio.sleep(LOOK_S)

    async def apply(self) -> None:
        """Delete what is too old of those users to whom it was not done for a day."""
        await self._accounts.open()
        await self._events.open()
        events_before, audit_before = await self._before(self._events_days), await self._before(self._audit_days)
        await drop_months_before(self._database, events_before)
        while users := await self._accounts.claim_unswept(BATCH_USERS):
            for user_id in users:
                await self._events.expire(user_id, events_before)
                await self._audit.expire(user_id, audit_before)
        if self._copies is not None:
            before_s = (now() - timedelta(days=self._copies_days)).timestamp()
            await asyncio.to_thread(self._copies.expire, before_s)

    async def _before(self, days: int) -> str:
        if self._database.dialect == "postgresql":
            # By the clock that wrote the rows: that of one of many machines could be years ahead.
            ((moment,),) = await self._database.find("SELECT now() - make_interval(days => ?1) AS moment", days)
            return str(moment)
        return format_timestamp(now() - timedelta(days=days))
