"""Matching a query with an index: which terms are asked for, how they are spelled there, and what scores mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from madang.services.content.domain.search import RankedChunk
from madang.text.search.queries import Query, Term, TypedWord, best_spellings, rarest_terms

if TYPE_CHECKING:
    import tantivy

WORDS, WEAK = "body", "weak"
"""The fields of an index. Words have their frequency in each chunk, weak tokens are only there or not."""
INDEX_OPTIONS = {WORDS: "freq", WEAK: "basic"}

BM25_K1 = 1.2
INLINE_MAX_POSTINGS = 300_000
"""Scored in little more than a millisecond, as long as everything else of a call takes. A thread takes a third of one
more, and many times that on a busy machine."""

MAX_CACHED_FREQUENCIES = 20_000

MAX_IGNORED_SHARE = 0.01
"""Of the best score: so much may be left out with words that most chunks have. They take most of the time, and tell the
chunks hardly apart."""

Frequencies = Mapping[Term, int]


class Snapshot:
    """An index as one generation of its files has it. Any number of threads may search it.

    How many chunks hold a term is looked up once: the words that people ask for are few.
    """

    def __init__(self, index: tantivy.Index, generation: object) -> None:
        self.generation = generation
        self._schema = index.schema
        self._searcher = index.searcher()
        self._cached_frequencies: dict[Term, int] = {}

    def rank(self, query: Query, limit: int) -> list[RankedChunk]:
        """Return the best chunks with any of the terms, best first."""
        frequencies = self._frequencies(query)
        if words := _unknown_words(query, frequencies):
            query = query.respelled(self._spellings(words))
            frequencies = self._frequencies(query)
        return self._ranked(*self._terms(query, frequencies, limit), limit)

    def rank_quickly(self, query: Query, limit: int) -> list[RankedChunk] | None:
        """Rank if that takes less time than switching to a thread and back; else return None."""
        frequencies = self._frequencies(query)
        if _unknown_words(query, frequencies):
            return None
        terms, upper_score = self._terms(query, frequencies, limit)
        if sum(frequencies[term] for term in terms) > INLINE_MAX_POSTINGS:
            return None
        return self._ranked(terms, upper_score, limit)

    def _terms(self, query: Query, frequencies: Frequencies, limit: int) -> tuple[list[Term], float]:
        """Return the terms to rank by, and the score that is a relevance of one."""
        total = self._searcher.num_docs
        terms = rarest_terms(query.terms, frequencies)
        upper_score = _upper_score(total, terms, frequencies)
        return telling_terms(total, terms, frequencies, limit, MAX_IGNORED_SHARE * upper_score), upper_score

    def _ranked(self, terms: Sequence[Term], upper_score: float, limit: int) -> list[RankedChunk]:
        hits: Any = self._searcher.search(_boolean_query(self._schema, terms), limit, count=False).hits
        numbers: Any = self._searcher.fast_field_values("chunk", [address for _, address in hits])
        return [
            RankedChunk(no, min(1.0, math.sqrt(score / upper_score)))
            for (score, _), no in zip(hits, numbers, strict=True)
        ]

    def _frequencies(self, query: Query) -> Frequencies:
        cached = self._cached_frequencies
        if len(cached) > MAX_CACHED_FREQUENCIES:
            cached = self._cached_frequencies = {}
        frequencies: dict[Term, int] = {}
        for term in query.terms:
            count = cached.get(term)
            if count is None:
                count = cached[term] = self._searcher.doc_freq(WEAK if term.is_weak else WORDS, term.text)
            frequencies[term] = count
        return frequencies

    def _spellings(self, words: Sequence[TypedWord]) -> list[str]:
        """Return how words that are nowhere in the index may be spelled there."""
        # On use: most queries have no such word.
        from madang.text.search.spelling import spellings

        doc_freq = self._searcher.doc_freq
        found: list[str] = []
        for word in words:
            counts = {text: doc_freq(WORDS, text) + doc_freq(WEAK, text) for text in spellings(word.text)}
            found += best_spellings(counts)
        return found


def _unknown_words(query: Query, frequencies: Frequencies) -> list[TypedWord]:
    if all(frequencies[term] for term in query.terms if term.is_full):
        return []
    return query.unknown_words({term.text for term, count in frequencies.items() if count})


def _boolean_query(schema: tantivy.Schema, terms: Sequence[Term]) -> tantivy.Query:
    import tantivy

    parts: list[tuple[tantivy.Occur, tantivy.Query]] = []
    for term in terms:
        field = WEAK if term.is_weak else WORDS
        part = tantivy.Query.term_query(schema, field, term.text, index_option=INDEX_OPTIONS[field])
        parts.append((tantivy.Occur.Should, part if term.weight == 1 else tantivy.Query.boost_query(part, term.weight)))
    return tantivy.Query.boolean_query(parts)


def telling_terms(
    total: int, terms: Sequence[Term], frequencies: Frequencies, limit: int, ignored: float
) -> list[Term]:
    """Return the terms that any chunk has, without the commonest ones that together add at most `ignored` to a score.

    What is left finds `limit` chunks nevertheless.
    """
    present = [term for term in terms if frequencies[term]]
    if max((frequencies[term] for term in present), default=0) <= total / 2:
        return present
    present.sort(key=lambda term: -frequencies[term])
    common = 0
    for term, rarer in pairwise(present):
        ignored -= _max_score(total, term.weight, frequencies[term])
        if ignored < 0 or frequencies[term] <= total / 2 or frequencies[rarer] < limit:
            break
        common += 1
    return present[common:]


def _upper_score(total: int, terms: Sequence[Term], frequencies: Frequencies) -> float:
    """Return the upper bound of a score: every word of the query, infinitely often.

    A word of no chunk weighs like one of a single chunk: by its own rarity, the "when" of a question would outweigh its
    subject in a small store.
    """
    counts = [(term.weight, max(frequencies[term], 1)) for term in terms if term.is_full]
    # Only fragments of words: then each of them is a word.
    counts = counts or [(term.weight, max(frequencies[term], 1)) for term in terms]
    return sum(_max_score(total, weight, count) for weight, count in counts)


def _max_score(total: int, weight: float, frequency: int) -> float:
    """Return what a term adds to the score of a chunk that has it infinitely often."""
    return (BM25_K1 + 1) * weight * math.log(1 + (max(total - frequency, 0) + 0.5) / (frequency + 0.5))
