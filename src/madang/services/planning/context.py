"""What the model should know about the plan this turn."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.phrases import Line, Phrase, Rows, layout, say
from madang.core.service import ServiceContext
from madang.services.planning.domain import Plan, PlanState
from madang.services.planning.store import PlanStore

MAX_OBSERVATIONS_IN_CONTEXT = 2


class PlanInState(PlanState):
    """A plan as panels show it: with the time of each observation."""

    observed_at: list[str]
    """In the order of the observations; empty where it is not known."""


async def planning_context(store: PlanStore, call: Call) -> ServiceContext:
    """Return the goal, the pending to-dos and the latest observations.

    A run's model is told nothing of an empty plan: whatever it is told each turn, it answers to.
    """
    plan = await store.get(call)
    state = plan.state
    if call.actor == "model" and not (state.goal or state.todos or state.observations):
        return ServiceContext("", PlanInState.model_construct(**dict(state), observed_at=plan.observation_times))
    text: list[Line | Rows] = [_heading(state.goal, call)]
    if state.todos:
        text.append(_todos_line(plan))
        rows = [layout("  ID:{id} {name}", id=todo.id, name=todo.name) for todo in plan.pending]
        text.append(Rows(rows, say("  … {left_out} more. Use 'get_current_state' to see them.")))
    text += [
        say("Noted: {observation}", observation=observation)
        for observation in state.observations[-MAX_OBSERVATIONS_IN_CONTEXT:]
    ]
    return ServiceContext(text, PlanInState.model_construct(**dict(state), observed_at=plan.observation_times))


def _heading(goal: str, call: Call) -> Phrase:
    if goal:
        return say("# Plan: {goal}", goal=goal)
    # A run's model that reads of a missing goal sets one, whatever it was asked for.
    return say("# Plan") if call.actor == "model" else say("# Plan: no active goal ('create_goal' sets one)")


def _todos_line(plan: Plan) -> Phrase:
    completed, pending = len(plan.completed), len(plan.pending)
    if not pending:
        return say("Todos: all {count} completed", count=completed)
    return say("Todos: {completed} completed, {pending} pending:", completed=completed, pending=pending)
