"""Deleted contents and stores: out of every listing and search at once, and kept for a while, so that a deletion can be
taken back. Contents go with their store, and stores with their session.

A content moves to tables of its own. A store stays where it is with all that is in it, and its row says so.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Literal

from madang.core.calls import Call
from madang.core.errors import LimitExceeded
from madang.core.operations import Operation
from madang.core.phrases import say
from madang.database.port import Database, Row, Transaction
from madang.records.operations import forget_operation, list_undoable, mark_undone, not_undone
from madang.services.content.domain.contents import (
    DELETED_DAYS,
    Content,
    ContentChange,
    Limits,
    StoreKey,
    added_again,
    no_content,
    no_store,
)
from madang.services.content.store.rows import (
    CONTENT_BY_HASH,
    CONTENT_BY_ID,
    COUNT_OF_CONTENTS,
    COUNT_OF_STORES,
    STORE_BY_ID,
    STORE_FIELDS,
    WHOLE_STORE_BY_ID,
    content_topic,
    owner_of,
    parse_content,
    parse_store,
)
from madang.system.clock import format_timestamp, parse_timestamp, timestamp

SERVICE = "content"
"""Whose operations they are."""

NEW_INDEX_CHANGE = "INSERT INTO content_change (user_id, store_no, content_no) VALUES (?1, ?2, ?3)"

_CONTENT = (
    "user_id, no, id, store_no, sha256, filename, mime_type, size, line_count, chunk_count, preview, page_lines, "
    "uploaded_at"
)
_CHUNK = "user_id, content_no, number, from_line, to_line, text"
_ANALYZED_CONTENT, _ANALYZED_CHUNK = f"{_CONTENT}, analysis, analyzed_to", f"{_CHUNK}, words, word_count"
_DELETED_STORE = (
    f"SELECT {STORE_FIELDS} FROM content_store s "
    "WHERE s.user_id = ?1 AND s.session_id = ?2 AND s.id = ?3 AND s.deleted_at >= ?4"
)
_OWN_STORE = "SELECT 1 FROM content_store WHERE user_id = ?1 AND session_id = ?2 AND is_own = 1 AND deleted_at IS NULL"


class Deletions:
    """Deletes and restores, each inside the unit that also keeps the operation."""

    def __init__(self, database: Database, limits: Limits) -> None:
        self._database = database
        self._limits = limits

    async def delete_content(
        self, tx: Transaction, call: Call, store_id: str, id: str, *, for_good: bool = False
    ) -> ContentChange:
        """Delete a content with its text; it can be restored unless this is `for_good`.

        Raises:
            NotFound: there is no such store, or no such content in it.
        """
        row = await tx.one(CONTENT_BY_ID, *owner_of(call), store_id, id)
        if row is None:
            if store_id and await tx.one(STORE_BY_ID, *owner_of(call), store_id) is None:
                raise no_store(store_id)
            raise no_content(id)
        key, content = StoreKey(row[-2], row[-1], call.user_id), parse_content(row[:-2])
        if self._database.ranks_text:
            from madang.services.content.store.parts import count_deleted  # not at a start on a file

            await count_deleted(tx, key, content.no)
        await _purge(tx, call)
        if not for_good and not await self._keep_aside(tx, key, content.no):
            raise no_content(id)  # another call has just deleted it
        if not await tx.run("DELETE FROM content WHERE user_id = ?1 AND no = ?2", call.user_id, content.no):
            raise no_content(id)
        if for_good:
            for operation in await _operations_on(tx, call, id):
                await forget_operation(tx, operation)
        await self._changed(tx, call, key, content.no)
        return content_change("deleted", key, content)

    async def restore_content(self, tx: Transaction, call: Call, id: str) -> ContentChange | None:
        """Put a deleted content back, at its old place in the order and under its old id; None if there is none.

        Raises:
            Conflict: its store has got the same file again.
            LimitExceeded: the session has as many contents as are allowed.
        """
        deleted = await _find_deleted(tx, call, id)
        if deleted is None:
            return None
        no, store_no, sha256 = deleted
        if await tx.one(CONTENT_BY_HASH, call.user_id, store_no, sha256) is not None:
            raise added_again(id)
        await check_room(tx, call, self._limits)
        if not await self._put_back(tx, call, no):
            return None
        row = await tx.one(CONTENT_BY_ID, *owner_of(call), "", id)
        if row is None:
            raise no_content(id)
        key, content = StoreKey(row[-2], row[-1], call.user_id), parse_content(row[:-2])
        await self._changed(tx, call, key, content.no)
        return content_change("restored", key, content)

    async def delete_store(self, tx: Transaction, call: Call, id: str) -> ContentChange:
        """Delete a store with everything in it, so that it can be restored.

        Raises:
            NotFound: the session has no such store.
        """
        await _purge(tx, call)
        row = await tx.one(WHOLE_STORE_BY_ID, *owner_of(call), id)
        # Read before it is marked: the count is of what goes with it.
        if row is None or not await _mark_store(tx, call, row[0], timestamp()):
            raise no_store(id)
        store = parse_store(call, row)
        if not self._database.ranks_text:  # its index is dropped, so there is nothing to bring up to its rows
            await tx.run("DELETE FROM content_change WHERE user_id = ?1 AND store_no = ?2", *_row_key(store.key))
        await tx.notify(content_topic(call))
        return ContentChange(kind="deleted", key=store.key, store=store)

    async def restore_store(self, tx: Transaction, call: Call, id: str) -> ContentChange | None:
        """Bring a deleted store back with everything in it, under the same ids; None if there is none.

        The session's own store comes back as a further one where the session has got another meanwhile.

        Raises:
            LimitExceeded: the session has as many stores or contents as are allowed.
        """
        row = await tx.one(_DELETED_STORE, *owner_of(call), id, _oldest())
        if row is None:
            return None
        store = parse_store(call, row)
        await check_store_room(tx, call, self._limits)
        await check_room(tx, call, self._limits, store.contents)
        if store.is_own and await tx.one(_OWN_STORE, *owner_of(call)) is not None:
            store = replace(store, is_own=False)
            await tx.run("UPDATE content_store SET is_own = 0 WHERE user_id = ?1 AND no = ?2", *_row_key(store.key))
        if not await _mark_store(tx, call, store.key.no, None):
            return None
        if not self._database.ranks_text:
            await tx.run(
                "INSERT INTO content_change (user_id, store_no, content_no) "
                "SELECT user_id, store_no, no FROM content WHERE user_id = ?1 AND store_no = ?2 ORDER BY no",
                *_row_key(store.key),
            )
        await tx.notify(content_topic(call))
        return ContentChange(kind="restored", key=store.key, store=store)

    async def take_back(self, tx: Transaction, call: Call, change: ContentChange) -> ContentChange:
        """Take an operation's change back, and return the change that this is.

        Raises:
            ToolError: what it brought or took away was changed since, so that it cannot be.
        """
        id = change.content.id if change.content else change.key.id
        if not change.is_deletion:
            return await (self.delete_content(tx, call, "", id) if change.content else self.delete_store(tx, call, id))
        restored = await (self.restore_content(tx, call, id) if change.content else self.restore_store(tx, call, id))
        if restored is None:
            raise not_undone()
        return restored

    async def _keep_aside(self, tx: Transaction, store: StoreKey, content_no: int) -> bool:
        content, chunk = self._columns()
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

    async def _put_back(self, tx: Transaction, call: Call, content_no: int) -> bool:
        content, chunk = self._columns()
        key = call.user_id, content_no
        is_restored = await tx.run(
            f"INSERT INTO content ({content}) SELECT {content} FROM content_deleted WHERE user_id = ?1 AND no = ?2 "
            "ON CONFLICT DO NOTHING",
            *key,
        )
        if not is_restored:
            return False  # another call has just done so
        columns = ", ".join(f"k.{name}" for name in chunk.split(", "))
        await tx.run(
            f"INSERT INTO content_chunk (store_no, {chunk}) SELECT d.store_no, {columns} FROM content_chunk_deleted k "
            "JOIN content_deleted d ON d.user_id = k.user_id AND d.no = k.content_no "
            "WHERE k.user_id = ?1 AND k.content_no = ?2 ORDER BY k.number",
            *key,
        )
        await tx.run("DELETE FROM content_deleted WHERE user_id = ?1 AND no = ?2", *key)
        return True

    async def _changed(self, tx: Transaction, call: Call, store: StoreKey, content_no: int) -> None:
        if not self._database.ranks_text:
            await tx.run(NEW_INDEX_CHANGE, *_row_key(store), content_no)
        await tx.notify(content_topic(call))

    def _columns(self) -> tuple[str, str]:
        """Return the columns of a content and of a chunk; a server has the words of a text, too."""
        return (_ANALYZED_CONTENT, _ANALYZED_CHUNK) if self._database.ranks_text else (_CONTENT, _CHUNK)


def content_change(kind: Literal["added", "deleted", "restored"], key: StoreKey, content: Content) -> ContentChange:
    """Return a change of a content as it is kept: without the lines of its pages, which may be many."""
    return ContentChange(kind=kind, key=key, content=replace(content, page_lines=()))


async def mark_deletion_undone(tx: Transaction, call: Call, id: str) -> None:
    """Keep that the deletion of a content is taken back, if it is an operation of the call's session."""
    for operation in await _operations_on(tx, call, id):
        if ContentChange.model_validate_json(operation.change).is_deletion:
            await mark_undone(tx, operation)
            return


async def check_room(tx: Transaction, call: Call, limits: Limits, more: int = 1) -> None:
    """Refuse more contents than a session may have."""
    row = await tx.one(COUNT_OF_CONTENTS, *owner_of(call))
    if row and row[0] + more > limits.contents:
        raise LimitExceeded(
            say("The session has {limit} contents, and may have no more.", limit=limits.contents),
            hint=say("Use 'delete_content' to remove one that is not needed."),
        )


async def check_store_room(tx: Transaction, call: Call, limits: Limits) -> None:
    """Refuse one more store than a session may have."""
    row = await tx.one(COUNT_OF_STORES, *owner_of(call))
    if row and row[0] >= limits.stores:
        raise LimitExceeded(
            say("The session has {limit} stores, and may have no more.", limit=limits.stores),
            hint=say("Use 'delete_store' to remove one that is not needed."),
        )


async def _operations_on(tx: Transaction, call: Call, content_id: str) -> list[Operation]:
    """Return the operations of the session on a content that are not taken back, newest first."""
    operations = await list_undoable(tx, call, SERVICE)
    changes = [ContentChange.model_validate_json(operation.change) for operation in operations]
    return [
        operation
        for operation, change in zip(operations, changes, strict=True)
        if change.content is not None and change.content.id == content_id
    ]


async def _find_deleted(tx: Transaction, call: Call, id: str) -> Row | None:
    """Return the number of a content that can be restored, that of its store, and its hash."""
    return await tx.one(
        "SELECT d.no, s.no, d.sha256 FROM content_deleted d "
        "JOIN content_store s ON s.user_id = d.user_id AND s.no = d.store_no "
        "WHERE d.user_id = ?1 AND s.session_id = ?2 AND s.deleted_at IS NULL AND d.id = ?3 AND d.deleted_at >= ?4",
        *owner_of(call),
        id,
        _oldest(),
    )


async def _mark_store(tx: Transaction, call: Call, no: int, deleted_at: str | None) -> bool:
    """Delete or restore a store; False: another call has just done so."""
    is_there = "IS NULL" if deleted_at else "IS NOT NULL"
    sql = f"UPDATE content_store SET deleted_at = ?3 WHERE user_id = ?1 AND no = ?2 AND deleted_at {is_there}"
    return bool(await tx.run(sql, call.user_id, no, deleted_at))


async def _purge(tx: Transaction, call: Call) -> None:
    """Delete for good what was deleted long ago."""
    for table in ("content_deleted", "content_store"):
        await tx.run(f"DELETE FROM {table} WHERE user_id = ?1 AND deleted_at < ?2", call.user_id, _oldest())


def _row_key(store: StoreKey) -> tuple[str, int]:
    return store.user_id, store.no


def _oldest() -> str:
    return format_timestamp(parse_timestamp(timestamp()) - timedelta(days=DELETED_DAYS))
