"""Planning views: a plan in, a result out, compared as whole values."""

from __future__ import annotations

from itertools import takewhile

from inline_snapshot import snapshot

from madang.core.phrases import Rows, layout, say
from madang.core.results import ToolResult
from madang.rendering.catalogue import translator
from madang.rendering.replies import render_text
from madang.services.planning import views
from madang.services.planning.domain import Plan, PlanState, Todo

PLAN = Plan(
    state=PlanState(
        goal="이사",
        last_cleared_goal="Find a flat",
        todos=[Todo(id=1, name="Boxes", status="completed", summary="twelve"), Todo(id=2, name="Van")],
        observations=["Rain"],
    ),
    next_id=3,
)


def test_the_state_as_a_result() -> None:
    assert views.current_state(PLAN) == ToolResult(
        text=[
            say("Current Planning State:"),
            "",
            say("Goal: {goal}", goal="이사"),
            say("Previous Goal: {goal}", goal="Find a flat"),
            "",
            say("Active Todos ({pending}/{total}):", pending=1, total=2),
            Rows(
                [
                    layout("  ID:{id} [{mark}] {name}", id=2, mark=" ", name="Van"),
                    layout(
                        "{line} — {summary}",
                        line=layout("  ID:{id} [{mark}] {name}", id=1, mark="✓", name="Boxes"),
                        summary="twelve",
                    ),
                ],
                say("  … {left_out} more. Use 'clear_todos' with the ids of completed ones to make room."),
            ),
            "",
            say("Recent Activity Log ({count}/{limit}):", count=1, limit=10),
            Rows(
                [layout("  {number}. {text}", number=1, text="Rain")],
                say("  … {left_out} more, too long to show here."),
            ),
            "",
            say(
                "Next Actions: {actions}",
                actions=say("Continue with pending todos ('mark_todo' when one is done)"),
            ),
        ],
        data=views.PlanOutcome(
            goal="이사",
            last_cleared_goal="Find a flat",
            todos=[Todo(id=1, name="Boxes", status="completed", summary="twelve"), Todo(id=2, name="Van")],
            observations=["Rain"],
            success=True,
        ),
    )


def test_what_changed_stands_beside_the_state() -> None:
    state = dict(PLAN.state)

    assert views.todo_added(PLAN, PLAN.todo(2)).data == views.TodoOutcome(**state, todo=Todo(id=2, name="Van"))
    assert views.todos_cleared(PLAN, [7]).data == views.TodosCleared(**state, removed=[7])
    assert views.observation_added(PLAN, "Old").data == views.ObservationAdded(**state, dropped="Old")
    assert views.session_cleared(Plan()).data == views.PlanOutcome()


def test_every_text_ends_with_the_state() -> None:
    state = views.state_lines(PLAN)

    for result in (
        views.goal_created(PLAN, ""),
        views.goal_cleared(PLAN, "x"),
        views.todo_added(PLAN, PLAN.todo(2)),
        views.todo_marked(PLAN, PLAN.todo(1)),
        views.todos_cleared(PLAN, []),
        views.observation_added(PLAN, ""),
        views.session_cleared(PLAN),
    ):
        assert list(result.text)[2:] == state


def test_the_state_in_korean_keeps_names_and_ids() -> None:
    text = render_text(views.state_lines(PLAN), translator("ko"))

    assert "ID:2 [ ] Van" in text
    assert "'mark_todo'" in text


def test_the_words_of_each_change() -> None:
    headlines = [
        "\n".join(map(str, takewhile(bool, result.text)))
        for result in (
            views.goal_created(PLAN, ""),
            views.goal_created(PLAN, "Old"),
            views.goal_cleared(PLAN, "Old"),
            views.goal_cleared(PLAN, ""),
            views.todo_added(PLAN, PLAN.todo(2)),
            views.todo_marked(PLAN, PLAN.todo(1)),
            views.todo_marked(PLAN, PLAN.todo(2)),
            views.todos_cleared(PLAN, [1, 2]),
            views.todos_cleared(PLAN, []),
            views.observation_added(PLAN, ""),
            views.observation_added(PLAN, "Old"),
            views.session_cleared(PLAN),
        )
    ]

    assert headlines == snapshot(
        [
            'Goal set: "이사"',
            'Goal set: "이사" (it replaces "Old")',
            'Goal cleared: "Old"',
            "There was no goal to clear.",
            "Todo added: ID:2 Van",
            "Todo ID:1 completed: Boxes",
            "Todo ID:2 is pending again: Van",
            "Cleared 2 todo(s): ID 1, 2",
            "No todos to clear.",
            "Observation added: Rain",
            """\
Observation added: Rain
The oldest observation was dropped, because only 10 are kept: Old\
""",
            "Goal, todos and observations of this session were cleared.",
        ]
    )
