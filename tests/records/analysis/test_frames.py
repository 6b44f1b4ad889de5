"""Texts, tokens and queries are the same at both ends of the pipe."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madang.records.analysis import frames
from madang.text.search.queries import Query, Term, Tokens, TypedWord

TOKEN = st.text(st.characters(exclude_characters=" \t\n"), min_size=1)
TOKENS = st.builds(Tokens, st.lists(TOKEN), st.lists(TOKEN))
WORD = st.builds(TypedWord, st.text(), st.text(), st.lists(st.text()).map(tuple))
TERM = st.builds(Term, st.text(), st.floats(allow_nan=False), st.booleans())


@given(st.lists(st.text(st.characters(exclude_categories=()))))
def test_texts_come_back_as_they_were(texts: list[str]) -> None:
    assert frames.unpack_texts(frames.pack_texts(texts)) == texts


@given(st.lists(TOKENS, min_size=1))
def test_tokens_come_back_as_they_were(tokens: list[Tokens]) -> None:
    assert frames.unpack_tokens(frames.pack_tokens(tokens), len(tokens)) == tokens


@given(st.builds(Query, st.lists(TERM).map(tuple), st.lists(st.text()).map(tuple), st.lists(WORD).map(tuple)))
def test_a_query_comes_back_as_it_was(query: Query) -> None:
    assert frames.unpack_query(frames.pack_query(query)) == query


def test_every_part_of_a_query_is_packed() -> None:
    assert [field.name for field in dataclasses.fields(Query)] == ["terms", "phrases", "typed"]


@pytest.mark.parametrize("token", ["a b", "a\tb", "a\nb", " "])
def test_a_token_with_a_blank_is_noticed(token: str) -> None:
    with pytest.raises(ValueError, match="blank"):
        frames.pack_tokens([Tokens(["x"], [token])])


def test_tokens_of_another_number_of_texts_are_noticed() -> None:
    with pytest.raises(ValueError, match="1 texts instead of 2"):
        frames.unpack_tokens(frames.pack_tokens([Tokens(["x"], [])]), 2)
