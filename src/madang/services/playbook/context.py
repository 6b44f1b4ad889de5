"""What the model should know about playbooks this turn."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.phrases import say
from madang.core.service import ServiceContext
from madang.core.texts import one_line
from madang.services.playbook.store import PlaybookStore

MAX_CONTEXT_GOAL_CHARS = 200


async def playbook_context(store: PlaybookStore, call: Call) -> ServiceContext:
    """Return how many playbooks there are and which one this assistant selected last."""
    total = await store.total(call)
    if total == 0:
        return ServiceContext([say("# Playbooks: none yet")], {"total": 0, "lastRun": None})
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
    return ServiceContext(text, {"total": total, "lastRun": last.model_dump(mode="json") if last else None})
