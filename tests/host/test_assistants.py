"""Assistants over the API: set up, copied, tried, deleted, and what was allowed to them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, UserId
from madang.llm.messages import Part, TextPart
from madang.records.assistants import AssistantRecord
from madang.records.decisions import remember_decision
from tests.agent.bench import eventually, tool_call
from tests.host.hosting import Tab, hosting

EVE = UserId("eve")


async def make(tab: Tab, name: str, **fields: Any) -> Any:
    return await tab.post("/api/assistants", {"name": name, **fields})


async def change(tab: Tab, assistant: Any, **fields: Any) -> Any:
    body = {"version": assistant["version"], **fields}
    answer = await tab.http.patch(f"/api/assistants/{assistant['id']}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def mode_of(assistant: Any, service: str) -> str:
    [one] = [one for one in assistant["services"] if one["name"] == service]
    mode: str = one["mode"]
    return mode


async def allow(tab: Tab, call: Call, scope: Any, tool: str) -> None:
    database = tab.host.agent.madang.database
    await database.write(lambda tx: remember_decision(tx, call, scope, tool), user_id=call.user_id)


async def test_the_default_assistant_is_there_before_anything_was_set(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        [listed] = (await tab.get("/api/assistants"))["assistants"]
        assert (listed["id"], listed["isDefault"], listed["updatedAt"]) == ("default", True, "")
        details = await tab.get("/api/assistants/default")
        assert details["version"] == 0
        assert details["limits"] == details["defaultLimits"]
        planning = next(one for one in details["services"] if one["name"] == "planning")
        assert planning["mode"] == "on"
        assert planning["toolCount"] > 3
        assert planning["tokens"] > 100

        changed = await change(tab, details, instructions="Be brief.")
        assert (changed["version"], changed["instructions"]) == (1, "Be brief.")


async def test_everything_of_an_assistant_is_changed_and_read_again(tmp_path: Path) -> None:
    async with hosting(tmp_path, [TextPart("x")]) as tab:
        made = await make(tab, "편집자")
        assert made["id"] == "편집자"
        changed = await change(
            tab,
            made,
            name="Editor",
            instructions="Write Korean.\nAsk one question.",
            model="script",
            options={"temperature": 0.5, "maxOutputTokens": 900, "thinking": "low"},
            limits={"turns": 7, "calls": 500, "tokens": 1000, "cost": None, "unattendedMinutes": 30},
            services={"planning": "ask", "workspace": "off"},
        )
        read = await tab.get("/api/assistants/편집자")
        assert read == changed
        assert (read["name"], read["model"], read["limits"]["turns"]) == ("Editor", "script", 7)
        assert read["options"] == {"temperature": 0.5, "maxOutputTokens": 900, "thinking": "low"}
        assert (mode_of(read, "planning"), mode_of(read, "workspace"), mode_of(read, "ui")) == ("ask", "off", "on")

        back = await change(tab, read, services={"planning": "on", "workspace": "on"}, options={}, model="")
        assert (mode_of(back, "planning"), mode_of(back, "workspace")) == ("on", "on")
        assert back["options"] == {"temperature": None, "maxOutputTokens": None, "thinking": None}


async def test_the_run_of_a_session_has_what_its_assistant_is_set_to(tmp_path: Path) -> None:
    async with hosting(tmp_path, [TextPart("Yes.")]) as tab:
        made = await make(tab, "editor")
        await change(
            tab, made, instructions="Quote sources.", options={"temperature": 0.25}, services={"planning": "off"}
        )
        session = await tab.new_session(assistantId="editor")
        await tab.write(session, "Hello")
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"] is None)

        [request] = tab.script.requests
        assert "Quote sources." in request.instructions
        assert request.options.temperature == 0.25
        assert "add_todo" not in {tool.name for tool in request.tools}
        tools = (await tab.get(f"/api/sessions/{session}/tools"))["tools"]
        assert "planning" not in {tool["service"] for tool in tools}


async def test_a_service_that_asks_first_asks_and_what_is_allowed_is_listed_and_forgotten(tmp_path: Path) -> None:
    answers: list[list[Part]] = [
        [tool_call("add_todo", "c1", name="Tea")],
        [TextPart("Done.")],
        [tool_call("add_todo", "c2", name="Milk")],
        [TextPart("Done.")],
        [tool_call("add_todo", "c3", name="Rice")],
        [TextPart("Done.")],
    ]
    async with hosting(tmp_path, *answers) as tab:
        made = await make(tab, "editor")
        await change(tab, made, services={"planning": "ask"})
        session = await tab.new_session(assistantId="editor")
        await tab.write(session, "Tea")
        [item] = await eventually(tab.inbox, lambda items: len(items) == 1)
        await tab.post(f"/api/inbox/{item['id']}", {"allow": True, "scope": "assistant"})
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"] is None)

        [decision] = (await tab.get("/api/assistants/editor"))["decisions"]
        assert (decision["scope"], decision["scopeId"], decision["tool"]) == ("assistant", "editor", "add_todo")
        await tab.write(session, "Milk")
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"] is None)
        assert await tab.inbox() == []

        path = "/api/decisions?scope=assistant&scopeId=editor&tool=add_todo"
        assert (await tab.http.delete(path)).status_code == 200
        assert (await tab.http.delete(path)).status_code == 404
        await tab.write(session, "Rice")
        await eventually(tab.inbox, lambda items: len(items) == 1)


async def test_a_copy_has_the_set_up_but_not_what_was_allowed(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        made = await make(tab, "editor")
        made = await change(tab, made, instructions="Be brief.", services={"planning": "ask"}, limits={"turns": 3})
        me = tab.host.agent.madang.call("host")
        await allow(tab, replace(me, assistant_id=AssistantId("editor")), "assistant", "delete_store")

        copied = await make(tab, "editor", copyOf="editor")
        assert copied["id"] == "editor-2"
        assert (copied["instructions"], copied["limits"]["turns"]) == ("Be brief.", 3)
        assert mode_of(copied, "planning") == "ask"
        assert (copied["decisions"], copied["sessionCount"]) == ([], 0)
        await change(tab, copied, instructions="Be long.")
        assert (await tab.get("/api/assistants/editor"))["instructions"] == "Be brief."


async def test_sessions_of_a_deleted_assistant_go_on_with_the_default_one(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        made = await make(tab, "editor")
        made = await change(tab, made, services={"planning": "off"})
        session = await tab.new_session(assistantId="editor", title="Tea")
        me = tab.host.agent.madang.call("host")
        await allow(tab, replace(me, assistant_id=AssistantId("editor")), "assistant", "delete_store")

        path = "/api/assistants/editor"
        assert (await tab.http.delete(path)).status_code == 400
        assert (await tab.http.delete(f"{path}?version={made['version'] - 1}")).status_code == 409
        assert (await tab.get(f"/api/sessions/{session}"))["assistantId"] == "editor"

        deleted = await tab.http.delete(f"{path}?version={made['version']}")
        assert deleted.json() == {"successorId": "default", "sessionCount": 1}
        assert (await tab.http.get(path)).status_code == 404
        kept = await tab.get(f"/api/sessions/{session}")
        assert (kept["title"], kept["assistantId"]) == ("Tea", "default")
        # One that is made under the same name later starts with nothing allowed, and without sessions.
        again = await make(tab, "editor")
        assert (again["id"], again["decisions"], again["sessionCount"]) == ("editor", [], 0)


async def test_an_assistant_at_work_and_the_default_one_cannot_be_deleted(tmp_path: Path) -> None:
    async with hosting(tmp_path, [tool_call("prompt_user", prompt="Which?", type="text")]) as tab:
        made = await make(tab, "editor")
        session = await tab.new_session(assistantId="editor")
        await tab.write(session, "Ask")
        await eventually(tab.inbox, lambda items: len(items) == 1)
        answer = await tab.http.delete(f"/api/assistants/editor?version={made['version']}")
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
        assert (await tab.http.delete("/api/assistants/default?version=0")).status_code == 409

        await tab.post(f"/api/sessions/{session}/stop")
        answer = await tab.http.delete(f"/api/assistants/editor?version={made['version']}")
        assert answer.status_code == 200


async def test_wrong_changes_of_an_assistant_are_refused_and_change_nothing(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        made = await make(tab, "editor")
        path, version = "/api/assistants/editor", made["version"]
        for body, status in [
            ({}, 400),
            ({"version": version, "colour": "red"}, 400),
            ({"version": version, "name": ""}, 400),
            ({"version": version, "name": "a\u202eb"}, 400),
            ({"version": version, "name": "x" * 201}, 400),
            ({"version": version, "instructions": "x" * 100_001}, 400),
            ({"version": version, "instructions": "a\x00b"}, 400),
            ({"version": version, "model": "nothing"}, 404),
            ({"version": version, "options": {"temperature": 3}}, 400),
            ({"version": version, "options": {"thinking": "much"}}, 400),
            ({"version": version, "limits": {"turns": 0}}, 400),
            ({"version": version, "limits": {"turns": 1.5}}, 400),
            ({"version": version, "services": {"planning": "maybe"}}, 400),
            ({"version": version, "services": {"nothing": "on"}}, 404),
            ({"version": version + 1, "name": "Later"}, 409),
            ({"version": 0, "name": "New"}, 409),
        ]:
            answer = await tab.http.patch(path, json=body)
            assert answer.status_code == status, (body, answer.text)
        assert await tab.get(path) == made
        for body, status in [({"name": " "}, 400), ({"name": "x", "copyOf": "nobody"}, 404), ({}, 400)]:
            assert (await tab.http.post("/api/assistants", json=body)).status_code == status
        assert (await tab.http.get("/api/assistants/nobody")).status_code == 404
        assert (await tab.http.patch("/api/assistants/nobody", json={"version": 0, "name": "x"})).status_code == 404


async def test_assistants_and_decisions_of_another_user_are_not_there(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        store = tab.host.agent.madang.assistants
        record = await store.save(EVE, AssistantRecord(AssistantId("secret"), "Secret", "Her words"))
        hers = Call(AssistantId("secret"), SessionId("hers"), EVE)
        await allow(tab, hers, "assistant", "delete_store")
        await allow(tab, hers, "session", "delete_store")

        assert "secret" not in str(await tab.get("/api/assistants"))
        assert (await tab.get("/api/decisions"))["decisions"] == []
        assert (await tab.http.get("/api/assistants/secret")).status_code == 404
        assert (await tab.http.patch("/api/assistants/secret", json={"version": 1, "name": "x"})).status_code == 404
        assert (await tab.http.delete("/api/assistants/secret?version=1")).status_code == 404
        assert (await tab.http.post("/api/assistants", json={"name": "x", "copyOf": "secret"})).status_code == 404
        for scope, id in (("assistant", "secret"), ("session", "hers")):
            path = f"/api/decisions?scope={scope}&scopeId={id}&tool=delete_store"
            assert (await tab.http.delete(path)).status_code == 404
        assert await store.get(EVE, AssistantId("secret")) == record
