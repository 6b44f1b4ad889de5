"""What the model should know about open questions this turn."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.phrases import Line, Rows, layout, say
from madang.core.service import ServiceContext
from madang.core.texts import one_line
from madang.services.ui.store import UiStore


async def ui_context(store: UiStore, call: Call) -> ServiceContext:
    """Return the questions that the person has not answered yet."""
    pending, total = await store.list_questions(call, "pending")
    if not pending:
        return ServiceContext("", {"pendingPrompts": []})
    rows = [
        layout("  id:{id} {prompt}", id=question.message_id, prompt=one_line(question.prompt, 100))
        for question in pending
    ]
    text: list[Line | Rows] = [
        say("# Questions the person has not answered: {count}", count=total),
        Rows(rows, say("  … {left_out} more. Use 'list_prompts' to see them.")),
    ]
    return ServiceContext(text, {"pendingPrompts": [question.model_dump(mode="json") for question in pending]})
