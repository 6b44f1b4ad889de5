"""Searching the passages of a store: query to terms, ranking, rows, snippets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from madang.core.calls import Call
from madang.core.errors import Unavailable
from madang.records.analysis.analysis import Analysis
from madang.services.content.domain.arguments import SearchOptions
from madang.services.content.domain.contents import StoreKey
from madang.services.content.domain.search import (
    MAX_UPDATE_S,
    Passage,
    RankedChunk,
    Ranking,
    SearchMatch,
    SearchMatches,
)
from madang.text.search.queries import Query
from madang.text.search.tokens import phrase_form

RETRY_EXTRA_CHUNKS = 5
"""Ranked in addition after a ranked chunk turned out to be deleted meanwhile."""

PHRASE_CANDIDATES = 200
"""Of the passages with the words of a phrase, so many are looked at for the phrase itself."""


class SearchableContents(Protocol):
    """The rows that passages are read from: a `ContentStore`."""

    async def find_store_and_lag(self, call: Call, id: str) -> tuple[StoreKey | None, bool]: ...
    async def passages(self, store: StoreKey, ranked: Sequence[RankedChunk]) -> tuple[list[Passage], bool]: ...


class PassageSearch:
    """Finds the passages of a store that match a query."""

    def __init__(self, contents: SearchableContents, ranking: Ranking, analysis: Analysis) -> None:
        self._contents = contents
        self._ranking = ranking
        self._analysis = analysis

    async def search(self, call: Call, store_id: str, text: str, options: SearchOptions) -> SearchMatches:
        """Return the best passages of a store, best first.

        Raises:
            NotFound: the session has no such store.
        """
        store, index_lags = await self._contents.find_store_and_lag(call, store_id)
        query = await self._analysis.parse_query(call, text)
        # A Korean query of particles alone has no terms: every text has particles, so no index does.
        if store is None or not query.terms:
            return SearchMatches([])
        passages, *state = await self._passages(store, query, options, index_lags)
        if not passages:
            return SearchMatches([], *state)
        # On use: most sessions never search.
        from madang.services.content.engine.snippets import snippet
        from madang.text.search.highlights import Highlights

        words = Highlights(query, text)
        matches = [
            SearchMatch(passage, snippet(passage.chunk.text, words.strings, words.respelled_in)) for passage in passages
        ]
        return SearchMatches(matches, *state)

    async def _passages(
        self, store: StoreKey, query: Query, options: SearchOptions, index_lags: bool
    ) -> tuple[list[Passage], bool, bool]:
        """Rank, and once again if contents were added or deleted between ranking and reading the rows.

        Where the index cannot be brought up to date in time, what it has is ranked: a read must not wait for a process
        that was stopped. With the passages it returns whether they are current, and whether the index can be written.
        """
        passages: list[Passage] = []
        count = max(options.top_n, PHRASE_CANDIDATES) if query.phrases else options.top_n
        is_current = True
        failure: Unavailable | None = None
        for extra in (0, RETRY_EXTRA_CHUNKS):
            if index_lags:
                try:
                    is_current = await self._ranking.update(store, MAX_UPDATE_S)
                except Unavailable as error:
                    is_current, failure = False, error
            try:
                ranked = await self._ranking.rank(store, query, count + extra, may_wait=is_current)
            except Unavailable as error:
                raise failure or error from None
            is_current = is_current and ranked.is_current
            # A phrase is looked for in the rows, and lifts a passage over the threshold.
            least = 0.0 if query.phrases else options.threshold
            chunks = [chunk for chunk in ranked.chunks if chunk.relevance >= least]
            passages, index_lags = await self._contents.passages(store, chunks)
            if not is_current or (not index_lags and len(passages) == len(chunks)):
                break
        if query.phrases:
            passages = [
                passage for passage in _phrases_first(passages, query) if passage.relevance >= options.threshold
            ]
        return passages[: options.top_n], is_current, failure is None


def _phrases_first(passages: Sequence[Passage], query: Query) -> list[Passage]:
    """Return passages with those first that hold the most phrases of a query, each half as far from 1 as it was."""
    counts = [_phrase_count(passage, query) for passage in passages]
    lifted = [
        replace(passage, relevance=1 - (1 - passage.relevance) / 2**count)
        for passage, count in zip(passages, counts, strict=True)
    ]
    # Each group stays below the one before it, or scores would not fall from place to place.
    ordered: list[Passage] = []
    ceiling = 1.0
    for count in sorted(set(counts), reverse=True):
        group = [passage for passage, its_count in zip(lifted, counts, strict=True) if its_count == count]
        ordered += [replace(passage, relevance=min(passage.relevance, ceiling)) for passage in group]
        ceiling = ordered[-1].relevance
    return ordered


def _phrase_count(passage: Passage, query: Query) -> int:
    text = phrase_form(passage.chunk.text)
    return sum(phrase in text for phrase in query.phrases)
