"""The playbook service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from madang.core.archives import ArchiveReader, ArchiveWriter
from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.executor import Executor
from madang.core.ids import SessionId
from madang.core.pauses import PauseRecord
from madang.core.phrases import say
from madang.core.resources import Resource, ResourceList
from madang.core.results import ToolResult
from madang.core.service import RowQuery, Service, ServiceContext, ServiceMetadata, StateRows
from madang.core.tools import tools_of
from madang.services.playbook.context import PlaybookState, playbook_context, playbook_rows
from madang.services.playbook.domain import chosen_id
from madang.services.playbook.resources import PlaybookResources
from madang.services.playbook.store import PlaybookStore
from madang.services.playbook.tools import PlaybookTools
from madang.services.playbook.views.playbooks import choice_outcome
from madang.storage.database import Database

if TYPE_CHECKING:
    from madang.services.playbook.store.sessions import PlaybookSessions

PLAYBOOKS = "playbooks.jsonl"
SELECTIONS = "selections.jsonl"
CHOICES = "choices.jsonl"


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
        self._database = database
        self._resources = PlaybookResources(self._store)
        self._executor = executor or Executor()
        self.tools = tools_of(PlaybookTools(self._store, self._executor))

    async def load(self) -> None:
        await self._store.open()

    async def get_service_context(self, call: Call) -> ServiceContext:
        return await playbook_context(self._store, call)

    async def get_state_rows(self, call: Call, query: RowQuery) -> StateRows | None:
        return await playbook_rows(self._store, call, query)

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

    @cached_property
    def _sessions(self) -> PlaybookSessions:
        from madang.services.playbook.store.sessions import PlaybookSessions  # on use: a start needs none of it

        return PlaybookSessions(self._database)

    async def forget_session(self, call: Call) -> None:
        await self._sessions.forget(call)

    async def copy_session(self, call: Call, target: SessionId) -> None:
        await self._sessions.restore(replace(call, session_id=target), await self._sessions.read(call))

    async def export_session(self, call: Call, archive: ArchiveWriter) -> None:
        saved = await self._sessions.read(call)

        def write() -> None:
            archive.add_all(PLAYBOOKS, saved.playbooks)
            archive.add_all(SELECTIONS, saved.selections)
            archive.add_all(CHOICES, saved.choices)

        await self._executor.native.run_to_end(call, lambda _: write())

    async def import_session(self, call: Call, archive: ArchiveReader) -> None:
        from madang.services.playbook.store.sessions import SavedPlaybook, SavedSelection, SavedSelections
        from madang.storage.saved_pauses import SavedPause

        def read() -> SavedSelections:
            return SavedSelections(
                list(archive.read_all(PLAYBOOKS, SavedPlaybook)),
                list(archive.read_all(SELECTIONS, SavedSelection)),
                list(archive.read_all(CHOICES, SavedPause)),
            )

        await self._sessions.restore(call, await self._executor.native.run_to_end(call, lambda _: read()))
