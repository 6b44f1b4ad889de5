"""Particles go by the sound of what stands before them. The front end is held to the same table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from madang.core.particles import PARTICLES, Ending, ending_of, particle
from madang.core.phrases import say

TABLE = json.loads((Path(__file__).parents[2] / "web" / "src" / "texts" / "particles.json").read_text(encoding="utf-8"))
AFTER = {
    "나무": "는 가 를 와 로 라",
    "연필": "은 이 을 과 로 이라",
    "책상": "은 이 을 과 으로 이라",
}


@pytest.mark.parametrize(("ending", "text"), [(ending, text) for ending, texts in TABLE.items() for text in texts])
def test_a_text_ends_as_it_sounds(ending: str, text: str) -> None:
    assert ending_of(text) is Ending(ending)


@pytest.mark.parametrize(("word", "forms"), AFTER.items())
def test_every_particle_has_its_form_after_each_ending(word: str, forms: str) -> None:
    assert " ".join(particle(name, word) for name in PARTICLES) == forms


def test_hangul_in_parts_sounds_like_hangul_in_syllables() -> None:
    assert ending_of("\u110e\u1162\u11a8") is Ending.CONSONANT  # 책, as macOS writes names of files


@pytest.mark.parametrize(("name", "text"), [("계획", "'계획'을 a로 옮김"), ("메모", "'메모'를 a로 옮김")])
def test_a_translation_names_a_particle_behind_a_quoted_value(name: str, text: str) -> None:
    assert say("moved '{name}' to {to}", name=name, to="a").render(lambda _: "'{name}'{을} {to}{으로} 옮김") == text


def test_a_value_that_looks_like_a_particle_is_only_text() -> None:
    assert say("{name} is gone", name="{을}").render(lambda _: "{name}{이} 없음") == "{을}이 없음"
