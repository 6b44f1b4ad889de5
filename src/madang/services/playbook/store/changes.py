"""Changes of playbooks as operations, each inside the unit that makes it: what was before, and what is after."""

from __future__ import annotations

from collections.abc import Sequence

from madang.core.calls import Call
from madang.core.errors import Conflict, Denied, NotFound
from madang.core.operations import Operation
from madang.core.phrases import say
from madang.database.port import Row, Transaction
from madang.database.subscriptions import topic
from madang.records.operations import (
    find_operation,
    list_undoable,
    mark_undone,
    not_undone,
    record_operation,
)
from madang.services.playbook.domain import (
    SERVICE,
    Playbook,
    PlaybookChange,
    PlaybookContent,
    Revision,
    content_of,
    with_step_ids,
)
from madang.services.playbook.store.deletions import find_deleted, remove_playbook, restore_playbook
from madang.services.playbook.store.rows import WHOLE_COLUMNS, columns_of, parse_playbook
from madang.system.clock import timestamp

BY_ID = (
    f"SELECT owner.assistant_id, {WHOLE_COLUMNS} FROM playbook "
    "JOIN playbook_owner owner ON owner.user_id = playbook.user_id AND owner.no = playbook.owner_no "
    "WHERE playbook.user_id = ?1 AND playbook.id = ?2"
)


def playbook_topic(call: Call, *id: str) -> str:
    """Return the topic of one playbook, or the topic above all of this owner's."""
    return topic("playbook", call.user_id, call.assistant, *id)


async def find_change(tx: Transaction, call: Call) -> list[Revision] | None:
    """Return what the same call changed before, if it did."""
    done = await find_operation(tx, call)
    return PlaybookChange.model_validate_json(done.change).revisions if done else None


async def record_change(tx: Transaction, call: Call, revisions: Sequence[Revision]) -> Operation:
    """Keep what a call changed."""
    # Of several, that they are there again is enough to take it back: a document may hold hundreds of them.
    kept = revisions if len(revisions) == 1 else [revision.without_steps() for revision in revisions]
    return await record_operation(tx, call, SERVICE, PlaybookChange(revisions=list(kept)))


async def get_playbook(tx: Transaction, call: Call, id: str) -> Playbook:
    """Return one playbook.

    Raises:
        NotFound, Denied: it is not there, or belongs to another assistant.
    """
    return checked(call, id, await tx.one(BY_ID, call.user_id, id))


async def replace_content(tx: Transaction, call: Call, playbook: Playbook, content: PlaybookContent) -> Playbook:
    """Give a playbook another content, as its next version."""
    updated = playbook.model_copy(
        update={
            "goal": content.goal,
            "initial_command": content.initial_command,
            "workflow": with_step_ids(playbook.id, content.workflow),
            "success_criteria": content.success_criteria,
            "updated_at": timestamp(),
            "version": playbook.version + 1,
        }
    )
    await tx.run(
        "UPDATE playbook SET version = ?3, updated_at = ?4, goal = ?5, initial_command = ?6, steps = ?7, "
        "sort_key = ?8, search_text = ?9, workflow = ?10, success_criteria = ?11 "
        "WHERE user_id = ?1 AND id = ?2",
        call.user_id,
        playbook.id,
        updated.version,
        updated.updated_at,
        *columns_of(updated, content),
    )
    await tx.notify(playbook_topic(call, playbook.id))
    return updated


async def delete_playbook(tx: Transaction, call: Call, id: str) -> Revision:
    """Delete a playbook so that it can be restored.

    Raises:
        NotFound, Denied: it is not there, or belongs to another assistant.
    """
    playbook = await get_playbook(tx, call, id)
    await remove_playbook(tx, call, id)
    await tx.notify(playbook_topic(call, id))
    return Revision(before=playbook)


async def restore_deleted(tx: Transaction, call: Call, id: str) -> Revision | None:
    """Put a deleted playbook back; None if none of this id can be restored.

    Raises:
        Denied: it belongs to another assistant.
    """
    row = await find_deleted(tx, call, id, WHOLE_COLUMNS)
    if row is None:
        return None
    playbook = checked(call, id, row)
    await restore_playbook(tx, call, id)
    await tx.notify(playbook_topic(call, id))
    return Revision(after=playbook)


async def mark_deletion_undone(tx: Transaction, call: Call, id: str) -> None:
    """Keep that the deletion of a playbook is taken back, if it is an operation of the call's session."""
    for operation in await list_undoable(tx, call, SERVICE):
        revisions = PlaybookChange.model_validate_json(operation.change).revisions
        if len(revisions) == 1 and revisions[0].after is None and revisions[0].id == id:
            await mark_undone(tx, operation)
            return


async def take_back(tx: Transaction, call: Call, revisions: Sequence[Revision]) -> list[Revision]:
    """Take the change of an operation back, and return the change that this is.

    Of several playbooks, those stay as they are that were deleted or restored since.

    Raises:
        NotFound: all that it brought was deleted since.
        Conflict: a playbook was changed since, or all that it took away is there again or gone for good.
    """
    taken_back: list[Revision] = []
    for revision in revisions:
        if revision.after is None:
            restored = await restore_deleted(tx, call, revision.id)
            taken_back += [restored] if restored else []
        elif revision.before is None:
            if len(revisions) == 1 or await tx.one(BY_ID, call.user_id, revision.id) is not None:
                taken_back.append(await delete_playbook(tx, call, revision.id))
        else:
            taken_back.append(await _put_back(tx, call, revision.before, revision.after))
    if not taken_back:
        raise not_undone()
    return taken_back


async def _put_back(tx: Transaction, call: Call, before: Playbook, after: Playbook) -> Revision:
    """Give a playbook the content of before, if it still has that of after."""
    playbook = await get_playbook(tx, call, after.id)
    if content_of(playbook) != content_of(after):
        raise Conflict(
            say(
                "Playbook {id} was changed since: it is at version {version}. Nothing was taken back.",
                id=playbook.id,
                version=playbook.version,
            ),
            hint=say("Take back the later change first, or change the playbook itself."),
        )
    return Revision(before=playbook, after=await replace_content(tx, call, playbook, content_of(before)))


def checked(call: Call, id: str, row: Row | None) -> Playbook:
    """Return the playbook of a row that `BY_ID` gave, if it is the caller's."""
    # Another user's playbook is looked for in vain, like one that does not exist: an id must not tell that it is taken.
    if row is None:
        raise NotFound(
            say("Playbook {id} not found.", id=id[:100]),
            hint=say("Call 'list_playbooks' to see the ids there are."),
        )
    if row[0] != call.assistant:
        raise Denied(
            say(
                "Playbook {id} does not belong to the current assistant ({assistant}).",
                id=id,
                assistant=call.assistant,
            ),
            hint=say("Call 'list_playbooks' to see the playbooks of this assistant."),
        )
    return parse_playbook(id, row[0], row[1:])
