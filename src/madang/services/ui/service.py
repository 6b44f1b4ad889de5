"""The ui service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from madang.core.arguments import parse_document
from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.executor import Executor
from madang.core.pauses import Answer, Decline, PauseAnswer, PauseForm, PauseRecord, plain_form, wrong_answer
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.service import ServiceContext, ServiceMetadata
from madang.core.tools import tools_of
from madang.database.port import Database
from madang.records.declared_sessions import DeclaredService, DeclaredSessions
from madang.records.pauses import PauseStore
from madang.services.ui.context import UiState, ui_context
from madang.services.ui.domain import Wait
from madang.services.ui.store import UiStore
from madang.services.ui.tools import PromptAnswer, UiTools
from madang.services.ui.views.inbox import item_form
from madang.services.ui.views.questions import question_outcome
from madang.services.ui.views.waits import wait_outcome


class UiService(DeclaredService):
    """Asks the person, and keeps what was asked until it is answered."""

    metadata = ServiceMetadata(
        name="ui",
        title=say("Questions"),
        description=say("Questions to the person, and stops until they are ready."),
        version="1",
        instructions=(
            "prompt_user asks the person and wait_for_user stops for them; both answer at once and say how the answer "
            "comes. End your turn then, and never answer for the person."
        ),
        run_instructions=(
            "prompt_user asks the person and wait_for_user stops for them: the result of the call is what they "
            "answered. Never answer for the person."
        ),
    )
    state_type = UiState

    def __init__(self, database: Database, executor: Executor | None = None) -> None:
        self._executor = executor or Executor()
        self._store = UiStore(database)
        self._database = database
        self._tools = UiTools(self._store)
        self.tools = tools_of(self._tools)

    async def load(self) -> None:
        await self._store.open()

    async def get_service_context(self, call: Call) -> ServiceContext:
        return await ui_context(self._store, call)

    async def outcome(self, call: Call, pause: PauseRecord) -> ToolResult[Any]:
        item = await self._store.get(replace(call, session_id=pause.session_id), pause.id)
        return wait_outcome(item) if isinstance(item, Wait) else question_outcome(item)

    async def read_pause(self, call: Call, pause: PauseRecord) -> PauseForm:
        (form,) = await self.read_pauses(call, [pause])
        return form

    async def id_kind(self, call: Call, id: str) -> str:
        try:
            await self._store.get(call, id)
        except NotFound:
            return ""
        return "messageId"

    async def was_done(self, call: Call, tool: str) -> bool | None:
        return False  # what a run has asked is withdrawn when it is stopped

    async def read_pauses(self, call: Call, pauses: Sequence[PauseRecord]) -> Sequence[PauseForm]:
        items = await self._store.get_many(call, [pause.id for pause in pauses])
        return [item_form(pause, items[pause.id]) if pause.id in items else plain_form(pause) for pause in pauses]

    async def settle_pause(self, call: Call, pause: PauseRecord, answer: PauseAnswer) -> PauseRecord:
        at = replace(call, session_id=pause.session_id)
        match pause.kind, answer:
            case "wait", Answer():
                await self._tools.resume(at, pause.id)
            case "prompt", Answer(value):
                said = parse_document(PromptAnswer, {"answer": value}).answer
                await self._tools.reply(at, pause.id, said, cancelled=False)
            case "prompt", Decline():
                await self._tools.reply(at, pause.id, None, cancelled=True)
            case _:
                raise wrong_answer(pause, answer)
        return await PauseStore(self._database).get(at, pause.id) or pause

    def changes(self, call: Call) -> AsyncIterator[object]:
        return self._store.changes(call)

    @cached_property
    def sessions(self) -> DeclaredSessions:
        from madang.services.ui.store.sessions import SESSIONS  # on use: a server that starts needs none of it

        return DeclaredSessions(self._database, SESSIONS, self._executor)
