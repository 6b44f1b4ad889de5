"""What the workspace tells about itself: that files changed. The files are in folders, not in the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

from madang.core.calls import Call
from madang.core.errors import ToolError
from madang.storage.database import Database, MigrationSet, Transaction
from madang.storage.watchers import topic

MIGRATIONS = MigrationSet("workspace", sqlite=(), postgresql=())


class FileNotices:
    """Tells the other processes that something in a session's folder changed, and that something was exported."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await self._database.prepare(MIGRATIONS)

    async def tell(self, call: Call) -> None:
        await self._tell(call, _files(call))

    def changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        return self._database.changes(_files(call))

    async def tell_export(self, call: Call, id: str) -> None:
        await self._tell(call, _exports(call, id))

    def exports(self, call: Call) -> AsyncIterator[frozenset[str]]:
        return self._database.changes(_exports(call))

    async def _tell(self, call: Call, what: str) -> None:
        async def work(tx: Transaction) -> None:
            await tx.notify(what)

        # The file is there by now: that nobody could be told must not make it look as if it were not.
        with suppress(ToolError):
            await self._database.write(work, user_id=call.user_id)


def _files(call: Call) -> str:
    return topic("workspace", call.user_id, call.session)


def _exports(call: Call, *id: str) -> str:
    return topic("exports", call.user_id, call.session, *id)
