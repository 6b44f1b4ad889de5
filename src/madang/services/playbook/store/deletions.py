"""Deleted playbooks: out of every listing at once, and kept for a while, so that a deletion can be taken back."""

from __future__ import annotations

from datetime import timedelta

from madang.core.calls import Call
from madang.database.port import Row, Transaction
from madang.services.playbook.domain import DELETED_DAYS
from madang.system.clock import format_timestamp, parse_timestamp, timestamp

_COLUMNS = (
    "user_id, id, seq, owner_no, version, created_at, updated_at, goal, initial_command, steps, sort_key, search_text, "
    "workflow, success_criteria"
)
_BY_ID = "user_id = ?1 AND id = ?2"


async def remove_playbook(tx: Transaction, call: Call, id: str) -> None:
    """Delete a playbook so that `restore_playbook` finds it, and for good those that were deleted long ago."""
    await forget_old_deletions(tx, call)
    await tx.run(
        f"INSERT INTO playbook_deleted (deleted_at, {_COLUMNS}) SELECT ?3, {_COLUMNS} FROM playbook WHERE {_BY_ID}",
        call.user_id,
        id,
        timestamp(),
    )
    await tx.run(f"DELETE FROM playbook WHERE {_BY_ID}", call.user_id, id)


async def find_deleted(tx: Transaction, call: Call, id: str, columns: str) -> Row | None:
    """Return the assistant and these columns of a playbook that can be restored, or None."""
    return await tx.one(
        f"SELECT owner.assistant_id, {columns} FROM playbook_deleted deleted "
        "JOIN playbook_owner owner ON owner.user_id = deleted.user_id AND owner.no = deleted.owner_no "
        "WHERE deleted.user_id = ?1 AND deleted.id = ?2 AND deleted.deleted_at >= ?3",
        call.user_id,
        id,
        _oldest(),
    )


async def restore_playbook(tx: Transaction, call: Call, id: str) -> None:
    """Put a deleted playbook back to where it was in the order of its creation."""
    await tx.run(
        f"INSERT INTO playbook ({_COLUMNS}) SELECT {_COLUMNS} FROM playbook_deleted WHERE {_BY_ID}", call.user_id, id
    )
    await tx.run(f"DELETE FROM playbook_deleted WHERE {_BY_ID}", call.user_id, id)


async def forget_old_deletions(tx: Transaction, call: Call) -> None:
    await tx.run("DELETE FROM playbook_deleted WHERE user_id = ?1 AND deleted_at < ?2", call.user_id, _oldest())


def _oldest() -> str:
    return format_timestamp(parse_timestamp(timestamp()) - timedelta(days=DELETED_DAYS))
