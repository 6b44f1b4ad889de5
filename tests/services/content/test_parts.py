"""Parts on a database server: the older chunks of a large store are found through them, as before they were made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from madang.core.calls import Call
from madang.core.errors import Unavailable
from madang.core.ids import UserId
from madang.database.port import LOCK_WAIT_S, Transaction
from madang.database.postgresql.sql import numbered
from madang.services.content.domain.contents import AddedContent, Limits, NewContent
from madang.services.content.store import ContentStore, SessionRows, maintenance, parts
from madang.services.content.store.insertions import Insertions
from madang.services.content.store.parts import Parts
from madang.text.search.queries import MAX_QUERY_TERMS, Query, Term, TypedWord
from tests.postgresql import database_in, url_in
from tests.services.content.parts import ANN, CHUNKS, NAME, House, open_house

EVE = UserId("eve")


@pytest.fixture
async def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    async with open_house(tmp_path, monkeypatch) as house:
        yield house


async def test_parts_rank_as_the_chunks_they_are_made_of(house: House) -> None:
    texts = [
        " ".join(["tea"] * (number % 5 + 1) + ["leaf"] * (number % 3) + ["filler"] * (number % 7) + [f"n{number}"])
        for number in range(40)
    ]
    for text in texts:
        await house.add(text)
    asked: list[tuple[str | Term, ...]] = [
        ("tea",),
        ("leaf", "tea"),
        ("leaf", "n11", "nowhere"),
        (Term("leaf", 3.0), "filler", "n3"),
        ("nowhere",),
    ]

    before = [await house.rank(*terms, limit=50) for terms in asked]
    assert await house.fold() == 5
    assert (
        await house.rows("SELECT chunks, length > 0, gone, analysis FROM content_part") == [(CHUNKS, True, 0, NAME)] * 5
    )
    after = [await house.rank(*terms, limit=50) for terms in asked]
    await house.add("tea young")
    mixed = await house.texts("tea", "young", limit=3)

    assert [[chunk.chunk_no for chunk in ranked] for ranked in after] == [
        [chunk.chunk_no for chunk in ranked] for ranked in before
    ]
    assert [[chunk.relevance for chunk in ranked] for ranked in after] == [
        pytest.approx([chunk.relevance for chunk in ranked], abs=1e-6) for ranked in before
    ]
    assert len(before[0]) == 40
    assert mixed[0] == "tea young"


async def test_weights_and_weak_terms_count_in_parts_and_outside(house: House) -> None:
    for number in range(CHUNKS):
        await house.add(f"plain{number} ~strong{number}")
    await house.fold()
    await house.add("plain8 ~strong8")

    for number in (0, CHUNKS):
        assert await house.texts(f"strong{number}") == []
        assert await house.texts(Term(f"strong{number}", 0.2, is_weak=True)) == [f"plain{number} ~strong{number}"]
    light, heavy = await house.texts("plain1", Term("plain8", 0.1)), await house.texts(Term("plain1", 0.1), "plain8")
    assert (light[0], heavy[0]) == ("plain1 ~strong1", "plain8 ~strong8")
    assert await house.rows("SELECT length FROM content_part") == [(CHUNKS,)]


async def test_a_word_that_is_nowhere_is_found_by_another_spelling(house: House) -> None:
    texts = [*(f"filler n{number}" for number in range(CHUNKS - 2)), "oolong leaf", "콘텐츠"]
    await house.add(*texts)
    await house.fold()
    await house.add("sencha leaf", "만년필")

    for typed, expected in (
        ("oolnog", "oolong leaf"),
        ("senca", "sencha leaf"),
        ("컨텐츠", "콘텐츠"),
        ("만연필", "만년필"),
    ):
        query = Query((Term(typed),), typed=(TypedWord(typed, typed, (typed,)),))
        [best] = (await house.ranking.rank(house.store, query, 10)).chunks
        [passage], _ = await house.contents.passages(house.store, [best])
        assert passage.chunk.text == expected
        assert best.relevance < 1
    unknown = Query((Term("xyzzyx"),), typed=(TypedWord("xyzzyx", "xyzzyx", ("xyzzyx",)),))
    assert (await house.ranking.rank(house.store, unknown, 10)).chunks == []


async def test_a_word_that_is_there_is_not_spelled_otherwise(house: House) -> None:
    await house.add("oolong", "oolongs", *(f"filler n{number}" for number in range(CHUNKS)))
    await house.fold()

    query = Query((Term("oolong"),), typed=(TypedWord("oolong", "oolong", ("oolong",)),))
    assert len((await house.ranking.rank(house.store, query, 10)).chunks) == 1


async def test_of_very_many_terms_the_rarest_count(house: House) -> None:
    common = " ".join(f"word{number}" for number in range(2 * MAX_QUERY_TERMS))
    for number in range(CHUNKS + 1):
        await house.add(f"{common} rare{number}")
    await house.fold()

    for number in (0, CHUNKS):
        terms = [*common.split(), f"rare{number}"]
        assert (await house.texts(*terms, limit=1))[0].endswith(f" rare{number}")


async def test_equal_scores_come_in_the_order_of_the_chunks(house: House) -> None:
    for number in range(3 * CHUNKS):
        await house.add(f"same words here {number}")

    before = [chunk.chunk_no for chunk in await house.rank("words", "here", limit=50)]
    await house.fold()
    after = [chunk.chunk_no for chunk in await house.rank("here", "words", limit=50)]

    assert before == after == sorted(before)


async def test_what_is_deleted_is_gone_at_once_and_others_move_up(house: House) -> None:
    ids = [await house.add(f"tea {'leaf ' * (9 - number % 9)} n{number}") for number in range(3 * CHUNKS)]
    await house.fold()
    before = [chunk.chunk_no for chunk in await house.rank("tea", "leaf", limit=8)]

    for no in before[:5]:
        await house.delete(ids[no - 1])
    after = [chunk.chunk_no for chunk in await house.rank("tea", "leaf", limit=3)]

    assert after == before[5:]
    assert await house.rows("SELECT sum(gone) FROM content_part") == [(5,)]


async def test_deletions_that_no_part_has_counted_cost_no_place(house: House) -> None:
    """A deletion that began before a fold was committed does not see the part."""
    ids = [await house.add(f"tea n{number}") for number in range(CHUNKS)]
    await house.fold()
    for number in range(3):
        await house.add(f"young{number} tea longer than others")
    for id in ids[:6]:
        await house.delete(id)
    await house.database.write(lambda tx: tx.run("UPDATE content_part SET gone = 0"), user_id=ANN.user_id)

    assert await house.texts("tea", limit=1) == ["tea n6"]
    assert (await house.texts("tea", limit=3))[:2] == ["tea n6", "tea n7"]
    assert len(await house.texts("tea", limit=5)) == 5


async def test_a_part_is_made_anew_when_a_quarter_is_gone_and_small_ones_become_one(house: House) -> None:
    ids = [await house.add(f"tea n{number}") for number in range(3 * CHUNKS)]
    await house.fold()
    await house.delete(ids[0])
    await house.rebuild()
    assert await house.rows("SELECT chunks, gone FROM content_part ORDER BY after_no") == [(8, 1), (8, 0), (8, 0)]

    for id in ids[1:12]:
        await house.delete(id)
    await house.rebuild()

    assert await house.rows("SELECT chunks, gone FROM content_part ORDER BY after_no") == [(4, 0), (8, 0)]
    assert await house.rows("SELECT many, cardinality(hits) FROM content_word WHERE word = 'tea' ORDER BY many") == [
        (4, 4),
        (8, 8),
    ]
    assert await house.rows("SELECT 1 FROM content_word WHERE word = 'n3'") == []
    assert len(await house.rank("tea", limit=50)) == 12
    for id in ids[12:]:
        await house.delete(id)
    await house.rebuild()
    assert await house.rows("SELECT 1 FROM content_part") == []
    await house.add("tea again")
    assert await house.texts("tea") == ["tea again"]


async def test_a_number_that_was_drawn_before_the_fence_is_waited_for(house: House, tmp_path: Path) -> None:
    """An add that drew a lower number commits after the others: it must not fall between the parts and the young."""
    drawn, may_commit = asyncio.Event(), asyncio.Event()

    class SlowInsertions(Insertions):
        async def insert(self, tx: Transaction, call: Call, store_id: str, new: NewContent) -> AddedContent:
            added = await super().insert(tx, call, store_id, new)
            drawn.set()
            await may_commit.wait()
            return added

    contents = ContentStore(house.database, Limits())
    contents._insertions = SlowInsertions(house.database, Limits())
    slow = House(house.database, contents, house.ranking, house.parts, house.store)
    late = asyncio.create_task(slow.add("tea late"))
    await drawn.wait()
    for number in range(CHUNKS):
        await house.add(f"tea n{number}")

    with pytest.raises(Unavailable):
        await house.fold()
    assert await house.rows("SELECT 1 FROM content_part") == []
    may_commit.set()
    await late
    assert await house.fold() == 1

    assert await house.texts("late") == ["tea late"]
    assert len(await house.rank("tea", limit=50)) == CHUNKS + 1


async def test_a_fence_that_waits_holds_up_others_for_a_moment_only(house: House) -> None:
    for number in range(CHUNKS):
        await house.add(f"tea n{number}")
    entered, may_end = asyncio.Event(), asyncio.Event()

    async def work(tx: Transaction) -> None:
        entered.set()
        await may_end.wait()

    busy = asyncio.create_task(house.database.write(work, user_id=ANN.user_id))
    await entered.wait()
    loop = asyncio.get_running_loop()
    fence = asyncio.create_task(house.parts.find_fence(house.store))
    started = loop.time()
    await asyncio.sleep(0)
    await house.add("tea meanwhile")
    took_s = loop.time() - started
    with pytest.raises(Unavailable):
        await fence
    may_end.set()
    await busy

    assert took_s < LOCK_WAIT_S


async def test_a_fold_under_way_holds_up_nobody(house: House, tmp_path: Path) -> None:
    ids = [await house.add(f"tea n{number}") for number in range(CHUNKS)]
    other = (await house.contents.create_store(ANN, "Other", "")).key
    connection = await asyncpg.connect(url_in(tmp_path))
    fold = connection.transaction()
    await fold.start()
    await connection.execute("SELECT set_config('madang.user_id', 'ann', true)")
    await connection.execute(numbered(parts._FOLD), "ann", house.store.no, 0, CHUNKS, NAME)  # the statement itself

    async with asyncio.timeout(LOCK_WAIT_S):  # so long a unit waits for a lock
        await house.add("tea meanwhile")
        assert len(await house.rank("tea", limit=50)) == CHUNKS + 1
        await house.delete(ids[0])
        await house.contents.delete_store(ANN, other.id)
    await fold.commit()
    await connection.close()

    assert len(await house.rank("tea", limit=50)) == CHUNKS
    assert await house.rows("SELECT chunks, gone FROM content_part") == [(CHUNKS, 0)]  # it could not count that


async def test_two_processes_do_not_fold_the_same_chunks(house: House, tmp_path: Path) -> None:
    for number in range(4 * CHUNKS):
        await house.add(f"tea n{number}")
    other = database_in(tmp_path)
    await ContentStore(other, Limits()).open()
    fence = await house.parts.find_fence(house.store)

    while any(await asyncio.gather(*(one.fold_next(house.store, fence, NAME) for one in (house.parts, Parts(other))))):
        pass
    await other.close()

    assert len(await house.rank("tea", limit=100)) == 4 * CHUNKS
    assert await house.rows("SELECT sum(many) FROM content_word WHERE word = 'tea'") == [(4 * CHUNKS,)]


async def test_another_user_finds_nothing_and_can_attach_nothing(house: House, tmp_path: Path) -> None:
    for number in range(CHUNKS):
        await house.add(f"tea n{number}")
    await house.fold()

    assert await house.rank("tea", store=house.store._replace(user_id=EVE)) == []
    for table in ("content_part", "content_word"):
        assert await house.rows(f"SELECT 1 FROM {table}", "eve") == []
    part = "INSERT INTO content_part (user_id, store_no, after_no, to_no, chunks, length, analysis)"
    word = "INSERT INTO content_word (user_id, store_no, part_no, word, many, hits)"
    [(part_no,)] = await house.rows("SELECT no FROM content_part")
    no = house.store.no
    connection = await asyncpg.connect(url_in(tmp_path))
    await connection.execute("SET madang.user_id = 'eve'")
    for sql, refusal in (
        (f"{part} VALUES ('eve', {no}, 0, 9, 1, 1, '')", asyncpg.ForeignKeyViolationError),
        (f"{word} VALUES ('eve', {no}, {part_no}, 'tea', 1, '{{1}}')", asyncpg.ForeignKeyViolationError),
        (f"{part} VALUES ('ann', {no}, 0, 9, 1, 1, '')", asyncpg.InsufficientPrivilegeError),
        (f"{word} VALUES ('ann', {no}, {part_no}, 'tea', 1, '{{1}}')", asyncpg.InsufficientPrivilegeError),
    ):
        with pytest.raises(refusal):
            await connection.execute(sql)
    assert await connection.execute("UPDATE content_part SET gone = 5") == "UPDATE 0"
    await connection.close()


async def test_a_store_that_is_deleted_for_good_leaves_no_part(house: House) -> None:
    for number in range(CHUNKS):
        await house.add(f"tea n{number}")
    await house.fold()

    await SessionRows(house.database, Limits()).delete_stores(ANN)

    for table in ("content_part", "content_word", "content_chunk"):
        assert await house.rows(f"SELECT 1 FROM {table}") == []
    assert not await house.parts.fold_next(house.store, 10**6, NAME)


async def test_additions_are_folded_in_the_background_and_closing_ends_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "DELAY_S", 0.01)
    for number in range(2 * CHUNKS + 1):
        await house.add(f"tea n{number}")
        house.ranking.follow(house.store)
    for _ in range(1_000):
        if await house.rows("SELECT count(*) FROM content_part") == [(2,)]:
            break
        await asyncio.sleep(0.02)

    assert await house.rows("SELECT count(*) FROM content_part") == [(2,)]
    assert len(await house.rank("tea", limit=50)) == 2 * CHUNKS + 1
    house.ranking.follow(house.store)
    await house.ranking.close()
    house.ranking.follow(house.store)
    assert not [task for task in asyncio.all_tasks() if "maintenance" in task.get_name()]


async def test_a_small_store_has_no_parts(house: House) -> None:
    for number in range(CHUNKS - 1):
        await house.add(f"tea n{number}")

    assert await house.parts.find_fence(house.store) == 0
    assert await house.fold() == 0
    assert len(await house.rank("tea")) == CHUNKS - 1
