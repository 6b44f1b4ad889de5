"""How a plan changes: every change returns a new plan, and the old one stays as it was."""

from __future__ import annotations

import pytest

from madang.core.errors import LimitExceeded, NotFound
from madang.services.planning.domain import MAX_OBSERVATIONS, MAX_TODOS, Plan, PlanState, Todo


def plan_with(*names: str) -> Plan:
    plan = Plan()
    for name in names:
        plan = plan.with_todo(name)
    return plan


def test_a_change_leaves_the_plan_before_it_alone() -> None:
    before = plan_with("One")

    before.with_goal("Goal").with_todo("Two").with_todo_marked(1, "completed", "done").without_todos([])
    before.with_observation("Seen", "2026-11-16T08:00:00.000Z")

    assert before == plan_with("One")


def test_todos_are_numbered_from_one_and_added_at_the_end() -> None:
    assert plan_with("One", "Two") == Plan(
        state=PlanState(todos=[Todo(id=1, name="One"), Todo(id=2, name="Two")]), next_id=3
    )


def test_marking_changes_one_todo_alone() -> None:
    marked = plan_with("One", "Two").with_todo_marked(2, "completed", "well done")

    assert marked.state.todos == [
        Todo(id=1, name="One"),
        Todo(id=2, name="Two", status="completed", summary="well done"),
    ]
    assert marked.pending == [Todo(id=1, name="One")]


def test_removing_names_the_ids_that_are_not_there_and_removes_none() -> None:
    plan = plan_with("One", "Two")

    with pytest.raises(NotFound, match="There is no todo with ID 5, 7"):
        plan.without_todos([1, 5, 7])


def test_removing_keeps_the_order_of_the_others() -> None:
    assert [todo.id for todo in plan_with("a", "b", "c", "d").without_todos([2, 1]).state.todos] == [3, 4]


def test_a_plan_has_room_for_only_so_many_todos() -> None:
    full = plan_with(*["x"] * MAX_TODOS)

    with pytest.raises(LimitExceeded):
        full.with_todo("one more")
    assert full.without_todos([1]).with_todo("fits again").state.todos[-1].id == MAX_TODOS + 1


def test_only_the_latest_observations_are_kept() -> None:
    plan, dropped = Plan(), ""
    for number in range(MAX_OBSERVATIONS + 2):
        plan, dropped = plan.with_observation(f"Seen {number}", f"at {number}")

    assert dropped == "Seen 1"
    assert plan.state.observations == [f"Seen {number}" for number in range(2, MAX_OBSERVATIONS + 2)]
    assert plan.observation_times == [f"at {number}" for number in range(2, MAX_OBSERVATIONS + 2)]


def test_observations_of_a_plan_from_before_times_have_none() -> None:
    plan = Plan.model_validate({"state": {"observations": ["Old", "Older"]}})

    assert plan.observation_times == ["", ""]
    assert plan.with_observation("New", "now")[0].observation_times == ["", "", "now"]
    assert Plan().observation_times == []


@pytest.mark.parametrize(
    ("changes", "goal", "previous"),
    [
        (["A"], "A", ""),
        (["A", "B"], "B", "A"),
        (["A", ""], "", "A"),
        (["A", "", "B"], "B", "A"),
        (["A", "", ""], "", "A"),
        (["A", "A"], "A", ""),
        (["A", "B", "B"], "B", "A"),
    ],
)
def test_the_previous_goal_is_the_last_other_one(changes: list[str], goal: str, previous: str) -> None:
    plan = Plan()
    for change in changes:
        plan = plan.with_goal(change) if change else plan.without_goal()

    assert (plan.state.goal, plan.state.last_cleared_goal) == (goal, previous)
