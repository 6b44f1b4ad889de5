"""What comes first: the same on every back end."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from madang.core.ids import SessionId, new_id
from tests.asking import Asker
from tests.services.content.contents import BACK_ENDS, add, open_content, search

FILLING = "The river runs through the valley and past the old mill. "


@pytest.fixture(scope="module", params=BACK_ENDS)
async def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Asker]:
    """One service for each back end: a process that analyzes Korean takes half a second to start."""
    async with open_content(tmp_path_factory.mktemp("content"), request.param) as asker:
        yield asker


@pytest.fixture
def asker(opened: Asker) -> Asker:
    """Somebody in a session of their own, whose words are all that counts in it."""
    return opened.with_call(session_id=SessionId(new_id()))


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


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("계약이 끝났다.", "계약"),
        ("회의 시간이 바뀌었다.", "시간"),
        ("그 보고서가 어제 나왔다", "보고서"),
        ("넓은 도로는 막힌다", "도로"),
        ("데이터베이스를 설계한다.", "데이터 베이스"),
        ("데이터 베이스를 설계한다.", "데이터베이스"),
        ("인공지능을 배운다.", "지능"),
        ("건강보험공단에 관한 글", "건강보험공단"),
        ("이번 주에는 최저임금에 관한 글", "최저임금"),
        ("Café Zoë serves crème brûlée.", "creme brulee"),
        ("class IPv6Address", "ipv6"),
        ("def getUserName()", "username"),
        ("an e-mail client", "email"),
        ("an email client", "e-mail"),
        ("총 1,234,567원", "1234567"),
        ("released on 2024-11-05", "2024년 11월 5일"),
        ("release 20241105", "2024-11-05"),
        ("🚀 launch", "🚀"),
        ("他昨天在长城散步。", "城"),
        ("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย", "ประเทศไทย"),
        ("ປະເທດລາວມີນະຄອນຫຼວງວຽງຈັນ", "ວຽງຈັນ"),
        ("ရန်ကုန်မြို့သည်မြန်မာနိုင်ငံ", "မြန်မာ"),
        ("ភ្នំពេញជារាជធានីនៃប្រទេសកម្ពុជា", "កម្ពុជា"),
        ("the matrices", "matrix"),
        ("the organisation", "organization"),
    ],
)
async def test_words_are_found_however_they_are_written(asker: Asker, text: str, query: str) -> None:
    id = await add(asker, text)
    await add(asker, FILLING)

    assert await search(asker, query) == [id]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The Kubernetes cluster", "Kuberntes"),
        ("You will receive it", "recieve"),
        ("콘텐츠를 만든다", "컨텐츠"),
        ("데이터베이스를 설계한다", "데이타베이스"),
    ],
)
async def test_a_word_that_is_nowhere_is_looked_up_with_one_letter_changed(asker: Asker, text: str, query: str) -> None:
    id = await add(asker, text)
    await add(asker, FILLING)

    assert await search(asker, query) == [id]


async def test_a_word_that_is_there_is_not_taken_for_another(asker: Asker) -> None:
    await add(asker, "The forms were signed.")
    wanted = await add(asker, "The farms were sold.")

    assert await search(asker, "farms") == [wanted]


async def test_a_word_that_the_query_repeats_weighs_more(asker: Asker) -> None:
    zebra = await add(asker, f"{FILLING}A zebra was seen.")
    lion = await add(asker, f"{FILLING}A lion was seen.")

    assert await search(asker, "zebra lion zebra") == [zebra, lion]
    assert await search(asker, "zebra lion lion") == [lion, zebra]


async def test_of_a_very_long_query_the_rarest_words_count(asker: Asker) -> None:
    wanted = await add(asker, "The zanzibarite crystal.")
    words = " ".join(f"common{number}" for number in range(200))
    for number in range(3):
        await add(asker, f"{number} {words}")

    assert wanted in await search(asker, f"{words} zanzibarite")


@pytest.mark.parametrize("query", ['"leak of memory"', "“Leak of\u00a0memory” report"])
async def test_a_passage_with_the_quoted_phrase_comes_first(asker: Asker, query: str) -> None:
    await add(asker, "memory leak, memory leak report: a leak in memory")
    phrase = await add(asker, f"{FILLING * 10}There was a leak of memory in it.")

    assert (await search(asker, query))[0] == phrase


async def test_scores_fall_from_place_to_place_also_with_a_phrase(asker: Asker) -> None:
    await add(asker, "memory leak, memory leak report: a leak in memory")
    await add(asker, f"{FILLING * 10}There was a leak of memory in it.")

    reply = await asker.done("keyword_similarity_search", query='"leak of memory"')
    scores = [result["score"] for result in reply.data["results"]]

    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("word", "query"),
    [
        ("Kubernetes", "Kuberntes"),
        ("데이터베이스", "데이타베이스"),
        ("Café", "cafe"),
        ("e-mail", "email"),
        ("getUserName", "username"),
        ("1,234,567", "1234567"),
        ("데이터 베이스", "데이터베이스"),
    ],
)
async def test_the_excerpt_shows_the_word_however_it_is_written(asker: Asker, word: str, query: str) -> None:
    await add(asker, f"{FILLING * 12}Here is {word} at last. {FILLING * 6}")

    reply = await asker.done("keyword_similarity_search", query=query)

    assert f"Here is {word} at last" in reply.data["results"][0]["context"]
