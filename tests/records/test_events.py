"""The event log: gapless, in the order of commits, read and watched from any number on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest

from madang.core.calls import Call
from madang.core.errors import Conflict, LimitExceeded
from madang.core.ids import AssistantId, SessionId, UserId
from madang.database.port import Database, ResultT, Transaction, Work
from madang.records.events import (
    MAX_PAYLOAD_BYTES,
    EventLog,
    EventPage,
    NewEvent,
    append_events,
    restore_events,
)
from madang.records.sessions import SessionStore
from madang.system.clock import format_timestamp, now
from tests.backends import BACK_ENDS

ANN = Call(AssistantId("editor"), SessionId("default"), UserId("ann"))
BOB = replace(ANN, user_id=UserId("bob"))
WITHIN_S = 60


@pytest.fixture(params=BACK_ENDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database = BACK_ENDS[request.param](tmp_path)
    await EventLog(database).open()
    yield database
    await database.close()


@pytest.fixture
def log(database: Database) -> EventLog:
    return EventLog(database)


def numbered(first: int, count: int) -> list[NewEvent]:
    return [NewEvent("STEP", {"number": number}) for number in range(first, first + count)]


def seqs(page: EventPage) -> list[int]:
    return [event.seq for event in page.events]


async def delete_before(database: Database, seq: int) -> None:
    async def work(tx: Transaction) -> None:
        await tx.run("DELETE FROM event WHERE seq < ?1", seq)

    await database.write(work, user_id=ANN.user_id)


async def test_events_are_read_from_any_number_on(log: EventLog) -> None:
    assert await log.append(ANN, *numbered(1, 3)) == 3
    assert (
        await log.append(replace(ANN, run_id="run 1"), NewEvent("가", {"text": "한\x00\ud800", "deep": [1, None]})) == 4
    )

    page = await log.read(ANN, after=2)

    assert seqs(page) == [3, 4]
    assert [(event.run_id, event.kind) for event in page.events] == [("", "STEP"), ("run 1", "가")]
    assert page.events[1].payload == {"text": "한\x00\ud800", "deep": [1, None]}
    assert page.events[0].at <= page.events[1].at
    assert page.events[0].at.endswith("Z")
    assert (page.first_seq, page.last_seq, page.has_gap, page.is_beyond, page.has_more) == (1, 4, False, False, False)
    assert seqs(await log.read(ANN, after=0, limit=2)) == [1, 2]
    assert seqs(await log.read(ANN, after=-5)) == [1, 2, 3, 4]
    assert await log.read(ANN, after=4) == EventPage((), 4, 1, 4)


async def test_a_number_beyond_the_end_is_told_as_such(log: EventLog) -> None:
    await log.append(ANN, *numbered(1, 2))

    assert await log.read(ANN, after=3) == EventPage((), 3, 1, 2, is_beyond=True)
    assert await log.read(replace(ANN, session_id=SessionId("new")), after=1) == EventPage((), 1, 1, 0, is_beyond=True)
    assert await log.read(replace(ANN, session_id=SessionId("new"))) == EventPage((), 0, 1, 0)


async def test_a_reader_learns_that_older_events_were_dropped(database: Database, log: EventLog) -> None:
    await log.append(ANN, *numbered(1, 5))
    await delete_before(database, 4)

    page = await log.read(ANN, after=1)
    assert (seqs(page), page.first_seq, page.has_gap) == ([4, 5], 4, True)
    assert not (await log.read(ANN, after=3)).has_gap
    await delete_before(database, 9)
    page = await log.read(ANN, after=1)
    assert (seqs(page), page.first_seq, page.last_seq, page.has_gap, page.next_after) == ([], 6, 5, True, 5)
    assert await log.append(ANN, NewEvent("STEP", {})) == 6


async def test_an_event_is_written_with_its_unit_or_not_at_all(database: Database, log: EventLog) -> None:
    await log.append(ANN, *numbered(1, 1))

    async def fail(tx: Transaction) -> None:
        await append_events(tx, ANN, numbered(2, 3))
        raise RuntimeError("changed its mind")

    with pytest.raises(RuntimeError):
        await database.write(fail, user_id=ANN.user_id)
    with pytest.raises(LimitExceeded):
        await log.append(ANN, NewEvent("STEP", {"text": "한" * (MAX_PAYLOAD_BYTES // 3)}))
    assert await log.append(ANN, *numbered(2, 1)) == 2
    assert seqs(await log.read(ANN)) == [1, 2]


async def test_large_events_come_in_smaller_pages(log: EventLog) -> None:
    large = NewEvent("STEP", {"text": "x" * (MAX_PAYLOAD_BYTES - 100)})
    for _ in range(10):
        await log.append(ANN, large, large, large)

    page = await log.read(ANN)

    assert page.has_more
    assert 10 < len(page.events) < 20
    assert seqs(await log.read(ANN, after=page.next_after)) == list(range(page.next_after + 1, 31))


async def test_another_users_session_and_events_are_not_there(log: EventLog) -> None:
    await log.append(ANN, *numbered(1, 3))

    assert await log.read(BOB) == EventPage((), 0, 1, 0)
    assert await log.append(BOB, *numbered(1, 1)) == 1
    assert len((await log.read(ANN)).events) == 3


async def test_the_events_go_with_their_session(database: Database, log: EventLog) -> None:
    await log.append(ANN, *numbered(1, 3))
    await log.append(BOB, *numbered(1, 1))

    await SessionStore(database).delete(ANN)

    assert await log.read(ANN) == EventPage((), 0, 1, 0)
    count = await database.find("SELECT count(*) FROM event WHERE user_id = 'ann'", user_id=ANN.user_id)
    assert count == [(0,)]
    assert len((await log.read(BOB)).events) == 1
    assert await log.append(ANN, NewEvent("STEP", {})) == 1


async def next_page(pages: AsyncIterator[EventPage]) -> EventPage:
    with anyio.fail_after(WITHIN_S):
        return await anext(pages)


def watching(log: EventLog, after: int, limit: int = 500) -> aclosing[AsyncGenerator[EventPage, None]]:
    return aclosing(log.watch(ANN, after, limit))


async def test_a_watcher_gets_what_is_there_and_then_what_comes(log: EventLog) -> None:
    await log.append(ANN, *numbered(1, 5))

    async with watching(log, 1, limit=2) as pages:
        assert seqs(await next_page(pages)) == [2, 3]
        assert seqs(await next_page(pages)) == [4, 5]
        waiting = asyncio.ensure_future(next_page(pages))
        await log.append(BOB, *numbered(1, 1))
        await log.append(ANN, *numbered(6, 1))
        assert seqs(await waiting) == [6]


def count_reads(database: Database, monkeypatch: pytest.MonkeyPatch) -> list[UserId]:
    """Return a list that grows with each read for a user."""
    read, reads = database.read, list[UserId]()

    async def counted(work: Work[ResultT], *, user_id: UserId | None = None, brief: bool = False) -> ResultT:
        if user_id is not None:
            reads.append(user_id)
        return await read(work, user_id=user_id, brief=brief)

    monkeypatch.setattr(database, "read", counted)
    return reads


async def test_a_slow_consumer_holds_one_page(
    database: Database, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    await log.append(ANN, *numbered(1, 50))
    reads = count_reads(database, monkeypatch)

    async with watching(log, 0, limit=10) as pages:
        assert seqs(await next_page(pages)) == list(range(1, 11))
        for number in range(100):
            await log.append(ANN, *numbered(number, 1))
        assert len(reads) == 1
        assert seqs(await next_page(pages)) == list(range(11, 21))
        assert len(reads) == 2


async def test_a_watcher_from_the_future_is_told_and_begins_anew(log: EventLog) -> None:
    await log.append(ANN, *numbered(1, 2))

    async with watching(log, 9) as pages:
        assert await next_page(pages) == EventPage((), 9, 1, 2, is_beyond=True)
        assert seqs(await next_page(pages)) == [1, 2]


async def test_a_watcher_of_a_session_that_was_deleted_and_made_again_begins_anew(
    database: Database, log: EventLog
) -> None:
    await log.append(ANN, *numbered(1, 2))

    async with watching(log, 0) as pages:
        assert seqs(await next_page(pages)) == [1, 2]
        await SessionStore(database).delete(ANN)
        await log.append(ANN, *numbered(1, 3))
        page = await next_page(pages)
        assert page.is_beyond
        assert seqs(await next_page(pages)) == [1, 2, 3]


async def test_many_writers_at_once_leave_no_gap_and_a_follower_sees_all(log: EventLog) -> None:
    writers, each = 8, 25

    async def write(writer: int) -> None:
        for number in range(each):
            await log.append(ANN, NewEvent("STEP", {"writer": writer, "number": number}))

    followed: list[tuple[int, int, int]] = []

    async def follow() -> None:
        async with watching(log, 0) as pages:
            while len(followed) < writers * each:
                page = await next_page(pages)
                followed.extend((event.seq, event.payload["writer"], event.payload["number"]) for event in page.events)

    await asyncio.gather(follow(), *(write(writer) for writer in range(writers)))

    assert [seq for seq, _, _ in followed] == list(range(1, writers * each + 1))
    for writer in range(writers):
        assert [number for _, one, number in followed if one == writer] == list(range(each))


async def test_events_of_another_place_are_restored_as_they_were(database: Database, log: EventLog) -> None:
    await log.append(replace(ANN, run_id="run 1"), *numbered(1, 6))
    events = (await log.read(ANN, after=1)).events
    old = [replace(event, at=f"2020-02-0{event.seq}T00:00:00.000Z") for event in events]

    await database.write(lambda tx: restore_events(tx, BOB, old[:3]), user_id=BOB.user_id)
    await database.write(lambda tx: restore_events(tx, BOB, old[3:]), user_id=BOB.user_id)
    await database.write(lambda tx: restore_events(tx, BOB, ()), user_id=BOB.user_id)

    page = await log.read(BOB)
    assert (list(page.events), page.first_seq, page.last_seq) == (old, 2, 6)
    assert await log.append(BOB, *numbered(7, 1)) == 7
    for again in (old[:1], [old[0], old[0]], [replace(old[0], seq=9), replace(old[0], seq=8)]):
        with pytest.raises(Conflict):
            await database.write(partial(restore_events, call=BOB, events=again), user_id=BOB.user_id)


SET_BACK = [timedelta(seconds=20), timedelta(hours=1), timedelta(days=3), timedelta(days=70)]


async def begin_later(database: Database, later: timedelta, call: Call = ANN) -> None:
    """Have a session that began so much later than the clock says now, as when it was set back since."""

    async def work(tx: Transaction) -> None:
        await tx.run("UPDATE session SET created_at = ?1", format_timestamp(now() + later))

    await SessionStore(database).ensure(call)
    await database.write(work, user_id=call.user_id)


@pytest.mark.parametrize("later", SET_BACK, ids=str)
async def test_a_clock_that_was_set_back_hides_nothing(database: Database, log: EventLog, later: timedelta) -> None:
    await begin_later(database, later)
    await log.append(ANN, *numbered(1, 5))

    page = await log.read(ANN)
    assert (seqs(page), page.first_seq, page.last_seq, page.has_gap, page.has_more) == (
        [1, 2, 3, 4, 5],
        1,
        5,
        False,
        False,
    )
    assert seqs(await log.read(ANN, after=1, limit=2)) == [2, 3]
    async with watching(log, 0, limit=2) as pages:
        assert [seqs(await next_page(pages)) for _ in range(3)] == [[1, 2], [3, 4], [5]]
        await log.append(ANN, *numbered(6, 1))
        assert seqs(await next_page(pages)) == [6]


@pytest.mark.parametrize("hidden", [(1, 2), (3, 4), (5, 6), (2, 5)], ids=str)
async def test_events_are_read_by_their_numbers_wherever_the_clock_was_wrong(
    database: Database, log: EventLog, hidden: tuple[int, int]
) -> None:
    """Some events of a log say that they are months older than their session."""
    await log.append(ANN, *numbered(1, 6))

    async def work(tx: Transaction) -> None:
        await tx.run("UPDATE event SET at = ?1 WHERE seq = ?2 OR seq = ?3", "2020-02-02T00:00:00.000Z", *hidden)

    await database.write(work, user_id=ANN.user_id)

    for after in range(6):
        page = await log.read(ANN, after=after)
        assert (seqs(page), page.first_seq, page.has_gap) == (list(range(after + 1, 7)), 1, False)
        assert seqs(await log.read(ANN, after=after, limit=1)) == [after + 1]
    assert (await log.read(ANN, after=6)).next_after == 6


async def test_a_watcher_for_whom_there_is_nothing_waits_for_a_notice(
    database: Database, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last numbers of a log may have no event, as in a copy of one whose last events were dropped."""
    await log.append(ANN, *numbered(1, 3))

    async def work(tx: Transaction) -> None:
        await tx.run("UPDATE session SET last_seq = 9")

    await database.write(work, user_id=ANN.user_id)
    reads = count_reads(database, monkeypatch)

    async with watching(log, 0) as pages:
        assert seqs(await next_page(pages)) == [1, 2, 3]
        waiting = asyncio.ensure_future(next_page(pages))
        for _ in range(50):
            await log.read(BOB)
        assert reads.count(ANN.user_id) <= 2
        await log.append(ANN, *numbered(10, 1))
        assert seqs(await waiting) == [10]
