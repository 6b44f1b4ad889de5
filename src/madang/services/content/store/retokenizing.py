"""Making the words of contents anew that another version of the analysis has tokenized."""

from __future__ import annotations

import random
from collections.abc import Sequence

from madang.core.executor import WorkOwner
from madang.database.port import Database, Row, Transaction
from madang.records.analysis.analysis import Analysis
from madang.services.content.domain.contents import StoreKey, searched_text
from madang.services.content.store.vectors import tsvector_text, word_count
from madang.text.search.queries import Tokens

CHUNKS_PER_STEP = 64
"""As many are tokenized and written at once: others of the user may wait for the write."""

CONTENTS_PER_READ = 200

_STALE = f"""
SELECT no FROM content
WHERE user_id = ?1 AND store_no = ?2 AND no > ?3 AND (analysis <> ?4 OR analyzed_to IS NOT NULL)
ORDER BY no LIMIT {CONTENTS_PER_READ}
"""
_STATE = "SELECT filename, analysis, analyzed_to FROM content WHERE user_id = ?1 AND no = ?2"
_CHUNKS = f"""
SELECT no, number, text FROM content_chunk WHERE user_id = ?1 AND content_no = ?2 AND number > ?3
ORDER BY number LIMIT {CHUNKS_PER_STEP}
"""
_CLAIM = """
UPDATE content SET analysis = ?5, analyzed_to = ?6
WHERE user_id = ?1 AND no = ?2 AND analysis = ?3 AND analyzed_to IS NOT DISTINCT FROM CAST(?4 AS bigint)
"""
_NEW_WORDS = """
UPDATE content_chunk SET words = CAST(CAST(?4 AS text) AS tsvector), word_count = ?5
WHERE user_id = ?1 AND store_no = ?2 AND no = ?3
"""
_OUTDATE_PARTS = """
UPDATE content_part SET analysis = ''
WHERE user_id = ?1 AND store_no = ?2 AND analysis <> '' AND after_no < ?4 AND to_no >= ?3
"""


class Retokenizer:
    """Brings the words in the rows up to the current analysis, a few chunks at a time.

    How far it came is in the rows of the contents, so that any process goes on after a kill. Where several work on one
    store, the first to write a step wins, and the other goes on elsewhere.
    """

    def __init__(self, database: Database, analysis: Analysis) -> None:
        self._database = database
        self._analysis = analysis

    async def run(self, store: StoreKey) -> None:
        """Make the words of all contents of a store anew whose words are of another analysis."""
        after = 0
        while True:
            rows = await self._find(store, _STALE, store.user_id, store.no, after, self._analysis.name)
            if not rows:
                return
            after = rows[-1][0]
            random.shuffle(rows)  # several processes seldom meet then
            for (content_no,) in rows:
                while await self._step(store, content_no):
                    pass

    async def _step(self, store: StoreKey, content_no: int) -> bool:
        """Make the words of the next chunks of a content anew, and tell whether there may be more."""
        name = self._analysis.name
        state = await self._find(store, _STATE, store.user_id, content_no)
        if not state:
            return False
        filename, old_name, old_to = state[0]
        if old_name == name and old_to is None:
            return False
        after = old_to if old_name == name else -1
        chunks = await self._find(store, _CHUNKS, store.user_id, content_no, after)
        texts = [searched_text(filename, number, text) for _, number, text in chunks]
        tokens = await self._analysis.tokenize(WorkOwner(store.user_id, store.id), texts)
        if self._analysis.name != name:
            return False  # its dictionary turned out to be missing; the next run is under the other name
        analyzed_to = chunks[-1][1] if len(chunks) == CHUNKS_PER_STEP else None

        async def work(tx: Transaction) -> bool:
            values = store.user_id, content_no, old_name, old_to, name, analyzed_to
            if not await tx.run(_CLAIM, *values):
                return False
            await _write_words(tx, store, [no for no, _, _ in chunks], tokens)
            return analyzed_to is not None

        return await self._database.write(work, user_id=store.user_id)

    async def _find(self, store: StoreKey, sql: str, *parameters: object) -> list[Row]:
        return await self._database.find(sql, *parameters, user_id=store.user_id)


async def _write_words(tx: Transaction, store: StoreKey, numbers: Sequence[int], tokens: Sequence[Tokens]) -> None:
    if not numbers:
        return
    key = store.user_id, store.no
    rows = [(*key, no, tsvector_text(one), word_count(one)) for no, one in zip(numbers, tokens, strict=True)]
    await tx.run_many(_NEW_WORDS, rows)
    await tx.run(_OUTDATE_PARTS, *key, min(numbers), max(numbers))
