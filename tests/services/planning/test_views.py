"""Planning views: a plan in, a result out, compared as whole values."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from inline_snapshot import snapshot

from madang.core.calls import Locale
from madang.core.phrases import Rows, chosen, layout, say
from madang.core.results import ToolResult
from madang.rendering.catalogue import translator
from madang.rendering.replies import render_text, reply
from madang.services.planning import views
from madang.services.planning.domain import Plan, PlanState, Todo
from tests.asking import CALL

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
                    layout("  ID:{id} [ ] {name}", id=2, name="Van"),
                    layout(
                        "{line} — {summary}",
                        line=say("  ID:{id} [✓] {name} (completed)", id=1, name="Boxes"),
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
        ],
        next=[
            say(
                "Next Actions: {actions}",
                actions=say("Continue with pending todos: do ID:{id}, then 'mark_todo' with id {id}", id=2),
            )
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
    assert views.todos_cleared(PLAN, [Todo(id=7, name="Van")]).data == views.TodosCleared(**state, removed=[7])
    assert views.observation_added(PLAN, "Old").data == views.ObservationAdded(**state, dropped="Old")
    assert views.session_cleared(Plan()).data == views.PlanOutcome()


def test_every_text_ends_with_the_state_and_what_to_do_next() -> None:
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
        assert chosen(result.text, shows_page=False)[2:] == state
        assert chosen(result.next, shows_page=False) == [views.next_actions(PLAN)]


def test_a_run_is_told_what_changed_and_the_rest_by_the_state() -> None:
    added = views.todo_added(PLAN, PLAN.todo(2))

    told_in: tuple[tuple[Locale, str], ...] = (
        ("en", "[add_todo] Todo added: ID:2 Van\n\nGo on with what the person asked."),
        ("ko", "[add_todo] 할 일을 추가했습니다: ID:2 Van\n\n사용자가 부탁한 일을 이어서 하세요."),
    )
    for locale, text in told_in:
        told = reply("planning", "add_todo", replace(CALL, locale=locale, actor="model"), added)
        assert told.text == text
        assert [todo["id"] for todo in told.data["todos"]] == [1, 2]


def test_the_state_in_korean_keeps_names_and_ids() -> None:
    state = PLAN.state.model_copy(update={"goal": ""})
    results = (
        views.current_state(PLAN),
        views.goal_cleared(PLAN.model_copy(update={"state": state}), "이사"),
        views.observation_added(PLAN, "Old"),
        views.current_state(Plan()),
    )

    texts = [render_text([*result.text, "", *result.next], translator("ko")) for result in results]

    assert texts == snapshot(
        [
            """\
현재 계획 상태:

목표: 이사
이전 목표: Find a flat

진행 중인 할 일 (1/2):
  ID:2 [ ] Van
  ID:1 [✓] Boxes (완료) — twelve

최근 활동 기록 (1/10):
  1. Rain

다음 행동: 남은 할 일을 계속하세요: ID:2 항목을 끝낸 뒤 'mark_todo'에 id 2 값을 주어 호출하세요\
""",
            """\
목표를 지웠습니다: "이사"

현재 계획 상태:

목표: 활성 목표 없음
이전 목표: Find a flat

진행 중인 할 일 (1/2):
  ID:2 [ ] Van
  ID:1 [✓] Boxes (완료) — twelve

최근 활동 기록 (1/10):
  1. Rain

다음 행동: 'create_goal'로 다음 목표를 정하세요\
""",
            """\
관찰을 추가했습니다: Rain

현재 계획 상태:

목표: 이사
이전 목표: Find a flat

진행 중인 할 일 (1/2):
  ID:2 [ ] Van
  ID:1 [✓] Boxes (완료) — twelve

최근 활동 기록 (1/10):
  1. Rain
마지막 10개만 남기는 기록에서 빠진 것: "Old"

다음 행동: 남은 할 일을 계속하세요: ID:2 항목을 끝낸 뒤 'mark_todo'에 id 2 값을 주어 호출하세요\
""",
            """\
현재 계획 상태:

목표: 활성 목표 없음

진행 중인 할 일 (0/0):
  할 일 없음

최근 활동 기록 (0/10):
  최근 관찰 없음

다음 행동: 목표를 만들어 시작하세요 ('create_goal')\
""",
        ]
    )


def test_a_cleared_goal_asks_for_the_next_one_and_what_was_dropped_stands_below_the_log() -> None:
    state = PLAN.state.model_copy(update={"goal": ""})
    cleared = views.goal_cleared(PLAN.model_copy(update={"state": state}), "이사")
    added = views.observation_added(PLAN, "Old")

    texts = [render_text([*result.text, "", *result.next], translator("en")) for result in (cleared, added)]

    assert texts == snapshot(
        [
            """\
Goal cleared: "이사"

Current Planning State:

Goal: No active goal set
Previous Goal: Find a flat

Active Todos (1/2):
  ID:2 [ ] Van
  ID:1 [✓] Boxes (completed) — twelve

Recent Activity Log (1/10):
  1. Rain

Next Actions: Set the next goal with 'create_goal'\
""",
            """\
Observation added: Rain

Current Planning State:

Goal: 이사
Previous Goal: Find a flat

Active Todos (1/2):
  ID:2 [ ] Van
  ID:1 [✓] Boxes (completed) — twelve

Recent Activity Log (1/10):
  1. Rain
No longer in the log, which keeps the last 10: "Old"

Next Actions: Continue with pending todos: do ID:2, then 'mark_todo' with id 2\
""",
        ]
    )


def test_the_words_of_each_change() -> None:
    headlines = [
        "\n".join(map(str, takewhile(bool, chosen(result.text, shows_page=False))))
        for result in (
            views.goal_created(PLAN, ""),
            views.goal_created(PLAN, "Old"),
            views.goal_cleared(PLAN, "Old"),
            views.goal_cleared(PLAN, ""),
            views.todo_added(PLAN, PLAN.todo(2)),
            views.todo_marked(PLAN, PLAN.todo(1)),
            views.todo_marked(PLAN, PLAN.todo(2)),
            views.todos_cleared(PLAN, PLAN.state.todos),
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
            "Cleared 2 todo(s): ID:1 Boxes, ID:2 Van",
            "No todos to clear.",
            "Observation added: Rain",
            "Observation added: Rain",
            "Goal, todos and observations of this session were cleared.",
        ]
    )
