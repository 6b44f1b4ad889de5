"""The planning service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from madang.core.archives import ArchiveReader, ArchiveWriter
from madang.core.calls import Call
from madang.core.executor import Executor
from madang.core.ids import SessionId
from madang.core.operations import Operation
from madang.core.phrases import Phrase, say
from madang.core.service import Service, ServiceContext, ServiceMetadata
from madang.core.tools import tools_of
from madang.database.port import Database
from madang.services.planning import views
from madang.services.planning.context import PlanInState, planning_context
from madang.services.planning.domain import Plan, PlanChange
from madang.services.planning.store import PlanStore
from madang.services.planning.tools import PlanningTools

PLAN = "plan.json"


class PlanningService(Service):
    """Keeps the plan of each session."""

    metadata = ServiceMetadata(
        name="planning",
        title=say("Planning"),
        description=say("The goal, todos and observations of a session, kept through restarts."),
        version="1",
        instructions=(
            "Planning tools hold the goal, todos and observations of this session. Call get_current_state first when "
            "you come back to work."
        ),
    )
    state_type = PlanInState

    def __init__(self, database: Database, executor: Executor | None = None) -> None:
        self._executor = executor or Executor()
        self._store = PlanStore(database)
        self.tools = tools_of(PlanningTools(self._store))

    async def load(self) -> None:
        await self._store.open()

    async def get_service_context(self, call: Call) -> ServiceContext:
        return await planning_context(self._store, call)

    def changes(self, call: Call) -> AsyncIterator[object]:
        return self._store.changes(call)

    async def undo(self, call: Call, operation: Operation) -> Operation:
        return await self._store.undo(call, operation)

    def describe(self, operation: Operation) -> Phrase:
        return views.changed(PlanChange.model_validate_json(operation.change))

    async def forget_session(self, call: Call) -> None:
        await self._store.delete(call)

    async def copy_session(self, call: Call, target: SessionId) -> None:
        await self._restore(replace(call, session_id=target), await self._store.get(call))

    async def export_session(self, call: Call, archive: ArchiveWriter) -> None:
        plan = await self._store.get(call)
        if plan != Plan():
            await self._executor.native.run_to_end(call, lambda _: archive.add(PLAN, plan))

    async def import_session(self, call: Call, archive: ArchiveReader) -> None:
        plan = await self._executor.native.run_to_end(call, lambda _: archive.read(PLAN, Plan))
        await self._restore(call, plan or Plan())

    async def _restore(self, call: Call, plan: Plan) -> None:
        if plan != Plan():
            await self._store.put(call, plan)
