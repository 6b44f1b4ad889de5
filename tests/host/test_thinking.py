"""What a model thinks, while it thinks it and afterwards, and how long that took."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from madang.core.phrases import say
from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest, Streamed
from madang.llm.errors import Overloaded
from madang.llm.messages import TextPart, ThinkingPart
from tests.agent.bench import Script
from tests.host.hosting import Tab, hosting
from tests.host.test_reload import check
from tests.host.test_sessions import over

ANSWER = (ThinkingPart("Green 차 first."), ThinkingPart("Or black."), TextPart("Green tea."))


class Thinking(Script):
    """Thinks in two parts, then says a word, and goes on when it is let."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__([TextPart("")])
        self.thought = asyncio.Event()
        self.goes_on = asyncio.Event()
        self._fails = fails

    async def stream(self, request: ModelRequest) -> Streamed:
        self.requests.append(request)
        if self._fails and len(self.requests) == 1:
            yield ModelDelta("thinking", "Coffee, of course.", 0)
            yield ModelDelta("text", "Cof", 1)
            raise Overloaded(say("Busy."), retry_after_s=0.0)
        for piece in ("Green ", "차 first."):
            yield ModelDelta("thinking", piece, 0)
        await asyncio.sleep(0.02)
        yield ModelDelta("thinking", "Or black.", 1)
        yield ModelDelta("text", "Green ", 2)
        self.thought.set()
        await self.goes_on.wait()
        yield ModelDelta("text", "tea.", 2)
        yield ModelAnswer(ANSWER, "stop")


def written(events: list[dict[str, Any]], kind: str) -> str:
    """Return the text that live events make, each put at its place."""
    text = ""
    for event in events:
        if event["type"] == kind and event["_id"] is None:
            offset = event["metadata"]["offset"]
            assert offset <= len(text)
            text = text[:offset] + event["delta"]
    return text


async def said(tab: Tab, session: str, script: Thinking) -> list[dict[str, Any]]:
    """Follow a session from the middle of its answer to the first stored event of it, and return what was live."""
    async with tab.events(session, after=(await tab.messages(session))["lastSeq"]) as events:
        while not written(events.seen, "TEXT_MESSAGE_CONTENT"):
            await events.next()
        script.goes_on.set()
        await events.until("RUN_FINISHED")
        return events.seen


async def test_thinking_is_told_while_it_is_thought_also_to_who_comes_late(tmp_path: Path) -> None:
    script = Thinking()
    async with hosting(tmp_path, script=script) as tab:
        session = await tab.new_session()
        async with tab.events(session) as events:
            await events.until("STATE_SNAPSHOT")
            await tab.write(session, "Which tea?")
            await script.thought.wait()
            late = await said(tab, session, script)
            await events.until("RUN_FINISHED")
        for seen in (events.seen, late):
            assert written(seen, "REASONING_MESSAGE_CONTENT") == "Green 차 first.\n\nOr black."
            assert written(seen, "TEXT_MESSAGE_CONTENT") == "Green tea."
        live = [event for event in events.seen if event["type"] == "REASONING_MESSAGE_CONTENT" and not event["_id"]]
        assert {event["metadata"]["messageNo"] for event in live} == {1}


async def test_how_long_was_thought_is_kept(tmp_path: Path) -> None:
    script = Thinking()
    script.goes_on.set()
    async with hosting(tmp_path, script=script) as tab:
        session = await tab.new_session()
        await tab.write(session, "Which tea?")
        await over(tab, session)
        item = (await check(tab, session))["items"][1]
        assert item["thinking"] == "Green 차 first.\n\nOr black."
        first, second, _ = (await tab.messages(session))["messages"][1]["parts"]
        assert first["tookMs"] >= 20
        assert item["thoughtMs"] == first["tookMs"] + second["tookMs"]


async def test_what_an_attempt_that_failed_had_thought_is_told_to_nobody_any_more(tmp_path: Path) -> None:
    script = Thinking(fails=True)
    async with hosting(tmp_path, script=script) as tab:
        session = await tab.new_session()
        await tab.write(session, "Which tea?")
        await script.thought.wait()
        late = await said(tab, session, script)
        assert "Cof" not in str(late)
        assert written(late, "REASONING_MESSAGE_CONTENT") == "Green 차 first.\n\nOr black."
        assert (await check(tab, session))["items"][1]["text"] == "Green tea."


async def test_an_answer_without_thoughts_says_nothing_of_them(tmp_path: Path) -> None:
    async with hosting(tmp_path, [ThinkingPart("Hidden from the stream."), TextPart("Good.")]) as tab:
        session = await tab.new_session()
        await tab.write(session, "Which tea?")
        await over(tab, session)
        assert (await check(tab, session))["items"][1]["thoughtMs"] is None
