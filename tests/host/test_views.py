"""The person's own calls, uploads, and the views of pages with what they may do."""

from __future__ import annotations

import base64
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from madang.host.uploads import MAX_FILES_PER_SESSION
from madang.llm.messages import Part, TextPart
from madang.server.mapping import FRAGMENT_KEY
from tests.agent.bench import eventually, tool_call
from tests.host.hosting import Tab, hosting

BINARY = {"content-type": "application/octet-stream"}


async def call_tool(tab: Tab, session: str, tool: str, /, **arguments: Any) -> Any:
    return await tab.post(f"/api/sessions/{session}/tools/{tool}", {"arguments": arguments})


async def upload(tab: Tab, session: str, name: str, data: bytes) -> Any:
    path = f"/api/sessions/{session}/uploads"
    return await tab.http.post(path, params={"name": name}, content=data, headers=BINARY)


async def playbook_view(tab: Tab, session: str) -> tuple[str, str]:
    """Show the page of playbooks, with one; return the view and the playbook."""
    made = await call_tool(tab, session, "create_playbook", goal="Make tea", workflow=[])
    shown = await call_tool(tab, session, "show_playbooks")
    return shown["view"]["id"], made["data"]["playbook"]["id"]


async def test_the_palette_has_the_tools_with_their_schemas(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        tools = {tool["name"]: tool for tool in (await tab.get(f"/api/sessions/{session}/tools"))["tools"]}
        assert tools["add_todo"]["service"] == "planning"
        assert "name" in tools["add_todo"]["inputSchema"]["properties"]
        assert tools["show_playbooks"]["showsPage"]


async def test_a_call_of_the_person_tells_what_an_agent_would_read(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        done = await call_tool(tab, session, "add_todo", name="Buy tea")
        assert "Buy tea" in done["text"]
        assert not done["isError"]
        wrong = await call_tool(tab, session, "add_todo", colour="red")
        assert wrong["isError"]
        assert wrong["data"]["error"]["code"] == "invalid_arguments"
        answer = await tab.http.post(f"/api/sessions/{session}/tools/add_tofu", json={})
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_tool")


async def test_a_page_is_drawn_again_from_what_is_stored_also_after_a_restart(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        view, _ = await playbook_view(tab, session)
        before = await tab.get(f"/api/views/{view}")
        assert before["html"].startswith("<!doctype html>")
        assert "Make tea" in before["toolResult"]["_meta"][FRAGMENT_KEY]
        assert "Make tea" not in before["html"]
        assert before["pause"]["status"] == "open"
    async with hosting(tmp_path) as tab:
        assert await tab.get(f"/api/views/{view}") == before


async def test_a_page_of_a_run_is_told_with_its_call(tmp_path: Path) -> None:
    answers: list[list[Part]] = [[tool_call("prompt_user", prompt="Which tea?", type="text")], [TextPart("Good.")]]
    async with hosting(tmp_path, *answers) as tab:
        session = await tab.new_session()
        await tab.write(session, "Ask me")
        [item] = await eventually(tab.inbox, lambda items: len(items) == 1)

        async def asking() -> Any:
            [call] = (await tab.messages(session))["calls"].values()
            return call

        call = await eventually(asking, lambda call: call["state"] == "waiting")
        assert call["pauseId"] == item["id"]
        view = await tab.get(f"/api/views/{call['view']['id']}")
        assert view["uri"] == call["view"]["uri"]
        assert view["toolInput"]["prompt"] == "Which tea?"

        arguments = {"messageId": item["id"], "answer": "green"}
        body = {"name": "reply_prompt", "arguments": arguments}
        result = (await tab.post(f"/api/views/{view['id']}/tools", body))["result"]

        assert not result["isError"]
        answered = await tab.get(f"/api/views/{view['id']}")
        assert answered["pause"]["status"] == "answered"
        assert "<textarea" in view["toolResult"]["_meta"][FRAGMENT_KEY]
        assert "<textarea" not in answered["toolResult"]["_meta"][FRAGMENT_KEY], "it is drawn as it stands"
        assert "green" in answered["toolResult"]["_meta"][FRAGMENT_KEY]


async def test_a_page_reads_what_its_result_links_to_and_nothing_else(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        for name in ("tea.txt", "other.txt"):
            await call_tool(tab, session, "write_file", path=name, content=f"all of {name}")
        shown, other = [await call_tool(tab, session, "export_file", path=name) for name in ("tea.txt", "other.txt")]
        path = f"/api/views/{shown['view']['id']}/resources"
        [contents] = (await tab.post(path, {"uri": shown["data"]["uri"]}))["contents"]
        assert base64.b64decode(contents["blob"]) == b"all of tea.txt"
        for uri in (other["data"]["uri"], "file:///etc/passwd", "ui://madang/playbooks", ""):
            answer = await tab.http.post(path, json={"uri": uri})
            assert (answer.status_code, answer.json()["code"]) == (403, "denied")


async def test_a_page_that_asks_is_drawn_as_things_stand(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        view, playbook = await playbook_view(tab, session)
        await call_tool(tab, session, "create_playbook", goal="Make coffee", workflow=[])
        await call_tool(tab, session, "delete_playbook", id=playbook)
        now = await tab.get(f"/api/views/{view}")

        fragment = now["toolResult"]["_meta"][FRAGMENT_KEY]
        assert "Make coffee" in fragment
        assert "Make tea" not in fragment
        assert now["pause"]["status"] == "open"
        assert "select_playbook" in fragment


async def test_a_page_selects_deletes_and_restores_through_its_buttons(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        view, playbook = await playbook_view(tab, session)
        for name in ("get_playbook_page", "delete_playbook", "restore_playbook", "select_playbook"):
            arguments: dict[str, Any] = {"page": 1} if name == "get_playbook_page" else {"id": playbook}
            answer = await tab.post(f"/api/views/{view}/tools", {"name": name, "arguments": arguments})
            assert not answer["result"]["isError"], (name, answer)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add_todo", {"name": "x"}),
        ("write_file", {"path": "a", "content": "b"}),
        ("create_playbook", {"goal": "x", "workflow": []}),
        ("update_playbook", {"id": "x", "playbook": {}}),
        ("reply_prompt", {"messageId": "x", "answer": "y"}),
        ("select_playbook", {"id": "x", "pauseId": "of-another"}),
        ("planning__add_todo", {"name": "x"}),
        ("no_such_tool", {}),
    ],
)
async def test_t24_a_page_calls_nothing_that_it_was_not_given(tmp_path: Path, name: str, arguments: Any) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        view, _ = await playbook_view(tab, session)
        answer = await tab.http.post(f"/api/views/{view}/tools", json={"name": name, "arguments": arguments})
        assert (answer.status_code, answer.json()["code"]) == (403, "denied")
    with closing(sqlite3.connect(tmp_path / "madang.db")) as database:
        rows = database.execute("SELECT decision, actor FROM audit WHERE tool = ? AND outcome = 'denied'", [name])
        assert rows.fetchall() == [("deny", "person")]


async def test_t27_a_page_does_not_answer_the_question_of_another(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        first, second = await tab.new_session(), await tab.new_session()
        asked = [await call_tool(tab, one, "prompt_user", prompt="Which?", type="text") for one in (first, second)]
        arguments = {"messageId": asked[1]["pauseId"], "answer": "x"}
        path = f"/api/views/{asked[0]['view']['id']}/tools"
        answer = await tab.http.post(path, json={"name": "reply_prompt", "arguments": arguments})
        assert answer.status_code == 403
        assert len(await tab.inbox()) == 2


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("reply_prompt", "messageId"),
        ("reply_prompt", "message_id"),
        ("ui__reply_prompt", "message_id"),
        ("get_prompt", "messageId"),
        ("get_prompt", "message_id"),
        ("resume_from_wait", "waitId"),
        ("resume_from_wait", "wait_id"),
    ],
)
async def test_t24_t27_a_page_names_no_pause_but_its_own_however_it_spells_it(
    tmp_path: Path, name: str, spelling: str
) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        mine = await call_tool(tab, session, "prompt_user", prompt="Which?", type="text")
        others = [
            await call_tool(tab, session, "prompt_user", prompt="And which?", type="text"),
            await call_tool(tab, session, "wait_for_user", message="Come back"),
        ]
        for other in others:
            arguments = {spelling: other["pauseId"], **({"answer": "x"} if "reply" in name else {})}
            path = f"/api/views/{mine['view']['id']}/tools"
            answer = await tab.http.post(path, json={"name": name, "arguments": arguments})
            assert answer.status_code == 403, answer.text
        assert len(await tab.inbox()) == 3


async def test_views_go_with_their_session(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        view, _ = await playbook_view(tab, session)
        await tab.http.delete(f"/api/sessions/{session}")
        assert (await tab.http.get(f"/api/views/{view}")).status_code == 404


async def test_a_file_becomes_a_content_that_a_message_can_name(tmp_path: Path) -> None:
    async with hosting(tmp_path, [TextPart("I see.")]) as tab:
        session = await tab.new_session()
        answer = await upload(tab, session, "차 목록.txt", b"green tea\n")
        assert answer.status_code == 201, answer.text
        kept = answer.json()
        assert (kept["name"], kept["size"]) == ("차 목록.txt", 10)
        listed = await call_tool(tab, session, "list_content")
        assert "차 목록.txt" in listed["text"]
        attachment = {"contentId": kept["contentId"], "name": kept["name"]}
        await tab.post(f"/api/sessions/{session}/messages", {"text": "Read it", "attachments": [attachment]})
        first = (await tab.messages(session))["messages"][0]
        written, note = first["parts"]
        assert written == {"type": "text", "text": "Read it"}
        assert kept["contentId"] in note["text"], "the model is told of it"
        assert note["file"] == attachment


async def test_an_upload_is_bounded_and_needs_a_session_and_a_name(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        assert (await upload(tab, session, "a.txt", b"x" * (25 * 1024 * 1024 + 1))).status_code == 413
        assert (await upload(tab, "nothing", "a.txt", b"x")).status_code == 404
        assert (await upload(tab, session, "x" * 201, b"x")).status_code == 400
        bare = await tab.http.post(f"/api/sessions/{session}/uploads", content=b"x", headers=BINARY)
        assert bare.status_code == 400
        assert (await call_tool(tab, session, "list_content"))["data"]["total"] == 0


async def test_a_session_takes_so_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_FILES_PER_SESSION == 100
    monkeypatch.setattr("madang.host.uploads.MAX_FILES_PER_SESSION", 2)
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        statuses = [(await upload(tab, session, f"{n}.txt", f"tea {n}".encode())).status_code for n in range(3)]
        assert statuses == [201, 201, 429]


PNG = b"\x89PNG\r\n\x1a\n" + b"tea" * 10


async def test_an_image_goes_to_the_model_with_its_message(tmp_path: Path) -> None:
    async with hosting(tmp_path, [TextPart("I see.")]) as tab:
        session, other = await tab.new_session(), await tab.new_session()
        kept = (await upload(tab, session, "tea.png", PNG)).json()
        attachment = {"contentId": kept["contentId"], "name": "tea.png"}
        body = {"text": "Look", "attachments": [attachment]}
        await tab.post(f"/api/sessions/{session}/messages", body)
        parts = (await tab.messages(session))["messages"][0]["parts"]
        assert [part["type"] for part in parts] == ["text", "text", "image"]
        assert parts[1] == {"type": "text", "text": "[Image: tea.png]", "file": {"name": "tea.png", "contentId": ""}}
        assert parts[2]["mimeType"] == "image/png"
        # It was for that message and that session alone.
        await tab.post(f"/api/sessions/{other}/messages", body)
        assert [part["type"] for part in (await tab.messages(other))["messages"][0]["parts"]] == ["text", "text"]


async def test_an_image_that_no_message_can_hold_is_refused(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        assert (await upload(tab, session, "tea.png", PNG + b"x" * 4 * 1024 * 1024)).status_code == 413
