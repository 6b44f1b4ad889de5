"""What the model is told of the plan each turn."""

from __future__ import annotations

from inline_snapshot import snapshot

from madang.rendering.catalogue import translator
from madang.rendering.replies import render_text
from tests.asking import Asker


async def prompts(asker: Asker) -> list[str]:
    context = (await asker.provider.service_contexts(asker.call))["planning"]
    assert not isinstance(context.context_prompt, str)
    return [render_text(context.context_prompt, translator(locale)) for locale in ("en", "ko")]


async def test_the_model_is_told_how_many_todos_are_done_and_which_are_left(asker: Asker) -> None:
    await asker.done("create_goal", goal="Move")
    await asker.done("add_todo", name="Boxes")
    await asker.done("add_todo", name="Van")
    await asker.done("mark_todo", id=1)

    assert await prompts(asker) == snapshot(
        [
            """\
# Plan: Move
Todos: 1 completed, 1 pending:
  ID:2 Van\
""",
            """\
# 계획: Move
할 일: 1개 완료, 1개 남음:
  ID:2 Van\
""",
        ]
    )


async def test_when_all_is_done_the_model_is_told_so(asker: Asker) -> None:
    await asker.done("create_goal", goal="Move")
    await asker.done("add_todo", name="Boxes")
    await asker.done("mark_todo", id=1)

    assert await prompts(asker) == snapshot(
        [
            """\
# Plan: Move
Todos: all 1 completed\
""",
            """\
# 계획: Move
할 일: 1개 모두 완료\
""",
        ]
    )
