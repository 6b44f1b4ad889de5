"""Patience with a database that is away, locked or full: what belongs to a run is tried again until it answers.

It is for runs alone. A door answers its caller within seconds, and says why it cannot do more.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

from madang.core.errors import StoreUnavailable
from madang.core.ids import UserId
from madang.core.phrases import Phrase
from madang.database.liveness import Liveness
from madang.database.port import Database, Dialect, MigrationSet, ResultT, Row, Work

MIN_BACKOFF_S = 0.1
MAX_BACKOFF_S = 2.0

ValueT = TypeVar("ValueT")
OutageListener = Callable[[Phrase | None], None]
"""Hears why the database does not answer, once for each outage; None: it answers again."""

logger = logging.getLogger(__name__)


class Patience:
    """The outages of one process's database: who is parked because of them, and who is told."""

    def __init__(self) -> None:
        self._parked = 0
        self._since_s = 0.0
        self._total_s = 0.0
        self._listeners: list[OutageListener] = []
        self.reason: Phrase | None = None
        """Why the database does not answer; None if it does, or nobody has asked it."""

    @property
    def away_s(self) -> float:
        """How long the database has been away so far, while somebody waited for it: no run worked then."""
        return self._total_s + (time.monotonic() - self._since_s if self._parked else 0.0)

    def listen(self, listener: OutageListener) -> Callable[[], None]:
        """Hear of outages; call what is returned to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def insist(self, work: Callable[[], Awaitable[ValueT]]) -> ValueT:
        """Do `work`, again and again with a bounded backoff, until the database answers to it.

        A unit that was in doubt is done again: it has to see by itself that it was done.
        """
        backoff_s, is_parked = MIN_BACKOFF_S, False
        try:
            while True:
                try:
                    return await work()
                except StoreUnavailable as error:
                    if not is_parked:
                        is_parked = True
                        self._park(error)
                # Not all at once: a server that has just come back would be full.
                await asyncio.sleep(backoff_s * random.uniform(0.5, 1.0))
                backoff_s = min(2 * backoff_s, MAX_BACKOFF_S)
        finally:
            if is_parked:
                self._unpark()

    def _park(self, error: StoreUnavailable) -> None:
        self._parked += 1
        if self._parked > 1:
            return
        self._since_s = time.monotonic()
        logger.warning("Runs wait for the database: %s", error)
        self._tell(error.message)

    def _unpark(self) -> None:
        self._parked -= 1
        if self._parked:
            return
        away_s = time.monotonic() - self._since_s
        self._total_s += away_s
        logger.warning("Runs no longer wait for the database, after %.1f s", away_s)
        self._tell(None)

    def _tell(self, reason: Phrase | None) -> None:
        self.reason = reason
        for listener in list(self._listeners):
            listener(reason)


class PatientDatabase:
    """`Database` whose units are tried again until it answers. A unit that is in doubt may be done twice."""

    def __init__(self, database: Database, patience: Patience) -> None:
        self._database = database
        self._patience = patience

    @property
    def dialect(self) -> Dialect:
        return self._database.dialect

    @property
    def ranks_text(self) -> bool:
        return self._database.ranks_text

    async def prepare(self, migrations: MigrationSet) -> None:
        await self._database.prepare(migrations)

    async def read(self, work: Work[ResultT], *, user_id: UserId | None = None, brief: bool = False) -> ResultT:
        return await self._patience.insist(lambda: self._database.read(work, user_id=user_id, brief=brief))

    async def find(self, sql: str, *parameters: object, user_id: UserId | None = None) -> list[Row]:
        return await self._patience.insist(lambda: self._database.find(sql, *parameters, user_id=user_id))

    async def write(self, work: Work[ResultT], *, user_id: UserId | None = None, is_optional: bool = False) -> ResultT:
        return await self._patience.insist(lambda: self._database.write(work, user_id=user_id, is_optional=is_optional))

    async def write_alone(self, work: Work[ResultT], *, user_id: UserId | None = None) -> ResultT:
        return await self._patience.insist(lambda: self._database.write_alone(work, user_id=user_id))

    async def write_across_users(self, work: Work[ResultT]) -> ResultT:
        return await self._patience.insist(lambda: self._database.write_across_users(work))

    async def check_for_agents(self) -> None:
        await self._database.check_for_agents()

    def new_liveness(self) -> Liveness:
        return self._database.new_liveness()

    def changes(self, *topics: str) -> AsyncGenerator[frozenset[str], None]:
        return self._database.changes(*topics)

    async def close(self) -> None:
        await self._database.close()
