"""What the model should know about playbooks this turn."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import NotFound
from madang.core.phrases import Phrase, say
from madang.core.service import RowQuery, ServiceContext, StateRows
from madang.core.texts import one_line
from madang.core.trust import Origin
from madang.services.playbook.domain import Playbook, Selection
from madang.services.playbook.store import PageRequest, PlaybookStore

MAX_CONTEXT_GOAL_CHARS = 200
MAX_SUMMARY_GOAL_CHARS = 80
MAX_STATE_PLAYBOOKS = 50
"""In the data, for panels; `playbook_rows` has the others."""
MAX_STATE_RUNS = 5
MAX_ROW_TEXT_CHARS = 300


class PlaybookInState(Document):
    """A playbook without its steps; long texts are cut."""

    id: str
    goal: str
    initial_command: str
    steps: int
    version: int
    updated_at: str
    last_run_at: str
    """Empty: it was never selected."""


class PlaybookState(Document):
    """The playbooks that changed last, how many there are, and the last selection; None if none was selected."""

    total: int
    playbooks: list[PlaybookInState]
    last_run: Selection | None = None
    selected: Playbook | None = None
    """The one that this session selected last, with its steps, if it can still be read."""
    selected_runs: int = 0
    """How often that one was selected."""
    runs: list[Selection]
    """The last selections, newest first."""


async def playbook_context(store: PlaybookStore, call: Call) -> ServiceContext:
    """Return how many playbooks there are and which one this assistant selected last."""
    total = await store.total(call)
    if total == 0:
        return ServiceContext("", PlaybookState(total=0, playbooks=[], runs=[]))
    selections = await store.selections(call, 1, MAX_STATE_RUNS)
    text = [say("# Playbooks: {total} (use 'list_playbooks')", total=total)]
    last = selections.items[0] if selections.items else None
    # The goal of what another session selected stays out: somebody else may have written it, and a word that cannot be
    # trusted would mark every session of the assistant.
    is_own = last is not None and last.session_id == call.session_id
    if last is not None and is_own:
        text.append(
            say(
                'Last selected: "{goal}" (ID: {id}), {at}',
                goal=one_line(last.goal, MAX_CONTEXT_GOAL_CHARS),
                id=last.playbook_id,
                at=last.selected_at,
            )
        )
    elif last is not None and call.actor != "model":  # what others did is nothing to go on with
        text.append(say("Last selected in another session: ID {id}, {at}", id=last.playbook_id, at=last.selected_at))
    selected = await _selected(store, call, last)
    state = PlaybookState(
        total=total,
        playbooks=(await _rows(store, call, 1, MAX_STATE_PLAYBOOKS))[0],
        last_run=last,
        selected=selected,
        selected_runs=(await store.selections(call, 1, 1, selected.id)).total_items if selected else 0,
        runs=selections.items,
    )
    origins = (Origin("playbook", last.goal),) if last is not None and is_own else ()
    return ServiceContext(text, state, origins, _summary(selected))


async def playbook_rows(store: PlaybookStore, call: Call, query: RowQuery) -> StateRows | None:
    """Return a part of an assistant's playbooks, changed last first; or one with its steps; or its selections."""
    match query.name:
        case "playbooks":
            return StateRows(*await _rows(store, call, query.page, query.page_size))
        case "selected" if query.under:
            return StateRows([await store.get(call, query.under)], 1)
        case "runs":
            page = await store.selections(call, query.page, query.page_size, query.under)
            return StateRows(page.items if page.page == query.page else [], page.total_items)
        case _:
            return None


async def _rows(store: PlaybookStore, call: Call, page: int, page_size: int) -> tuple[list[PlaybookInState], int]:
    listed = await store.list_page(call, PageRequest(page, page_size, "", "updatedAt", "desc"))
    if listed.page < page:  # past the end, for which it has the last one
        return [], listed.total_items
    last_runs = await store.last_selections(call, [item.id for item in listed.items])
    rows = [
        PlaybookInState.model_construct(
            id=item.id,
            goal=one_line(item.goal, MAX_ROW_TEXT_CHARS),
            initial_command=one_line(item.initial_command, MAX_ROW_TEXT_CHARS),
            steps=item.steps,
            version=item.version,
            updated_at=item.updated_at,
            last_run_at=last_runs.get(item.id, ""),
        )
        for item in listed.items
    ]
    return rows, listed.total_items


async def _selected(store: PlaybookStore, call: Call, last: Selection | None) -> Playbook | None:
    """Return what was selected last, if it was in this session and can still be read: the work may be in its midst."""
    if last is None or last.session_id != call.session_id:
        return None
    try:
        return await store.get(call, last.playbook_id)
    except NotFound:
        return None


def _summary(playbook: Playbook | None) -> Phrase | None:
    if playbook is None:
        return None
    return say(
        "Last selected playbook: \"{goal}\" ('get_playbook' with id {id}).",
        goal=one_line(playbook.goal, MAX_SUMMARY_GOAL_CHARS),
        id=playbook.id,
    )
