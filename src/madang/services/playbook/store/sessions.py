"""What belongs to one session that is deleted, copied, exported or imported: its selections and choices.

Playbooks belong to the assistant and stay. An archive has those that were selected in the session, so that they are
there too where it comes; one that is there already, with the same content, is not added again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import InvalidArguments
from madang.core.ids import AssistantId, is_raw_name, new_ids
from madang.core.phrases import say
from madang.database.port import Database, Row, Transaction
from madang.records.saved_pauses import SavedPause, delete_pauses, read_pauses, restore_pauses
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


@dataclass(frozen=True, slots=True)
class SavedSelections:
    """What the playbook service keeps of one session."""

    playbooks: Sequence[SavedPlaybook]
    selections: Sequence[SavedSelection]
    choices: Sequence[SavedPause]


class PlaybookSessions:
    """The selections and choices of whole sessions. Every method is one unit of work."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def forget(self, call: Call) -> None:
        key = call.user_id, call.session

        async def work(tx: Transaction) -> None:
            owners = await tx.all(f"SELECT DISTINCT o.assistant_id {_SELECTIONS}", *key)
            await tx.run("DELETE FROM playbook_run WHERE user_id = ?1 AND session_id = ?2", *key)
            for (assistant_id,) in owners:
                await tx.notify(playbook_topic(replace(call, assistant_id=assistant_id)))
            await delete_pauses(tx, call, SERVICE)

        await self._database.write(work, user_id=call.user_id)

    async def read(self, call: Call) -> SavedSelections:
        """Return what was selected and asked, oldest first, and the playbooks that are still there."""
        key = call.user_id, call.session

        async def work(tx: Transaction) -> SavedSelections:
            fields = "o.assistant_id, r.playbook_id, r.goal, r.version, r.selected_at"
            selections = await tx.all(f"SELECT {fields} {_SELECTIONS} ORDER BY r.seq", *key)
            playbooks = await tx.all(_SELECTED_PLAYBOOKS, *key)
            return SavedSelections(
                [_saved_playbook(row) for row in playbooks],
                [
                    SavedSelection(
                        assistant_id=assistant_id, playbook_id=id, goal=goal, version=version, selected_at=at
                    )
                    for assistant_id, id, goal, version, at in selections
                ],
                await read_pauses(tx, call, SERVICE),
            )

        return await self._database.read(work, user_id=call.user_id)

    async def restore(self, call: Call, saved: SavedSelections) -> None:
        """Write selections and choices into the call's session, and add the playbooks that are missing.

        Raises:
            InvalidArguments, LimitExceeded: an assistant has no name, or a playbook is too large.
        """
        for playbook in saved.playbooks:
            check_playbook_size(playbook.content)
        owners = {playbook.assistant_id for playbook in saved.playbooks}
        for name in owners | {selection.assistant_id for selection in saved.selections}:
            if not is_raw_name(name):
                raise InvalidArguments(say("'{name}' is no name of an assistant.", name=name[:200]))
        choices = {pause.id: pause for pause in saved.choices if pause.kind == "choice"}

        async def work(tx: Transaction) -> None:
            ids = dict(zip(choices, new_ids(len(choices)), strict=True))
            for playbook in saved.playbooks:
                ids[playbook.id] = await _find_or_add(tx, call, playbook, taken=ids.values())
            for id, selection in zip(new_ids(len(saved.selections)), saved.selections, strict=True):
                await _insert_selection(tx, call, id, selection, ids)
            if choices:
                await restore_pauses(tx, call, SERVICE, list(choices.values()), ids)

        if saved.selections or choices:
            await self._database.write(work, user_id=call.user_id)


_SELECTIONS = (
    "FROM playbook_run r JOIN playbook_owner o ON o.user_id = r.user_id AND o.no = r.owner_no "
    "WHERE r.user_id = ?1 AND r.session_id = ?2"
)
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


async def _insert_selection(
    tx: Transaction, call: Call, id: str, selection: SavedSelection, playbook_ids: dict[str, str]
) -> None:
    own = replace(call, assistant_id=AssistantId(selection.assistant_id))
    playbook_id = playbook_ids.get(selection.playbook_id, selection.playbook_id)
    await tx.run(
        "INSERT INTO playbook_run (id, user_id, owner_no, playbook_id, goal, version, session_id, selected_at) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        id,
        call.user_id,
        await ensure_owner(tx, own),
        playbook_id,
        selection.goal,
        selection.version,
        call.session,
        selection.selected_at,
    )
    await tx.notify(playbook_topic(own, playbook_id))


def _saved_playbook(row: Row) -> SavedPlaybook:
    id, assistant_id, *rest = row
    content = content_of(parse_playbook(id, assistant_id, tuple(rest)))
    return SavedPlaybook(id=id, assistant_id=assistant_id, content=content)
