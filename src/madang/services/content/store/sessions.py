"""The stores and contents of a session that is deleted, copied, exported or imported."""

from __future__ import annotations

import json

from madang.core.calls import Call
from madang.core.errors import LimitExceeded
from madang.core.ids import UserId, new_id
from madang.core.phrases import say
from madang.database.port import Database, Transaction
from madang.database.subscriptions import topic
from madang.services.content.domain.contents import Limits, SavedContent, SavedStore, StoreKey, normalized_name
from madang.services.content.domain.jobs import JobPlace
from madang.services.content.store.rows import COUNT_OF_STORES, IN_SESSION, content_topic

UNNAMED = "store"


class SessionRows:
    """The rows of whole sessions."""

    def __init__(self, database: Database, limits: Limits) -> None:
        self._database = database
        self._limits = limits

    async def tell(self, place: JobPlace) -> None:
        """Notify those who watch the contents of a session, or of the session that a store is in."""

        async def work(tx: Transaction) -> None:
            session_id = place.session_id
            if not session_id:
                sql = "SELECT session_id FROM content_store WHERE user_id = ?1 AND no = ?2"
                row = await tx.one(sql, place.user_id, place.store_no)
                session_id = row[0] if row else ""
            if session_id:
                await tx.notify(topic("content", place.user_id, session_id))

        await self._database.write(work, user_id=UserId(place.user_id), is_optional=True)

    async def delete_stores(self, call: Call) -> list[StoreKey]:
        """Delete every store of the call's session for good, with everything in it, and return which there were."""

        async def work(tx: Transaction) -> list[StoreKey]:
            key = call.user_id, call.session
            rows = await tx.all("SELECT no, id FROM content_store WHERE user_id = ?1 AND session_id = ?2", *key)
            if rows:
                await tx.run("DELETE FROM content_store WHERE user_id = ?1 AND session_id = ?2", *key)
                await tx.notify(content_topic(call))
            return [StoreKey(no, id, call.user_id) for no, id in rows]

        return await self._database.write(work, user_id=call.user_id)

    async def stores(self, call: Call) -> list[tuple[int, SavedStore]]:
        """Return the stores of the call's session with their row numbers, oldest first."""
        rows = await self._database.find(
            "SELECT no, name, description, is_own, created_at FROM content_store "
            "WHERE user_id = ?1 AND session_id = ?2 AND deleted_at IS NULL ORDER BY no",
            call.user_id,
            call.session,
            user_id=call.user_id,
        )
        return [
            (no, SavedStore(name=name, description=description, is_own=bool(is_own), created_at=created_at))
            for no, name, description, is_own, created_at in rows
        ]

    async def contents(self, call: Call, after: int, limit: int) -> list[tuple[int, int, SavedContent]]:
        """Return contents after a row number, each with its own number and that of its store, oldest first."""
        rows = await self._database.find(
            "SELECT no, store_no, sha256, filename, mime_type, size, page_lines, uploaded_at FROM content "
            f"WHERE {IN_SESSION} AND no > ?3 ORDER BY no LIMIT ?4",
            call.user_id,
            call.session,
            after,
            limit,
            user_id=call.user_id,
        )
        return [
            (
                no,
                store_no,
                SavedContent(
                    sha256=sha256,
                    filename=filename,
                    mime_type=mime_type,
                    size=size,
                    page_lines=json.loads(page_lines),
                    uploaded_at=uploaded_at,
                ),
            )
            for no, store_no, sha256, filename, mime_type, size, page_lines, uploaded_at in rows
        ]

    async def texts(self, call: Call, content_no: int, after: int, limit: int) -> list[str]:
        """Return the texts of the chunks of a content after chunk number `after`."""
        rows = await self._database.find(
            "SELECT text FROM content_chunk WHERE user_id = ?1 AND content_no = ?2 AND number > ?3 "
            "ORDER BY number LIMIT ?4",
            call.user_id,
            content_no,
            after,
            limit,
            user_id=call.user_id,
        )
        return [text for (text,) in rows]

    async def add_store(self, call: Call, store: SavedStore) -> StoreKey:
        """Add a store as it was elsewhere, under a new id.

        Raises:
            LimitExceeded: the session has as many as are allowed.
        """
        id = new_id()

        async def work(tx: Transaction) -> StoreKey:
            key = call.user_id, call.session
            count = await tx.one(COUNT_OF_STORES, *key)
            if count and count[0] > self._limits.stores:
                raise LimitExceeded(
                    say("The session has {limit} stores, and may have no more.", limit=self._limits.stores)
                )
            row = await tx.one(
                "INSERT INTO content_store (id, user_id, session_id, name, description, is_own, created_at) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING no",
                id,
                *key,
                normalized_name(store.name, UNNAMED),
                store.description,
                int(store.is_own),
                store.created_at,
            )
            assert row is not None
            await tx.notify(content_topic(call))
            return StoreKey(row[0], id, call.user_id)

        return await self._database.write(work, user_id=call.user_id)

    async def set_time(self, call: Call, content_no: int, uploaded_at: str) -> None:
        """Give a content the time at which it was added elsewhere."""

        async def work(tx: Transaction) -> None:
            sql = "UPDATE content SET uploaded_at = ?3 WHERE user_id = ?1 AND no = ?2"
            await tx.run(sql, call.user_id, content_no, uploaded_at)

        await self._database.write(work, user_id=call.user_id)
