"""The rows as a search index beside the database sees them: of all users, with a queue of what it lacks."""

from __future__ import annotations

from collections.abc import Sequence

from madang.services.content.domain import IndexChange, StoreKey, searched_text
from madang.storage.database import Database, Row, Transaction


class IndexQueue:
    """The queue of contents that an index has to add or remove, and their chunks. `ContentStore` fills it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def pending_changes(self, store: StoreKey) -> list[IndexChange]:
        rows = await self._database.find(
            "SELECT seq, content_no FROM content_change WHERE user_id = ?1 AND store_no = ?2 ORDER BY seq",
            store.user_id,
            store.no,
        )
        return [IndexChange(*row) for row in rows]

    async def queue_all(self, store: StoreKey) -> None:
        async def work(tx: Transaction) -> None:
            await tx.run(
                "INSERT INTO content_change (user_id, store_no, content_no) "
                "SELECT user_id, store_no, no FROM content WHERE user_id = ?1 AND store_no = ?2 ORDER BY no",
                store.user_id,
                store.no,
            )

        await self._database.write(work)

    async def remove_changes(self, changes: Sequence[IndexChange]) -> None:
        async def work(tx: Transaction) -> None:
            await tx.run_many("DELETE FROM content_change WHERE seq = ?1", [(change.seq,) for change in changes])

        await self._database.write(work, is_optional=True)

    async def indexed_chunks(self, content_no: int, after: int, limit: int) -> list[tuple[int, int, str]]:
        async def work(tx: Transaction) -> list[tuple[int, int, str]]:
            rows = await tx.all(
                "SELECT k.number, k.no, k.text, c.filename FROM content c "
                "JOIN content_chunk k ON k.user_id = c.user_id AND k.content_no = c.no "
                "WHERE c.no = ?1 AND k.number > ?2 ORDER BY k.number LIMIT ?3",
                content_no,
                after,
                limit,
            )
            return [(number, no, searched_text(name, number, text)) for number, no, text, name in rows]

        return await self._database.read(work)

    async def all_store_ids(self) -> list[str]:
        async def work(tx: Transaction) -> list[Row]:
            return await tx.all("SELECT id FROM content_store")

        return [id for (id,) in await self._database.read(work)]
