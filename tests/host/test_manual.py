"""Without a model: the person takes its turns, through the same machine, and reads what an agent would read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from madang.llm.messages import TextPart
from tests.agent.bench import eventually
from tests.agent.outside import Outside
from tests.host.hosting import Events, Tab, hosting
from tests.host.test_reload import calls_of, check
from tests.host.test_sessions import over
from tests.host.test_views import call_tool


async def turn(tab: Tab, session: str, tool: str, /, **arguments: Any) -> Any:
    """Call a tool in the model's place, and return the run that the call is of."""
    body = {"calls": [{"tool": tool, "arguments": arguments}]}
    return (await tab.post(f"/api/sessions/{session}/turns", body))["runId"]


async def calls(tab: Tab, session: str, count: int) -> list[Any]:
    async def read() -> list[Any]:
        return list((await tab.messages(session))["calls"].values())

    return await eventually(read, lambda found: sum(one["state"] == "done" for one in found) == count)


async def settled(tab: Tab, session: str) -> Any:
    """Wait until the run waits for the person's next turn."""

    async def types() -> list[str]:
        return [item["type"] for item in await tab.inbox()]

    return await eventually(types, lambda found: found == ["model"])


async def test_a_turn_of_the_person_goes_the_way_of_a_models(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        run = await turn(tab, session, "add_todo", name="Buy tea")
        [first] = await calls(tab, session, 1)
        same = await call_tool(tab, session, "get_current_state")
        assert first["text"].startswith("[add_todo] ")
        assert first["data"]["todos"] == same["data"]["todos"]
        assert first["tookMs"] is not None
        await settled(tab, session)
        assert await turn(tab, session, "visualize_data", type="bar", data=[{"label": "tea", "value": 3}]) == run
        _, chart = await calls(tab, session, 2)
        assert (await tab.get(f"/api/views/{chart['view']['id']}"))["tool"] == "visualize_data"
        await settled(tab, session)
        await tab.post(f"/api/sessions/{session}/turns", {"say": "Done."})
        await over(tab, session)
        talk = await check(tab, session)
        assert [item["text"] for item in talk["items"]] == ["", "", "Done."]
        assert len(calls_of(talk)) == 2


async def test_questions_and_approvals_come_to_the_person_in_manual_mode_too(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        outside = Outside()
        tab.host.agent.madang.provider.register(outside)
        session = await tab.new_session()
        await turn(tab, session, "prompt_user", prompt="Which tea?", type="text")
        [item] = await eventually(tab.inbox, lambda items: [one["type"] for one in items] == ["text"])
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"]["state"] == "waiting")
        refused = await tab.http.post(f"/api/sessions/{session}/turns", json={"say": "Well"})
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        await tab.post(f"/api/inbox/{item['id']}", {"answer": "green"})
        [asked] = await calls(tab, session, 1)
        assert "green" in asked["text"]
        await settled(tab, session)
        await turn(tab, session, "erase", name="tea")
        [item] = await eventually(tab.inbox, lambda items: [one["type"] for one in items] == ["approval"])
        assert outside.holder.erased == []
        await tab.post(f"/api/inbox/{item['id']}", {"allow": True})
        await calls(tab, session, 2)
        assert outside.holder.erased == ["tea"]
        await settled(tab, session)
        await check(tab, session)


async def test_a_turn_needs_something_and_no_model(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        bodies: list[Any] = [{}, {"say": ""}, {"calls": []}, {"calls": [{"arguments": {}}]}, {"calls": "add_todo"}]
        for body in bodies:
            answer = await tab.http.post(f"/api/sessions/{session}/turns", json=body)
            assert answer.status_code == 400, body
        assert (await tab.get(f"/api/sessions/{session}"))["run"] is None
    async with hosting(tmp_path, [TextPart("Yes.")]) as tab:
        answer = await tab.http.post(f"/api/sessions/{session}/turns", json={"say": "Hello"})
        assert answer.status_code == 409


async def test_a_manual_run_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        run = await turn(tab, session, "add_todo", name="Buy tea")
        await calls(tab, session, 1)
        await settled(tab, session)
    async with hosting(tmp_path) as tab:
        assert await turn(tab, session, "add_todo", name="Buy cups") == run
        await calls(tab, session, 2)


async def test_a_turn_tells_the_ids_under_which_its_calls_are_in_the_talk(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        path = f"/api/sessions/{session}/turns"
        names = ["Buy tea", "Buy cups"]
        made = await tab.post(path, {"calls": [{"tool": "add_todo", "arguments": {"name": name}} for name in names]})
        await calls(tab, session, 2)
        by_key = (await tab.messages(session))["calls"]
        assert [key.rpartition("/")[2] for key in by_key] == made["callIds"]
        # The next turn is taken as soon as the run has come to it, and a run that is over is followed by another.
        assert await tab.post(path, {"say": "Done."}) == {"runId": made["runId"], "callIds": []}
        await over(tab, session)
        assert await turn(tab, session, "add_todo", name="Buy milk") != made["runId"]


async def test_a_person_may_do_the_same_as_often_as_they_like(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        assistant = (await tab.get(f"/api/sessions/{session}"))["assistantId"]
        version = (await tab.get(f"/api/assistants/{assistant}"))["version"]
        limits = {"turns": 2, "calls": 2}
        changed = await tab.http.patch(f"/api/assistants/{assistant}", json={"version": version, "limits": limits})
        assert changed.status_code == 200, changed.text
        runs = [await turn(tab, session, "get_current_state") for _ in range(5)]
        made = await calls(tab, session, 5)
        assert len(set(runs)) == 1
        assert {(one["outcome"], one["text"]) for one in made} == {("ok", made[0]["text"])}
        await settled(tab, session)


async def test_the_turn_of_the_person_is_not_counted_among_questions(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        async with tab.http.stream("GET", "/api/events") as response:
            events = Events(response.aiter_lines())
            await turn(tab, session, "add_todo", name="Buy tea")
            while (await events.until("CUSTOM", "madang/inbox"))["value"] != {"open": 0, "turns": 1}:
                pass
            await settled(tab, session)
            assert (await tab.get(f"/api/sessions/{session}"))["openPauses"] == 0
            await turn(tab, session, "prompt_user", prompt="Which tea?", type="text")
            while (await events.until("CUSTOM", "madang/inbox"))["value"] != {"open": 1, "turns": 0}:
                pass
            assert (await tab.get(f"/api/sessions/{session}"))["openPauses"] == 1
