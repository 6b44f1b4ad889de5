"""Views and details of calls in sessions that were made of another: forks, copies and archives."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from madang.core.errors import InvalidArguments
from madang.core.ids import SessionId
from madang.llm.messages import Part, TextPart
from tests.agent.bench import eventually, tool_call
from tests.host.hosting import Tab, hosting
from tests.host.test_inbox import one_item
from tests.host.test_sessions import over

ANSWERS: list[list[Part]] = [
    [tool_call("prompt_user", "c1", prompt="Which tea?", type="select", options=["green", "black"])],
    [tool_call("visualize_data", "c2", type="bar", data=[{"label": "tea", "value": 3}])],
    [TextPart("Good.")],
]


async def talk(tab: Tab) -> tuple[str, list[Any]]:
    """Have a session with an answered question and a chart; return it, and its calls."""
    session = await tab.new_session()
    await tab.write(session, "Ask me")
    await tab.post(f"/api/inbox/{(await one_item(tab))['id']}", {"answer": "green"})
    await over(tab, session)
    return session, list((await tab.messages(session))["calls"].values())


async def views(tab: Tab, session: str) -> list[Any]:
    calls = (await tab.messages(session))["calls"].values()
    return [await tab.get(f"/api/views/{call['view']['id']}") for call in calls]


def without_ids(call: Any) -> Any:
    return {name: value for name, value in call.items() if name not in ("view", "pause", "pauseId")}


async def test_a_fork_has_its_own_views_after_its_parent_is_deleted(tmp_path: Path) -> None:
    async with hosting(tmp_path, *ANSWERS) as tab:
        session, calls = await talk(tab)
        last = (await tab.messages(session))["messages"][-1]["id"]
        forks = [(await tab.post(f"/api/sessions/{session}/fork", {"messageId": last}))["id"] for _ in range(2)]
        # While the parent is there, its forks show what it has.
        assert list((await tab.messages(forks[0]))["calls"].values()) == calls
        before = await tab.messages(forks[0])
        old = calls[0]["view"]["id"]
        assert (await tab.http.delete(f"/api/sessions/{session}")).status_code == 200
        assert (await tab.http.get(f"/api/views/{old}")).status_code == 404
        seen = set()
        for fork in forks:
            after = await tab.messages(fork)
            assert after["messages"] == before["messages"]
            copied = list(after["calls"].values())
            assert list(map(without_ids, copied)) == list(map(without_ids, calls))
            question, chart = await views(tab, fork)
            assert (question["sessionId"], chart["sessionId"]) == (fork, fork)
            assert question["pause"]["status"] == "answered"
            assert chart["pause"] is None
            seen |= {question["id"], chart["id"]}
            # What was asked there is asked no more.
            arguments = {"messageId": question["pause"]["id"], "answer": "black"}
            path = f"/api/views/{question['id']}/tools"
            answer = (await tab.post(path, {"name": "reply_prompt", "arguments": arguments}))["result"]
            assert answer["isError"]
        assert len(seen) == 4
        await tab.write(forks[0], "Go on")
        await over(tab, forks[0])
        assert (await tab.messages(forks[0]))["run"]["state"] == "finished"
        [first, *_] = (await tab.messages(forks[0]))["calls"].values()
        assert first["view"] is not None


async def test_a_fork_of_a_stopped_run_is_told_what_it_shows(tmp_path: Path) -> None:
    async with hosting(tmp_path, *ANSWERS) as tab:
        session = await tab.new_session()
        await tab.write(session, "Ask me")
        await one_item(tab)
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"]["state"] == "waiting")
        await tab.post(f"/api/sessions/{session}/stop")
        told = await tab.messages(session)
        assert [note["note"] for note in told["notes"]] == ["cancelled"]
        fork = (await tab.post(f"/api/sessions/{session}/fork", {"messageId": told["messages"][0]["id"]}))["id"]
        await tab.http.delete(f"/api/sessions/{session}")
        after = await tab.messages(fork)
        assert [one["role"] for one in after["messages"]] == ["user"]
        assert after["calls"] == {}


async def test_an_archive_brings_its_views_which_call_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tea.zip"
    async with hosting(tmp_path / "a", *ANSWERS) as tab:
        session, calls = await talk(tab)
        mine = replace(tab.host.agent.madang.call("host"), session_id=SessionId(session))
        await tab.host.agent.madang.session_operations.export(mine, path)
        before = await views(tab, session)
    for folder in ("a", "b"):
        async with hosting(tmp_path / folder, *ANSWERS) as tab:
            target = replace(tab.host.agent.madang.call("host"), session_id=SessionId("brought"))
            await tab.host.agent.madang.session_operations.import_(target, path)
            copied = list((await tab.messages("brought"))["calls"].values())
            assert list(map(without_ids, copied)) == list(map(without_ids, calls))
            question, chart = await views(tab, "brought")
            assert chart["toolResult"] == before[1]["toolResult"]
            assert chart["id"] != before[1]["id"]
            assert question["pause"]["status"] == "answered"
            for view, name, arguments in (
                (question, "reply_prompt", {"messageId": question["pause"]["id"], "answer": "black"}),
                (question, "get_prompt", {"messageId": question["pause"]["id"]}),
            ):
                answer = await tab.http.post(
                    f"/api/views/{view['id']}/tools", json={"name": name, "arguments": arguments}
                )
                assert answer.status_code == 403, name


async def test_views_that_contradict_their_runs_are_refused(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
    async with hosting(tmp_path / "a", *ANSWERS) as tab:
        session, _ = await talk(tab)
        mine = replace(tab.host.agent.madang.call("host"), session_id=SessionId(session))
        operations = tab.host.agent.madang.session_operations
        await operations.export(mine, good)
        for change in ({"runId": "another"}, {"number": 7}, {"pauseStatus": "open"}, {"fragment": "x" * 3_000_000}):
            with zipfile.ZipFile(good) as archive, zipfile.ZipFile(bad, "w") as changed:
                for entry in archive.infolist():
                    data = archive.read(entry)
                    if entry.filename.endswith("views.jsonl"):
                        first, *rest = data.splitlines(keepends=True)
                        data = b"".join([json.dumps({**json.loads(first), **change}).encode() + b"\n", *rest])
                    changed.writestr(entry.filename, data)
            target = replace(mine, session_id=SessionId("brought"))
            if "number" in change:
                await operations.import_(target, bad)  # of a call that is not there: nobody finds it
                assert len([call for call in (await tab.messages("brought"))["calls"].values() if call["view"]]) == 1
                continue
            with pytest.raises(InvalidArguments):
                await operations.import_(replace(mine, session_id=SessionId("refused")), bad)
            assert (await tab.http.get("/api/sessions/refused")).status_code == 404
