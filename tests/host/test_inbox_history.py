"""What was asked and is over, over the API: how it ended, with what answer and by whom, page by page."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from madang.core.ids import LOCAL_USER
from madang.database.port import Transaction
from madang.llm.messages import Part, TextPart
from madang.system.clock import format_timestamp, now
from tests.agent.bench import eventually, tool_call
from tests.agent.outside import Outside
from tests.host.hosting import Tab, hosting
from tests.host.test_foreign_client import ask, client
from tests.host.test_inbox import one_item
from tests.host.test_reload import calls_of, check
from tests.host.test_sessions import over
from tests.host.test_views import call_tool
from tests.postgresql import url_in


async def settled(tab: Tab, state: str, **query: Any) -> list[Any]:
    answer = await tab.get("/api/inbox", params={"state": state, **query})
    assert answer["items"] == []
    items: list[Any] = answer["settled"]
    return items


async def asked(tab: Tab, session: str, prompt: str, **more: Any) -> str:
    """Ask the person something, and return the id of the question."""
    arguments = {"prompt": prompt, "type": "text", **more}
    reply = await tab.post(f"/api/sessions/{session}/tools/prompt_user", {"arguments": arguments})
    id: str = reply["pauseId"]
    return id


@pytest.mark.parametrize("is_on_server", [False, True])
async def test_an_answer_is_told_in_short_after_a_reload_too(tmp_path: Path, is_on_server: bool) -> None:
    options = ["green", "black", "oolong"]
    answers: list[list[Part]] = [
        [tool_call("prompt_user", prompt="Which teas?", type="multiselect", options=options)],
        [TextPart("Good.")],
    ]
    url = url_in(tmp_path) if is_on_server else ""
    async with hosting(tmp_path, *answers, url=url) as tab:
        session = await tab.new_session(title="Tea")
        await tab.write(session, "Ask me")
        item = await one_item(tab)
        assert await settled(tab, "answered") == []
        await tab.post(f"/api/inbox/{item['id']}", {"answer": ["green", "oolong"]})
        await over(tab, session)

        [entry] = await settled(tab, "answered")
        assert (entry["id"], entry["title"], entry["sessionTitle"]) == (item["id"], "Which teas?", "Tea")
        assert (entry["status"], entry["answer"], entry["settledBy"]) == ("answered", "green, oolong", "person")
        assert entry["settledAt"] >= entry["openedAt"]
        assert await settled(tab, "over") == []
        [call] = calls_of(await check(tab, session))
        assert (call["pause"]["answer"], call["pause"]["settler"]) == ("green, oolong", "")
        view = await tab.get(f"/api/views/{call['viewId']}")
        assert (view["pause"]["answer"], view["pause"]["settledBy"]) == ("green, oolong", "person")


async def test_a_long_answer_is_one_short_line(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        id = await asked(tab, session, "Which tea?")
        await tab.post(f"/api/inbox/{id}", {"answer": "green\nor\u202eblack " + "x" * 5000})
        [entry] = await settled(tab, "answered")
        assert entry["answer"].startswith("green or\\u202eblack")
        assert len(entry["answer"]) <= 120


async def test_who_answered_elsewhere_is_told_by_name(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab, client(tmp_path) as other:
        question = await ask(other)
        await one_item(tab)
        await other.call_tool("reply_prompt", {"messageId": question["messageId"], "answer": "black"})
        [entry] = await eventually(lambda: settled(tab, "answered"), lambda items: len(items) == 1)
        assert (entry["settledBy"], entry["settler"], entry["asker"]) == ("relayed", "Tea Desktop", "Tea Desktop")
        assert (entry["answer"], entry["sessionId"]) == ("black", "theirs")


async def test_a_choice_is_told_by_what_was_chosen_also_after_that_is_deleted(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        await call_tool(tab, session, "create_playbook", goal="Make tea", workflow=[])
        shown = await call_tool(tab, session, "show_playbooks")
        item = await one_item(tab)
        id = item["choices"][0]["value"]
        await tab.post(f"/api/inbox/{item['id']}", {"answer": id})
        await call_tool(tab, session, "delete_playbook", id=id)
        entries = (await tab.get("/api/inbox?state=answered", headers={"accept-language": "ko"}))["settled"]
        assert [(one["kind"], one["title"], one["answer"]) for one in entries] == [
            ("choice", "플레이북을 고르세요", "Make tea")
        ]
        assert (await tab.get(f"/api/views/{shown['view']['id']}"))["pause"]["answer"] == "Make tea"


async def test_every_end_without_an_answer_is_told_as_what_it_was(tmp_path: Path) -> None:
    answers: list[list[Part]] = [[tool_call("prompt_user", prompt="Withdrawn?", type="text")], [TextPart("Good.")]]
    async with hosting(tmp_path, *answers) as tab:
        session = await tab.new_session()
        await asked(tab, session, "Expired?", timeoutS=1)
        await tab.post(f"/api/inbox/{await asked(tab, session, 'Skipped?')}", {"decline": True})
        await call_tool(tab, session, "create_playbook", goal="Make tea", workflow=[])
        await call_tool(tab, session, "show_playbooks")
        await call_tool(tab, session, "show_playbooks")
        await tab.write(session, "Ask me")
        await eventually(tab.inbox, lambda items: any(one["text"] == "Withdrawn?" for one in items))
        await tab.post(f"/api/sessions/{session}/stop")
        await over(tab, session)

        entries = await eventually(lambda: settled(tab, "over"), lambda items: len(items) == 4)
        assert {one["title"]: (one["status"], one["answer"]) for one in entries} == {
            "Expired?": ("expired", ""),
            "Skipped?": ("cancelled", ""),
            "Choose a playbook": ("superseded", ""),
            "Withdrawn?": ("withdrawn", ""),
        }
        assert [one["settledAt"] for one in entries] == sorted((one["settledAt"] for one in entries), reverse=True)
        assert [one["type"] for one in await tab.inbox()] == ["choice"]
        assert await settled(tab, "answered") == []


async def test_decisions_and_waits_are_there_and_turns_of_the_model_are_not(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        tab.host.agent.madang.provider.register(Outside())
        session = await tab.new_session()
        await call_tool(tab, session, "wait_for_user", message="Plug it in")
        await tab.post(f"/api/inbox/{(await one_item(tab))['id']}", {"answer": ""})
        await tab.post(f"/api/sessions/{session}/turns", {"calls": [{"tool": "erase", "arguments": {"name": "tea"}}]})
        approval = await one_item(tab)
        assert approval["type"] == "approval"
        await tab.post(f"/api/inbox/{approval['id']}", {"allow": True})
        turn = await eventually(tab.inbox, lambda items: [one["type"] for one in items] == ["model"])
        await tab.post(f"/api/inbox/{turn[0]['id']}", {"say": "Done."})
        await over(tab, session)

        entries = await settled(tab, "answered")
        assert [(one["kind"], one["tool"], one["answer"]) for one in entries] == [
            ("approval", "erase", ""),
            ("wait", "wait_for_user", ""),
        ]


@pytest.mark.parametrize("is_on_server", [False, True])
async def test_the_history_is_paged_and_of_the_last_days(tmp_path: Path, is_on_server: bool) -> None:
    async with hosting(tmp_path, url=url_in(tmp_path) if is_on_server else "") as tab:
        session = await tab.new_session()
        ids = [await asked(tab, session, f"Tea {number}?", timeoutS=1) for number in range(2)]
        for number in range(5):
            ids.append(id := await asked(tab, session, f"Cup {number}?"))
            await tab.post(f"/api/inbox/{id}", {"decline": True})
        await eventually(tab.inbox, lambda items: items == [])
        await asyncio.sleep(0.01)

        pages = [await tab.get("/api/inbox", params={"state": "over", "limit": 3})]
        while pages[-1]["next"]:
            pages.append(await tab.get("/api/inbox", params={"state": "over", "limit": 3, "after": pages[-1]["next"]}))
        assert [len(page["settled"]) for page in pages] == [3, 3, 1]
        assert sorted(one["id"] for page in pages for one in page["settled"]) == sorted(ids)

        await _age(tab, ids[:3], timedelta(days=7, minutes=1))
        await _age(tab, ids[3:4], timedelta(days=6, hours=23))
        assert [one["id"] for one in await settled(tab, "over")] == [*reversed(ids[4:]), ids[3]]

        for query in ({"after": "yesterday"}, {"after": "2026-11-16T00:00:00.000Z"}, {"limit": 0}, {"state": "gone"}):
            refused = await tab.http.get("/api/inbox", params={"state": "over", **query})
            assert refused.status_code == 400, query


async def _age(tab: Tab, ids: list[str], age: timedelta) -> None:
    """Let pauses have ended that long ago."""
    then = format_timestamp(now() - age)

    async def work(tx: Transaction) -> None:
        for id in ids:
            for column in ("settled_at", "expires_at"):
                sql = f"UPDATE pause SET {column} = ?3 WHERE user_id = ?1 AND id = ?2 AND {column} IS NOT NULL"
                await tx.run(sql, LOCAL_USER, id, then)

    await tab.host.agent.madang.database.write(work, user_id=LOCAL_USER)
