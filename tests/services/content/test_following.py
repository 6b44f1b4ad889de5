"""The index follows its rows: after the answer, with few commits, and before the next search at the latest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

from madang.records.analysis.analysis import Analysis
from madang.services.content.domain.contents import StoreKey
from madang.services.content.domain.search import IndexChange
from madang.services.content.engine import following
from madang.services.content.engine.following import IndexFollower
from madang.services.content.engine.index import IndexUnusable, StoreIndex
from madang.services.content.store import IndexQueue
from madang.text.search import tokens
from madang.text.search.queries import Query, Term
from madang.text.search.tokens import Tokenizer
from tests.asking import Asker
from tests.services.content.contents import EMBEDDED, add, open_content, search

NEVER_S = 3600.0
WITHIN_S = 30.0


def never_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "FOLLOW_DELAY_S", NEVER_S)


def another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "TOKENIZER_VERSION", 999)


def counted_commits(monkeypatch: pytest.MonkeyPatch) -> list[StoreIndex]:
    commit, commits = StoreIndex.commit, list[StoreIndex]()

    def counted(index: StoreIndex) -> None:
        commits.append(index)
        commit(index)

    monkeypatch.setattr(StoreIndex, "commit", counted)
    return commits


async def until_worked_off(folder: Path) -> None:
    for _ in range(int(WITHIN_S / 0.02)):
        if not queued(folder):
            return
        await asyncio.sleep(0.02)
    raise TimeoutError


def queued(folder: Path) -> int:
    connection = apsw.Connection(str(folder / "madang.db"))
    try:
        return int(connection.execute("SELECT count(*) FROM content_change").get)
    finally:
        connection.close()


async def says_it_lags(asker: Asker, query: str) -> bool:
    return "may not find everything yet" in (await asker.done("keyword_similarity_search", query=query)).text


@pytest.mark.parametrize("kind", EMBEDDED)
async def test_additions_at_once_share_a_commit_and_a_search_finds_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    never_by_itself(monkeypatch)
    commits = counted_commits(monkeypatch)
    async with open_content(tmp_path, kind) as asker:
        ids = await asyncio.gather(*(add(asker, f"needle{number} common") for number in range(48)))
        deleted = await add(asker, "common and deleted")
        await asker.done("delete_content", contentId=deleted)
        assert commits == []

        assert set(await search(asker, "common")) == set(ids)
        assert len(commits) == 1
        for number, id in enumerate(ids):
            assert (await search(asker, f"needle{number}"))[0] == id
        assert len(commits) == 1


async def test_the_index_follows_without_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_content(tmp_path) as asker:
        ids = [await add(asker, f"needle {number}") for number in range(5)]
        await until_worked_off(tmp_path)

        never_by_itself(monkeypatch)
        assert set(await search(asker, "needle")) == set(ids)


async def test_closing_works_off_what_little_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    never_by_itself(monkeypatch)
    async with open_content(tmp_path) as asker:
        id = await add(asker, "needle")
        assert queued(tmp_path) == 1
    assert queued(tmp_path) == 0
    async with open_content(tmp_path) as asker:
        assert await search(asker, "needle") == [id]


async def test_closing_does_not_wait_for_a_slow_analysis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(*_: object) -> list[object]:
        await asyncio.sleep(NEVER_S)
        return []

    async with open_content(tmp_path) as asker:
        with monkeypatch.context() as patched:
            patched.setattr(Analysis, "tokenize", slow)
            id = await add(asker, "needle")
            await asyncio.sleep(2 * following.FOLLOW_DELAY_S)
            async with asyncio.timeout(WITHIN_S):
                await asker.provider.close()
    async with open_content(tmp_path) as asker:
        assert await search(asker, "needle") == [id]


async def test_what_another_process_has_not_indexed_yet_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never_by_itself(monkeypatch)
    async with open_content(tmp_path) as one, open_content(tmp_path) as other:
        first = await add(one, "needle one")
        assert await search(other, "needle") == [first]
        second = await add(other, "needle two")
        await one.done("delete_content", contentId=first)
        assert await search(one, "needle") == [second]
        assert await search(other, "needle") == [second]


async def test_texts_of_many_chunks_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MAX_CHUNKS_PER_READ", 3), ("MAX_CHUNKS_PER_COMMIT", 5), ("MAX_CONTENTS_PER_READ", 2)):
        monkeypatch.setattr(following, name, value)
    never_by_itself(monkeypatch)
    words = [[f"text{text}line{line}" for line in range(300)] for text in range(4)]
    async with open_content(tmp_path) as asker:
        ids = [await add(asker, "\n".join(f"{word} {'filler ' * 8}" for word in of_text)) for of_text in words]
        small = [await add(asker, f"small{number}") for number in range(7)]

        for id, of_text in zip(ids, words, strict=True):
            for word in of_text[::30]:
                assert (await search(asker, word))[0] == id
        assert [(await search(asker, f"small{number}"))[0] for number in range(7)] == small
    assert queued(tmp_path) == 0


@pytest.mark.parametrize("failing", ["replace", "commit", "create"])
async def test_an_index_that_cannot_be_written_is_told_by_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def full(*_: object) -> None:
        raise IndexUnusable("No space left on device")

    never_by_itself(monkeypatch)
    async with open_content(tmp_path) as asker:
        with monkeypatch.context() as broken:
            broken.setattr(StoreIndex, failing, full)
            added = await asker.done("add_content", content="needle one")
            reply = await asker.ask("keyword_similarity_search", query="needle")
            if failing == "create":
                assert reply.error_code == "unavailable"
            assert "The search index cannot be written" in reply.text
        first = added.data["contentId"]
        assert await search(asker, "needle") == [first]

        with monkeypatch.context() as broken:
            broken.setattr(StoreIndex, "commit", full)
            broken.setattr(StoreIndex, "create", full)
            second = await add(asker, "needle two")
            reply = await asker.done("keyword_similarity_search", query="needle")
            assert [found["contentId"] for found in reply.data["results"]] == [first]
            assert "The search index cannot be written" in reply.text
            assert "may not find everything yet" not in reply.text
        assert set(await search(asker, "needle")) == {first, second}


class Backlog:
    """Holds back the backlog of indexes that are made anew, until it is released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_held = True
        apply = IndexFollower._apply

        async def held(follower: IndexFollower, changes: Sequence[IndexChange]) -> None:
            if self.is_held and changes[0].seq < 0:
                await asyncio.sleep(0.01)
            else:
                await apply(follower, changes)

        monkeypatch.setattr(IndexFollower, "_apply", held)
        monkeypatch.setattr(following, "MAX_REBUILD_WAIT_S", 0.1)


async def test_an_index_of_another_version_answers_until_the_new_one_has_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_content(tmp_path) as asker:
        old, deleted = await add(asker, "needle old"), await add(asker, "needle deleted")
        await search(asker, "needle")
    another_version(monkeypatch)
    backlog = Backlog(monkeypatch)
    async with open_content(tmp_path) as asker, open_content(tmp_path) as other:
        for one in (asker, other):
            assert set(await search(one, "needle")) == {old, deleted}
            assert await says_it_lags(one, "needle")
        new = await add(asker, "needle new")
        await asker.done("delete_content", contentId=deleted)
        for one in (asker, other):
            assert set(await search(one, "needle")) == {old, new}
        assert await search(other, "new") == [new]
        assert len(list(tmp_path.glob("index/*/older"))) == 1

        backlog.is_held = False
        await until_worked_off(tmp_path)
        for one in (asker, other):
            assert set(await search(one, "needle")) == {old, new}
            assert not await says_it_lags(one, "needle")
    assert list(tmp_path.glob("index/*/older")) == []


async def test_a_small_store_is_made_anew_before_its_first_search_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "MAX_REBUILD_WAIT_S", WITHIN_S)
    async with open_content(tmp_path) as asker:
        ids = [await add(asker, f"needle {number}") for number in range(20)]
    another_version(monkeypatch)
    async with open_content(tmp_path) as asker:
        assert not await says_it_lags(asker, "needle")
        assert set(await search(asker, "needle")) == set(ids)
    assert list(tmp_path.glob("index/*/older")) == []


async def test_an_index_that_is_made_anew_is_left_in_time_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_content(tmp_path) as asker:
        ids = [await add(asker, f"needle {number}") for number in range(5)]
    another_version(monkeypatch)
    backlog = Backlog(monkeypatch)
    async with open_content(tmp_path) as asker:
        assert set(await search(asker, "needle")) == set(ids)
        async with asyncio.timeout(WITHIN_S):
            await asker.provider.close()
    assert queued(tmp_path) == 5

    backlog.is_held = False
    async with open_content(tmp_path) as asker:
        assert set(await search(asker, "needle")) == set(ids)
        await until_worked_off(tmp_path)
    assert list(tmp_path.glob("index/*/older")) == []


async def test_an_older_index_that_cannot_be_read_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_content(tmp_path) as asker:
        ids = [await add(asker, f"needle {number}") for number in range(5)]
    (meta,) = tmp_path.glob("index/*/words/meta.json")
    meta.write_bytes(b"{}")
    another_version(monkeypatch)
    async with open_content(tmp_path) as asker:
        assert set(await search(asker, "needle")) == set(ids)
        assert not await says_it_lags(asker, "needle")


async def test_the_queue_keeps_a_backlog_apart_from_changes(tmp_path: Path) -> None:
    async with open_content(tmp_path) as asker:
        for number in range(3):
            await add(asker, f"needle {number}")
        await until_worked_off(tmp_path)
        (store,) = (await asker.done("list_stores")).data["stores"]
        queue = IndexQueue(asker.database)
        (row,) = await asker.database.find("SELECT no, id, user_id FROM content_store")
        key = StoreKey(*row)
        await queue.queue_backlog(key)
        await queue.queue_backlog(key)

        assert await queue.pending_changes(key) == []
        assert [change.content_no for change in await queue.backlog(key, 2)] == [3, 2]
        assert store["storeId"] == key.id


def test_an_older_index_without_weak_tokens_is_searched_by_words(tmp_path: Path) -> None:
    index, tokenizer = StoreIndex(tmp_path, "old"), Tokenizer()
    index.create()
    index.write_version()
    index.replace([1], [(1, 1, tokenizer.tokens("a zebra"))])
    index.commit()
    index.close_writer()
    (tmp_path / "words" / "meta.json").write_text(
        (tmp_path / "words" / "meta.json").read_text().replace('"name": "weak"', '"name": "gone"')
    )

    newer = StoreIndex(tmp_path, "new")
    newer.set_aside()
    older = newer.older()

    assert older is not None
    assert older.exists
    assert not (tmp_path / "words").exists()
    assert [chunk.chunk_no for chunk in older.search(Query((Term("zebra"), Term("ze", 0.2, is_weak=True))), 5)] == [1]
    assert older.search(Query((Term("ze", 0.2, is_weak=True),)), 5) == []
    older.remove()
    assert not older.exists
