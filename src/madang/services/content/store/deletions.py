"""Deleted contents: out of every listing and search at once, and kept for a while, so that a deletion can be taken
back. They go with their store and their session."""

from __future__ import annotations

from datetime import timedelta

from madang.services.content.domain.contents import DELETED_DAYS, StoreKey
from madang.storage.clock import format_timestamp, parse_timestamp, timestamp
from madang.storage.database import Database, Row, Transaction

_CONTENT = (
    "user_id, no, id, store_no, sha256, filename, mime_type, size, line_count, chunk_count, preview, page_lines, "
    "uploaded_at"
)
_CHUNK = "user_id, content_no, number, from_line, to_line, text"
_ANALYZED_CONTENT, _ANALYZED_CHUNK = f"{_CONTENT}, analysis, analyzed_to", f"{_CHUNK}, words, word_count"


async def remove_content(
    tx: Transaction, database: Database, store: StoreKey, content_no: int, *, for_good: bool
) -> bool:
    """Delete a content, so that `restore_content` finds it if not `for_good`; and those that were deleted long ago.

    False: another call has just deleted it.
    """
    await tx.run("DELETE FROM content_deleted WHERE user_id = ?1 AND deleted_at < ?2", store.user_id, _oldest())
    if not for_good and not await _keep_aside(tx, database, store, content_no):
        return False
    return bool(await tx.run("DELETE FROM content WHERE user_id = ?1 AND no = ?2", store.user_id, content_no))


async def _keep_aside(tx: Transaction, database: Database, store: StoreKey, content_no: int) -> bool:
    content, chunk = _columns(database)
    key = store.user_id, content_no
    is_kept = await tx.run(
        f"INSERT INTO content_deleted (deleted_at, {content}) SELECT ?3, {content} FROM content "
        "WHERE user_id = ?1 AND no = ?2 ON CONFLICT DO NOTHING",
        *key,
        timestamp(),
    )
    if not is_kept:
        return False
    await tx.run(
        f"INSERT INTO content_chunk_deleted ({chunk}) SELECT {chunk} FROM content_chunk "
        "WHERE user_id = ?1 AND content_no = ?2",
        *key,
    )
    return True


async def find_deleted(tx: Transaction, user_id: str, session_id: str, id: str) -> Row | None:
    """Return the number of a content that can be restored, that of its store, and its hash."""
    return await tx.one(
        "SELECT d.no, s.no, d.sha256 FROM content_deleted d "
        "JOIN content_store s ON s.user_id = d.user_id AND s.no = d.store_no "
        "WHERE d.user_id = ?1 AND s.session_id = ?2 AND d.id = ?3 AND d.deleted_at >= ?4",
        user_id,
        session_id,
        id,
        _oldest(),
    )


async def restore_content(tx: Transaction, database: Database, user_id: str, content_no: int) -> bool:
    """Put a deleted content back, at its old place in the order and under its old id.

    False: another call has just done so.
    """
    content, chunk = _columns(database)
    key = user_id, content_no
    is_restored = await tx.run(
        f"INSERT INTO content ({content}) SELECT {content} FROM content_deleted WHERE user_id = ?1 AND no = ?2 "
        "ON CONFLICT DO NOTHING",
        *key,
    )
    if not is_restored:
        return False
    columns = ", ".join(f"k.{name}" for name in chunk.split(", "))
    await tx.run(
        f"INSERT INTO content_chunk (store_no, {chunk}) SELECT d.store_no, {columns} FROM content_chunk_deleted k "
        "JOIN content_deleted d ON d.user_id = k.user_id AND d.no = k.content_no "
        "WHERE k.user_id = ?1 AND k.content_no = ?2 ORDER BY k.number",
        *key,
    )
    await tx.run("DELETE FROM content_deleted WHERE user_id = ?1 AND no = ?2", *key)
    return True


def _columns(database: Database) -> tuple[str, str]:
    """Return the columns of a content and of a chunk; a server has the words of a text, too."""
    return (_ANALYZED_CONTENT, _ANALYZED_CHUNK) if database.ranks_text else (_CONTENT, _CHUNK)


def _oldest() -> str:
    return format_timestamp(parse_timestamp(timestamp()) - timedelta(days=DELETED_DAYS))
