"""The rows as a search index beside the database sees them: of all users, with a queue of what it lacks.

Changes have positive numbers in the queue. The backlog of an index that is made anew has negative ones: it can wait.
"""

from __future__ import annotations

from collections.abc import Sequence

from madang.database.port import Database, Row, Transaction
from madang.services.content.domain.contents import StoreKey, searched_text
from madang.services.content.domain.search import IndexChange, IndexedChunk


class IndexQueue:
    """The queue of contents that an index has to add or remove, and their chunks. `ContentStore` fills it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def lacks_changes(self, store: StoreKey) -> bool:
        rows = await self._database.find(
            "SELECT EXISTS (SELECT 1 FROM content_change WHERE user_id = ?1 AND store_no = ?2)", store.user_id, store.no
        )
        return bool(rows[0][0])

    async def pending_changes(self, store: StoreKey) -> list[IndexChange]:
        return await self._changes(store, "d.seq > 0 ORDER BY d.seq", -1)

    async def backlog(self, store: StoreKey, limit: int) -> list[IndexChange]:
        return await self._changes(store, "d.seq < 0 ORDER BY d.seq", limit)

    async def queue_backlog(self, store: StoreKey) -> None:
        async def work(tx: Transaction) -> None:
            key = store.user_id, store.no
            await tx.run("DELETE FROM content_change WHERE user_id = ?1 AND store_no = ?2 AND seq < 0", *key)
            await tx.run(
                "INSERT INTO content_change (seq, user_id, store_no, content_no) "
                "SELECT -no, user_id, store_no, no FROM content WHERE user_id = ?1 AND store_no = ?2 AND no NOT IN "
                "(SELECT content_no FROM content_change WHERE user_id = ?1 AND store_no = ?2)",
                *key,
            )

        await self._database.write(work)

    async def remove_changes(self, changes: Sequence[IndexChange]) -> None:
        async def work(tx: Transaction) -> None:
            await tx.run_many("DELETE FROM content_change WHERE seq = ?1", [(change.seq,) for change in changes])

        await self._database.write(work, is_optional=True)

    async def indexed_chunks(
        self, store: StoreKey, content_nos: Sequence[int], after: int, limit: int
    ) -> list[IndexedChunk]:
        places = ", ".join(f"?{number}" for number in range(4, len(content_nos) + 4))
        rows = await self._read(
            "SELECT k.content_no, k.number, k.no, k.text, c.filename FROM content_chunk k "
            "JOIN content c ON c.no = k.content_no "
            f"WHERE k.user_id = ?1 AND k.content_no IN ({places}) AND k.number > ?2 "
            "ORDER BY k.content_no, k.number LIMIT ?3",
            store.user_id,
            after,
            limit,
            *content_nos,
        )
        return [
            IndexedChunk(content_no, number, no, searched_text(name, number, text))
            for content_no, number, no, text, name in rows
        ]

    async def all_store_ids(self) -> list[str]:
        return [id for (id,) in await self._read("SELECT id FROM content_store WHERE deleted_at IS NULL")]

    async def _changes(self, store: StoreKey, which: str, limit: int) -> list[IndexChange]:
        rows = await self._read(
            "SELECT d.seq, d.content_no, coalesce(c.chunk_count, 0) FROM content_change d "
            "LEFT JOIN content c ON c.no = d.content_no "
            f"WHERE d.user_id = ?1 AND d.store_no = ?2 AND {which} LIMIT ?3",
            store.user_id,
            store.no,
            limit,
        )
        return [IndexChange(*row) for row in rows]

    async def _read(self, sql: str, *parameters: object) -> list[Row]:
        """Read what may be much, in a thread: `find` would read it on the event loop."""

        async def work(tx: Transaction) -> list[Row]:
            return await tx.all(sql, *parameters)

        return await self._database.read(work)
