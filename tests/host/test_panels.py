"""Panels: what the stream tells of services, the rows that are too many for it, files, and what the model is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from madang.llm.messages import TextPart
from tests.host.hosting import Tab, hosting


async def done(tab: Tab, session: str, tool: str, **arguments: Any) -> Any:
    answer = await tab.post(f"/api/sessions/{session}/tools/{tool}", {"arguments": arguments})
    assert not answer["isError"], answer["text"]
    return answer


async def test_the_services_of_a_session_are_told_with_the_schemas_of_their_states(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session(locale="ko")
        services = (await tab.get(f"/api/sessions/{session}/services"))["services"]

    by_name = {service["name"]: service for service in services}
    assert {"planning", "playbook", "content", "workspace"} <= by_name.keys()
    assert by_name["planning"]["title"] == "계획"
    assert by_name["planning"]["stateSchema"]["properties"].keys() >= {"goal", "todos"}


async def test_rows_that_do_not_fit_into_a_state_are_read_page_by_page(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        for number in range(60):
            await done(tab, session, "create_playbook", goal=f"Goal {number}", workflow=[{"description": "a"}])
        path = f"/api/sessions/{session}/state/playbook"
        second = await tab.get(f"{path}/playbooks?page=2&pageSize=50")
        id = second["rows"][0]["id"]
        await done(tab, session, "select_playbook", id=id)
        whole = await tab.get(f"{path}/selected?under={id}")
        runs = await tab.get(f"{path}/runs?under={id}")
        unknown = await tab.http.get(f"{path}/nothing")
        bad = await tab.http.get(f"{path}/playbooks?page=0")

    assert (len(second["rows"]), second["total"]) == (10, 60)
    assert whole["rows"][0]["workflow"][0]["description"] == "a"
    assert [run["playbookId"] for run in runs["rows"]] == [id]
    assert (unknown.status_code, bad.status_code) == (404, 400)


async def test_a_file_goes_up_and_comes_down_as_it_was(tmp_path: Path) -> None:
    data = bytes(range(256)) * 4000
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        path = f"/api/sessions/{session}/files"
        headers = {"content-type": "application/octet-stream"}
        up = await tab.http.post(path, params={"path": "표/자료.bin"}, content=data, headers=headers)
        again = await tab.http.post(path, params={"path": "표/자료.bin"}, content=data, headers=headers)
        down = await tab.http.get(path, params={"path": "표/자료.bin"})
        outside = await tab.http.get(path, params={"path": "../../etc/passwd"})
        missing = await tab.http.get(path, params={"path": "nothing"})
        export = (await done(tab, session, "export_file", path="표/자료.bin", displayName="가져가기.bin"))["data"]
        exported = await tab.http.get(
            f"/api/sessions/{session}/exports", params={"id": export["uri"].split("/")[3], "name": export["name"]}
        )

    assert (up.status_code, up.json()) == (201, {"path": "표/자료.bin", "size": len(data)})
    assert again.status_code == 409
    assert down.content == exported.content == data
    assert down.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in down.headers["content-security-policy"]
    assert (outside.status_code, missing.status_code) == (400, 404)


async def test_what_the_person_does_between_two_runs_is_told_to_the_next_one_once(tmp_path: Path) -> None:
    async with hosting(tmp_path, [TextPart("One.")], [TextPart("Two.")], [TextPart("Three.")]) as tab:
        session = await tab.new_session()
        await done(tab, session, "add_todo", name="Before any run")
        async with tab.events(session) as events:
            await tab.write(session, "First")
            await events.until("RUN_FINISHED")
            await done(tab, session, "add_todo", name="Between runs")
            noted = await events.until("CUSTOM", "madang/noted")
            waiting = (await tab.messages(session))["untold"]
            await tab.write(session, "Second")
            acted = await events.until("CUSTOM", "madang/action")
            await events.until("RUN_FINISHED")
            told = (await tab.messages(session))["untold"]
            await tab.write(session, "Third")
            await events.until("RUN_FINISHED")

    assert noted["value"]["by"] == "person"
    assert [one["text"] for one in waiting] == ["[add_todo] Todo added: ID:2 Between runs"]
    assert "Between runs" in acted["value"]["text"]
    assert "Todo added: ID:1" not in acted["value"]["text"]
    assert told == []
    assert [str(request.messages).count("did this themselves") for request in tab.script.requests] == [0, 1, 1]
