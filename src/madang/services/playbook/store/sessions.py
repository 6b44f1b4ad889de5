"""What belongs to one session that is deleted, copied, exported or imported: its selections and choices.

Playbooks belong to the assistant and stay. An archive has those that were selected in the session, so that they are
there too where it comes; one that is there already, with the same content, is not added again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import InvalidArguments
from madang.core.ids import AssistantId, is_raw_name
from madang.core.phrases import say
from madang.database.port import Row, Transaction
from madang.records.declarations import (
    Companions,
    Generated,
    Id,
    Number,
    Reference,
    Saved,
    Session,
    SessionDeclaration,
    SessionFile,
    SessionTable,
    User,
)
from madang.records.saved_pauses import SavedPause, pause_table
from madang.services.playbook.domain import SERVICE, PlaybookContent, check_playbook_size, content_of, sort_key
from madang.services.playbook.store.changes import playbook_topic
from madang.services.playbook.store.playbooks import ensure_owner, insert_playbook
from madang.services.playbook.store.rows import WHOLE_COLUMNS, columns_of, new_playbook, parse_playbook
from madang.system.clock import Timestamp


class SavedPlaybook(Document):
    """A playbook that a selection names by its id."""

    id: str
    assistant_id: str
    content: PlaybookContent


class SavedSelection(Document):
    """One selection of a playbook."""

    assistant_id: str
    playbook_id: str
    goal: str
    version: Annotated[int, Field(ge=1, le=10**9)]
    selected_at: Timestamp


_SELECTED_PLAYBOOKS = (
    f"SELECT playbook.id, o.assistant_id, {WHOLE_COLUMNS} FROM playbook "
    "JOIN playbook_owner o ON o.user_id = playbook.user_id AND o.no = playbook.owner_no "
    "WHERE playbook.user_id = ?1 AND playbook.id IN "
    "(SELECT playbook_id FROM playbook_run WHERE user_id = ?1 AND session_id = ?2) ORDER BY playbook.seq"
)


async def _find_or_add(tx: Transaction, call: Call, saved: SavedPlaybook, taken: Collection[str]) -> str:
    """Return the id of a playbook of the assistant with this content, none that is taken; else it is added.

    Two of the same content stay two.
    """
    own = replace(call, assistant_id=AssistantId(saved.assistant_id))
    owner_no = await ensure_owner(tx, own)
    rows = await tx.all(
        f"SELECT id, {WHOLE_COLUMNS} FROM playbook WHERE user_id = ?1 AND owner_no = ?2 AND sort_key = ?3 ORDER BY seq",
        call.user_id,
        owner_no,
        sort_key(saved.content.goal),
    )
    for id, *row in rows:
        if id not in taken and content_of(parse_playbook(id, saved.assistant_id, tuple(row))) == saved.content:
            return str(id)
    playbook = new_playbook(own, saved.content)
    await insert_playbook(tx, own, owner_no, playbook, columns_of(playbook, saved.content))
    return playbook.id


def _saved_playbook(row: Row) -> SavedPlaybook:
    id, assistant_id, *rest = row
    content = content_of(parse_playbook(id, assistant_id, tuple(rest)))
    return SavedPlaybook(id=id, assistant_id=assistant_id, content=content)


async def _read_selected(tx: Transaction, call: Call) -> list[SavedPlaybook]:
    """Return the playbooks that were selected and are still there, oldest first."""
    return [_saved_playbook(row) for row in await tx.all(_SELECTED_PLAYBOOKS, call.user_id, call.session)]


def _check_playbook(playbook: SavedPlaybook) -> None:
    check_playbook_size(playbook.content)
    _check_owner(playbook)


def _check_owner(saved: SavedPlaybook | SavedSelection) -> None:
    if not is_raw_name(saved.assistant_id):
        raise InvalidArguments(say("'{name}' is no name of an assistant.", name=saved.assistant_id[:200]))


def _ensure_assistant(tx: Transaction, call: Call, id: str) -> Awaitable[int]:
    return ensure_owner(tx, replace(call, assistant_id=AssistantId(id)))


def _selection_topic(call: Call, selection: Mapping[str, Any]) -> str:
    return playbook_topic(replace(call, assistant_id=selection["assistant_id"]), selection["playbook_id"])


SELECTIONS = SessionTable(
    "playbook_run",
    SavedSelection,
    {
        "seq": Generated(),
        "id": Id(is_saved=False),
        "user_id": User(),
        "owner_no": Number("playbook_owner", "assistant_id", field="assistant_id", ensure=_ensure_assistant),
        "playbook_id": Reference(),
        "goal": Saved(),
        "version": Saved(),
        "session_id": Session(),
        "selected_at": Saved(),
    },
    order="seq",
    topic=_selection_topic,
)
CHOICES = pause_table(SERVICE)
SESSIONS = SessionDeclaration(
    [
        SessionFile("selections.jsonl", SavedSelection, {"": SELECTIONS}, check=_check_owner),
        SessionFile("choices.jsonl", SavedPause, {"": CHOICES}, admits=lambda pause: pause.kind == "choice"),
    ],
    [Companions("playbooks.jsonl", SavedPlaybook, _read_selected, _find_or_add, check=_check_playbook)],
)
