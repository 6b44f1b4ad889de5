"""Ranking on a database server: the words of each chunk are a column, and the server ranks within the store."""

from __future__ import annotations

import math
from collections.abc import Sequence

from madang.services.content.domain import Hit, StoreKey
from madang.storage.database import Database, Transaction

# Each weight is 1, so that a chunk with every word many times comes near to 1.
_BEST = """
SELECT c.no, ts_rank('{1, 1, 1, 1}', c.words, q.words) AS rank
FROM content_chunk c, (SELECT CAST(CAST(?2 AS text) AS tsquery) AS words) q
WHERE c.store_no = ?1 AND c.words @@ q.words
ORDER BY rank DESC, c.no LIMIT ?3
"""


def words_of(tokens: Sequence[str]) -> str:
    """Return tokens as the text of a tsvector, with their places, because the server ranks by how many there are."""
    places: dict[str, list[str]] = {}
    for place, token in enumerate(tokens, start=1):
        places.setdefault(token, []).append(str(min(place, 16_383)))
    return " ".join(f"{_quoted(token)}:{','.join(at[:255])}" for token, at in places.items())


class ServerRanking:
    """The server's own full-text search. Its words are rows like any other: nothing has to be brought up."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        """Nothing to clear: what a killed process did not commit is not there."""

    async def update(self, store: StoreKey) -> None:
        """Nothing to do: words are committed with their rows."""

    async def rank(self, store: StoreKey, terms: Sequence[str], limit: int) -> list[Hit]:
        query = " | ".join(map(_quoted, terms))

        async def work(tx: Transaction) -> list[Hit]:
            return [Hit(no, math.sqrt(min(rank, 1.0))) for no, rank in await tx.all(_BEST, store.no, query, limit)]

        return await self._database.read(work, user_id=store.user_id)

    async def drop(self, store: StoreKey) -> None:
        """Nothing to do: the words went with their rows."""

    async def close(self) -> None:
        """Nothing to close: the database belongs to whoever opened it."""


def _quoted(token: str) -> str:
    escaped = token.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
