"""What an agent can do with the plan of a session."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from madang.core.calls import Call
from madang.core.results import ToolResult
from madang.core.tools import tool
from madang.services.planning import views
from madang.services.planning.domain import (
    MAX_TODOS,
    Goal,
    Observation,
    Plan,
    Todo,
    TodoId,
    TodoName,
    TodoPosition,
    TodoStatus,
    TodoSummary,
)
from madang.services.planning.store import PlanStore
from madang.system.clock import timestamp


class PlanningTools:
    """The tools of the planning service. Each answers with what changed and the whole state after it."""

    def __init__(self, store: PlanStore) -> None:
        self._store = store

    @tool(effect="write", restorable=True, idempotent=True, once_per_operation=True, trusted=True)
    async def create_goal(self, call: Call, goal: Goal) -> ToolResult[views.PlanOutcome]:
        """Set the goal of this session. Use it before planning; todos are kept."""
        plan, previous = await self._store.change(call, lambda plan: (plan.with_goal(goal), plan.state.goal))
        return views.goal_created(plan, previous)

    @tool(effect="destroy", restorable=True, idempotent=True, once_per_operation=True, trusted=True)
    async def clear_goal(self, call: Call) -> ToolResult[views.PlanOutcome]:
        """Clear the goal, when it is reached or given up; it stays as the previous goal."""
        plan, cleared = await self._store.change(call, lambda plan: (plan.without_goal(), plan.state.goal))
        return views.goal_cleared(plan, cleared)

    @tool(effect="write", restorable=True, once_per_operation=True, trusted=True)
    async def add_todo(self, call: Call, name: TodoName) -> ToolResult[views.TodoOutcome]:
        """Add one todo at the end of the plan."""
        plan, _ = await self._store.change(call, lambda plan: (plan.with_todo(name), None))
        return views.todo_added(plan, plan.state.todos[-1])

    @tool(effect="write", restorable=True, idempotent=True, once_per_operation=True, trusted=True)
    async def mark_todo(
        self, call: Call, id: TodoId, completed: bool = True, summary: TodoSummary | None = None
    ) -> ToolResult[views.TodoOutcome]:
        """Mark a todo completed (or pending again), with a short summary of what came of it."""
        status: TodoStatus = "completed" if completed else "pending"
        plan, _ = await self._store.change(call, lambda plan: (plan.with_todo_marked(id, status, summary), None))
        return views.todo_marked(plan, plan.todo(id))

    @tool(effect="write", restorable=True, audience="panel", idempotent=True, once_per_operation=True, trusted=True)
    async def update_todo(
        self, call: Call, id: TodoId, name: TodoName | None = None, position: TodoPosition | None = None
    ) -> ToolResult[views.TodoOutcome]:
        """Rename a todo, or move it to another place in the plan."""
        plan, before = await self._store.change(
            call, lambda plan: (plan.with_todo_changed(id, name, position), plan.todo(id).name)
        )
        return views.todo_updated(plan, plan.todo(id), before)

    @tool(effect="destroy", restorable=True, idempotent=True, once_per_operation=True, trusted=True)
    async def clear_todos(
        self, call: Call, ids: Annotated[list[TodoId], Field(min_length=1, max_length=MAX_TODOS)] | None = None
    ) -> ToolResult[views.TodosCleared]:
        """Remove the named todos, or all of them."""

        def clear(plan: Plan) -> tuple[Plan, list[Todo]]:
            after = plan.without_todos(ids or [])
            remaining = {todo.id for todo in after.state.todos}
            return after, [todo for todo in plan.state.todos if todo.id not in remaining]

        return views.todos_cleared(*await self._store.change(call, clear))

    @tool(effect="write", restorable=True, once_per_operation=True, trusted=True)
    async def add_observation(self, call: Call, observation: Observation) -> ToolResult[views.ObservationAdded]:
        """Note something learned. The last ten are kept."""
        return views.observation_added(
            *await self._store.change(call, lambda plan: plan.with_observation(observation, timestamp()))
        )

    @tool(effect="destroy", restorable=True, idempotent=True, once_per_operation=True, trusted=True)
    async def clear_session(self, call: Call) -> ToolResult[views.PlanOutcome]:
        """Clear goal, todos and observations of this session, to start afresh."""
        plan, _ = await self._store.change(call, lambda _: (Plan(), None))
        return views.session_cleared(plan)

    @tool(effect="read", joins_contexts=True, in_runs=False, trusted=True)
    async def get_current_state(self, call: Call) -> ToolResult[views.PlanOutcome]:
        """Read goal, todos and observations of this session. Call it first when you come back."""
        return views.current_state(await self._store.get(call))
