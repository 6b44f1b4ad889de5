"""What waits is read and settled by who opened it, in types: a look leaves no trace, and an answer leaves one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from madang.database.sqlite.database import SqliteDatabase
from madang.host.api import ApiRequest
from madang.host.inbox import InboxApi
from madang.host.wire_inbox import InboxAnswer
from madang.llm.messages import TextPart
from madang.provider.provider import Provider
from tests.agent.bench import eventually, tool_call
from tests.agent.trips import Trips
from tests.host.hosting import Tab, hosting
from tests.host.test_inbox import one_item
from tests.host.test_sessions import over
from tests.host.test_views import call_tool

AUDIT = "SELECT tool, door, actor, decision, outcome FROM audit ORDER BY seq"


async def audited(tab: Tab) -> list[Any]:
    madang = tab.host.agent.madang
    await madang.audit.flush()
    return await madang.database.find(AUDIT)


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What a look at the inbox, and nothing that happens beside it, asks of the database and the tools."""
    counts: Counter[str] = Counter()
    is_looking: ContextVar[bool] = ContextVar("is_looking", default=False)
    list_items = InboxApi.list_items

    @wraps(list_items)
    async def look(self: InboxApi, request: ApiRequest) -> InboxAnswer:
        is_looking.set(True)
        return await list_items(self, request)

    def counted(owner: type, name: str) -> None:
        method: Callable[..., Any] = getattr(owner, name)

        async def count(self: Any, *given: Any, **named: Any) -> Any:
            counts[name] += is_looking.get()
            return await method(self, *given, **named)

        monkeypatch.setattr(owner, name, count)

    monkeypatch.setattr(InboxApi, "list_items", look)
    for name in ("read", "write"):
        counted(SqliteDatabase, name)
    counted(Provider, "execute_tool")
    return counts


async def test_a_look_at_thirty_questions_is_three_reads_and_leaves_no_trace(
    tmp_path: Path, looking: Counter[str]
) -> None:
    async with hosting(tmp_path) as tab:
        for number in range(30):
            session = await tab.new_session(title=f"Session {number}")
            await call_tool(tab, session, "prompt_user", prompt=f"Question {number}?", type="text")
        before = await audited(tab)
        looking.clear()

        items = await tab.inbox()

        asked = [(f"Question {number}?", f"Session {number}") for number in reversed(range(30))]
        assert [(item["text"], item["sessionTitle"]) for item in items] == asked
        assert looking["read"] <= 3
        assert (looking["write"], looking["execute_tool"]) == (0, 0)
        assert await audited(tab) == before


async def test_many_choices_are_read_together(tmp_path: Path, looking: Counter[str]) -> None:
    async with hosting(tmp_path) as tab:
        for _ in range(5):
            session = await tab.new_session()
            await call_tool(tab, session, "create_playbook", goal="Brew tea", workflow=[])
            await call_tool(tab, session, "show_playbooks")
        looking.clear()

        items = await tab.inbox()

        assert [len(item["choices"]) for item in items] == [5] * 5
        assert looking["read"] <= 3


async def test_an_answer_is_one_row_of_the_audit_trail(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        await call_tool(tab, session, "prompt_user", prompt="Which tea?", type="text")
        await call_tool(tab, session, "wait_for_user", message="Plug it in")
        before = await audited(tab)
        wait, question = await tab.inbox()

        await tab.post(f"/api/inbox/{question['id']}", {"answer": "green"})
        await tab.post(f"/api/inbox/{wait['id']}", {"answer": ""})
        await tab.http.post(f"/api/inbox/{question['id']}", json={"answer": "black"})

        rows = (await audited(tab))[len(before) :]
        assert rows == [("answer", "host", "person", "allow", outcome) for outcome in ("ok", "ok", "conflict")]


@asynccontextmanager
async def travelling(folder: Path, *answers: Any) -> AsyncIterator[Tab]:
    trips = Trips()
    async with hosting(folder, *answers, services=[trips]) as tab:
        trips.holder.database = tab.host.agent.madang.database
        yield tab


async def test_a_choice_is_answered_by_the_service_that_opened_it(tmp_path: Path) -> None:
    async with travelling(tmp_path, [tool_call("offer_trips")], [TextPart("Have fun.")]) as tab:
        session = await tab.new_session()
        await tab.write(session, "Where to?")
        item = await one_item(tab)
        assert (item["service"], item["type"], item["text"]) == ("trips", "choice", "Which trip?")
        assert [choice["label"] for choice in item["choices"]] == ["Up the mountain", "Over to the island"]
        path = f"/api/inbox/{item['id']}"
        assert (await tab.http.post(path, json={"answer": "seoraksan"})).status_code == 400

        settled = await tab.post(path, {"answer": "udo"})

        assert settled["status"] == "answered"
        await over(tab, session)
        [call] = (await tab.messages(session))["calls"].values()
        assert call["text"] == "[offer_trips] Trip: udo"
        assert await tab.host.agent.madang.database.find("SELECT id FROM playbook_run") == []


async def test_a_choice_of_any_service_can_be_declined(tmp_path: Path) -> None:
    async with travelling(tmp_path, [tool_call("offer_trips")], [TextPart("As you like.")]) as tab:
        session = await tab.new_session()
        await tab.write(session, "Where to?")
        path = f"/api/inbox/{(await one_item(tab))['id']}"

        assert (await tab.post(path, {"decline": True}))["status"] == "cancelled"

        assert (await tab.http.post(path, json={"decline": True})).status_code == 409
        await over(tab, session)


async def test_a_service_that_fails_leaves_what_the_row_says_and_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> Any:
        raise RuntimeError("no trips today")

    monkeypatch.setattr(Trips, "read_pause", fail)
    async with travelling(tmp_path) as tab:
        session = await tab.new_session()
        await call_tool(tab, session, "offer_trips")
        await call_tool(tab, session, "prompt_user", prompt="Which tea?", type="select", options=["green", "black"])

        question, choice = await eventually(tab.inbox, lambda items: len(items) == 2)

        assert [option["value"] for option in question["choices"]] == ["green", "black"]
        assert (choice["type"], choice["text"], choice["choices"]) == ("choice", "Which trip?", [])


async def test_a_choice_that_is_over_selects_nothing_more(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        await call_tool(tab, session, "create_playbook", goal="Brew tea", workflow=[])
        await call_tool(tab, session, "create_playbook", goal="Clean up", workflow=[])
        await call_tool(tab, session, "show_playbooks")
        item = await one_item(tab)
        first, second = (choice["value"] for choice in item["choices"])
        path = f"/api/inbox/{item['id']}"

        answers = await asyncio.gather(*(tab.http.post(path, json={"answer": id}) for id in (first, first, first)))
        late = await tab.http.post(path, json={"answer": second})

        assert [one.status_code for one in answers] == [200] * 3
        assert late.status_code == 409
        runs = await tab.host.agent.madang.database.find("SELECT playbook_id FROM playbook_run")
        assert runs == [(first,)]
