"""Words that a person types are found in whatever form a text has them: lists, floors, and judged collections."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks import search as benchmark
from madang.services.content.engine import chunks
from madang.services.content.engine.index import StoreIndex
from madang.text.search.tokens import Tokenizer
from tests.services.content import finding

HAS_COLLECTIONS = (benchmark.DATA / "korquad").is_dir() and (benchmark.DATA / "cranfield").is_dir()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer()


def test_a_bare_noun_finds_it_with_any_particle(tokenizer: Tokenizer) -> None:
    found = finding.nouns(tokenizer)

    assert found.total == 4_000
    assert found.share >= 0.99, found.misses


def test_a_compound_is_found_however_it_is_spaced(tokenizer: Tokenizer) -> None:
    found = finding.compounds(tokenizer)

    assert found.total == 200
    assert found.share >= 0.9, found.misses


def test_a_word_with_one_wrong_letter_is_found(tokenizer: Tokenizer) -> None:
    found = finding.typos(tokenizer)

    assert found.total == 20
    assert found.share >= 0.8, found.misses


@pytest.mark.skipif(not HAS_COLLECTIONS, reason="the collections are not ours to give away")
def test_questions_find_their_passage_and_queries_their_abstracts(tokenizer: Tokenizer) -> None:
    """A part of what `benchmarks/search.py` measures, with floors below it: every 22nd question, every third query."""
    korquad, cranfield = benchmark.korquad(), benchmark.cranfield()
    passages = _scores(tokenizer, korquad, korquad.questions[::22], benchmark.reciprocal_rank)
    abstracts = _scores(tokenizer, cranfield, cranfield.questions[::3], benchmark.gain)

    assert passages > 0.935
    assert abstracts > 0.36


def _scores(
    tokenizer: Tokenizer,
    collection: benchmark.Collection,
    questions: Sequence[benchmark.Question],
    judge: benchmark.Judge,
) -> float:
    names: list[str] = []
    index = StoreIndex(None, tokenizer.name)
    index.create()
    for name, text in collection.documents.items():
        pieces = chunks.split(text)
        index.replace([], [(1, len(names) + at, tokenizer.tokens(piece.text)) for at, piece in enumerate(pieces)])
        names += [name] * len(pieces)
    index.commit()
    scores = []
    for question in questions:
        ranked = index.search(tokenizer.query(question.text), benchmark.DEPTH)
        scores.append(judge(list(dict.fromkeys(names[chunk.chunk_no] for chunk in ranked)), question.answers))
    index.close()
    return sum(scores) / len(scores)
