"""The planning service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator

from madang.core.calls import Call
from madang.core.phrases import say
from madang.core.service import Service, ServiceContext, ServiceMetadata
from madang.core.tools import tools_of
from madang.services.planning.context import planning_context
from madang.services.planning.domain import PlanState
from madang.services.planning.store import PlanStore
from madang.services.planning.tools import PlanningTools
from madang.storage.database import Database


class PlanningService(Service):
    """Keeps the plan of each session."""

    metadata = ServiceMetadata(
        name="planning",
        title=say("Planning"),
        description=say("The goal, todos and observations of a session, kept through restarts."),
        version="1",
        instructions=(
            "Planning tools hold the goal, todos and observations of this session: call get_current_state first when "
            "you come back to work."
        ),
    )
    state_type = PlanState

    def __init__(self, database: Database) -> None:
        self._store = PlanStore(database)
        self.tools = tools_of(PlanningTools(self._store))

    async def load(self) -> None:
        await self._store.open()

    async def get_service_context(self, call: Call) -> ServiceContext:
        return await planning_context(self._store, call)

    def changes(self, call: Call) -> AsyncIterator[object]:
        return self._store.changes(call)
