"""The inbox over the API: every kind of question, settled once, from whatever session."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from madang.llm.messages import Part, TextPart
from tests.agent.bench import eventually, tool_call
from tests.agent.outside import Outside
from tests.host.hosting import Tab, hosting
from tests.host.test_sessions import over


async def one_item(tab: Tab) -> Any:
    [item] = await eventually(tab.inbox, lambda items: len(items) == 1)
    return item


async def test_an_answer_reaches_the_call_that_asked(tmp_path: Path) -> None:
    answers: list[list[Part]] = [
        [tool_call("prompt_user", prompt="Which tea?", type="select", options=["green", "black"])]
    ]
    async with hosting(tmp_path, *answers, [TextPart("Good.")]) as tab:
        session = await tab.new_session(title="Tea")
        await tab.write(session, "Ask me")
        item = await one_item(tab)
        assert (item["type"], item["text"], item["sessionTitle"]) == ("select", "Which tea?", "Tea")
        assert [choice["value"] for choice in item["choices"]] == ["green", "black"]

        settled = await tab.post(f"/api/inbox/{item['id']}", {"answer": "green"})

        assert settled["status"] == "answered"
        await over(tab, session)
        assert await tab.inbox() == []
        [call] = (await tab.messages(session))["calls"].values()
        assert "green" in call["text"]


async def test_t28_the_same_answer_again_is_told_as_it_was_and_another_is_refused(tmp_path: Path) -> None:
    answers: list[list[Part]] = [[tool_call("prompt_user", prompt="Which tea?", type="text")], [TextPart("Good.")]]
    async with hosting(tmp_path, *answers) as tab:
        session = await tab.new_session()
        await tab.write(session, "Ask me")
        path = f"/api/inbox/{(await one_item(tab))['id']}"
        first = await tab.http.post(path, json={"answer": "green"})
        again = await tab.http.post(path, json={"answer": "green"})
        other = await tab.http.post(path, json={"answer": "black"})
        assert (first.status_code, again.status_code) == (200, 200)
        assert other.status_code in (409, 410)
        await over(tab, session)
        assert len(tab.script.requests) == 2


async def test_t29_of_many_answers_at_once_one_counts(tmp_path: Path) -> None:
    answers: list[list[Part]] = [[tool_call("prompt_user", prompt="Which tea?", type="text")], [TextPart("Good.")]]
    async with hosting(tmp_path, *answers) as tab:
        session = await tab.new_session()
        await tab.write(session, "Ask me")
        path = f"/api/inbox/{(await one_item(tab))['id']}"
        told = await asyncio.gather(*(tab.http.post(path, json={"answer": f"tea {n}"}) for n in range(20)))
        assert [one.status_code for one in told].count(200) == 1
        await over(tab, session)
        assert len(tab.script.requests) == 2


async def test_a_question_of_another_client_is_in_the_inbox_and_can_be_declined(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        arguments = {"prompt": "Which tea?", "type": "text"}
        await tab.post(f"/api/sessions/{session}/tools/prompt_user", {"arguments": arguments})
        item = await one_item(tab)
        assert (await tab.get(f"/api/inbox/{item['id']}"))["text"] == "Which tea?"
        settled = await tab.post(f"/api/inbox/{item['id']}", {"decline": True})
        assert settled["status"] == "cancelled"
        assert (await tab.http.get(f"/api/inbox/{item['id']}")).status_code == 404


@pytest.mark.parametrize("allow", [True, False])
async def test_a_call_is_made_only_after_it_was_allowed(tmp_path: Path, allow: bool) -> None:
    answers: list[list[Part]] = [[tool_call("erase", name="tea")], [TextPart("Done.")]]
    async with hosting(tmp_path, *answers) as tab:
        outside = Outside()
        tab.host.agent.madang.provider.register(outside)
        session = await tab.new_session()
        await tab.write(session, "Erase it")
        item = await one_item(tab)
        assert (item["type"], item["tool"], item["text"]) == ("approval", "erase", '{"name": "tea"}')
        assert item["reason"]
        path = f"/api/inbox/{item['id']}"
        assert (await tab.http.post(path, json={"answer": "yes"})).status_code == 400
        assert outside.holder.erased == []

        settled = await tab.post(path, {"allow": allow})

        assert settled["status"] == ("answered" if allow else "cancelled")
        assert (await tab.http.post(path, json={"allow": not allow})).status_code == 409
        await over(tab, session)
        assert outside.holder.erased == (["tea"] if allow else [])


async def test_without_a_model_the_person_takes_its_turns(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        await tab.write(session, "Begin")
        item = await one_item(tab)
        assert item["type"] == "model"
        calls = [{"tool": "add_todo", "arguments": {"name": "Buy tea"}}]
        await tab.post(f"/api/inbox/{item['id']}", {"calls": calls})
        following = await eventually(tab.inbox, lambda items: [one["id"] for one in items] not in ([], [item["id"]]))
        await tab.post(f"/api/inbox/{following[0]['id']}", {"say": "Written down."})
        await over(tab, session)
        messages = (await tab.messages(session))["messages"]
        assert messages[-1]["parts"][0]["text"] == "Written down."


async def test_a_wish_must_be_one_and_fit(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        await tab.write(session, "Begin")
        path = f"/api/inbox/{(await one_item(tab))['id']}"
        for body in ({}, {"answer": "x", "decline": True}, {"answer": "x"}, {"allow": True}, {"decline": False}):
            assert (await tab.http.post(path, json=body)).status_code == 400, body


async def test_what_is_open_is_there_after_a_restart(tmp_path: Path) -> None:
    answers: list[list[Part]] = [[tool_call("prompt_user", prompt="Which tea?", type="text")], [TextPart("Good.")]]
    async with hosting(tmp_path, *answers) as tab:
        session = await tab.new_session()
        await tab.write(session, "Ask me")
        before = await one_item(tab)
    async with hosting(tmp_path, [TextPart("Good.")]) as tab:
        assert await one_item(tab) == before
        await tab.post(f"/api/inbox/{before['id']}", {"answer": "green"})
        await over(tab, session)
        assert "green" in str((await tab.messages(session))["messages"])
        assert len(tab.script.requests) == 1
