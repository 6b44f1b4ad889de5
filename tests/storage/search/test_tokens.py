"""Tokens of texts and queries."""

from __future__ import annotations

import re
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madang.storage.search import tokens
from madang.storage.search.tokens import Tokenizer, has_words, highlight_terms


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
    assert Tokenizer().tokens(text).words == expected


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

    assert tokenizer.tokens(text).words == expected
    assert tokenizer.tokens(unicodedata.normalize("NFD", text)).words == expected
    assert tokenizer.name.startswith("lindera-ko-dic-")


@pytest.mark.parametrize("noun", ["계약", "예산", "비용", "일본", "시간", "환불", "물", "학생", "방법"])
def test_a_noun_is_cut_off_before_the_subject_particle(noun: str) -> None:
    for text in (f"{noun}이 바뀌었다", f"그 {noun}이 있다", f"{noun}이다", f"{noun}입니다"):
        assert noun in Tokenizer().tokens(text).words


@pytest.mark.parametrize("noun", ["어린이", "고양이", "떡볶이", "호랑이", "종이", "나이", "사이"])
def test_a_noun_that_ends_like_the_subject_particle_stays_whole(noun: str) -> None:
    assert noun in Tokenizer().tokens(f"{noun}가 있다").words


def test_without_its_dictionary_korean_becomes_pairs_and_the_name_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "KOREAN_PACKAGE", "no-such-package")
    tokenizer = Tokenizer()

    assert tokenizer.tokens("올림픽이 abc").words == ["abc", "올림", "림픽", "픽이"]
    assert tokenizer.name.startswith("bigrams+")


def test_a_dictionary_that_cannot_be_loaded_changes_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "lindera", None)
    tokenizer = Tokenizer()
    before = tokenizer.name

    assert tokenizer.tokens("올림픽").words == ["올림", "림픽"]
    assert tokenizer.name != before


@given(st.text())
def test_tokens_hold_no_blanks_whatever_the_text(text: str) -> None:
    for token in Tokenizer().tokens(re.sub("[\uac00-\ud7a3\u1100-\u11ff]", "", text)).words:
        assert token
        assert token.split() == [token]


def test_the_terms_of_a_query_are_distinct_and_not_too_many() -> None:
    assert Tokenizer().query("b c b").words == ["b", "c"]
    assert len(Tokenizer().query(" ".join(map(str, range(1_000)))).words) == tokens.MAX_QUERY_TERMS


def test_the_strings_to_highlight_are_how_the_words_of_the_query_begin() -> None:
    query = "happy zebras in 서울에서"

    assert highlight_terms(Tokenizer().query(query).words, query) == ["서울", "happ", "zebra"]


def test_signs_alone_are_no_words() -> None:
    assert has_words("a?")
    assert not has_words("?! …")


def test_a_line_without_end_is_analyzed_in_pieces_and_takes_little_memory() -> None:
    """In a process of its own, whose peak is its own: in one piece, this line takes more than a gigabyte."""
    program = (
        "import resource; from madang.storage.search.tokens import Tokenizer; tokenizer = Tokenizer();"
        "tokenizer.tokens('학교').words; before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "tokens = tokenizer.tokens('아버지가방에들어가신다' * 50_000).words;"
        "assert {'아버지', '가방'} <= set(tokens);"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)"
    )
    grown_mib = int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)

    assert grown_mib < 300


def test_pieces_of_a_long_line_end_between_words() -> None:
    line = "학교에 갔다 " * 2_000

    assert Tokenizer().tokens(line).words == Tokenizer().tokens("학교에 갔다").words * 2_000
