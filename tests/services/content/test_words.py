"""What the content service says, word for word, in both languages."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from inline_snapshot import snapshot

from madang.services.content.domain.contents import MAX_PREVIEW_CHARS, preview
from tests.asking import Asker, open_asker
from tests.services.content.contents import add


@pytest.fixture
async def asker() -> AsyncIterator[Asker]:
    async with open_asker() as asker:
        yield asker


def test_a_preview_that_was_cut_ends_with_an_ellipsis() -> None:
    exact = "a" * MAX_PREVIEW_CHARS

    assert preview(exact) == exact
    assert preview(exact + "b") == "a" * (MAX_PREVIEW_CHARS - 1) + "…"
    assert preview("word " * 100).endswith(" word word…")
    assert preview("short" + "\n" * 1_000 + "far away") == "short…"
    assert preview("short" + "\n" * 1_000) == "short"


async def test_a_duplicate_is_answered_with_name_and_id_alone(asker: Asker) -> None:
    id = await add(asker, "Tomatoes need full sun.", "garden.md")

    again = await asker.done("add_content", content="Tomatoes need full sun.")
    korean = await asker.with_call(locale="ko").done("add_content", content="Tomatoes need full sun.")

    store = again.data["storeId"]
    assert again.text == (
        f'[add_content] The same file is already in store {store}, as "garden.md". Nothing was added.\n'
        f"Content ID: {id}\n"
        "\n"
        "Note: Use 'keyword_similarity_search' to find passages, or 'read_content' to read lines."
    )
    assert len(korean.text.splitlines()) == 4


async def test_a_part_is_not_taken_for_the_whole(asker: Asker) -> None:
    id = await add(asker, "one\ntwo\nthree\nfour\n", "n.txt")
    korean = asker.with_call(locale="ko")

    whole = await asker.done("read_content", contentId=id)
    part = await asker.done("read_content", contentId=id, lineRange={"fromLine": 2, "toLine": 2})
    korean_whole = await korean.done("read_content", contentId=id)
    korean_part = await korean.done("read_content", contentId=id, lineRange={"fromLine": 2, "toLine": 2})

    assert whole.text.splitlines()[0] == f'[read_content] "n.txt" (content ID: {id}), the whole text, 4 line(s):'
    assert part.text == (
        f'[read_content] "n.txt" (content ID: {id}): only line 2 is shown here, the whole has 4 lines:\n'
        "\n"
        "> two\n"
        "\n"
        f"Not the whole text. 2 more line(s) after these: 'read_content' with contentId {id}, lineRange fromLine 3."
    )
    assert korean_whole.text.splitlines()[0] == f'[read_content] "n.txt" (자료 ID: {id}), 글 전체 4줄:'
    assert korean_part.text == (
        f'[read_content] "n.txt" (자료 ID: {id}): 여기에는 2번째 줄만 보이며, 전체는 4줄입니다:\n'
        "\n"
        "> two\n"
        "\n"
        f"글 전체가 아닙니다. 이 뒤로 2줄이 더 있습니다: 'read_content'에 contentId {id}, lineRange fromLine 3."
    )


async def test_a_range_that_does_not_fit_goes_on_to_its_end(asker: Asker) -> None:
    id = await add(asker, "a line\n" * 5_000)

    reply = await asker.done("read_content", contentId=id, lineRange={"fromLine": 1, "toLine": 3_000})

    last = reply.data["lineRange"][1]
    assert reply.data["next"] == (
        f"Not all of these. {3_000 - last} more line(s): "
        f"'read_content' with contentId {id}, lineRange fromLine {last + 1}, toLine 3000."
    )


async def test_the_last_chunk_is_not_the_whole(asker: Asker) -> None:
    id = await add(asker, "word " * 2_000)

    reply = await asker.done("read_content", contentId=id)
    while "contentId" in reply.data["next"]:
        assert ": only line 1 is shown here" in reply.text
        reply = await asker.done("read_content", contentId=reply.data["next"].split()[-1].rstrip("."))

    assert ": only line 1 is shown here" in reply.text


async def test_past_the_end_a_smaller_offset_is_advised(asker: Asker) -> None:
    await add(asker, "one")

    english = await asker.done("list_content", pagination={"offset": 9})
    korean = await asker.with_call(locale="ko").done("list_content", pagination={"offset": 9})

    assert english.data["next"] == "Note: Call 'list_content' with a pagination offset from 0 to 0."
    assert korean.data["next"] == "참고: 'list_content'에 0부터 0까지의 pagination offset을 주어 호출하세요."


async def test_names_that_nobody_chose_are_in_the_readers_language(asker: Asker) -> None:
    korean = asker.with_call(locale="ko")
    await add(asker, "one")

    created = await korean.done("create_store")
    listed = await korean.done("list_stores")
    english = await asker.done("list_stores")
    context = await asker.provider.build_tool_prompt(korean.call)

    assert created.text.startswith('[create_store] 자료함 "이름 없는 자료함"')
    assert "1. 세션 자료함 (자료 1개)\n" in listed.text
    assert "2. 이름 없는 자료함 (자료 0개)\n" in listed.text
    assert "1. Session store (1 content(s))\n" in english.text
    assert '자료함 "이름 없는 자료함"' in context
    assert [store["name"] for store in listed.data["stores"]] == ["Session store", "Untitled store"]


async def test_the_ids_of_all_stores_fit_into_one_answer(asker: Asker) -> None:
    for number in range(50):
        await asker.done("create_store", metadata={"name": f"{number} " + "이" * 190, "description": "설" * 2_000})

    reply = await asker.done("list_stores")

    assert [store["storeId"] for store in reply.data["stores"] if store["storeId"] not in reply.text] == []
    assert "structured result" not in reply.text


async def test_five_contents_are_told_each_turn_and_how_to_read_on(asker: Asker) -> None:
    ids = [await add(asker, f"Text {number}", f"{number}.txt") for number in range(8)]

    context = (await asker.provider.service_contexts(asker.call))["content"]
    english, korean = [
        await asker.provider.build_tool_prompt(asker.with_call(locale=locale).call) for locale in ("en", "ko")
    ]

    rows = "".join(f"  {number}.txt (contentId: {ids[number]})\n" for number in (7, 6, 5, 4, 3))
    assert (
        "# Content: 8 file(s), the newest first ('keyword_similarity_search' finds passages in them, "
        f"'read_content' reads one)\n{rows}  … 3 more: 'list_content'." in english
    )
    assert (
        "# 자료: 파일 8개, 최근 것부터 ('keyword_similarity_search'로 구절을 찾고 'read_content'로 읽습니다)\n"
        f"{rows}  … 3개가 더 있습니다: 'list_content'." in korean
    )
    assert str(context.summary) == snapshot("Contents: 8 ('list_content').")
