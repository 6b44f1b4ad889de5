"""The playbook service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator

from madang.core.calls import Call
from madang.core.errors import Denied, InvalidCursor, NotFound
from madang.core.phrases import say
from madang.core.resources import Resource, ResourceList
from madang.core.service import ServiceContext, ServiceMetadata
from madang.core.tools import tools_of
from madang.services.playbook import views
from madang.services.playbook.context import playbook_context
from madang.services.playbook.store import PlaybookStore, changed_ids, playbook_topic
from madang.services.playbook.tools import PlaybookTools
from madang.storage.database import Database


class PlaybookService:
    """Keeps the playbooks of each assistant."""

    metadata = ServiceMetadata(
        name="playbook",
        title=say("Playbooks"),
        description=say("Reusable workflows that an assistant keeps, shows and selects for execution."),
        version="1",
        instructions=(
            "Playbooks are reusable workflows: list_playbooks finds them, select_playbook starts one, create_playbook "
            "keeps a new one."
        ),
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
        return self._database.changes(playbook_topic(call))

    resource_templates = (views.SKILL_TEMPLATE,)

    async def list_resources(self, call: Call, after: str, limit: int) -> ResourceList:
        if after and not (after.isascii() and after.isdecimal()):
            raise InvalidCursor(say("The cursor is not one of ours."))
        found = await self._store.list_after(call, int(after[:18] or 0), limit + 1)
        there_are_more = len(found) > limit
        resources = [views.skill(playbook) for _, playbook in found[:limit]]
        return ResourceList(resources, str(found[limit - 1][0]) if there_are_more else "")

    async def read_resource(self, call: Call, uri: str) -> Resource | None:
        id = views.skill_playbook_id(uri)
        try:
            return views.skill(await self._store.get(call, id)) if id else None
        except (NotFound, Denied):
            return None

    async def resource_changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        async for topics in self._database.changes(playbook_topic(call)):
            yield frozenset(views.skill_uri(id) for id in changed_ids(call, topics))
