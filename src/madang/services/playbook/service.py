"""The playbook service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator

from madang.core.calls import Call
from madang.core.messages import say
from madang.core.service import ServiceContext, ServiceMetadata
from madang.core.tools import tools_of
from madang.services.playbook.context import playbook_context
from madang.services.playbook.store import PlaybookStore, topic
from madang.services.playbook.tools import PlaybookTools
from madang.storage.database import Database


class PlaybookService:
    """Keeps the playbooks of each assistant."""

    metadata = ServiceMetadata(
        name="playbook",
        title=say("Playbooks"),
        description=say("Reusable workflows that an assistant keeps, shows and selects for execution."),
        version="1",
    )

    def __init__(self, database: Database) -> None:
        self._database = database
        self._store = PlaybookStore(database)
        self.tools = tools_of(PlaybookTools(self._store))

    async def load(self) -> None:
        await self._store.open()

    async def unload(self) -> None:
        """Nothing to close: the database belongs to whoever opened it."""

    async def get_service_context(self, call: Call) -> ServiceContext:
        return await playbook_context(self._store, call)

    def changes(self, call: Call) -> AsyncIterator[object]:
        return self._database.changes(topic(call))
