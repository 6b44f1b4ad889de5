"""Which session the person is in: each move is told once, whatever the streams of their tabs do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from madang.core.ids import AssistantId, SessionId
from madang.core.service import ActiveSession
from madang.host.presence import Presence
from tests.host.hosting import Tab, hosting

A = ActiveSession(AssistantId("default"), SessionId("a"))
B = ActiveSession(AssistantId("editor"), SessionId("b"))


class Told:
    """What the services were told, in order."""

    def __init__(self) -> None:
        self.places: list[ActiveSession | None] = []
        self._changed = asyncio.Condition()

    async def switch(self, place: ActiveSession | None) -> None:
        async with self._changed:
            self.places.append(place)
            self._changed.notify_all()

    async def until(self, count: int) -> list[ActiveSession | None]:
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(lambda: len(self.places) >= count)
        return self.places


@asynccontextmanager
async def presence(told: Told, grace_s: float) -> AsyncIterator[Presence]:
    one = Presence(told.switch, grace_s=grace_s)
    yield one
    await one.close()


async def test_a_move_between_sessions_is_told_once() -> None:
    told = Told()
    async with presence(told, grace_s=60) as place:
        with place.at(A):
            await told.until(1)
        # The stream of the first is closed before that of the next is opened.
        with place.at(B):
            assert await told.until(2) == [A, B]


async def test_a_reload_is_no_move_and_neither_is_a_second_tab() -> None:
    told = Told()
    async with presence(told, grace_s=60) as place:
        with place.at(A):
            await told.until(1)
        with place.at(A), place.at(A):
            await asyncio.sleep(0)
        with place.at(B):
            assert await told.until(2) == [A, B]


async def test_when_all_are_closed_the_services_are_told_that_there_is_none() -> None:
    told = Told()
    async with presence(told, grace_s=0) as place:
        with place.at(A):
            await told.until(1)
        assert await told.until(2) == [A, None]


async def test_when_the_last_tab_is_closed_the_one_before_it_counts_again() -> None:
    told = Told()
    async with presence(told, grace_s=0) as place:
        with place.at(A):
            await told.until(1)
            with place.at(B):
                await told.until(2)
            assert await told.until(3) == [A, B, A]


async def test_a_slow_service_is_told_of_the_last_move_alone() -> None:
    places: list[ActiveSession | None] = []
    is_slow, go_on, is_told = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def switch(place: ActiveSession | None) -> None:
        places.append(place)
        if is_slow.is_set():
            is_told.set()
        is_slow.set()
        await go_on.wait()

    one = Presence(switch, grace_s=60)
    other = ActiveSession(AssistantId("default"), SessionId("c"))
    with one.at(A):
        await is_slow.wait()
        with one.at(B), one.at(other):
            go_on.set()
            async with asyncio.timeout(60):
                await is_told.wait()
    assert places == [A, other]
    await one.close()


async def test_moving_from_one_session_to_another_tells_the_services_once(tmp_path: Path) -> None:
    told = Told()
    async with hosting(tmp_path) as tab:
        service = next(iter(tab.host.agent.madang.provider.status))
        first, second = await tab.new_session(), await tab.new_session()
        _listen(tab, service, told)
        async with tab.events(first) as events:
            await events.until("STATE_SNAPSHOT")
            await told.until(1)
        async with tab.events(second) as events:
            await events.until("STATE_SNAPSHOT")
            places = await told.until(2)
        assert [place and place.session_id for place in places] == [first, second]


async def test_a_session_that_goes_over_to_another_assistant_is_told_once(tmp_path: Path) -> None:
    told = Told()
    async with hosting(tmp_path) as tab:
        service = next(iter(tab.host.agent.madang.provider.status))
        editor = await tab.post("/api/assistants", {"name": "editor"})
        session = await tab.new_session(assistantId="editor")
        _listen(tab, service, told)
        async with tab.events(session) as events:
            await events.until("STATE_SNAPSHOT")
            await told.until(1)
            deleted = await tab.http.delete(f"/api/assistants/editor?version={editor['version']}")
            assert deleted.status_code == 200, deleted.text
            assert (await events.until("CUSTOM", "madang/resync"))["value"] == {"reason": "stopping"}
        async with tab.events(session) as events:
            await events.until("STATE_SNAPSHOT")
            places = await told.until(2)

    assert [(place.assistant_id, place.session_id) for place in places if place] == [
        ("editor", session),
        ("default", session),
    ]


async def test_a_service_that_hangs_delays_the_next_move_by_no_more_than_the_limit(tmp_path: Path) -> None:
    happened: list[str] = []
    told = Told()

    async def hang(place: ActiveSession | None) -> None:
        happened.append("begins")
        try:
            await asyncio.sleep(3600)
        finally:
            happened.append("is cut off")

    async with hosting(tmp_path) as tab:
        provider = tab.host.agent.madang.provider
        provider._lifecycle._hook_limit_s = 0.05
        first, second, third = list(provider.status)[:3]
        _listen(tab, first, told)
        object.__setattr__(provider._registry.get(second), "switch_context", hang)
        object.__setattr__(provider._registry.get(third), "switch_context", _fail)
        for number in (1, 2):
            async with tab.events(await tab.new_session()) as events:
                await events.until("STATE_SNAPSHOT")
                await told.until(number)

    assert happened[:3] == ["begins", "is cut off", "begins"]


async def _fail(place: ActiveSession | None) -> None:
    raise RuntimeError("on purpose")


def _listen(tab: Tab, name: str, told: Told) -> None:
    """Have the service of a name tell of its hook, which the provider calls."""
    service = tab.host.agent.madang.provider._registry.get(name)
    assert service is not None
    object.__setattr__(service, "switch_context", told.switch)
