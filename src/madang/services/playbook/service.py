"""The playbook service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

from madang.core.arguments import parse_document
from madang.core.calls import Call
from madang.core.errors import Denied, NotFound
from madang.core.executor import Executor
from madang.core.operations import Operation
from madang.core.pauses import Answer, Decline, PauseAnswer, PauseForm, PauseRecord, plain_form, wrong_answer
from madang.core.phrases import Phrase, say
from madang.core.resources import Resource, ResourceList
from madang.core.results import ToolResult
from madang.core.service import RowQuery, ServiceContext, ServiceMetadata, StateRows
from madang.core.tools import tools_of
from madang.database.port import Database
from madang.records.declared_sessions import DeclaredService, DeclaredSessions
from madang.records.pauses import PauseStore
from madang.services.playbook.context import PlaybookState, playbook_context, playbook_rows
from madang.services.playbook.domain import PlaybookChange, chosen_id
from madang.services.playbook.resources import PlaybookResources
from madang.services.playbook.store import PlaybookStore
from madang.services.playbook.tools import ChosenPlaybook, PlaybookTools
from madang.services.playbook.views.listings import choice_form
from madang.services.playbook.views.playbooks import changed, choice_outcome

MAX_CHOICES = 50
"""Rows of a choice outside of its page; what is left out is named by its id."""


class PlaybookService(DeclaredService):
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
                playbook = await self._store.get(_owner(call, pause), chosen_id(pause))
        return choice_outcome(pause, playbook)

    async def read_pause(self, call: Call, pause: PauseRecord) -> PauseForm:
        (form,) = await self.read_pauses(call, [pause])
        return form

    async def read_pauses(self, call: Call, pauses: Sequence[PauseRecord]) -> Sequence[PauseForm]:
        owners = [_owner(call, pause) for pause in pauses]
        owned = {owner.assistant: owner for owner in owners if owner.assistant_id}
        pages = await self._store.list_first(list(owned.values()), MAX_CHOICES)
        return [
            choice_form(pause, pages[owner.assistant]) if owner.assistant_id else plain_form(pause)
            for pause, owner in zip(pauses, owners, strict=True)
        ]

    async def settle_pause(self, call: Call, pause: PauseRecord, answer: PauseAnswer) -> PauseRecord:
        at = replace(_owner(call, pause), session_id=pause.session_id)
        match answer:
            case Answer(value):
                id = parse_document(ChosenPlaybook, {"id": value}).id
                _, settled = await self._store.select(at, id, pause.id, must_settle=True)
                return settled or pause
            case Decline():
                pauses = PauseStore(self._database)
                return await pauses.settle(at, pause.id, status="cancelled", tool="decline", arguments={})
            case _:
                raise wrong_answer(pause, answer)

    def changes(self, call: Call) -> AsyncIterator[object]:
        return self._store.changes(call)

    async def id_kind(self, call: Call, id: str) -> str:
        try:
            await self._store.get(call, id)
        except (NotFound, Denied):
            return ""
        return "playbook"

    async def was_done(self, call: Call, tool: str) -> bool | None:
        # A choice that was shown is withdrawn when its run is stopped; the others write operations.
        return await self._store.was_selected(call) if tool == "select_playbook" else False

    async def undo(self, call: Call, operation: Operation) -> Operation:
        return await self._store.undo(call, operation)

    def describe(self, operation: Operation) -> Phrase:
        return changed(PlaybookChange.model_validate_json(operation.change))

    async def list_resources(self, call: Call, after: str, limit: int) -> ResourceList:
        return await self._resources.list_page(call, after, limit)

    async def read_resource(self, call: Call, uri: str) -> Resource | None:
        return await self._resources.read(call, uri)

    def resource_changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        return self._resources.changes(call)

    @cached_property
    def sessions(self) -> DeclaredSessions:
        from madang.services.playbook.store.sessions import SESSIONS  # on use: a start needs none of it

        return DeclaredSessions(self._database, SESSIONS, self._executor)


def _owner(call: Call, pause: PauseRecord) -> Call:
    """Return the call of the assistant whose playbooks a choice is among."""
    return replace(call, assistant_id=pause.assistant_id or call.assistant_id)
