"""Words one edit away from others, and what a query does with them."""

from __future__ import annotations

import pytest

from madang.text.search.queries import MAX_QUERY_TERMS, Query, Term, TypedWord, best_spellings, rarest_terms
from madang.text.search.spelling import MAX_CHARS, one_edit_away, spellings
from madang.text.search.tokens import Tokenizer


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("Kuberntes", "Kubernetes"),
        ("authentcation", "authentication"),
        ("temprature", "temperature"),
        ("recieve", "receiving"),
        ("databse", "databases"),
        ("Wendesday", "Wednesday"),
        ("컨텐츠", "콘텐츠"),
        ("메세지", "메시지"),
        ("어플리케이션", "애플리케이션"),
        ("까페", "카페"),
        ("한민호", "한만호"),
    ],
)
def test_the_token_of_a_misspelled_word_is_among_its_spellings(wrong: str, right: str) -> None:
    assert spellings(wrong.lower()).count(Tokenizer().tokens(right).words[0]) == 1


@pytest.mark.parametrize(("one", "other"), [("사과", "사고"), ("cat", "car"), ("123456", "123457"), ("form", "farms")])
def test_short_words_and_figures_are_not_taken_for_others(one: str, other: str) -> None:
    assert other not in one_edit_away(one)


def test_a_word_is_not_one_of_its_spellings_and_their_number_is_bounded() -> None:
    for word in ("zebra", "aaaa", "데이터베이스", "a" * MAX_CHARS, "가" * MAX_CHARS):
        assert word not in one_edit_away(word)
        assert len(spellings(word)) < 3_000
    assert one_edit_away("a" * (MAX_CHARS + 1)) == []


def test_only_words_that_are_nowhere_are_spelled_otherwise() -> None:
    query = Tokenizer().query("zebra getUserNme 데이타베이스")

    assert query.unknown_words({"zebra", "get", "user"}) == [
        TypedWord("getusernme", "getusernm", ("getusernm", "get", "user", "nme")),
        TypedWord("데이타베이스", "데이타베이스", query.typed[-1].parts),
    ]
    assert query.unknown_words({"zebra", "getusernm", "데이타베이스"}) == []
    assert query.unknown_words({token for word in query.typed for token in word.parts}) == []


def test_other_spellings_weigh_less_than_what_was_typed() -> None:
    query = Query((Term("lion"), Term("zebar"), Term("ze", 0.1))).respelled(["zebra", "ze", "lion"])

    assert query.terms[:2] == (Term("lion"), Term("zebar"))
    assert {term.text: term.weight for term in query.terms if not term.is_full} == {"zebra": 0.5, "ze": 0.5}


def test_of_several_spellings_the_commonest_are_taken() -> None:
    assert best_spellings({"a": 1, "b": 0, "c": 7, "d": 2, "e": 2, "f": 3}) == ["c", "f", "d", "e"]


def test_of_many_terms_the_rarest_that_are_there_stay() -> None:
    terms = [Term(str(number)) for number in range(1_000)]
    frequencies = {term: number % 500 for number, term in enumerate(terms)}

    rarest = rarest_terms(terms, frequencies)

    assert len(rarest) == MAX_QUERY_TERMS
    assert max(frequencies[term] for term in rarest) == MAX_QUERY_TERMS // 2
    assert min(frequencies[term] for term in rarest) == 1
    assert rarest_terms(terms[:100], frequencies) == terms[:100]
