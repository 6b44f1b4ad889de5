"""What comes first: the same on every back end."""

from __future__ import annotations

import pytest

from tests.asking import Asker
from tests.services.content.contents import add, search

FILLING = "The river runs through the valley and past the old mill. "


async def test_a_rare_word_weighs_more_than_common_ones(asker: Asker) -> None:
    for number in range(8):
        await add(asker, f"{FILLING}Report {number} on the harvest and the weather.")
    rare = await add(asker, f"{FILLING}A zebra was seen.")

    assert (await search(asker, "harvest report weather zebra"))[0] == rare


async def test_a_word_that_is_there_more_often_weighs_more_but_less_each_time(asker: Asker) -> None:
    once = await add(asker, f"{FILLING}zebra lion")
    often = await add(asker, f"{FILLING}zebra zebra zebra zebra")

    assert await search(asker, "zebra") == [often, once]
    assert await search(asker, "zebra lion") == [once, often]


async def test_of_two_texts_with_the_same_words_the_shorter_comes_first(asker: Asker) -> None:
    long = await add(asker, "A zebra stood there. " + " ".join(f"word{number}" for number in range(100)))
    short = await add(asker, "A zebra stood there.")

    assert await search(asker, "zebra") == [short, long]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("annual_report_2024.txt", "annual report"),
        ("회의록-김철수.md", "김철수 회의록을 찾아줘"),
        ("BudgetPlan.csv", "budget plan"),
        ("README", "readme"),
    ],
)
async def test_a_content_is_found_by_the_name_of_its_file(asker: Asker, name: str, query: str) -> None:
    await add(asker, f"{FILLING}Nothing else is said here.", "other.txt")
    named = await add(asker, f"{FILLING}Nothing more is said here.", name)

    assert (await search(asker, query))[0] == named


async def test_a_text_without_a_name_is_not_found_by_the_one_it_is_given(asker: Asker) -> None:
    await add(asker, FILLING)

    assert await search(asker, "untitled") == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("햏자들이 모였다", "햏자"),
        ("훼까닥 소리가 났다", "훼까닥"),
        ("우리는 ＧＰＴ４를 쓴다", "GPT4"),
        ("무게는 5㎏이다", "5kg"),
        ("ｶﾞﾗｽの窓", "ガラス"),
        ("GPT모델은 크다", "GPT 모델"),
        ("It weighs 5 kg", "5kg"),
        ("李舜臣 장군", "李舜臣"),
    ],
)
async def test_words_are_found_whatever_their_form(asker: Asker, text: str, query: str) -> None:
    id = await add(asker, text)
    await add(asker, FILLING)

    assert await search(asker, query) == [id]


async def test_the_words_that_hold_a_question_together_are_not_looked_for(asker: Asker) -> None:
    await add(asker, "What is the price of this? It is what it is.")
    wanted = await add(asker, f"{FILLING * 5}The zebra sleeps.")

    assert await search(asker, "What is the zebra?") == [wanted]
    assert len(await search(asker, "what is the")) == 2


async def test_a_name_in_capitals_is_no_stop_word(asker: Asker) -> None:
    wanted = await add(asker, "IT 부서의 예산")
    await add(asker, "총무 부서의 예산")

    assert (await search(asker, "IT 예산"))[0] == wanted
