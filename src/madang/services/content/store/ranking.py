"""Ranking on a database server: the tokens of each chunk are a column, and one statement ranks within the store."""

from __future__ import annotations

import math
from typing import ClassVar

from madang.services.content.domain import Ranked, RankedChunk, StoreKey
from madang.storage.database import Database, Transaction
from madang.storage.search.queries import Query, Tokens

# BM25, as beside SQLite (k1 = 1.2, b = 0.75): the server's own ranking does not weigh words by their rarity, on which
# most of the result depends. The frequency of a word in a chunk is derived from its rank: for a single word and weights
# of one, that is (1 + 1/4 + 1/9 + … + 1/n²) / 1.644934, which is 1 - 1 / (1.644934 * (n + 1/2)) to two places. The
# length of a chunk is the number of its distinct words; the average is taken over the chunks with any of the terms.
#
# Each query scans the store once: under row-level security no index of words can be used, because its operator may not
# see rows before they are known to be the user's own.
_BEST = """
WITH asked AS (
  SELECT CAST(word AS tsquery) AS word, at FROM unnest(CAST(?2 AS text[])) WITH ORDINALITY AS w (word, at)
), hit AS MATERIALIZED (
  SELECT h.at, c.no, h.often, CAST(length(c.words) AS double precision) AS length
  FROM content_chunk c CROSS JOIN LATERAL (
    SELECT a.at, 1 / (1.644934 * (1.000001 - ts_rank('{1, 1, 1, 1}', c.words, a.word))) - 0.5 AS often
    FROM asked a WHERE c.words @@ a.word OFFSET 0
  ) h
  WHERE c.user_id = ?4 AND c.store_no = ?1
), held AS (
  SELECT at, count(*) AS many FROM hit GROUP BY at
), usual AS (
  SELECT avg(length) AS length,
    (SELECT sum(chunk_count) FROM content WHERE user_id = ?4 AND store_no = ?1) AS chunks FROM hit
), weight AS (
  SELECT a.at, CAST(ln(1 + (greatest(u.chunks - n.many, 0) + 0.5) / (n.many + 0.5)) AS double precision) AS weight
  FROM asked a CROSS JOIN usual u LEFT JOIN held ON held.at = a.at
  CROSS JOIN LATERAL (SELECT coalesce(held.many, 1) AS many) n
)
SELECT h.no, sum(w.weight * h.often / (h.often + 0.3 + 0.9 * h.length / u.length)) / (SELECT sum(weight) FROM weight)
  AS share
FROM hit h JOIN weight w ON w.at = h.at CROSS JOIN usual u GROUP BY h.no ORDER BY share DESC, h.no LIMIT ?3
"""


def tsvector_text(tokens: Tokens) -> str:
    """Return tokens as the text of a tsvector, with their positions, because the server ranks by their number."""
    # 16,383 is the largest position that PostgreSQL stores, and 255 the most positions of one token.
    positions: dict[str, list[str]] = {}
    for position, token in enumerate(tokens.words, start=1):
        positions.setdefault(token, []).append(str(min(position, 16_383)))
    return " ".join(f"{_quoted(token)}:{','.join(at[:255])}" for token, at in positions.items())


class ServerRanking:
    """Full-text search by the server. Tokens are committed with their rows, so there is nothing to update."""

    needs_stored_tokens: ClassVar[bool] = True

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        """Nothing to remove: what a killed process did not commit was rolled back."""

    def follow(self, store: StoreKey) -> None:
        """Nothing to do: tokens are committed with their rows."""

    async def update(self, store: StoreKey, timeout_s: float) -> bool:
        """Nothing to do: tokens are committed with their rows."""
        return True

    async def rank(self, store: StoreKey, query: Query, limit: int, *, may_wait: bool = True) -> Ranked:
        words = [_quoted(term) for term in query.words]

        async def work(tx: Transaction) -> Ranked:
            rows = await tx.all(_BEST, store.no, words, limit, store.user_id)
            return Ranked([RankedChunk(no, math.sqrt(min(max(share, 0.0), 1.0))) for no, share in rows])

        return await self._database.read(work, user_id=store.user_id)

    async def drop(self, store: StoreKey) -> None:
        """Nothing to do: tokens are deleted with their rows."""

    async def close(self) -> None:
        """Nothing to close: the database belongs to the composition root."""


def _quoted(token: str) -> str:
    escaped = token.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
