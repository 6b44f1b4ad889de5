"""New ids and names."""

from __future__ import annotations

import time
import uuid

import pytest

from madang.core.ids import hidden_character, is_name, is_raw_name, new_id, normalised_name


def test_an_id_is_a_uuid_of_version_seven() -> None:
    for _ in range(1000):
        id = uuid.UUID(new_id())
        assert (id.version, id.variant) == (7, uuid.RFC_4122)


def test_an_id_holds_the_time_it_was_made() -> None:
    before = time.time_ns() // 1_000_000
    id = uuid.UUID(new_id())
    after = time.time_ns() // 1_000_000

    assert before <= id.int >> 80 <= after


def test_ids_of_later_milliseconds_sort_later() -> None:
    ids = []
    for _ in range(5):
        now = time.time_ns() // 1_000_000
        while time.time_ns() // 1_000_000 == now:
            pass
        ids.append(new_id())

    assert ids == sorted(ids)


def test_ids_are_unique_and_their_random_bits_all_move() -> None:
    ids = [uuid.UUID(new_id()).int for _ in range(20_000)]

    assert len(set(ids)) == len(ids)
    random = (1 << 80) - 1 & ~(0xF << 76) & ~(0x3 << 62)
    seen_set = seen_clear = 0
    for id in ids:
        seen_set |= id
        seen_clear |= ~id
    assert seen_set & random == seen_clear & random == random


@pytest.mark.parametrize(
    "name", ["a", "default", "release bot", "배포", "x" * 200, "a/b", "ü.é-1_2", "日本 語", "🗓\ufe0f plan", "नाम"]
)
def test_a_name_is_printable_and_not_padded(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize("name", ["", " ", " a", "a ", "a\nb", "a\x00b", "a\tb", "\x7f", "x" * 201, "\ud800", None, 5])
def test_what_is_no_name(name: object) -> None:
    assert not is_name(name)


HIDDEN = {
    "C1": "\x9b",
    "next line": "\x85",
    "soft hyphen": "\u00ad",
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "right to left": "\u200f",
    "line": "\u2028",
    "paragraph": "\u2029",
    "override": "\u202e",
    "isolate": "\u2066",
    "word joiner": "\u2060",
    "byte order": "\ufeff",
    "tag": "\U000e0041",
    "filler of Hangul": "\u3164",
    "half-width filler": "\uffa0",
}


@pytest.mark.parametrize("kind", HIDDEN)
@pytest.mark.parametrize("text", ["reviewer{}", "re{}viewer", "{}reviewer"])
def test_a_name_has_no_character_that_is_not_seen(kind: str, text: str) -> None:
    name = text.format(HIDDEN[kind])

    assert not is_name(name)
    assert hidden_character(name) == f"U+{ord(HIDDEN[kind]):04X}"


def test_a_name_that_was_taken_before_is_still_told_from_none() -> None:
    assert is_raw_name("reviewer\u200bx")
    assert not is_raw_name("reviewer\x00")
    assert not is_raw_name(None)


def test_a_korean_name_in_single_letters_becomes_syllables() -> None:
    name = normalised_name("\u1112\u1161\u11ab\u1100\u1173\u11af")

    assert name == "한글"
    assert is_name(name)
