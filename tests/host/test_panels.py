"""Panels: what the stream tells of services, the rows that are too many for it, files, and what the model is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from madang.llm.messages import TextPart
from madang.rendering.png import SIGNATURE
from tests.documents import pdf_of_pages, typeset
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


async def put(tab: Tab, session: str, path: str, data: bytes) -> None:
    headers = {"content-type": "application/octet-stream"}
    up = await tab.http.post(f"/api/sessions/{session}/files", params={"path": path}, content=data, headers=headers)
    assert up.status_code == 201, up.text


async def test_a_pdf_is_read_as_pictures_of_its_pages_and_as_text_with_their_numbers(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        files = f"/api/sessions/{session}/files"
        await put(tab, session, "보고서.pdf", typeset([["첫째 쪽", "둘째 줄"], ["다음 쪽"]]))
        page = await tab.http.get(f"{files}/page", params={"path": "보고서.pdf", "page": 2})
        text = await tab.get(f"{files}/text", params={"path": "보고서.pdf"})
        past = await tab.http.get(f"{files}/page", params={"path": "보고서.pdf", "page": 3})
        zeroth = await tab.http.get(f"{files}/page", params={"path": "보고서.pdf", "page": 0})
        outside = await tab.http.get(f"{files}/page", params={"path": "../../secret.pdf"})
        without = await tab.http.get(f"{files}/page", params={"path": "보고서.pdf"}, headers={"authorization": ""})

    assert page.content.startswith(SIGNATURE)
    assert (page.headers["content-type"], page.headers["x-page-count"]) == ("image/png", "2")
    assert "sandbox" in page.headers["content-security-policy"]
    assert text["text"].split("\n") == ["첫째 쪽", "둘째 줄", "", "다음 쪽", ""]
    assert (text["pageLines"], text["isCut"]) == ([1, 4], False)
    assert (past.status_code, past.json()["code"]) == (404, "not_found")
    assert (zeroth.status_code, outside.status_code, without.status_code) == (400, 400, 401)


async def test_hostile_and_huge_documents_are_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = b"%PDF-1.7\n" + bytes(range(256)) * 20
    bomb = pdf_of_pages(1, b"q " * 30_000_000)
    async with hosting(tmp_path) as tab:
        session = await tab.new_session(locale="ko")
        files = f"/api/sessions/{session}/files"
        answers = {}
        await put(tab, session, "named.pdf", b"<html><script>alert(1)</script>")
        await put(tab, session, "broken.pdf", locked)
        await put(tab, session, "bomb.pdf", bomb)
        await put(tab, session, "cut.pdf", pdf_of_pages(2)[:300])
        for name in ("named.pdf", "broken.pdf", "bomb.pdf", "cut.pdf"):
            answers[name] = await tab.http.get(f"{files}/page", params={"path": name})
        monkeypatch.setattr("madang.host.files.MAX_CONTENT_BYTES", 1000)
        large = [await tab.http.get(f"{files}/{way}", params={"path": "broken.pdf"}) for way in ("page", "text")]
        monkeypatch.setattr("madang.host.files.MAX_PREVIEW_CHARS", 7)
        await put(tab, session, "two.pdf", pdf_of_pages(1))
        await put(tab, session, "long.txt", b"line\n" * 100)
        long = await tab.get(f"{files}/text", params={"path": "long.txt"})

    for name in ("named.pdf", "broken.pdf", "cut.pdf"):
        assert (answers[name].status_code, answers[name].json()["code"]) == (400, "invalid_arguments"), name
    # Drawn within its limits, or refused: never more than that.
    assert answers["bomb.pdf"].status_code in (200, 413, 429), answers["bomb.pdf"].text[:300]
    assert [answer.json()["code"] for answer in large] == ["limit_exceeded", "limit_exceeded"]
    assert (long["text"], long["isCut"]) == ("line\nli", True)


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
