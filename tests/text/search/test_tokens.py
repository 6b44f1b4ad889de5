"""Tokens of texts and queries."""

from __future__ import annotations

import re
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madang.text.search import tokens
from madang.text.search.highlights import highlight_terms
from madang.text.search.tokens import Tokenizer, has_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running RUNS", ["run", "run"]),
        ("getUserName", ["getusernam", "get", "user", "name"]),
        ("snake_case_name", ["snake_case_nam", "snake", "case", "name"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("__init__", ["__init__", "init"]),
        ("naïve Straße", ["naiv", "strass"]),
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


def test_the_terms_of_a_query_are_distinct_and_each_is_also_looked_up_among_weak_tokens() -> None:
    query = Tokenizer().query("b c b")

    assert [(term.text, term.is_weak) for term in query.terms] == [("b", False), ("b", True), ("c", False), ("c", True)]


def test_a_word_that_is_said_twice_weighs_more_but_not_twice_as_much() -> None:
    weights = {term.text: term.weight for term in Tokenizer().query("zebra lion zebra").terms if not term.is_weak}

    assert weights["lion"] == 1
    assert 1.5 < weights["zebra"] < 2


def test_the_strings_to_highlight_are_how_the_words_of_the_query_begin() -> None:
    query = "happy zebras in 서울에서"

    assert highlight_terms(["서울", "happi", "zebra"], query) == ["서울", "happ", "zebra"]


@pytest.mark.parametrize(
    ("text", "weak"),
    [
        ("getUserName", ["getus", "usernam"]),
        ("IPv6Address", ["ipv6"]),
        ("XMLHttpRequest", ["xmlhttp", "httprequest"]),
        ("parse_http_response", ["parsehttprespons"]),
        ("an e-mail client", ["email"]),
        ("co-operation", ["cooper"]),
        ("node.js and U.S.A. and E.U.", ["nodej", "usa", "eu"]),
        ("데이터베이스를 설계한다", ["데이터", "베이스"]),
        ("건강보험공단에 관한 글", ["건강보험공단"]),
        ("長城散歩", ["城"]),
    ],
)
def test_what_may_be_typed_in_another_way_is_a_weak_token(text: str, weak: list[str]) -> None:
    assert set(weak) <= set(Tokenizer().tokens(text).weak)


def test_a_weak_token_is_none_of_the_words_and_is_there_once() -> None:
    words, weak = Tokenizer().tokens("getUserName 데이터베이스와 데이터 베이스, 데이터베이스의 UserName")

    assert not set(words) & set(weak)
    assert len(weak) == len(set(weak))


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("총 1,234,567원", "1234567"),
        ("2024-11-05", "20241105"),
        ("2024년 11월 5일", "20241105"),
        ("2024. 11. 5.", "20241105"),
        ("on November 5, 2024", "20241105"),
        ("5 Nov 2024", "20241105"),
        ("🚀 launch", "🚀"),
        ("👍🏽", "👍"),
    ],
)
def test_figures_dates_and_emoji_are_words_however_they_are_written(text: str, token: str) -> None:
    assert token in Tokenizer().tokens(text).words


@pytest.mark.parametrize("text", ["1,23", "12,3456", "2024-13-05", "2024-11-99", "3.14"])
def test_what_only_looks_like_a_figure_or_a_date_is_neither(text: str) -> None:
    written = set(re.findall(r"\d+", text))

    assert set(Tokenizer().tokens(text).words) == written
    assert Tokenizer().tokens(text).weak == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café Zoë crème brûlée", "cafe zoe creme brulee"),
        ("Łódź Ærø", "lodz aero"),
        ("indices matrices mice", "index matrix mouse"),
        ("colour grey organisation analyse centre", "color gray organization analyze center"),
    ],
)
def test_spellings_of_one_word_have_one_token(one: str, other: str) -> None:
    assert Tokenizer().tokens(one).words == Tokenizer().tokens(other).words


def test_letters_of_other_scripts_keep_their_marks() -> None:
    assert Tokenizer().tokens("й и").words == ["й", "и"]
    assert Tokenizer().tokens("ガラス").words == ["ガラ", "ラス"]


def test_phrases_are_what_stands_between_quotation_marks() -> None:
    assert Tokenizer().query('a "Leak  of Memory" and “메모리 누수” and "?"').phrases == (
        "leak of memory",
        "메모리 누수",
    )
    assert Tokenizer().query("it's 5\" wide").phrases == ()


@pytest.mark.parametrize("query", ["은 는 이 가", "에서", "을 를", "으로 까지"])
def test_particles_alone_are_no_query(query: str) -> None:
    assert Tokenizer().query(query).terms == ()


@pytest.mark.parametrize("query", ["은", "이", "은 광산", "ㅋㅋㅋ", "🚀", "물", "長"])
def test_a_single_syllable_or_sign_is_a_query(query: str) -> None:
    assert has_words(query)
    assert Tokenizer().query(query).terms


def test_signs_alone_are_no_words() -> None:
    assert has_words("a?")
    assert not has_words("?! …")


def test_a_line_without_end_is_analyzed_in_pieces_and_takes_little_memory() -> None:
    """In a process of its own, whose peak is its own: in one piece, this line takes more than a gigabyte."""
    program = (
        "import resource; from madang.text.search.tokens import Tokenizer; tokenizer = Tokenizer();"
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
