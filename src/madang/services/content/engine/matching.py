"""Matching a query with an index: which terms are asked for, how they are spelled there, and what scores mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from madang.services.content.domain.search import RankedChunk
from madang.storage.search.queries import Query, Term, TypedWord, best_spellings, rarest_terms

if TYPE_CHECKING:
    import tantivy

WORDS, WEAK = "body", "weak"
"""The fields of an index. Words have their frequency in each chunk, weak tokens are only there or not."""
INDEX_OPTIONS = {WORDS: "freq", WEAK: "basic"}

BM25_K1 = 1.2
INLINE_MAX_POSTINGS = 150_000
"""Scored in about a millisecond. A thread takes a third of one more, and many times that on a busy machine."""

Frequencies = Mapping[Term, int]


def rank(schema: tantivy.Schema, searcher: tantivy.Searcher, query: Query, limit: int) -> list[RankedChunk]:
    """Return the best chunks with any of the terms, best first."""
    frequencies = _frequencies(searcher, query)
    if words := _unknown_words(query, frequencies):
        query = query.respelled(_spellings(searcher, words))
        frequencies = _frequencies(searcher, query)
    return _ranked(schema, searcher, query, frequencies, limit)


def rank_quickly(
    schema: tantivy.Schema, searcher: tantivy.Searcher, query: Query, limit: int
) -> list[RankedChunk] | None:
    """Rank if that takes less time than switching to a thread and back; else return None."""
    frequencies = _frequencies(searcher, query)
    if sum(frequencies.values()) > INLINE_MAX_POSTINGS or _unknown_words(query, frequencies):
        return None
    return _ranked(schema, searcher, query, frequencies, limit)


def _ranked(
    schema: tantivy.Schema, searcher: tantivy.Searcher, query: Query, frequencies: Frequencies, limit: int
) -> list[RankedChunk]:
    terms = rarest_terms(query.terms, frequencies)
    matched = _boolean_query(schema, [term for term in terms if frequencies[term]])
    hits: Any = searcher.search(matched, limit, count=False).hits
    numbers: Any = searcher.fast_field_values("chunk", [address for _, address in hits])
    upper = _upper_score(searcher.num_docs, terms, frequencies)
    return [RankedChunk(no, min(1.0, math.sqrt(score / upper))) for (score, _), no in zip(hits, numbers, strict=True)]


def _frequencies(searcher: tantivy.Searcher, query: Query) -> Frequencies:
    return {term: searcher.doc_freq(WEAK if term.is_weak else WORDS, term.text) for term in query.terms}


def _unknown_words(query: Query, frequencies: Frequencies) -> list[TypedWord]:
    if all(frequencies[term] for term in query.terms if term.is_full):
        return []
    return query.unknown_words({term.text for term, count in frequencies.items() if count})


def _spellings(searcher: tantivy.Searcher, words: Sequence[TypedWord]) -> list[str]:
    """Return how words that are nowhere in the index may be spelled there."""
    # On use: most queries have no such word.
    from madang.storage.search.spelling import spellings

    found: list[str] = []
    for word in words:
        counts = {text: searcher.doc_freq(WORDS, text) + searcher.doc_freq(WEAK, text) for text in spellings(word.text)}
        found += best_spellings(counts)
    return found


def _boolean_query(schema: tantivy.Schema, terms: Sequence[Term]) -> tantivy.Query:
    import tantivy

    parts: list[tuple[tantivy.Occur, tantivy.Query]] = []
    for term in terms:
        field = WEAK if term.is_weak else WORDS
        part = tantivy.Query.term_query(schema, field, term.text, index_option=INDEX_OPTIONS[field])
        parts.append((tantivy.Occur.Should, part if term.weight == 1 else tantivy.Query.boost_query(part, term.weight)))
    return tantivy.Query.boolean_query(parts)


def _upper_score(total: int, terms: Sequence[Term], frequencies: Frequencies) -> float:
    """Return the upper bound of a score: every word of the query, infinitely often.

    A word of no chunk weighs like one of a single chunk: by its own rarity, the "when" of a question would outweigh its
    subject in a small store.
    """
    counts = [(term.weight, max(frequencies[term], 1)) for term in terms if term.is_full]
    # Only fragments of words: then each of them is a word.
    counts = counts or [(term.weight, max(frequencies[term], 1)) for term in terms]
    return (BM25_K1 + 1) * sum(weight * math.log(1 + (max(total - n, 0) + 0.5) / (n + 0.5)) for weight, n in counts)
