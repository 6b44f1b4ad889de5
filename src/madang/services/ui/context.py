"""What the model should know this turn of the questions and waits of its session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.phrases import Line, Phrase, Rows, layout, say
from madang.core.service import ServiceContext
from madang.core.texts import one_line
from madang.services.ui.domain import InboxItem, Question, Wait
from madang.services.ui.store import UiStore
from madang.services.ui.views.inbox import answer_text

RECENT = timedelta(days=1)
"""How long the model is reminded of an answer: a client may come back the next morning, and no turn is recorded."""

MAX_RECENT_ANSWERS = 5
MAX_OPEN_ITEMS = 10
_MAX_PROMPT_CHARS = 100
_MAX_ANSWER_CHARS = 200


class UiState(Document):
    """What a session wants from the person, and what they answered lately, newest first."""

    pending_prompts: list[Question]
    open_waits: list[Wait]
    recent_answers: list[Question | Wait]


async def ui_context(store: UiStore, call: Call) -> ServiceContext:
    """Return what came in lately, then what is open: waits first, because they stop the work.

    A run's model has the answers in its history, and gets those to come by itself.
    """
    settled, pending, total = await store.read_lately(call, RECENT, MAX_RECENT_ANSWERS)
    waits = [item for item in pending if isinstance(item, Wait)]
    questions = [item for item in pending if isinstance(item, Question)]
    text: list[Line | Rows] = []
    if call.actor == "model":
        text += _open_in_run(pending, total)
        state = UiState(pending_prompts=questions, open_waits=waits, recent_answers=list(settled))
        return ServiceContext(text or "", state)
    if settled:
        text += [
            say("# The person answered lately (go on with this, do not ask again; 'get_prompt' reads a long answer):"),
            *map(_settled_row, settled),
        ]
    if waits:
        heading = say(
            "# Waiting for the person to continue: {count} ('get_prompt' with messageId tells whether they did)",
            count=len(waits),
        )
        text += [heading, *_open_rows(waits, len(waits))]
    if questions:
        count = total - len(waits)
        heading = say(
            "# Questions the person has not answered: {count} ('get_prompt' with messageId reads one)", count=count
        )
        text += [heading, *_open_rows(questions, count)]
    state = UiState(pending_prompts=questions, open_waits=waits, recent_answers=list(settled))
    summary = say("Open questions: {count} ('list_prompts').", count=total) if total else None
    return ServiceContext(text or "", state, summary=summary)


def _open_in_run(items: Sequence[InboxItem], total: int) -> list[Line | Rows]:
    """Return what a run has asked that stays open; none of it is for its model to look after."""
    if not items:
        return []
    rows = [layout('  "{prompt}"', prompt=_head(item)[1]) for item in items[:MAX_OPEN_ITEMS]]
    left_out = total - len(rows)
    more = [say("  … {left_out} more.", left_out=left_out)] if left_out else []
    return [say("# Open questions to the person (their answer will reach you by itself):"), *rows, *more]


def _settled_row(item: InboxItem) -> Phrase:
    id, prompt = _head(item)
    if isinstance(item, Wait):
        return say('  id:{id} "{prompt}": the person said to continue', id=id, prompt=prompt)
    if item.status == "cancelled":
        return say('  id:{id} "{prompt}": cancelled, there is no answer', id=id, prompt=prompt)
    if item.answer == []:
        return say('  id:{id} "{prompt}": none of the options', id=id, prompt=prompt)
    answer = one_line(answer_text(item.answer), _MAX_ANSWER_CHARS)
    return layout('  id:{id} "{prompt}": {answer}', id=id, prompt=prompt, answer=answer)


def _open_rows(items: Sequence[InboxItem], count: int) -> list[Phrase]:
    rows = [layout("  id:{id} {prompt}", id=id, prompt=prompt) for id, prompt in map(_head, items[:MAX_OPEN_ITEMS])]
    left_out = count - len(rows)
    return [*rows, say("  … {left_out} more: 'list_prompts'.", left_out=left_out)] if left_out else rows


def _head(item: InboxItem) -> tuple[str, str]:
    id, text = (item.wait_id, item.message) if isinstance(item, Wait) else (item.message_id, item.prompt)
    return id, one_line(text, _MAX_PROMPT_CHARS)
