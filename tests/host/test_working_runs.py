"""Runs at work in any process of the data folder: told to every open session, read while they write, and stopped."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest, Streamed
from madang.llm.messages import TextPart
from tests.agent.bench import Script
from tests.host.hosting import Events, hosting


class Writer(Script):
    """Writes two words, and the third when it may."""

    def __init__(self) -> None:
        super().__init__([TextPart("Green tea, please.")])
        self.may_end = asyncio.Event()

    async def stream(self, request: ModelRequest) -> Streamed:
        self.requests.append(request)
        yield ModelDelta("text", "Green ")
        yield ModelDelta("text", "tea, ")
        await self.may_end.wait()
        yield ModelDelta("text", "please.")
        yield ModelAnswer((TextPart("Green tea, please."),), "stop")


async def until_runs(events: Events, count: int) -> list[dict[str, Any]]:
    """Return the runs that were told last, or are told next, once there are so many."""
    while True:
        told = [event["value"]["runs"] for event in events.seen if event.get("name") == "madang/runs"]
        if told and len(told[-1]) == count:
            return list(told[-1])
        await events.next()


async def test_the_words_of_a_run_in_another_process_are_told_as_they_are_written(tmp_path: Path) -> None:
    writer = Writer()
    async with hosting(tmp_path, script=writer) as elsewhere, hosting(tmp_path) as tab:
        session = await elsewhere.new_session()
        async with tab.events(session) as events:
            await elsewhere.write(session, "Tea?")
            [run] = await until_runs(events, 1)
            written = ""
            while written != "Green tea, ":
                live = await events.until("TEXT_MESSAGE_CONTENT")
                if live["_id"] is None:
                    assert live["metadata"]["offset"] == len(written)
                    written += live["delta"]
            async with tab.events(session) as late:
                while (begun := await late.until("TEXT_MESSAGE_CONTENT"))["_id"] is not None:
                    pass
            writer.may_end.set()
            await events.until("RUN_FINISHED")
            await until_runs(events, 0)
        stored = [event["delta"] for event in events.stored() if event["type"] == "TEXT_MESSAGE_CONTENT"]

    assert (run["sessionId"], run["isElsewhere"], run["startedAt"] > "2026") == (session, True, True)
    assert (begun["delta"], begun["metadata"]["offset"]) == ("Green tea, ", 0)
    assert stored == ["Tea?", "Green tea, please."]


async def test_a_run_in_another_process_is_told_in_every_session_and_can_be_stopped(tmp_path: Path) -> None:
    async with hosting(tmp_path, script=Writer()) as elsewhere, hosting(tmp_path) as tab:
        session, beside = await elsewhere.new_session(title="Shopping"), await tab.new_session()
        async with tab.events(beside) as events, elsewhere.events(beside) as at_home:
            await elsewhere.write(session, "Tea?")
            [run] = await until_runs(events, 1)
            [own] = await until_runs(at_home, 1)
            await tab.post(f"/api/sessions/{session}/stop")
            await until_runs(events, 0)
        async with asyncio.timeout(30):
            await elsewhere.host.agent.runner.wait_idle()
        ended = (await tab.messages(session))["run"]

    assert (run["title"], run["isElsewhere"]) == ("Shopping", True)
    assert own["isElsewhere"] is False
    assert ended["state"] == "cancelled"
