"""Plans as results: what changed, and the whole state after it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TypeVar

from madang.core.phrases import Line, OutsideRuns, Phrase, Rows, layout, say
from madang.core.results import ToolResult
from madang.core.texts import one_line
from madang.services.planning.domain import MAX_OBSERVATIONS, Plan, PlanChange, PlanState, Todo, TodoChange

MAX_NAMED_TODOS = 20
MAX_NAME_CHARS = 100
"""Of todos that are gone; the others have only their ids."""

OutcomeT = TypeVar("OutcomeT", bound="PlanOutcome")


class PlanOutcome(PlanState):
    """The state after a call. What the call changed stands beside it."""

    success: bool = True


class TodoOutcome(PlanOutcome):
    todo: Todo


class TodosCleared(PlanOutcome):
    removed: list[int]


class ObservationAdded(PlanOutcome):
    dropped: str


def goal_created(plan: Plan, previous: str) -> ToolResult[PlanOutcome]:
    headline = say('Goal set: "{goal}"', goal=plan.state.goal)
    if previous not in ("", plan.state.goal):
        headline = say('Goal set: "{goal}" (it replaces "{previous}")', goal=plan.state.goal, previous=previous)
    return _changed(plan, headline, PlanOutcome.model_construct(**dict(plan.state)))


def goal_cleared(plan: Plan, cleared: str) -> ToolResult[PlanOutcome]:
    headline = say('Goal cleared: "{goal}"', goal=cleared) if cleared else say("There was no goal to clear.")
    return _changed(plan, headline, PlanOutcome.model_construct(**dict(plan.state)))


def todo_added(plan: Plan, todo: Todo) -> ToolResult[TodoOutcome]:
    headline = say("Todo added: ID:{id} {name}", id=todo.id, name=todo.name)
    return _changed(plan, headline, TodoOutcome.model_construct(**dict(plan.state), todo=todo))


def todo_marked(plan: Plan, todo: Todo) -> ToolResult[TodoOutcome]:
    headline = say("Todo ID:{id} is pending again: {name}", id=todo.id, name=todo.name)
    if todo.status == "completed":
        headline = say("Todo ID:{id} completed: {name}", id=todo.id, name=todo.name)
    return _changed(plan, headline, TodoOutcome.model_construct(**dict(plan.state), todo=todo))


def todo_updated(plan: Plan, todo: Todo, name: str) -> ToolResult[TodoOutcome]:
    """Return a to-do that was renamed or moved; `name` is the one before."""
    if name != todo.name:
        headline = say('Todo ID:{id} renamed: {name} (it was "{previous}")', id=todo.id, name=todo.name, previous=name)
    else:
        place = plan.state.todos.index(todo) + 1
        headline = say("Todo ID:{id} is now number {place} of the plan: {name}", id=todo.id, place=place, name=name)
    return _changed(plan, headline, TodoOutcome.model_construct(**dict(plan.state), todo=todo))


def todos_cleared(plan: Plan, removed: list[Todo]) -> ToolResult[TodosCleared]:
    headline = say("No todos to clear.")
    if removed:
        named = ", ".join(f"ID:{todo.id} {one_line(todo.name, MAX_NAME_CHARS)}" for todo in removed[:MAX_NAMED_TODOS])
        headline = say("Cleared {count} todo(s): {todos}", count=len(removed), todos=named)
    if len(removed) > MAX_NAMED_TODOS:
        others = ", ".join(str(todo.id) for todo in removed[MAX_NAMED_TODOS:])
        headline = layout("{headline}, ID:{others}", headline=headline, others=others)
    data = TodosCleared.model_construct(**dict(plan.state), removed=[todo.id for todo in removed])
    return _changed(plan, headline, data)


def observation_added(plan: Plan, dropped: str) -> ToolResult[ObservationAdded]:
    headline = say("Observation added: {observation}", observation=plan.state.observations[-1])
    result = _changed(plan, headline, ObservationAdded.model_construct(**dict(plan.state), dropped=dropped))
    if not dropped:
        return result
    # Below the log: beside the headline, the new observation was taken for the one that was dropped.
    note = say(
        'No longer in the log, which keeps the last {limit}: "{dropped}"', limit=MAX_OBSERVATIONS, dropped=dropped
    )
    return replace(result, text=[*result.text, note])


def session_cleared(plan: Plan) -> ToolResult[PlanOutcome]:
    headline = say("Goal, todos and observations of this session were cleared.")
    return _changed(plan, headline, PlanOutcome.model_construct(**dict(plan.state)))


def current_state(plan: Plan) -> ToolResult[PlanOutcome]:
    return ToolResult(state_lines(plan), PlanOutcome.model_construct(**dict(plan.state)), next=[next_actions(plan)])


def state_lines(plan: Plan) -> list[Line | Rows]:
    """Return the state in words; every planning text has it."""
    state = plan.state
    lines: list[Line | Rows] = [say("Current Planning State:"), "", _goal_line(state)]
    if state.last_cleared_goal:
        lines.append(say("Previous Goal: {goal}", goal=state.last_cleared_goal))
    lines += ["", say("Active Todos ({pending}/{total}):", pending=len(plan.pending), total=len(state.todos))]
    # Pending ones first, so that a long list is truncated among the completed ones.
    todos = [*plan.pending, *plan.completed]
    rest = say("  … {left_out} more. Use 'clear_todos' with the ids of completed ones to make room.")
    lines.append(Rows([_todo_row(todo) for todo in todos], rest) if todos else say("  No todos created"))
    count = len(state.observations)
    lines += ["", say("Recent Activity Log ({count}/{limit}):", count=count, limit=MAX_OBSERVATIONS)]
    if count:
        log = [
            layout("  {number}. {text}", number=number, text=text)
            for number, text in enumerate(state.observations, start=1)
        ]
        lines.append(Rows(log, say("  … {left_out} more, too long to show here.")))
    else:
        lines.append(say("  No recent observations"))
    return lines


def next_actions(plan: Plan) -> Phrase:
    """Return what the model should do now; every planning result has it."""
    return say("Next Actions: {actions}", actions=_actions(plan))


def _changed(plan: Plan, headline: Phrase, data: OutcomeT) -> ToolResult[OutcomeT]:
    whole = OutsideRuns(["", *state_lines(plan)])
    # A run's model takes what it is told to do next for the person's own words.
    following = OutsideRuns([next_actions(plan)], in_run=say("Go on with what the person asked."))
    return ToolResult([headline, whole], data, next=[following])


def _goal_line(state: PlanState) -> Phrase:
    return say("Goal: {goal}", goal=state.goal) if state.goal else say("Goal: No active goal set")


def _todo_row(todo: Todo) -> Phrase:
    line = layout("  ID:{id} [ ] {name}", id=todo.id, name=todo.name)
    if todo.status == "completed":
        # In words, too: the sign alone was taken for that of the others.
        line = say("  ID:{id} [✓] {name} (completed)", id=todo.id, name=todo.name)
    return layout("{line} — {summary}", line=line, summary=todo.summary) if todo.summary else line


def _actions(plan: Plan) -> Phrase:
    if not plan.state.goal and plan.state.last_cleared_goal:
        return say("Set the next goal with 'create_goal'")
    if not plan.state.goal:
        return say("Create a goal to get started ('create_goal')")
    if plan.pending:
        return say("Continue with pending todos: do ID:{id}, then 'mark_todo' with id {id}", id=plan.pending[0].id)
    if plan.state.todos:
        return say("All todos are completed: 'add_todo' for what is missing, or 'clear_goal' when the goal is reached")
    return say("Break the goal into todos ('add_todo')")


MAX_CHANGED_NAMES = 3
MAX_CHANGED_NAME_CHARS = 60


def changed(change: PlanChange) -> Phrase:
    """Return what an operation changed of a plan, in one line."""
    parts = [
        *([say("goal: {goal}", goal=_short(change.goal[1]) or "-")] if change.goal else []),
        *([_todos_changed(change.todos)] if change.todos else []),
        *([say("observations")] if change.observations else []),
    ]
    if not parts:
        return say("nothing of the plan")
    return reduce(lambda first, second: layout("{first}; {second}", first=first, second=second), parts)


def _todos_changed(todos: Sequence[TodoChange]) -> Phrase:
    names = [_short(todo.name) for one in todos if (todo := one.after or one.before) is not None]
    listed = ", ".join(names[:MAX_CHANGED_NAMES]) + (", …" if len(names) > MAX_CHANGED_NAMES else "")
    if all(one.after is None for one in todos):
        return say("{count} todo(s) removed: {names}", count=len(todos), names=listed)
    if all(one.before is None for one in todos):
        return say("{count} todo(s) added: {names}", count=len(todos), names=listed)
    return say("{count} todo(s) changed: {names}", count=len(todos), names=listed)


def _short(text: str) -> str:
    return one_line(text, MAX_CHANGED_NAME_CHARS)
