"""The ui service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from madang.core.archives import ArchiveReader, ArchiveWriter
from madang.core.calls import Call
from madang.core.executor import Executor
from madang.core.ids import SessionId
from madang.core.pauses import PauseRecord
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.service import Service, ServiceContext, ServiceMetadata
from madang.core.tools import tools_of
from madang.services.ui.context import UiState, ui_context
from madang.services.ui.domain import Wait
from madang.services.ui.store import UiStore
from madang.services.ui.tools import UiTools
from madang.services.ui.views.questions import question_outcome
from madang.services.ui.views.waits import wait_outcome
from madang.storage.database import Database

if TYPE_CHECKING:
    from madang.services.ui.store.sessions import UiSessions

ITEMS = "prompts.jsonl"


class UiService(Service):
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
        self.tools = tools_of(UiTools(self._store))

    async def load(self) -> None:
        await self._store.open()

    async def get_service_context(self, call: Call) -> ServiceContext:
        return await ui_context(self._store, call)

    async def outcome(self, call: Call, pause: PauseRecord) -> ToolResult[Any]:
        item = await self._store.get(replace(call, session_id=pause.session_id), pause.id)
        return wait_outcome(item) if isinstance(item, Wait) else question_outcome(item)

    def changes(self, call: Call) -> AsyncIterator[object]:
        return self._store.changes(call)

    @cached_property
    def _sessions(self) -> UiSessions:
        from madang.services.ui.store.sessions import UiSessions  # on use: a server that starts needs none of it

        return UiSessions(self._database)

    async def forget_session(self, call: Call) -> None:
        await self._sessions.forget(call)

    async def copy_session(self, call: Call, target: SessionId) -> None:
        await self._sessions.restore(replace(call, session_id=target), await self._sessions.read(call))

    async def export_session(self, call: Call, archive: ArchiveWriter) -> None:
        items = await self._sessions.read(call)
        await self._executor.native.run_to_end(call, lambda _: archive.add_all(ITEMS, items))

    async def import_session(self, call: Call, archive: ArchiveReader) -> None:
        from madang.services.ui.store.sessions import SavedItem

        items = await self._executor.native.run_to_end(call, lambda _: list(archive.read_all(ITEMS, SavedItem)))
        await self._sessions.restore(call, items)
