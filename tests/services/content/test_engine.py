"""Chunks, words, windows and excerpts: the pure parts of the engine."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madang.services.content.domain import line_count, split_chunk_id
from madang.services.content.engine import excerpts, tokens
from madang.services.content.engine.chunks import MAX_CHUNK_CHARS, split
from madang.services.content.engine.tokens import Tokenizer, needles
from madang.services.content.engine.windows import WIDTH, window

PIECES = st.sampled_from(
    ["\n", "\n\n", "# Heading\n", "word ", "낱말 ", "x" * 700, "가" * 2_000, ". ", "\r\n", "e\u0301"]
)
TEXTS = st.lists(PIECES, min_size=1, max_size=60).map("".join)


@given(TEXTS)
def test_chunks_are_together_exactly_the_text_and_know_their_lines(text: str) -> None:
    chunks = split(text)

    assert "".join(chunk.text for chunk in chunks) == text
    assert [chunk.number for chunk in chunks] == list(range(1, len(chunks) + 1))
    before = ""
    for chunk in chunks:
        assert 1 <= len(chunk.text) <= MAX_CHUNK_CHARS
        assert chunk.from_line == before.count("\n") + 1
        before += chunk.text
        assert chunk.to_line == line_count(before)
    assert chunks[-1].to_line == line_count(text)


def test_chunks_break_where_a_reader_would_pause() -> None:
    paragraph = "A sentence of a paragraph that goes on for a while.\n" * 9
    text = "".join(f"# Part {number}\n\n{paragraph}\n" for number in range(6))

    chunks = split(text)

    assert len(chunks) == 2
    assert all(chunk.text.startswith("# Part") for chunk in chunks)


def test_a_long_line_breaks_between_sentences_or_words() -> None:
    chunks = split("A sentence that is not too long. " * 200)

    assert len(chunks) > 1
    assert all(chunk.text.endswith(" ") and (chunk.from_line, chunk.to_line) == (1, 1) for chunk in chunks)


@given(TEXTS, st.data())
def test_an_excerpt_is_the_lines_that_were_asked_for_or_the_first_of_them(text: str, data: st.DataObject) -> None:
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    chunks = [chunk for chunk in split(text) if chunk.to_line >= first]

    excerpt = excerpts.of_lines(chunks, first, last)

    wanted = "".join(lines[first - 1 : last])
    assert excerpt.text
    assert wanted.startswith(excerpt.text)
    assert len(excerpt.text.encode()) <= excerpts.MAX_EXCERPT_BYTES
    assert excerpt.from_line == first
    if not excerpt.next_chunk:
        assert excerpt.text == "".join(lines[first - 1 : excerpt.to_line])
    else:
        assert (
            excerpt.text + "".join(c.text for c in chunks if c.number >= excerpt.next_chunk)
            == text[len("".join(lines[: first - 1])) :]
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running RUNS", ["run", "run"]),
        ("getUserName", ["getusernam", "get", "user", "name"]),
        ("snake_case_name", ["snake_case_nam", "snake", "case", "name"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("__init__", ["__init__", "init"]),
        ("naïve Straße", ["naïve", "strass"]),
        ("東京都", ["東京", "京都"]),
        ("日", ["日"]),
        ("utf8 1984", ["utf8", "utf", "8", "1984"]),
        ("GPT4 5kg S24 a1b2c3", ["gpt4", "gpt", "4", "5kg", "5", "kg", "s24", "24", "a1b2c3"]),
        ("\uff21\uff22 \ufb01ne \u338f", ["ab", "fine", "kg"]),
        ("x" * 200, ["x" * 64]),
        ("… ?!", []),
    ],
)
def test_words_are_folded_stemmed_and_taken_apart(text: str, expected: list[str]) -> None:
    assert Tokenizer().tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("서울에서 올림픽이 열렸다", ["서울", "올림픽", "열리"]),
        ("서울은", ["서울"]),
        ("PDF파일을 열다", ["pdf", "파일", "열"]),
        ("햏자들", ["햏자", "자들"]),
    ],
)
def test_korean_is_cut_into_morphemes_and_particles_are_left_out(text: str, expected: list[str]) -> None:
    tokenizer = Tokenizer()

    assert tokenizer.tokens(text) == expected
    assert tokenizer.tokens(unicodedata.normalize("NFD", text)) == expected
    assert tokenizer.name.startswith("lindera-ko-dic-")


def test_without_its_dictionary_korean_becomes_pairs_and_the_name_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "KOREAN_PACKAGE", "no-such-package")
    tokenizer = Tokenizer()

    assert tokenizer.tokens("올림픽이 abc") == ["abc", "올림", "림픽", "픽이"]
    assert tokenizer.name.startswith("bigrams+")


def test_a_dictionary_that_cannot_be_loaded_changes_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "lindera", None)
    tokenizer = Tokenizer()
    before = tokenizer.name

    assert tokenizer.tokens("올림픽") == ["올림", "림픽"]
    assert tokenizer.name != before


@given(st.text())
def test_tokens_hold_no_blanks_whatever_the_text(text: str) -> None:
    for token in Tokenizer().tokens(re.sub("[\uac00-\ud7a3\u1100-\u11ff]", "", text)):
        assert token
        assert token.split() == [token]


def test_the_terms_of_a_query_are_distinct_and_not_too_many() -> None:
    assert Tokenizer().terms("b c b") == ["b", "c"]
    assert len(Tokenizer().terms(" ".join(map(str, range(1_000))))) == tokens.MAX_QUERY_TERMS


def test_a_window_shows_the_words_that_were_asked_for_whole() -> None:
    text = "Nothing here. " * 50 + "Then the happiest zebras were running home. " + "Nothing there. " * 50
    terms = Tokenizer().terms("happy zebra runs")

    shown = window(text, needles(terms, "happy zebra runs"))

    assert "happiest zebras were running home." in shown
    assert len(shown) <= WIDTH + 2
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert set(shown.strip("…").split()) <= set(text.split())


def test_a_window_does_not_take_parts_of_other_words() -> None:
    text = "start part cart. " * 40 + "The art of fugue. " + "start part cart. " * 40

    assert "The art of fugue." in window(text, ["art"])


def test_a_window_in_korean_is_around_the_morphemes() -> None:
    text = "관계없는 문장이 이어진다. " * 40 + "서울에서 올림픽이 열렸다. " + "관계없는 문장이 이어진다. " * 40
    query = "서울 올림픽은 언제 열렸나"

    assert "서울에서 올림픽이 열렸다." in window(text, needles(Tokenizer().terms(query), query))


@given(st.text(max_size=2_000), st.lists(st.text(min_size=1, max_size=5), max_size=5))
def test_a_window_is_a_part_of_the_text_on_one_line(text: str, wanted: list[str]) -> None:
    shown = window(text, wanted)

    assert len(shown) <= WIDTH + 2
    assert "\n" not in shown


def test_a_chunk_id_names_content_and_number() -> None:
    id = "01a1df2d-49f8-7839-b7a6-d883bc2b628b"

    assert split_chunk_id(f"{id}-12") == (id, 12)
    assert split_chunk_id(id) == (id, None)
    assert split_chunk_id("1-2") == ("1-2", None)
