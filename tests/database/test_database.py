"""What every database back end promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from madang.core.errors import SetupError, Unavailable
from madang.database.port import Database, Transaction
from tests.backends import BACK_ENDS, EMBEDDED, NUMBERS, insert, numbers, opened, same_steps

WITHIN_S = 60


class Refused(Exception):
    """A unit of work changed its mind."""


@asynccontextmanager
async def watching(database: Database, *topics: str) -> AsyncIterator[AsyncIterator[frozenset[str]]]:
    """Watch `topics`: the first value is taken, so watching has begun."""
    changes = database.changes(*topics)
    async with aclosing(changes):
        with anyio.fail_after(WITHIN_S):
            assert await anext(changes) == frozenset()
        yield changes


async def told(changes: AsyncIterator[frozenset[str]]) -> frozenset[str]:
    with anyio.fail_after(WITHIN_S):
        return await anext(changes)


async def test_what_was_written_is_read(database: Database) -> None:
    await insert(database, 1, 2)
    await insert(database, 3)

    assert await numbers(database) == [1, 2, 3]


async def test_a_transaction_answers_with_rows_one_row_and_counts(database: Database) -> None:
    async def work(tx: Transaction) -> list[object]:
        return [
            await tx.run("INSERT INTO number VALUES (1, 'one'), (2, 'two'), (3, NULL)"),
            await tx.one("SELECT note FROM number WHERE value = ?1", 1),
            await tx.one("SELECT note FROM number WHERE value = ?1", 9),
            await tx.all("SELECT value, note FROM number WHERE value > ?1 ORDER BY value", 1),
            await tx.run("UPDATE number SET note = ?2 WHERE value >= ?1", 2, "more"),
            await tx.run("DELETE FROM number WHERE value = 9"),
        ]

    assert await database.write(work) == [3, ("one",), None, [(2, "two"), (3, None)], 2, 0]


async def test_one_statement_finds_rows_without_a_unit_of_work(database: Database) -> None:
    await insert(database, 3, 1, 2)

    assert await database.find("SELECT value FROM number WHERE value > ?1 ORDER BY value DESC", 1) == [(3,), (2,)]
    assert await database.find("SELECT value FROM number WHERE value > ?1", 9) == []


async def test_of_a_unit_that_raises_nothing_is_kept_and_its_error_comes_up(database: Database) -> None:
    async def work(tx: Transaction) -> None:
        await tx.run("INSERT INTO number (value) VALUES (1)")
        raise Refused

    with pytest.raises(Refused):
        await database.write(work)

    assert await numbers(database) == []


async def test_a_read_that_raises_gives_its_error_and_the_next_one_works(database: Database) -> None:
    async def work(tx: Transaction) -> None:
        await tx.one("SELECT 1")
        raise Refused

    for _ in range(5):
        with pytest.raises(Refused):
            await database.read(work)

    assert await numbers(database) == []


async def test_a_failing_unit_takes_none_of_its_neighbours_along(database: Database) -> None:
    await insert(database, 0)

    async def unit(value: int) -> None:
        async def work(tx: Transaction) -> None:
            await tx.run("INSERT INTO number (value) VALUES (?1)", value)
            if value % 3 == 1:
                raise Refused
            if value % 3 == 2:
                await tx.run("INSERT INTO number (value) VALUES (0)")  # is there already

        await database.write(work)

    outcomes = await asyncio.gather(*(unit(value) for value in range(1, 100)), return_exceptions=True)

    assert [value for value, outcome in enumerate(outcomes, 1) if outcome is None] == list(range(3, 100, 3))
    assert all(isinstance(outcome, Refused) for outcome in outcomes[::3])
    assert await numbers(database) == list(range(0, 100, 3))


async def test_readers_never_see_half_of_a_unit(database: Database) -> None:
    """Two rows always hold 100 together; every reader must find it so, however many move parts of it."""
    await insert(database, 1, 2)

    async def balances(tx: Transaction) -> list[int]:
        return [int((await tx.one("SELECT note FROM number WHERE value = ?1", value) or "0")[0]) for value in (1, 2)]

    async def move(tx: Transaction) -> None:
        first, second = await balances(tx)
        await tx.run("UPDATE number SET note = ?1 WHERE value = 1", str(first - 1))
        await tx.run("UPDATE number SET note = ?1 WHERE value = 2", str(second + 1))

    async def start(tx: Transaction) -> None:
        await tx.run("UPDATE number SET note = '50'")

    await database.write(start)
    seen: list[list[int]] = []

    async def look() -> None:
        for _ in range(40):
            seen.append(await database.read(balances))

    async def change() -> None:
        for _ in range(40):
            await database.write(move)

    await asyncio.gather(look(), change(), look(), change())

    assert {sum(pair) for pair in seen} == {100}
    assert await database.read(balances) == [50 - 80, 50 + 80]


async def test_a_cancelled_caller_leaves_the_others_alone(database: Database) -> None:
    tasks = [asyncio.create_task(insert(database, value)) for value in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()

    await asyncio.gather(*tasks, return_exceptions=True)
    await insert(database, 100)

    assert {*range(1, 20, 2), 100} <= set(await numbers(database))


@pytest.mark.parametrize("back_end", EMBEDDED)
@given(
    units=st.lists(
        st.tuples(st.lists(st.integers(0, 12), min_size=1, max_size=4), st.booleans(), st.booleans()), max_size=20
    )
)
@settings(max_examples=25, deadline=None)
async def test_units_at_once_keep_what_those_that_returned_wrote(
    back_end: str, units: list[tuple[list[int], bool, bool]]
) -> None:
    """Units that raise, units that break a constraint and good ones, together in one batch, against a plain set."""

    async def unit(database: Database, values: list[int], removes: bool, raises: bool) -> bool:
        async def work(tx: Transaction) -> None:
            for value in values:
                sql = "DELETE FROM number WHERE value = ?1" if removes else "INSERT INTO number (value) VALUES (?1)"
                await tx.run(sql, value)
            if raises:
                raise Refused

        try:
            await database.write(work)
        except Exception:
            return False
        return True

    with TemporaryDirectory() as folder:
        async with opened(BACK_ENDS[back_end](Path(folder))) as database:
            outcomes = await asyncio.gather(*(unit(database, *parts) for parts in units))
            stored = await numbers(database)

    expected: set[int] = set()
    for (values, removes, raises), was_kept in zip(units, outcomes, strict=True):
        fits = removes or (len(set(values)) == len(values) and not expected & set(values))
        assert was_kept == (fits and not raises)
        if was_kept:
            expected = expected - set(values) if removes else expected | set(values)
    assert stored == sorted(expected)


async def test_watching_begins_with_an_empty_value_then_tells_the_topics_that_changed(database: Database) -> None:
    async with watching(database, "apple", "pear") as changes:
        await insert(database, 1, topic="pear")
        assert await told(changes) == {"pear"}

        await insert(database, 2, topic="plum")
        await insert(database, 3, topic="apple")
        assert await told(changes) == {"apple"}


async def test_several_subscriptions_each_get_their_own_and_one_may_end(database: Database) -> None:
    async with watching(database, "apple") as first:
        async with watching(database, "pear", "apple") as second:
            await insert(database, 1, topic="apple")
            assert await told(first) == {"apple"}
            assert await told(second) == {"apple"}
        await insert(database, 2, topic="apple")
        assert await told(first) == {"apple"}
    async with watching(database, "apple") as again:
        await insert(database, 3, topic="apple")
        assert await told(again) == {"apple"}


async def test_a_unit_that_raised_tells_nothing_though_its_neighbours_do(database: Database) -> None:
    async def refused(tx: Transaction) -> None:
        await tx.notify("refused")
        raise Refused

    async with watching(database, "refused", "kept") as changes:
        outcomes = await asyncio.gather(
            insert(database, 1, topic="kept"), database.write(refused), return_exceptions=True
        )
        assert isinstance(outcomes[1], Refused)
        assert await told(changes) == {"kept"}


async def tell_much(tx: Transaction) -> None:
    for number in range(5000):
        await tx.notify(f"topic {number}")


@pytest.mark.parametrize("database", ["disk"], indirect=True)
async def test_a_gap_in_the_notices_wakes_everybody(database: Database, tmp_path: Path) -> None:
    """Old notices are trimmed. Who was too late to read them is told of all its topics, and looks for itself."""
    async with watching(database, "topic 3", "quiet") as changes:
        async with opened(BACK_ENDS["disk"](tmp_path)) as other:
            await other.write(tell_much)
        assert await told(changes) == {"topic 3", "quiet"}


@pytest.mark.parametrize("database", EMBEDDED, indirect=True)
async def test_a_process_knows_its_own_notices_however_many_they_are(database: Database) -> None:
    async with watching(database, "topic 3", "quiet") as changes:
        await database.write(tell_much)
        assert await told(changes) == {"topic 3"}


async def test_a_watcher_ends_when_the_database_closes(database: Database) -> None:
    async with watching(database, "apple") as changes:
        await database.close()
        with anyio.fail_after(WITHIN_S), pytest.raises(StopAsyncIteration):
            await anext(changes)


async def test_closing_finishes_what_was_accepted(database: Database) -> None:
    writes = [asyncio.create_task(insert(database, value)) for value in range(100)]
    reads = [asyncio.create_task(numbers(database)) for _ in range(10)]
    await asyncio.sleep(0)

    await database.close()

    with anyio.fail_after(WITHIN_S):
        await asyncio.gather(*writes, *reads)


async def test_after_closing_everything_is_refused_and_closing_again_is_harmless(database: Database) -> None:
    await database.close()
    await database.close()

    with pytest.raises(Unavailable, match="closed"):
        await insert(database, 1)
    with pytest.raises(Unavailable, match="closed"):
        await numbers(database)
    with pytest.raises(Unavailable, match="closed"):
        await anext(database.changes("apple"))


async def test_a_database_that_was_closed_twice_can_be_opened_again(database: Database) -> None:
    await database.close()
    await database.close()

    with anyio.fail_after(WITHIN_S):
        await database.prepare(NUMBERS)
        await insert(database, 1)
        assert 1 in await numbers(database)


async def test_topics_that_cannot_be_stored_fail_their_unit_and_nothing_else(database: Database) -> None:
    with pytest.raises(UnicodeEncodeError):
        await insert(database, 1, topic="half a pair: \ud800")

    with anyio.fail_after(WITHIN_S):
        await insert(database, 2)
        assert await numbers(database) == [2]


async def test_each_step_of_a_set_is_done_once_and_sets_do_not_mix(database: Database) -> None:
    first = same_steps("first", ("CREATE TABLE a (x INTEGER)", "INSERT INTO a VALUES (1)"))
    second = same_steps("second", ("CREATE TABLE b (x INTEGER)",))

    for _ in range(3):
        await asyncio.gather(database.prepare(first), database.prepare(second))

    async def counts(tx: Transaction) -> list[object]:
        return [await tx.one("SELECT count(*) FROM a"), await tx.one("SELECT count(*) FROM b")]

    assert await database.read(counts) == [(1,), (0,)]


async def test_a_step_that_fails_leaves_nothing_and_can_be_tried_again(database: Database) -> None:
    broken = same_steps(
        "set", ("CREATE TABLE a (x INTEGER)", "CREATE TABLE b (x INTEGER); INSERT INTO nowhere VALUES (1)")
    )
    mended = same_steps("set", ("CREATE TABLE a (x INTEGER)", "CREATE TABLE b (x INTEGER); INSERT INTO b VALUES (1)"))

    with pytest.raises(Exception, match="nowhere"):
        await database.prepare(broken)

    async def one(tx: Transaction) -> object:
        return await tx.one("SELECT count(*) FROM b")

    with pytest.raises(Exception, match=r"no such table|does not exist"):
        await database.read(one)
    await database.prepare(mended)
    assert await database.read(one) == (1,)


@pytest.mark.parametrize("back_end", ["disk", "server"])
async def test_a_database_of_a_newer_version_is_refused(back_end: str, tmp_path: Path) -> None:
    steps = ("CREATE TABLE a (x INTEGER)", "CREATE TABLE b (x INTEGER)")
    async with opened(BACK_ENDS[back_end](tmp_path)) as newer:
        await newer.prepare(same_steps("set", steps))

    async with opened(BACK_ENDS[back_end](tmp_path)) as older:
        with pytest.raises(SetupError, match="newer Madang"):
            await older.prepare(same_steps("set", steps[:1]))


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("turns", range(1, 12))
async def test_a_first_caller_that_gives_up_leaves_the_next_a_whole_database(
    back_end: str, turns: int, tmp_path: Path
) -> None:
    """As when a client goes away while its first call opens everything: cancelled after so many turns of the loop."""
    database = BACK_ENDS[back_end](tmp_path)
    first = asyncio.create_task(database.prepare(NUMBERS))
    for _ in range(turns):
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)

    with anyio.fail_after(WITHIN_S):
        async with opened(database):
            await insert(database, 1, topic="apple")
            assert await numbers(database) == [1]


async def test_closing_waits_for_an_opening_that_nobody_waits_for(tmp_path: Path) -> None:
    database = BACK_ENDS["disk"](tmp_path)
    first = asyncio.create_task(database.prepare(NUMBERS))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()

    with anyio.fail_after(WITHIN_S):
        await database.close()

    with pytest.raises(Unavailable, match="closed"):
        await numbers(database)
