"""The playbook service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.executor import Executor
from madang.core.pauses import PauseRecord
from madang.core.phrases import say
from madang.core.resources import Resource, ResourceList
from madang.core.results import ToolResult
from madang.core.service import Service, ServiceContext, ServiceMetadata
from madang.core.tools import tools_of
from madang.services.playbook.context import PlaybookState, playbook_context
from madang.services.playbook.domain import chosen_id
from madang.services.playbook.resources import PlaybookResources
from madang.services.playbook.store import PlaybookStore
from madang.services.playbook.tools import PlaybookTools
from madang.services.playbook.views.playbooks import choice_outcome
from madang.storage.database import Database


class PlaybookService(Service):
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

    resource_templates = PlaybookResources.templates
    state_type = PlaybookState

    def __init__(self, database: Database, executor: Executor | None = None) -> None:
        self._store = PlaybookStore(database)
        self._resources = PlaybookResources(self._store)
        self.tools = tools_of(PlaybookTools(self._store, executor))

    async def load(self) -> None:
        await self._store.open()

    async def get_service_context(self, call: Call) -> ServiceContext:
        return await playbook_context(self._store, call)

    async def outcome(self, call: Call, pause: PauseRecord) -> ToolResult[Any]:
        playbook = None
        if pause.status == "answered":
            with suppress(NotFound):
                own = replace(call, assistant_id=pause.assistant_id or call.assistant_id)
                playbook = await self._store.get(own, chosen_id(pause))
        return choice_outcome(pause, playbook)

    def changes(self, call: Call) -> AsyncIterator[object]:
        return self._store.changes(call)

    async def list_resources(self, call: Call, after: str, limit: int) -> ResourceList:
        return await self._resources.list_page(call, after, limit)

    async def read_resource(self, call: Call, uri: str) -> Resource | None:
        return await self._resources.read(call, uri)

    def resource_changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        return self._resources.changes(call)
