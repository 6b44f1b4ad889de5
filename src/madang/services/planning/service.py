"""The planning service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cached_property

from madang.core.calls import Call
from madang.core.executor import Executor
from madang.core.operations import Operation
from madang.core.phrases import Phrase, say
from madang.core.service import ServiceContext, ServiceMetadata
from madang.core.tools import tools_of
from madang.database.port import Database
from madang.records.declared_sessions import DeclaredService, DeclaredSessions
from madang.services.planning import views
from madang.services.planning.context import PlanInState, planning_context
from madang.services.planning.domain import PlanChange
from madang.services.planning.store import SESSIONS, PlanStore
from madang.services.planning.tools import PlanningTools


class PlanningService(DeclaredService):
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
        self._database = database
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

    @cached_property
    def sessions(self) -> DeclaredSessions:
        return DeclaredSessions(self._database, SESSIONS, self._executor)
