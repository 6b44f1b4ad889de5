"""Ranking on a database server, by one statement, within one store.

The tokens of each chunk are a column. In a large store the words of the older chunks are also in parts (`parts`), by
which they are found without looking at every chunk; the young ones are looked through.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import ClassVar

from madang.database.port import Database
from madang.records.analysis.analysis import Analysis
from madang.services.content.domain.contents import StoreKey
from madang.services.content.domain.search import Ranked, RankedChunk
from madang.services.content.store.maintenance import StoreMaintenance
from madang.services.content.store.parts import MAX_CHUNK_NO, MAX_TIMES, Parts
from madang.services.content.store.retokenizing import Retokenizer
from madang.services.content.store.vectors import lexeme, quoted
from madang.text.search.queries import MAX_QUERY_TERMS, Query, Term, best_spellings, rarest_terms

# BM25 with k1 = 1.2 and b = 0.6; the 0.75 that tantivy has beside SQLite loses .002 on KorQuAD here. The server's own
# ranking does not weigh words by their rarity, on which most of the result depends. In a young chunk the frequency of a
# word is derived from its rank: for a single word and weights of one, that is (1 + 1/4 + 1/9 + … + 1/n²) / 1.644934,
# which is 1 - 1 / (1.644934 * (n + 1/2)) to two places.
#
# Of the young chunks each is looked at: under row-level security no index of a column of tokens can be used, because
# its operator may not see rows before they are known to be the user's own. For `word = …` the server knows that it
# gives nothing away. The conditions on the user are for the planner; row-level security decides.
#
# Scores are compared as REAL: sums that differ only by the order of addition are equal then, and the number decides.
# Deleted chunks are still in their parts: more are ranked for them, and the rows decide. The last column tells whether
# those were enough.

_K1_FIXED, _K1_PER_LENGTH = 0.48, 0.72

MAX_YOUNG_READ = 2_048
"""Young chunks that are looked through for other spellings of a word."""

_IS_YOUNG = f"c.no > (SELECT to_no FROM total) AND c.no < (SELECT to_no + {MAX_CHUNK_NO} FROM total)"
"""With an end, though none is ever reached: the planner then expects few, and does not compile the statement."""

_BEST = f"""
WITH asked AS MATERIALIZED (
  SELECT word, CAST(quoted AS tsquery) AS query, weight, is_full
  FROM unnest(CAST(?2 AS text[]), CAST(?5 AS text[]), CAST(?6 AS double precision[]), CAST(?8 AS boolean[]))
    AS a (word, quoted, weight, is_full)
), part AS MATERIALIZED (
  SELECT no, to_no, chunks, length, gone FROM content_part WHERE user_id = ?4 AND store_no = ?1
), total AS MATERIALIZED (
  SELECT coalesce(sum(chunks), 0) AS chunks, coalesce(sum(length), 0) AS length, coalesce(max(to_no), 0) AS to_no,
    ?7 + least(coalesce(sum(gone), 0), ?7) AS ranked FROM part
), posting AS MATERIALIZED (
  SELECT w.word, w.many, w.hits FROM part p CROSS JOIN LATERAL (
    SELECT w.word, w.many, w.hits FROM content_word w
    WHERE w.user_id = ?4 AND w.store_no = ?1 AND w.part_no = p.no AND w.word = ANY (CAST(?2 AS text[])) OFFSET 0
  ) w
), young AS MATERIALIZED (
  SELECT c.no, CAST(coalesce(c.word_count, length(c.words)) AS double precision) AS length, h.word, h.times
  FROM content_chunk c CROSS JOIN LATERAL (
    SELECT a.word, least(
      round(1 / (1.644934 * (1.000001 - ts_rank('{{1, 1, 1, 1}}', c.words, a.query))) - 0.5), {MAX_TIMES}
    ) AS times
    FROM asked a WHERE c.words @@ a.query OFFSET 0
  ) h
  WHERE c.user_id = ?4 AND c.store_no = ?1 AND {_IS_YOUNG}
), usual AS MATERIALIZED (
  SELECT CAST(t.chunks + y.chunks AS double precision) AS chunks,
    {_K1_PER_LENGTH} * (t.chunks + y.chunks) / CAST(greatest(t.length + y.length, 1) AS double precision) AS per_word
  FROM total t CROSS JOIN (
    SELECT count(*) AS chunks, coalesce(sum(coalesce(word_count, length(words))), 0) AS length
    FROM content_chunk c WHERE user_id = ?4 AND store_no = ?1 AND {_IS_YOUNG}
  ) y
), held AS MATERIALIZED (
  SELECT word, CAST(sum(many) AS double precision) AS many FROM (
    SELECT word, many FROM posting UNION ALL SELECT word, count(*) FROM young GROUP BY word
  ) m GROUP BY word
), weight AS MATERIALIZED (
  SELECT a.word, a.weight * ln(1 + (greatest(u.chunks - n.many, 0) + 0.5) / (n.many + 0.5)) AS weight, u.per_word,
    a.is_full, held.word IS NULL AS is_absent
  FROM asked a CROSS JOIN usual u LEFT JOIN held ON held.word = a.word
  CROSS JOIN LATERAL (SELECT coalesce(held.many, 1) AS many) n
), highest AS MATERIALIZED (
  SELECT coalesce(sum(weight) FILTER (WHERE is_full), sum(weight)) AS upper FROM weight
), old AS MATERIALIZED (
  SELECT h >> 16 AS no, CAST(sum(
    w.weight * ((h >> 12) & 15) / (((h >> 12) & 15) + CAST({_K1_FIXED} AS double precision) + w.per_word * (h & 4095))
  ) AS real) AS score
  FROM posting p JOIN weight w ON w.word = p.word CROSS JOIN LATERAL unnest(p.hits) AS h
  GROUP BY 1 ORDER BY score DESC, no LIMIT (SELECT ranked FROM total)
), live AS MATERIALIZED (
  SELECT no, score FROM old
  WHERE EXISTS (SELECT 1 FROM content_chunk c WHERE c.user_id = ?4 AND c.store_no = ?1 AND c.no = old.no)
), best AS MATERIALIZED (
  SELECT no, score FROM live
  UNION ALL
  (SELECT y.no, CAST(sum(
     w.weight * y.times / (y.times + CAST({_K1_FIXED} AS double precision) + w.per_word * y.length)
   ) AS real)
   FROM young y JOIN weight w ON w.word = y.word GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?3)
)
SELECT b.nos, b.shares, ARRAY(SELECT word FROM weight WHERE is_absent),
  (SELECT count(*) FROM live) >= ?3 OR (SELECT count(*) FROM old) < (SELECT ranked FROM total)
FROM (
  SELECT array_agg(no ORDER BY score DESC, no) AS nos,
    array_agg(score / (SELECT upper FROM highest) ORDER BY score DESC, no) AS shares
  FROM (SELECT no, score FROM best ORDER BY score DESC, no LIMIT ?3) b
) b
"""

# The vocabulary says which of very many words are in any part at all. Of the young chunks the newest are looked
# through: there are many only until they are folded. A join, because the server hashes an array only if it is constant.
_FREQUENCIES = f"""
WITH total AS MATERIALIZED (
  SELECT coalesce(max(to_no), 0) AS to_no FROM content_part WHERE user_id = ?2 AND store_no = ?1
), word AS MATERIALIZED (
  SELECT coalesce(array_agg(word), '{{}}') AS words FROM content_vocabulary
  WHERE user_id = ?2 AND store_no = ?1 AND word = ANY (CAST(?3 AS text[]))
)
SELECT word, CAST(sum(many) AS bigint) FROM (
  SELECT w.word, w.many FROM content_part p CROSS JOIN LATERAL (
    SELECT w.word, w.many FROM content_word w
    WHERE w.user_id = ?2 AND w.store_no = ?1 AND w.part_no = p.no
      AND w.word = ANY (CAST((SELECT words FROM word) AS text[])) OFFSET 0
  ) w WHERE p.user_id = ?2 AND p.store_no = ?1
  UNION ALL
  SELECT y.word, count(*) FROM (
    SELECT unnest(tsvector_to_array(words)) AS word FROM (
      SELECT words FROM content_chunk c WHERE c.user_id = ?2 AND c.store_no = ?1 AND {_IS_YOUNG}
      ORDER BY no DESC LIMIT {MAX_YOUNG_READ}
    ) c
  ) y JOIN unnest(CAST(?3 AS text[])) AS a (word) ON a.word = y.word GROUP BY y.word
) m GROUP BY word
"""


class ServerRanking:
    """Full-text search by the server. Tokens are committed with their rows, so there is nothing to update."""

    needs_stored_tokens: ClassVar[bool] = True

    def __init__(self, database: Database, analysis: Analysis) -> None:
        self._database = database
        self._maintenance = StoreMaintenance(Parts(database), Retokenizer(database, analysis), analysis)

    async def open(self) -> None:
        """Nothing to remove: what a killed process did not commit was rolled back."""

    def follow(self, store: StoreKey) -> None:
        """Tokens are committed with their rows; whether they also go into parts is looked at in a while."""
        self._maintenance.request(store)

    async def update(self, store: StoreKey, timeout_s: float) -> bool:
        """Nothing to do: tokens are committed with their rows."""
        return True

    async def rank(self, store: StoreKey, query: Query, limit: int, *, may_wait: bool = True) -> Ranked:
        self._maintenance.request_first(store)
        chunks, absent = await self._best(store, await self._rarest(store, query.terms), limit)
        if query.typed and absent:
            respelled = await self._respelled(store, query, absent)
            if respelled is not None:
                chunks, _ = await self._best(store, await self._rarest(store, respelled.terms), limit)
        return Ranked(chunks)

    async def drop(self, store: StoreKey) -> None:
        """Nothing to do: tokens are deleted with their rows."""

    async def close(self) -> None:
        """End the maintenance; the database belongs to the composition root."""
        await self._maintenance.close()

    async def _best(
        self, store: StoreKey, terms: Sequence[Term], limit: int
    ) -> tuple[list[RankedChunk], frozenset[Term]]:
        """Return the best chunks with any of the terms, best first, and the terms that no chunk of the store has."""
        lexemes = [lexeme(term) for term in terms]
        queries, weights = [quoted(one) for one in lexemes], [term.weight for term in terms]
        values = store.no, lexemes, limit, store.user_id, queries, weights
        ranked_count = limit
        while True:
            [(numbers, shares, absent, is_enough)] = await self._database.find(
                _BEST, *values, ranked_count, [term.is_full for term in terms], user_id=store.user_id
            )
            if is_enough:
                break
            ranked_count *= 4  # deleted chunks took the places of others
        chunks = [RankedChunk(no, _relevance(share)) for no, share in zip(numbers or (), shares or (), strict=True)]
        return chunks, frozenset(term for term, one in zip(terms, lexemes, strict=True) if one in set(absent))

    async def _rarest(self, store: StoreKey, terms: Sequence[Term]) -> Sequence[Term]:
        """Return the terms to rank by."""
        if len(terms) <= MAX_QUERY_TERMS:
            return terms
        counts = await self._frequencies(store, list(map(lexeme, terms)))
        return rarest_terms(terms, {term: counts.get(lexeme(term), 0) for term in terms})

    async def _respelled(self, store: StoreKey, query: Query, absent: Collection[Term]) -> Query | None:
        """Return the query with other spellings of words that the store does not have; None if it has those neither."""
        if not any(term.is_full for term in absent):
            return None
        words = query.unknown_words({term.text for term in query.terms if term not in absent})
        if not words:
            return None
        # On use: most queries have no such word.
        from madang.text.search.spelling import spellings

        variants = [spellings(word.text) for word in words]
        terms = [Term(text, is_weak=is_weak) for texts in variants for text in texts for is_weak in (False, True)]
        counts = await self._frequencies(store, list(map(lexeme, terms)))
        found: list[str] = []
        for texts in variants:
            found += best_spellings({text: sum(counts.get(one, 0) for one in _lexemes(text)) for text in texts})
        return query.respelled(found) if found else None

    async def _frequencies(self, store: StoreKey, lexemes: Sequence[str]) -> dict[str, int]:
        """Return how many chunks have each of these, without those that none has."""
        rows = await self._database.find(
            _FREQUENCIES, store.no, store.user_id, list(dict.fromkeys(lexemes)), user_id=store.user_id
        )
        return {word: int(count) for word, count in rows}


def _lexemes(text: str) -> tuple[str, str]:
    return lexeme(Term(text)), lexeme(Term(text, is_weak=True))


def _relevance(share: float) -> float:
    return math.sqrt(min(max(share, 0.0), 1.0))
