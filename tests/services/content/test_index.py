"""Indexes can be thrown away, damaged or made by something else: they are then made anew from the rows."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from madang.services.content.engine import matching
from madang.services.content.engine.index import IndexUnusable, StoreIndex, _index_io
from madang.text.search import tokens
from madang.text.search.tokens import Tokenizer
from tests.services.content.contents import add, open_content, search


def the_store(folder: Path) -> Path:
    (store,) = (folder / "index").iterdir()
    return store


def damage(suffix: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def do(store: Path) -> None:
        for path in store.joinpath("words").glob(f"*{suffix}"):
            path.write_bytes(change(path.read_bytes()))

    return do


def gone(suffix: str) -> Callable[[Path], None]:
    def do(store: Path) -> None:
        for path in store.joinpath("words").glob(f"*{suffix}"):
            path.unlink()

    return do


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no folder": lambda store: shutil.rmtree(store.parent),
    "no store": shutil.rmtree,
    "no words": lambda store: shutil.rmtree(store / "words"),
    "no version": lambda store: (store / "version").unlink(),
    "another version": lambda store: (store / "version").write_text("tantivy v0.1\nwords/0\n"),
    "not even text": lambda store: (store / "version").write_bytes(b"\xff\xfe\x00"),
    "half of a list of segments": damage("meta.json", lambda data: data[: len(data) // 2]),
    "an empty list of segments": damage("meta.json", lambda _: b""),
    "no list of segments": gone("meta.json"),
    "no postings": gone(".idx"),
    "no words of a segment": gone(".term"),
    "short files": damage(".idx", lambda data: data[:10]),
    "other bytes": damage(".term", lambda data: bytes(byte ^ 0xFF for byte in data)),
}


@pytest.mark.parametrize("kind", DAMAGES)
async def test_a_damaged_index_is_made_anew(tmp_path: Path, kind: str) -> None:
    async with open_content(tmp_path) as asker:
        ids = [await add(asker, f"needle number {number}\n") for number in range(3)]

    DAMAGES[kind](the_store(tmp_path))

    async with open_content(tmp_path) as asker:
        assert set(await search(asker, "needle")) == set(ids)
        more = await add(asker, "one more needle")
        assert set(await search(asker, "needle")) == {*ids, more}
    async with open_content(tmp_path) as asker:
        assert set(await search(asker, "needle")) == {*ids, more}


@pytest.mark.parametrize("kind", DAMAGES)
async def test_adding_to_a_damaged_index_makes_it_anew(tmp_path: Path, kind: str) -> None:
    async with open_content(tmp_path) as asker:
        ids = [await add(asker, f"needle number {number}\n") for number in range(3)]

    DAMAGES[kind](the_store(tmp_path))

    async with open_content(tmp_path) as asker:
        ids.append(await add(asker, "one more needle"))
        assert set(await search(asker, "needle")) == set(ids)


async def test_an_index_that_is_taken_away_while_it_is_used_is_made_anew(tmp_path: Path) -> None:
    async with open_content(tmp_path) as asker:
        id = await add(asker, "needle")
        assert await search(asker, "needle") == [id]

        shutil.rmtree(the_store(tmp_path))

        assert await search(asker, "needle") == [id]
        other = await add(asker, "needle too")
        assert set(await search(asker, "needle")) == {id, other}


async def test_another_tokenizer_makes_another_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_content(tmp_path) as asker:
        id = await add(asker, "needle 바늘")
    before = (the_store(tmp_path) / "version").read_text(encoding="utf-8")
    monkeypatch.setattr(tokens, "TOKENIZER_VERSION", 999)

    async with open_content(tmp_path) as asker:
        assert await search(asker, "needle") == [id]
    after = (the_store(tmp_path) / "version").read_text(encoding="utf-8")

    assert before != after
    assert after.endswith("/999\n")


async def test_many_who_search_a_damaged_index_at_once_all_find_everything(tmp_path: Path) -> None:
    async with open_content(tmp_path) as asker:
        ids = [await add(asker, f"needle number {number}\n") for number in range(5)]
    (the_store(tmp_path) / "version").unlink()

    async with open_content(tmp_path) as asker:
        results = await asyncio.gather(*(search(asker, "needle") for _ in range(20)))

    assert all(set(one) == set(ids) for one in results)


async def test_many_who_add_and_delete_at_once_find_what_they_should(tmp_path: Path) -> None:
    async with open_content(tmp_path) as asker:

        async def client(name: str) -> str:
            deleted, remaining = await add(asker, f"{name}gone needle"), await add(asker, f"{name}kept needle")
            assert await search(asker, f"{name}gone") == [deleted]
            await asker.done("delete_content", contentId=deleted)
            assert await search(asker, f"{name}gone") == []
            assert await search(asker, f"{name}kept") == [remaining]
            return remaining

        remaining = await asyncio.gather(*(client(name) for name in "abcdefghijkl"))

        assert set(await search(asker, "needle")) == set(remaining)


async def test_the_folder_of_a_deleted_store_goes_and_one_that_was_left_behind_too(tmp_path: Path) -> None:
    async with open_content(tmp_path) as asker:
        store = (await asker.done("create_store")).data["storeId"]
        await add(asker, "needle", storeId=store)
        await search(asker, "needle", storeId=store)
        assert (tmp_path / "index" / store).is_dir()
        assert (tmp_path / "index").stat().st_mode & 0o777 == 0o700
        await asker.done("delete_store", storeId=store)
        assert list((tmp_path / "index").iterdir()) == []
    (tmp_path / "index" / "left-behind" / "words").mkdir(parents=True)

    async with open_content(tmp_path) as asker:
        await asker.done("list_stores")

    assert list((tmp_path / "index").iterdir()) == []


async def test_the_index_holds_no_text_and_is_small(tmp_path: Path) -> None:
    text = "\n".join(f"Sentence {n}: the value of item {n * 7919 % 1000} was measured twice." for n in range(20_000))
    async with open_content(tmp_path) as asker:
        await add(asker, text)
    words = the_store(tmp_path) / "words"
    size = sum(path.stat().st_size for path in words.iterdir())

    assert size < 0.25 * len(text)
    assert all(b"was measured twice" not in path.read_bytes() for path in words.iterdir())
    fields = {field["name"]: field for field in json.loads((words / "meta.json").read_text())["schema"]}
    assert fields["body"]["options"]["stored"] is False


class PanicException(BaseException):
    """As tantivy's panics arrive in Python: by this name, and no `Exception`."""


def test_a_panic_means_a_damaged_index_and_nothing_else_does() -> None:
    for error in (PanicException("index out of bounds"), ValueError("Data corrupted"), OSError("No space left")):
        with pytest.raises(IndexUnusable, match=str(error)), _index_io():
            raise error
    with pytest.raises(KeyboardInterrupt), _index_io():
        raise KeyboardInterrupt


def test_an_inline_search_ranks_the_same_and_leaves_the_rest_to_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def indexes() -> StoreIndex:
        return StoreIndex(tmp_path, Tokenizer().name)

    tokenizer, zebra = Tokenizer(), Tokenizer().query("zebra")
    first, second = indexes(), indexes()
    assert first.search_inline(zebra, 5) is None  # opening takes a while
    first.create()
    first.write_version()
    first.replace([1], [(1, 1, tokenizer.tokens("a zebra")), (1, 2, tokenizer.tokens("no giraffa"))])
    first.commit()
    ranked = first.search_inline(zebra, 5)
    assert ranked
    assert ranked == first.search(zebra, 5)

    second.open()
    first.replace([2], [(2, 3, tokenizer.tokens("another zebra"))])
    first.commit()
    assert second.search_inline(zebra, 5) is None  # so does reading what another has committed
    assert len(second.search(zebra, 5)) == 2

    monkeypatch.setattr(matching, "INLINE_MAX_POSTINGS", 1)
    assert second.search_inline(zebra, 5) is None
    assert second.search_inline(tokenizer.query("giraffa"), 5)
    first.close_writer()
