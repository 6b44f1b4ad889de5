"""What the model should know about playbooks this turn."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import NotFound
from madang.core.phrases import Phrase, say
from madang.core.service import ServiceContext
from madang.core.texts import one_line
from madang.services.playbook.domain import Selection
from madang.services.playbook.store import PlaybookStore

MAX_CONTEXT_GOAL_CHARS = 200
MAX_SUMMARY_GOAL_CHARS = 80


class PlaybookState(Document):
    """How many playbooks there are, and the last selection; None if none was selected."""

    total: int
    last_run: Selection | None = None


async def playbook_context(store: PlaybookStore, call: Call) -> ServiceContext:
    """Return how many playbooks there are and which one this assistant selected last."""
    total = await store.total(call)
    if total == 0:
        return ServiceContext("", PlaybookState(total=0))
    selections = await store.selections(call, 1, 1)
    text = [say("# Playbooks: {total} (use 'list_playbooks')", total=total)]
    last = selections.items[0] if selections.items else None
    if last:
        text.append(
            say(
                'Last selected: "{goal}" (ID: {id}), {at}',
                goal=one_line(last.goal, MAX_CONTEXT_GOAL_CHARS),
                id=last.playbook_id,
                at=last.selected_at,
            )
        )
    return ServiceContext(text, PlaybookState(total=total, last_run=last), await _summary(store, call, last))


async def _summary(store: PlaybookStore, call: Call, last: Selection | None) -> Phrase | None:
    """Return what was selected last, if it was in this session and can still be read: the work may be in its midst."""
    if last is None or last.session_id != call.session_id:
        return None
    try:
        playbook = await store.get(call, last.playbook_id)
    except NotFound:
        return None
    return say(
        "Last selected playbook: \"{goal}\" ('get_playbook' with id {id}).",
        goal=one_line(playbook.goal, MAX_SUMMARY_GOAL_CHARS),
        id=playbook.id,
    )
