"""The event log with several processes: no gap, nothing missed, also when one of them is killed."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from madang.records.events import Event, EventLog, NewEvent
from tests.postgresql import url_in
from tests.records.event_writer import CALL, open_database
from tests.stores.children import ROOT, TIMEOUT_S, Child

PLACES: dict[str, Callable[[Path], str]] = {"disk": lambda folder: str(folder / "madang.db"), "server": url_in}
EACH = 200


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return PLACES[request.param](tmp_path)


@asynccontextmanager
async def writer(place: str, name: str, count: int) -> AsyncIterator[Child]:
    command = [sys.executable, "-m", "tests.records.event_writer", place, name, str(count)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    async with await anyio.open_process(command, cwd=ROOT, env=environment, stderr=None) as process:
        try:
            child = Child(process)
            assert await child.line() == "ready"
            yield child
        finally:
            if process.returncode is None:
                process.kill()


async def follow(log: EventLog, until: Callable[[list[Event]], bool]) -> list[Event]:
    """Watch from the beginning until there is enough."""
    followed: list[Event] = []
    pages = log.watch(CALL, 0, limit=7)
    with anyio.fail_after(TIMEOUT_S * 2):
        async with aclosing(pages):
            async for page in pages:
                assert not page.has_gap
                assert not page.is_beyond
                followed.extend(page.events)
                if until(followed):
                    return followed
    raise AssertionError("the log ended")


async def test_two_processes_write_one_session_and_a_third_misses_nothing(place: str) -> None:
    database = open_database(place)
    log = EventLog(database)
    await log.open()
    async with AsyncExitStack() as stack:
        writers = [await stack.enter_async_context(writer(place, name, EACH)) for name in "ab"]
        for child in writers:
            await child.go()
        followed = await follow(log, lambda events: len(events) >= 2 * EACH)
        for child in writers:
            await child.end()
    page = await log.read(CALL)
    await database.close()

    assert [event.seq for event in followed] == list(range(1, 2 * EACH + 1))
    assert list(page.events) == followed
    for name in "ab":
        assert [e.payload["number"] for e in followed if e.payload["writer"] == name] == list(range(EACH))


@pytest.mark.parametrize("after_lines", [1, 4, 11, 23, 42])
async def test_a_killed_writer_leaves_no_gap_and_no_half_of_a_unit(place: str, after_lines: int) -> None:
    database = open_database(place)
    log = EventLog(database)
    await log.open()
    async with writer(place, "killed", 100_000) as killed, writer(place, "other", EACH) as other:
        await killed.go()
        await other.go()
        acknowledged = 0
        for _ in range(after_lines):
            acknowledged = int(await killed.line())
        killed.process.kill()
        await killed.process.wait()
        followed = await follow(log, lambda events: sum(event.payload["writer"] == "other" for event in events) == EACH)
        await other.end()
    last = await log.append(CALL, NewEvent("END", {"writer": "test"}))
    ends = (await log.read(CALL, after=last - 1)).events
    pages = [await log.read(CALL)]
    while pages[-1].has_more:
        pages.append(await log.read(CALL, pages[-1].next_after))
    await database.close()

    events = [event for page in pages for event in page.events]
    assert [event.seq for event in events] == list(range(1, last + 1))
    assert [event.kind for event in ends] == ["END"]
    assert last > acknowledged
    assert events[: len(followed)] == followed
    numbers = [event.payload["number"] for event in events if event.payload["writer"] == "killed"]
    assert numbers == list(range(len(numbers)))
    # Units have 1, 2, 3, 1, … events by the number they begin with: all of one is there, or none.
    sizes = 0
    while sizes < len(numbers):
        sizes += 1 + sizes % 3
    assert sizes == len(numbers)
