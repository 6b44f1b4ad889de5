"""Searching the passages of a store: query to terms, ranking, rows, snippets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from madang.core.calls import Call
from madang.core.errors import Unavailable
from madang.core.executor import Executor
from madang.services.content.domain import (
    Passage,
    RankedChunk,
    Ranking,
    SearchMatch,
    SearchMatches,
    SearchOptions,
    StoreKey,
)
from madang.services.content.engine.snippets import snippet
from madang.storage.database import LOCK_WAIT_S
from madang.storage.search.tokens import Tokenizer, highlight_terms

TOKENIZE_INLINE_MAX_CHARS = 200
RETRY_EXTRA_CHUNKS = 5
"""Ranked in addition after a ranked chunk turned out to be deleted meanwhile."""


class SearchableContents(Protocol):
    """The rows that passages are read from: a `ContentStore`."""

    async def find_store_and_lag(self, call: Call, id: str) -> tuple[StoreKey | None, bool]: ...
    async def passages(self, store: StoreKey, ranked: Sequence[RankedChunk]) -> tuple[list[Passage], bool]: ...


class PassageSearch:
    """Finds the passages of a store that match a query."""

    def __init__(
        self, contents: SearchableContents, ranking: Ranking, tokenizer: Tokenizer, executor: Executor
    ) -> None:
        self._contents = contents
        self._ranking = ranking
        self._tokenizer = tokenizer
        self._executor = executor

    async def search(self, call: Call, store_id: str, query: str, options: SearchOptions) -> SearchMatches:
        """Return the best passages of a store, best first.

        Raises:
            NotFound: the session has no such store.
        """
        store, index_lags = await self._contents.find_store_and_lag(call, store_id)
        terms = await self._terms(call, query)
        # A Korean query of particles alone has no terms: every text has particles, so no index does.
        if store is None or not terms:
            return SearchMatches([])
        passages, is_current = await self._passages(store, terms, options, index_lags)
        highlights = highlight_terms(terms, query)
        matches = [SearchMatch(passage, snippet(passage.chunk.text, highlights)) for passage in passages]
        return SearchMatches(matches, is_current)

    async def _terms(self, call: Call, query: str) -> list[str]:
        # The first Hangul loads the dictionary, and a long query takes a while: both would hold up the event loop.
        if len(query) < TOKENIZE_INLINE_MAX_CHARS and query.isascii():
            return self._tokenizer.terms(query)
        return await self._executor.slow.run(call, self._tokenizer.terms, query)

    async def _passages(
        self, store: StoreKey, terms: list[str], options: SearchOptions, index_lags: bool
    ) -> tuple[list[Passage], bool]:
        """Rank, and once again if contents were added or deleted between ranking and reading the rows.

        Where the index cannot be brought up to date in time, what it has is ranked: a read must not wait for a process
        that was stopped.
        """
        passages: list[Passage] = []
        is_current = True
        for extra in (0, RETRY_EXTRA_CHUNKS):
            failure: Unavailable | None = None
            if index_lags:
                try:
                    is_current = await self._ranking.update(store, LOCK_WAIT_S)
                except Unavailable as error:
                    is_current, failure = False, error
            try:
                ranked = await self._ranking.rank(store, terms, options.top_n + extra, may_wait=is_current)
            except Unavailable as error:
                raise failure or error from None
            is_current = is_current and ranked.is_current
            chunks = [chunk for chunk in ranked.chunks if chunk.relevance >= options.threshold]
            passages, index_lags = await self._contents.passages(store, chunks)
            if not is_current or (not index_lags and len(passages) == len(chunks)):
                break
        return passages[: options.top_n], is_current
