"""Parts: the words of the older chunks of a large store on a database server, by which a search finds them.

A part is made once from `PART_CHUNKS` consecutive chunks and then never changes, except for the number of its chunks
that are gone. Chunks after the last part are young: a search looks through them. So an addition costs nothing more, and
folding young chunks into a part happens later, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from madang.database.port import Database, Transaction
from madang.services.content.domain.contents import StoreKey

PART_CHUNKS = 1_024
"""More make a fold longer, fewer make a search look into more parts."""

MAX_TIMES = 15
MAX_LENGTH = 4_095
"""How often a word can count in a chunk and how many words the chunk can have, as a hit holds them."""

MAX_CHUNK_NO = 2**47

# A hit is a number of 64 bits: the chunk's number, how often it has the word (4 bits), how many words it has (12 bits).
# One statement, so that the part and its words are of one snapshot. Another process may be making words anew: a part
# with contents that it has not finished is of no analysis, and is made anew after it.
_FOLD = f"""
WITH chunk AS MATERIALIZED (
  SELECT no, content_no, words, coalesce(word_count, length(words)) AS length FROM content_chunk
  WHERE user_id = ?1 AND store_no = ?2 AND no > ?3 AND no <= ?4
), part AS (
  INSERT INTO content_part (user_id, store_no, after_no, to_no, chunks, length, analysis)
  SELECT ?1, ?2, ?3, ?4, count(*), sum(length), CASE WHEN EXISTS (
    SELECT 1 FROM content WHERE user_id = ?1 AND no IN (SELECT content_no FROM chunk)
      AND (analysis <> ?5 OR analyzed_to IS NOT NULL)
  ) THEN '' ELSE ?5 END FROM chunk HAVING count(*) > 0 RETURNING no
), word AS (
  INSERT INTO content_word (user_id, store_no, part_no, word, many, hits)
  SELECT ?1, ?2, part.no, w.word, count(*), array_agg(
    (w.no << 16) | (CAST(least(w.times, {MAX_TIMES}) AS bigint) << 12) | least(w.length, {MAX_LENGTH}))
  FROM part CROSS JOIN (
    SELECT c.no, c.length, cardinality(w.positions) AS times, CAST(w.lexeme AS text) COLLATE "C" AS word
    FROM chunk c CROSS JOIN LATERAL unnest(c.words) AS w
  ) w GROUP BY part.no, w.word RETURNING word
)
INSERT INTO content_vocabulary (user_id, store_no, word) SELECT ?1, ?2, word FROM word ON CONFLICT DO NOTHING
"""
_AS_USER = "SELECT set_config('madang.user_id', ?1, true)"
_TRY_LOCK = (
    "SELECT pg_try_advisory_xact_lock(hashtextextended("
    "'madang/parts/' || CAST(?1 AS text) || '/' || CAST(CAST(?2 AS bigint) AS text), 0))"
)
_NEXT_RANGE = """
SELECT p.to_no, c.no
FROM (SELECT coalesce(max(to_no), 0) AS to_no FROM content_part WHERE user_id = ?1 AND store_no = ?2) p
CROSS JOIN LATERAL (
  SELECT no FROM content_chunk WHERE user_id = ?1 AND store_no = ?2 AND no > p.to_no AND no <= ?3
  ORDER BY no LIMIT 1 OFFSET ?4 - 1
) c
"""
_LAST = "SELECT coalesce(max(no), 0) FROM content_chunk WHERE user_id = ?1 AND store_no = ?2"
_PARTS = """
SELECT no, after_no, to_no, chunks, gone, analysis FROM content_part
WHERE user_id = ?1 AND store_no = ?2 AND after_no >= ?3 ORDER BY after_no
"""
_DELETE_PARTS = "DELETE FROM content_part WHERE user_id = ?1 AND store_no = ?2 AND no = ANY (?3)"
_COUNT_DELETED = """
UPDATE content_part p SET gone = p.gone + d.chunks FROM (
  SELECT q.no, count(*) AS chunks FROM content_chunk c JOIN content_part q
    ON q.user_id = c.user_id AND q.store_no = c.store_no AND c.no > q.after_no AND c.no <= q.to_no
  WHERE c.user_id = ?1 AND c.store_no = ?2 AND c.content_no = ?3 GROUP BY q.no
) d
WHERE p.user_id = ?1 AND p.store_no = ?2 AND p.no = d.no
"""


async def count_deleted(tx: Transaction, store: StoreKey, content_no: int) -> None:
    """Count the chunks of a content that is about to be deleted as gone from their parts."""
    await tx.run(_COUNT_DELETED, store.user_id, store.no, content_no)


class Part(NamedTuple):
    """A row of `content_part`: it has the words of the chunks after `after_no` up to `to_no`."""

    no: int
    after_no: int
    to_no: int
    chunks: int
    gone: int
    analysis: str

    @property
    def left(self) -> int:
        return self.chunks - self.gone

    def is_due(self, analysis: str) -> bool:
        """Whether it is to be made anew: a quarter of its chunks is gone, or others made the words."""
        return 4 * self.gone >= self.chunks or self.analysis != analysis


class Parts:
    """Makes the parts of stores. Of several processes, one works on a store at a time; others leave it to that one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def fold_next(self, store: StoreKey, fence: int, analysis: str) -> bool:
        """Make a part of the oldest young chunks up to number `fence`; False if they are too few."""

        async def work(tx: Transaction) -> bool:
            key = await _claim(tx, store)
            if key is None:
                return False
            range = await tx.one(_NEXT_RANGE, *key, fence, PART_CHUNKS)
            if range is None:
                return False
            await tx.run(_FOLD, *key, *range, analysis)
            return True

        # Not as a write of the user, which others may have to wait for: a fold takes a second.
        return await self._database.write_across_users(work)

    async def find_fence(self, store: StoreKey) -> int:
        """Return a number such that every chunk up to it is committed, or never will be; 0 if there are few young ones.

        Numbers are drawn before commits: a fold could pass over a lower one that is committed later, and that chunk
        would be neither young nor in a part. While no other unit of the user writes, there is none.

        Raises:
            Unavailable: the user's other units do not leave a gap.
        """
        key = store.user_id, store.no
        if not await self._database.find(_NEXT_RANGE, *key, MAX_CHUNK_NO, PART_CHUNKS, user_id=store.user_id):
            return 0

        async def work(tx: Transaction) -> int:
            row = await tx.one(_LAST, *key)
            return int(row[0]) if row else 0

        return await self._database.write_alone(work, user_id=store.user_id)

    async def rebuild_next(self, store: StoreKey, after_no: int, analysis: str) -> int | None:
        """Make the next part after a chunk's number anew that is due, together with those after it that fit in.

        Return up to which chunk that was; None if no part is due.
        """

        async def work(tx: Transaction) -> int | None:
            key = await _claim(tx, store)
            if key is None:
                return None
            replaced = _next_due([Part(*row) for row in await tx.all(_PARTS, *key, after_no)], analysis)
            if not replaced:
                return None
            await tx.run(_FOLD, *key, replaced[0].after_no, replaced[-1].to_no, analysis)
            # Last: a deletion of a content waits for it.
            numbers = [part.no for part in replaced]
            await tx.run(
                "DELETE FROM content_part WHERE user_id = ?1 AND store_no = ?2 AND no = ANY (?3)", *key, numbers
            )
            return True

        return await self._database.write_across_users(work)


def _next_due(parts: Sequence[Part], analysis: str) -> Sequence[Part]:
    """Return the first part that is due, with as many after it as fit into one with it."""
    first = next((place for place, part in enumerate(parts) if part.is_due(analysis)), len(parts))
    sizes = accumulate(part.left for part in parts[first:])
    count = sum(size <= PART_CHUNKS for size in sizes)
    return parts[first : first + max(count, 1)]


async def _claim(tx: Transaction, store: StoreKey) -> tuple[str, int] | None:
    """Return the key of the store's rows if this unit may work on its parts."""
    await tx.one(_AS_USER, store.user_id)
    row = await tx.one(_TRY_LOCK, store.user_id, store.no)
    return (store.user_id, store.no) if row and row[0] else None
