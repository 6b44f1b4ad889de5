"""Sessions and their messages over the API."""

from __future__ import annotations

import asyncio
import unicodedata
from pathlib import Path
from typing import Any

from madang.llm.messages import Part, TextPart
from tests.agent.bench import eventually, tool_call
from tests.host.hosting import Tab, hosting


async def over(tab: Tab, session: str) -> Any:
    """Wait until a session has no run that is not over, and return it."""
    return await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"] is None)


async def test_a_session_is_made_changed_listed_and_deleted(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        made = await tab.post("/api/sessions", {"title": "Tea", "locale": "ko"})
        path = f"/api/sessions/{made['id']}"
        assert (made["title"], made["locale"], made["assistantId"]) == ("Tea", "ko", "default")

        changed = await tab.http.patch(path, json={"title": "차", "isPinned": True})
        assert changed.status_code == 200
        assert (await tab.get(path))["title"] == "차"
        assert [one["isPinned"] for one in (await tab.get("/api/sessions"))["sessions"]] == [True]

        await tab.http.patch(path, json={"isArchived": True})
        assert (await tab.get("/api/sessions"))["sessions"] == []
        assert [one["id"] for one in (await tab.get("/api/sessions?archived=1"))["sessions"]] == [made["id"]]

        assert (await tab.http.delete(path)).status_code == 200
        assert (await tab.http.get(path)).status_code == 404


async def test_wrong_requests_are_told_as_such(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        for method, path, body, status in [
            ("POST", "/api/sessions", {"colour": "red"}, 400),
            ("POST", "/api/sessions", {"title": "x" * 201}, 400),
            ("POST", "/api/sessions", {"assistantId": "nobody"}, 404),
            ("POST", "/api/sessions", [], 400),
            ("PATCH", f"/api/sessions/{session}", {"isPinned": "yes"}, 400),
            ("PATCH", "/api/sessions/nothing", {"title": "x"}, 404),
            ("POST", f"/api/sessions/{session}/messages", {"text": " "}, 400),
            ("POST", f"/api/sessions/{session}/messages", {"text": "x", "model": "nothing"}, 404),
            ("POST", f"/api/sessions/{session}/fork", {"messageId": "nothing"}, 404),
            ("POST", "/api/inbox/nothing", {"answer": "x"}, 404),
            ("POST", "/api/views/nothing/tools", {"name": "x"}, 404),
        ]:
            answer = await tab.http.request(method, path, json=body)
            assert answer.status_code == status, (method, path, answer.text)
            assert set(answer.json()) == {"code", "message", "hint"}
        for query in ("limit=0", "limit=1.5", "limit=true", "limit=1e30", "archived=2", "page=1", "limit=1&limit=2"):
            answer = await tab.http.get(f"/api/sessions?{query}")
            assert answer.status_code == 400, query
        for query in ("before=-1", "before=x", "limit=201"):
            assert (await tab.http.get(f"/api/sessions/{session}/messages?{query}")).status_code == 400


async def test_errors_are_in_the_language_that_the_browser_asks_for(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        english = (await tab.http.get("/api/sessions/nothing")).json()
        korean = (await tab.http.get("/api/sessions/nothing", headers={"accept-language": "ko-KR,ko;q=0.9"})).json()
        assert english["message"] == "There is no such session."
        assert korean["message"] != english["message"]
        assert english["code"] == korean["code"] == "not_found"


async def test_a_message_starts_a_run_and_its_calls_are_told_with_it(tmp_path: Path) -> None:
    answers: list[list[Part]] = [
        [TextPart("I write it down."), tool_call("add_todo", "c1", name="Buy tea")],
        [TextPart("Done.")],
    ]
    async with hosting(tmp_path, *answers) as tab:
        session = await tab.new_session()
        posted = await tab.write(session, "Remember the tea")
        assert posted["runId"]
        assert posted["queuedId"] == ""
        await over(tab, session)

        told = await tab.messages(session)

        assert [message["role"] for message in told["messages"]] == ["user", "assistant", "tool", "assistant"]
        assert told["messages"][0]["parts"] == [{"type": "text", "text": "Remember the tea"}]
        [(key, call)] = told["calls"].items()
        assert key == f"{told['messages'][1]['id']}/c1"
        assert (call["tool"], call["state"], call["outcome"]) == ("add_todo", "done", "ok")
        assert "Buy tea" in call["text"]
        assert told["lastSeq"] >= told["messages"][-1]["seq"]
        assert (await tab.get(f"/api/sessions/{session}"))["title"] == "Remember the tea"


async def test_older_messages_come_by_number(tmp_path: Path) -> None:
    async with hosting(tmp_path, [TextPart("Yes.")]) as tab:
        session = await tab.new_session()
        for number in range(4):
            await tab.write(session, f"Question {number}")
            await over(tab, session)
        newest = await tab.get(f"/api/sessions/{session}/messages?limit=3")
        assert newest["hasMore"]
        older = await tab.get(f"/api/sessions/{session}/messages?limit=60&before={newest['messages'][0]['seq']}")
        assert not older["hasMore"]
        everything = await tab.messages(session)
        assert [*older["messages"], *newest["messages"]] == everything["messages"]
        assert len(everything["messages"]) == 8


async def test_same_ids_of_calls_in_two_turns_are_told_apart(tmp_path: Path) -> None:
    answers: list[list[Part]] = [
        [tool_call("add_todo", "c1", name="Tea")],
        [tool_call("add_todo", "c1", name="Cups")],
        [TextPart("Done.")],
    ]
    async with hosting(tmp_path, *answers) as tab:
        session = await tab.new_session()
        await tab.write(session, "Two things")
        await over(tab, session)
        calls = (await tab.messages(session))["calls"]
        assert len(calls) == 2
        assert ["Tea" in one["arguments"] for one in calls.values()] == [True, False]


async def test_a_message_waits_while_a_run_waits_and_can_be_withdrawn(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        await tab.write(session, "Begin")  # nobody is the model: the run waits for the person
        await eventually(tab.inbox, lambda items: len(items) == 1)
        stopped = await tab.post(f"/api/sessions/{session}/stop")
        assert stopped == {"stopped": True}
        assert await tab.inbox() == []
        assert await tab.post(f"/api/sessions/{session}/stop") == {"stopped": False}
        answer = await tab.http.delete(f"/api/sessions/{session}/messages/nothing")
        assert answer.status_code == 404


async def test_sessions_are_found_by_title_and_by_words_of_messages(tmp_path: Path) -> None:
    async with hosting(tmp_path, [TextPart("Sencha is green.")]) as tab:
        by_message, other = await tab.new_session(), await tab.new_session(title="Sencha")
        third = await tab.new_session(title="Coffee")
        await tab.write(by_message, "Which tea?")
        await over(tab, by_message)
        found = await tab.get("/api/sessions?query=sencha&sized=1")
        assert {one["id"] for one in found["sessions"]} == {by_message, other}
        assert third not in {one["id"] for one in found["sessions"]}
        assert [(hit["sessionId"], hit["kind"]) for hit in found["hits"]] == [(by_message, "said")]
        assert not found["hasMoreHits"]
        sizes = {one["sessionId"]: (one["messages"], one["calls"]) for one in found["sizes"]}
        assert sizes == {by_message: (2, 0), other: (0, 0)}


async def test_what_tools_returned_is_told_apart_and_calls_are_counted(tmp_path: Path) -> None:
    turns: list[list[Part]] = [[tool_call("add_todo", name="Buy sencha")], [TextPart("Done.")]]
    async with hosting(tmp_path, *turns) as tab:
        session = await tab.new_session()
        await tab.write(session, "Note it.")
        await over(tab, session)
        found = await tab.get("/api/sessions?query=sencha&sized=1")
        assert {hit["kind"] for hit in found["hits"]} == {"returned"}
        assert [(one["messages"], one["calls"]) for one in found["sizes"]] == [(3, 1)]
        assert (await tab.get("/api/sessions"))["sizes"] == []


async def test_sessions_of_one_assistant_are_listed_and_found(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        editor = (await tab.post("/api/assistants", {"name": "Editor"}))["id"]
        theirs = (await tab.post("/api/sessions", {"title": "Tea", "assistantId": editor}))["id"]
        await tab.new_session(title="Tea of mine")
        for query in ("", "&query=tea"):
            found = await tab.get(f"/api/sessions?assistant={editor}{query}")
            assert [one["id"] for one in found["sessions"]] == [theirs]
            assert (await tab.get(f"/api/sessions?assistant=nobody{query}"))["sessions"] == []


async def test_a_fork_shows_the_messages_up_to_where_it_begins(tmp_path: Path) -> None:
    async with hosting(tmp_path, [TextPart("Yes.")]) as tab:
        session = await tab.new_session()
        for text in ("First", "Second"):
            await tab.write(session, text)
            await over(tab, session)
        messages = (await tab.messages(session))["messages"]
        path = f"/api/sessions/{session}/fork"
        fork = await tab.post(path, {"messageId": messages[2]["id"], "before": True})
        assert fork["parentId"] == session
        assert (await tab.messages(fork["id"]))["messages"] == messages[:2]
        found = await tab.get(f"/api/sessions?query=first&session={fork['id']}")
        assert [hit["messageId"] for hit in found["hits"]] == [messages[0]["id"]]
        assert (await tab.get(f"/api/sessions?query=second&session={fork['id']}"))["hits"] == []
        assert (await tab.get("/api/sessions?query=first&session=nothing"))["sessions"] == []


async def test_another_users_sessions_are_as_if_they_were_not_there(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        unknown = await tab.http.get("/api/sessions/nothing/messages")
        bad_name = await tab.http.get("/api/sessions/%00/messages")
        assert unknown.status_code == bad_name.status_code == 404
        assert unknown.json() == bad_name.json()


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    async with hosting(tmp_path, [TextPart("Yes.")]) as tab:
        session = await tab.new_session(title="Tea")
        await tab.write(session, "Hello")
        await over(tab, session)
        before = await tab.messages(session)
    async with hosting(tmp_path, [TextPart("Yes.")]) as tab:
        assert await tab.messages(session) == before
        assert [one["title"] for one in (await tab.get("/api/sessions"))["sessions"]] == ["Tea"]


async def test_titles_are_found_on_whatever_page_and_in_whatever_spelling(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        old = await tab.new_session(title="초록 Tea")
        for number in range(3):
            await tab.new_session(title=f"Coffee {number}")
        put_away = await tab.new_session(title="green tea of old")
        await tab.http.patch(f"/api/sessions/{put_away}", json={"isArchived": True})
        for words in ("TEA", "초록", unicodedata.normalize("NFD", "초록")):
            found = await tab.get("/api/sessions", params={"query": words, "limit": 2})
            assert [one["id"] for one in found["sessions"]] == [old], words
        found = await tab.get("/api/sessions", params={"query": "tea", "archived": 1})
        assert [one["id"] for one in found["sessions"]] == [put_away]


async def test_the_id_of_a_queued_message_takes_it_back(tmp_path: Path) -> None:
    answers: list[list[Part]] = [[tool_call("prompt_user", prompt="Which tea?", type="text")], [TextPart("Good.")]]
    async with hosting(tmp_path, *answers) as tab:
        tab.host.agent.runner.look = lambda: asyncio.sleep(0, [])  # type: ignore[method-assign]  # so nobody takes it
        session = await tab.new_session()
        run = (await tab.write(session, "Ask me"))["runId"]
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"]["state"] == "waiting")
        posted = await asyncio.gather(*(tab.write(session, f"And {n}") for n in range(5)))
        assert {one["runId"] for one in posted} == {run}
        queued = (await tab.messages(session))["queued"]
        assert {(one["id"], one["text"]) for one in queued} == {
            (one["queuedId"], f"And {n}") for n, one in enumerate(posted)
        }
        path = f"/api/sessions/{session}/messages/{posted[2]['queuedId']}"
        assert (await tab.http.delete(path)).status_code == 200
        assert (await tab.http.delete(path)).status_code == 404
        assert "And 2" not in [one["text"] for one in (await tab.messages(session))["queued"]]
        other = await tab.new_session()
        path = f"/api/sessions/{other}/messages/{posted[1]['queuedId']}"
        assert (await tab.http.delete(path)).status_code == 404
        assert len((await tab.messages(session))["queued"]) == 4
