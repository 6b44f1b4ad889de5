"""Matching a query with an index: which terms are asked for, and that a snapshot is of one generation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from madang.services.content.engine import matching
from madang.services.content.engine.index import StoreIndex
from madang.services.content.engine.matching import telling_terms
from madang.text.search.queries import Query, Term, Tokens
from madang.text.search.tokens import Tokenizer

COMMON, RARE, RARER = Term("common"), Term("rare"), Term("rarer")
QUERY = Query((COMMON, RARE))


@pytest.fixture
def index() -> Iterator[StoreIndex]:
    index = StoreIndex(None, Tokenizer().name)
    index.create()
    yield index
    index.close_writer()


def add(index: StoreIndex, texts: Sequence[str]) -> None:
    index.replace([], [(1, number, Tokens(text.split(), [])) for number, text in enumerate(texts, start=1)])
    index.commit()


def test_words_of_nearly_every_chunk_are_not_asked_for() -> None:
    frequencies = {COMMON: 990, RARE: 40, RARER: 30}

    terms = telling_terms(1_000, [COMMON, RARE, RARER], frequencies, limit=10, ignored=0.1)

    assert terms == [RARE, RARER]


@pytest.mark.parametrize(
    ("frequencies", "ignored"),
    [
        ({COMMON: 990, RARE: 9}, 0.1),  # without it fewer than ten would be found
        ({COMMON: 990, RARE: 40}, 0.01),  # it still counts
        ({COMMON: 500, RARE: 40}, 5.0),  # half of the chunks are not most of them
        ({COMMON: 990}, 0.1),
    ],
)
def test_a_common_word_is_asked_for_where_it_matters(frequencies: dict[Term, int], ignored: float) -> None:
    terms = telling_terms(1_000, list(frequencies), frequencies, limit=10, ignored=ignored)

    assert COMMON in terms


def test_leaving_a_common_word_out_moves_no_relevance_by_more_than_it_may(
    index: StoreIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{'common ' * (number % 3 + 1)} word{number}" for number in range(2_000)]
    add(index, [*texts, *(f"rare {text}" for text in texts[:20])])
    ranked = index.search(QUERY, 10)

    monkeypatch.setattr(matching, "MAX_IGNORED_SHARE", 0.0)
    ranked_by_all = index.search(QUERY, 20)

    assert len(ranked) == 10
    relevances = dict(ranked_by_all)
    assert all(0 < relevances[no] - relevance <= 0.01 for no, relevance in ranked)


def test_a_common_word_finds_as_many_chunks_as_are_asked_for(index: StoreIndex) -> None:
    add(index, [*("common word" for _ in range(2_000)), *("rare word" for _ in range(5))])

    numbers = [no for no, _ in index.search(QUERY, 10)]

    assert sorted(numbers[:5]) == [2_001, 2_002, 2_003, 2_004, 2_005]
    assert len(numbers) == 10


def test_frequencies_are_those_of_what_was_committed(index: StoreIndex) -> None:
    add(index, ["one"])
    assert index.search(Query((RARE,)), 5) == []

    add(index, ["rare"])

    assert [no for no, _ in index.search(Query((RARE,)), 5)] == [1]


def test_many_different_words_are_not_all_remembered(index: StoreIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_CACHED_FREQUENCIES", 3)
    add(index, ["common rare"])

    for number in range(20):
        index.search(Query((Term(f"word{number}"),)), 5)

    assert index._snapshot is not None
    assert len(index._snapshot._cached_frequencies) <= 4
    assert index.search(QUERY, 5)
