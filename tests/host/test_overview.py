"""What tabs are told beside their talk: read once for all of them, and whole, so that they ask for nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from madang.database.sqlite.database import SqliteDatabase
from madang.llm.messages import Part, TextPart
from tests.agent.bench import tool_call
from tests.host.hosting import Events, Tab, hosting

MAX_MESSAGE_READS = 33
"""Of a message with a call and a question, all of them: the agent's, the services' and the host's."""

ASKING = tool_call("prompt_user", prompt="Which tea?", type="select", options=["green", "black"])


class CountedReads:
    """How often a database is read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        read = SqliteDatabase.read

        async def counted(database: SqliteDatabase, *arguments: Any, **options: Any) -> Any:
            self.count += 1
            return await read(database, *arguments, **options)

        monkeypatch.setattr(SqliteDatabase, "read", counted)
        # Otherwise it polls for what other processes do, the more often the slower the machine is.
        monkeypatch.setattr("madang.database.notices.POLL_S", 60.0)


async def told_question(events: Events) -> dict[str, Any]:
    """Return the item that a stream tells next, once the stream has also told that the run waits for it."""
    item: dict[str, Any] = {}
    is_over = is_listed = False
    while not (item and is_over and is_listed):
        event = await events.next()
        match event["type"], event.get("name"):
            case "CUSTOM", "madang/pauses" if event["value"]["items"]:
                [item] = event["value"]["items"]
            case "CUSTOM", "madang/sessions":
                is_listed = any(
                    one["openPauses"] == 1 and one["run"] and one["run"]["state"] == "waiting"
                    for one in event["value"]["sessions"]
                )
            case "RUN_FINISHED", _:
                is_over = event["outcome"]["type"] == "interrupt"
    return item


async def start(tab: Tab) -> str:
    """Return a session in which a first message has warmed everything up."""
    session = await tab.new_session(title="Tea")
    async with tab.events(session) as events:
        await tab.write(session, "Warm up")
        await events.until("RUN_FINISHED")
    return session


async def test_a_message_with_a_call_and_a_question_takes_few_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = CountedReads(monkeypatch)
    answers: list[list[Part]] = [
        [tool_call("add_todo", name="a")],
        [TextPart("Warm")],
        [tool_call("add_todo", name="b"), ASKING],
    ]
    took: list[int] = []
    for attempt in range(3):  # a machine that is busy looks once more, here and there
        async with hosting(tmp_path / str(attempt), *answers) as tab:
            session = await start(tab)
            async with tab.events(session) as events:
                await events.until("STATE_SNAPSHOT")
                before = reads.count
                await tab.write(session, "Ask me")
                await told_question(events)
                took.append(reads.count - before)

    assert min(took) <= MAX_MESSAGE_READS


async def test_a_question_is_told_with_all_that_its_answer_needs(tmp_path: Path) -> None:
    async with hosting(tmp_path, [ASKING], [TextPart("Fine.")]) as tab:
        session, beside = await tab.new_session(title="Tea"), await tab.new_session()
        async with tab.events(beside) as events:
            await tab.write(session, "Ask me")
            told = await events.until("CUSTOM", "madang/pauses")
            while not told["value"]["items"]:
                told = await events.until("CUSTOM", "madang/pauses")
            asked = await tab.inbox()
            async with tab.events(session) as late:
                later = await late.until("CUSTOM", "madang/pauses")
            await tab.post(f"/api/inbox/{asked[0]['id']}", {"answer": "green"})
            settled = await events.until("CUSTOM", "madang/pauses")

    assert told["value"] == {"ids": [asked[0]["id"]], "items": asked}
    assert later["value"] == {"ids": [asked[0]["id"]], "items": []}
    assert settled["value"] == {"ids": [], "items": []}


async def test_each_tab_is_told_in_the_language_of_its_browser(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        tools = f"/api/sessions/{session}/tools"
        await tab.post(f"{tools}/create_playbook", {"arguments": {"goal": "Make tea", "workflow": []}})
        titles = {}

        async def title_in(locale: str, has_begun: asyncio.Event) -> None:
            async with tab.http.stream("GET", "/api/events", headers={"accept-language": locale}) as response:
                events = Events(response.aiter_lines())
                await events.until("CUSTOM", "madang/pauses")
                has_begun.set()
                [item] = (await events.until("CUSTOM", "madang/pauses"))["value"]["items"]
                titles[locale] = item["title"]

        async with asyncio.TaskGroup() as tasks:
            begun = [asyncio.Event(), asyncio.Event()]
            for locale, has_begun in zip(("en", "ko"), begun, strict=True):
                tasks.create_task(title_in(locale, has_begun))
            for has_begun in begun:
                await has_begun.wait()
            await tab.post(f"{tools}/show_playbooks", {"arguments": {}})

    assert titles["en"] != titles["ko"]


async def test_a_question_that_expires_leaves_the_count_of_its_session(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab, tab.http.stream("GET", "/api/events") as response:
        events = Events(response.aiter_lines())
        await events.until("CUSTOM", "madang/inbox")
        session = await tab.new_session()
        arguments = {"prompt": "Which tea?", "type": "text", "timeoutS": 1}
        await tab.post(f"/api/sessions/{session}/tools/prompt_user", {"arguments": arguments})
        counts: list[int] = []
        while 1 not in counts or counts[-1] != 0:
            value = (await events.until("CUSTOM", "madang/sessions"))["value"]
            counts += [one["openPauses"] for one in value["sessions"] if one["id"] == session]
