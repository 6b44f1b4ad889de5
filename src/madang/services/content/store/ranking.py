"""Ranking on a database server: the words of each chunk are a column, and the server ranks within the store."""

from __future__ import annotations

import math
from collections.abc import Sequence

from madang.services.content.domain import Hit, StoreKey
from madang.storage.database import Database, Transaction

# BM25, as beside SQLite (k1 = 1.2, b = 0.75): the server's own ranking does not know how rare a word is, which in a
# question is almost everything. How often a word is in a chunk is read off its rank: for a word alone and weights of
# one, that is (1 + 1/4 + 1/9 + … + 1/n²) / 1.644934, which is 1 - 1 / (1.644934 * (n + 1/2)) to two places. The length
# of a chunk is the number of its different words; the usual one is that of the chunks that hold any of those asked for.
#
# It goes through the store once, whatever is asked: under row-level security no index of words can be used, because
# the operator that would ask it may not see rows before they are known to be the user's own.
_BEST = """
WITH asked AS (
  SELECT CAST(word AS tsquery) AS word, at FROM unnest(CAST(?2 AS text[])) WITH ORDINALITY AS w (word, at)
), hit AS MATERIALIZED (
  SELECT h.at, c.no, h.often, CAST(length(c.words) AS double precision) AS length
  FROM content_chunk c CROSS JOIN LATERAL (
    SELECT a.at, 1 / (1.644934 * (1.000001 - ts_rank('{1, 1, 1, 1}', c.words, a.word))) - 0.5 AS often
    FROM asked a WHERE c.words @@ a.word OFFSET 0
  ) h
  WHERE c.store_no = ?1
), held AS (
  SELECT at, count(*) AS many FROM hit GROUP BY at
), usual AS (
  SELECT avg(length) AS length, (SELECT sum(chunk_count) FROM content WHERE store_no = ?1) AS chunks FROM hit
), weight AS (
  SELECT a.at, CAST(ln(1 + (greatest(u.chunks - n.many, 0) + 0.5) / (n.many + 0.5)) AS double precision) AS weight
  FROM asked a CROSS JOIN usual u LEFT JOIN held ON held.at = a.at
  CROSS JOIN LATERAL (SELECT coalesce(held.many, 1) AS many) n
)
SELECT h.no, sum(w.weight * h.often / (h.often + 0.3 + 0.9 * h.length / u.length)) / (SELECT sum(weight) FROM weight)
  AS share
FROM hit h JOIN weight w ON w.at = h.at CROSS JOIN usual u GROUP BY h.no ORDER BY share DESC, h.no LIMIT ?3
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
        words = [_quoted(term) for term in terms]

        async def work(tx: Transaction) -> list[Hit]:
            rows = await tx.all(_BEST, store.no, words, limit)
            return [Hit(no, math.sqrt(min(max(share, 0.0), 1.0))) for no, share in rows]

        return await self._database.read(work, user_id=store.user_id)

    async def drop(self, store: StoreKey) -> None:
        """Nothing to do: the words went with their rows."""

    async def close(self) -> None:
        """Nothing to close: the database belongs to whoever opened it."""


def _quoted(token: str) -> str:
    escaped = token.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
