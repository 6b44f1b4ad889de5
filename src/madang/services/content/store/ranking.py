"""Ranking on a database server: the words of each chunk are a column, and the server ranks within the store."""

from __future__ import annotations

import math
from collections.abc import Sequence

from madang.services.content.domain import Hit, StoreKey
from madang.storage.database import Database, Transaction

# The server's own ranking does not know how rare a word is, which in a question is almost everything. So each word is
# ranked by itself, which says how often it is in a chunk (from 0.6 for once towards 1), and weighs as BM25 has it:
# by the number of chunks of this store that hold it. Long chunks count a little less (1: by the logarithm).
_BEST = """
WITH asked AS (
  SELECT CAST(word AS tsquery) AS word, at FROM unnest(CAST(?2 AS text[])) WITH ORDINALITY AS w (word, at)
), hit AS MATERIALIZED (
  SELECT a.at, c.no, ts_rank('{1, 1, 1, 1}', c.words, a.word, 1) AS rank
  FROM asked a JOIN content_chunk c ON c.words @@ a.word WHERE c.store_no = ?1
), weight AS (
  SELECT a.at, ln(1 + (t.total - n.many + 0.5) / (n.many + 0.5)) AS weight
  FROM asked a
  CROSS JOIN (SELECT count(*) AS total FROM content_chunk WHERE store_no = ?1) t
  CROSS JOIN LATERAL (SELECT greatest(count(*), 1) AS many FROM hit WHERE hit.at = a.at) n
)
SELECT h.no, CAST(sum(h.rank * w.weight) / (SELECT sum(weight) FROM weight) AS double precision) AS share
FROM hit h JOIN weight w ON w.at = h.at GROUP BY h.no ORDER BY share DESC, h.no LIMIT ?3
"""


# What the server divides the rank of a chunk of 150 words by: such a chunk is as relevant here as beside SQLite.
_LONG = 1 + math.log(150)


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
        words = [_quoted(term) for term in terms]

        async def work(tx: Transaction) -> list[Hit]:
            rows = await tx.all(_BEST, store.no, words, limit)
            return [Hit(no, math.sqrt(min(max(share * _LONG, 0.0), 1.0))) for no, share in rows]

        return await self._database.read(work, user_id=store.user_id)

    async def drop(self, store: StoreKey) -> None:
        """Nothing to do: the words went with their rows."""

    async def close(self) -> None:
        """Nothing to close: the database belongs to whoever opened it."""


def _quoted(token: str) -> str:
    escaped = token.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
