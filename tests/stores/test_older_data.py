"""A data folder of an earlier version opens, and everything in it is read through the tools.

`fixtures/bc6c474.tar.xz` was made by `fixtures/make_data_folder.py` with the code of that commit.
"""

from __future__ import annotations

import asyncio
import tarfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from madang.app import Madang, open_madang
from madang.core.ids import SessionId
from madang.core.results import Reply
from madang.settings import Settings
from madang.system import clock
from madang.system.clock import parse_timestamp

FIXTURE = Path(__file__).parent / "fixtures" / "bc6c474.tar.xz"

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class OlderData:
    """An open copy of the folder."""

    madang: Madang
    path: Path

    async def ask(self, tool: str, /, **arguments: Any) -> Reply:
        return await self.madang.provider.execute_tool(self.madang.call("python"), tool, arguments)

    async def data(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        reply = await self.ask(tool, **arguments)
        assert not reply.is_error, reply.text
        return reply.data


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(path, filter="data")
    return path


@pytest.fixture
async def older(data_dir: Path) -> AsyncIterator[OlderData]:
    async with open_madang(Settings(data_dir=data_dir)) as madang:
        yield OlderData(madang, data_dir)


async def test_playbooks_and_their_selection_are_there(older: OlderData) -> None:
    page = (await older.data("list_playbooks", pageSize=20))["page"]
    assert page["totalItems"] == 11
    goals = [item["goal"] for item in page["items"]]
    assert goals == ["Goal 1, changed", "Goal 2: 목표", *(f"Goal {number}: 목표" for number in range(4, 13))]
    assert page["items"][0]["version"] == 2

    playbook = (await older.data("get_playbook", id=page["items"][1]["id"]))["playbook"]
    assert [step["description"] for step in playbook["workflow"]] == ["Do step one of 2", "Do step two"]
    assert playbook["workflow"][0]["action"] == {"toolName": "add_todo", "purpose": "keep it"}

    [run] = (await older.data("list_playbook_runs"))["page"]["items"]
    assert (run["goal"], run["version"], run["sessionId"]) == ("Goal 2: 목표", 1, "default")
    assert run["selectedAt"].endswith("Z")


async def test_turning_the_pages_of_playbooks_still_works(older: OlderData) -> None:
    first = (await older.data("show_playbooks", page=1, pageSize=5))["page"]
    second = (await older.data("get_playbook_page", page=2, pageSize=5))["page"]

    assert [len(page["items"]) for page in (first, second)] == [5, 5]
    assert second["totalPages"] == 3


async def test_the_plan_is_there(older: OlderData) -> None:
    state = await older.data("get_current_state")

    assert state["goal"] == "Write the report"
    assert [(todo["name"], todo["status"], todo["summary"]) for todo in state["todos"]] == [
        ("Collect the figures", "completed", "All there"),
        ("초안 쓰기", "pending", ""),
    ]
    assert state["observations"] == ["The figures are from May"]


@pytest.fixture
def soon_after(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the clock to a minute after the folder was made: what is open in it expires after a day, or after thirty."""
    made_at = parse_timestamp(_rows(data_dir, "SELECT max(created_at) FROM wait")[0][0])
    monkeypatch.setattr(clock, "now", lambda: made_at + timedelta(minutes=1))


@pytest.mark.usefixtures("soon_after")
async def test_questions_in_each_state_are_there_and_the_open_one_can_be_answered(older: OlderData) -> None:
    [waiting, pending] = (await older.data("list_prompts"))["prompts"]
    [ended, answered] = (await older.data("list_prompts", status="answered"))["prompts"]
    [cancelled] = (await older.data("list_prompts", status="cancelled"))["prompts"]
    assert [(one["type"], one["prompt"]) for one in (waiting, ended)] == [
        ("wait", "Please plug it in"),
        ("wait", "Please look at it"),
    ]
    assert (pending["prompt"], pending["options"]) == ("Which colour?", ["Red", "Blue"])
    assert (answered["prompt"], answered["answer"]) == ("이름이 무엇입니까?", "마당")
    assert (cancelled["prompt"], cancelled["options"]) == ("Several?", ["A", "B", "C"])

    await older.data("reply_prompt", messageId=pending["messageId"], answer="Blue")

    assert (await older.data("get_prompt", messageId=pending["messageId"]))["answer"] == "Blue"


@pytest.mark.usefixtures("soon_after")
async def test_a_wait_can_be_ended_and_one_that_was_stays_so(older: OlderData) -> None:
    open_wait, ended_wait = _rows(older.path, "SELECT id, message, resumed_at, created_at FROM wait ORDER BY id")
    assert open_wait[1:3] == ("Please plug it in", "")
    assert ended_wait[1] == "Please look at it"

    resumed = await older.data("resume_from_wait", waitId=open_wait[0])
    await older.data("resume_from_wait", waitId=ended_wait[0])

    assert resumed["resumeInstruction"] == "Go on with step two"
    rows = _rows(older.path, "SELECT message, settled_at, opened_at FROM pause JOIN wait USING (id) ORDER BY id")
    assert rows[1] == ended_wait[1:]


async def test_contents_are_listed_read_and_found(older: OlderData) -> None:
    [store] = (await older.data("list_stores"))["stores"]
    assert (store["name"], store["contentCount"]) == ("Papers", 5)
    contents = (await older.data("list_content", storeId=store["storeId"]))["contents"]
    ids = {content["filename"]: content["contentId"] for content in contents}
    assert set(ids) == {"fox.txt", "한글.txt", "old.txt", "note.pdf", "note.docx"}

    for name, text in (
        ("fox.txt", "A fountain pen writes on paper."),
        ("한글.txt", "나랏말싸미 중국과 달라 백성이 뜻을 펴지 못한다."),
        ("old.txt", "훈민정음은 세종이 만든 글자이다."),
        ("note.pdf", "a printed page"),
        ("note.docx", "회의록을 정리했다."),
    ):
        content = await older.data("read_content", contentId=ids[name], storeId=store["storeId"])
        assert text in content["content"], name

    for query, name in (("fountain pens", "fox.txt"), ("백성의 글자", "한글.txt"), ("회의록", "note.docx")):
        hits = (await older.data("keyword_similarity_search", query=query, storeId=store["storeId"]))["results"]
        assert name in {hit["filename"] for hit in hits}, query


async def test_the_index_is_made_anew_and_the_old_one_goes(older: OlderData) -> None:
    [version] = older.path.glob("index/*/version")
    before = version.read_text(encoding="utf-8")
    [store] = (await older.data("list_stores"))["stores"]

    # The first query's particle was unknown to the tokens of that time: they are 백 and 성이.
    for query, name in (("백성", "한글.txt"), ("세종", "old.txt"), ("fox", "fox.txt")):
        for _ in range(100):
            reply = await older.ask("keyword_similarity_search", query=query, storeId=store["storeId"])
            assert not reply.is_error, reply.text
            if "may not find everything yet" not in reply.text:
                break
            await asyncio.sleep(0.1)
        assert name in {hit["filename"] for hit in reply.data["results"]}, query

    assert version.read_text(encoding="utf-8") != before
    assert list(older.path.glob("index/*/older")) == []


async def test_files_are_read_searched_and_edited_in_their_encoding(older: OlderData) -> None:
    entries = (await older.data("list_directory", depth=3))["entries"]
    assert [entry["path"] for entry in entries if entry["kind"] == "file"] == [
        "notes/today.md",
        "old.txt",
        "글/메모.txt",
    ]
    assert (await older.data("read_file", path="notes/today.md"))["content"] == "# Today\nWrite the report."
    korean = await older.data("read_file", path="old.txt")
    assert (korean["encoding"], korean["lineEnding"]) == ("cp949", "crlf")
    assert [match["path"] for match in (await older.data("grep", pattern="회의|세종"))["matches"]] == [
        "old.txt",
        "글/메모.txt",
    ]

    await older.data("edit_file", path="old.txt", edits=[{"oldText": "세종이", "newText": "세종대왕이"}])

    [path] = older.path.glob("workspaces/*/files/old.txt")
    assert path.read_bytes().startswith("훈민정음은 세종대왕이 만든 글자이다.\r\n".encode("cp949"))


async def test_exports_are_resources_that_can_be_read(older: OlderData) -> None:
    names = {path.name.partition("_")[2] for path in older.path.glob("workspaces/*/exports/*")}
    call = older.madang.call("python")
    resources = (await older.madang.provider.list_resources(call)).resources
    exports = {resource.uri for resource in resources if resource.uri.startswith("madang://exports/")}

    assert names == {"Today.md", "All.zip"}
    assert {uri.rpartition("/")[2] for uri in exports} == names
    for uri in exports:
        resource = await older.madang.provider.read_resource(call, uri)
        assert resource is not None
        assert resource.body


async def test_the_audit_keeps_the_rows_that_were_there_and_adds_to_them(older: OlderData) -> None:
    await older.data("get_current_state")
    await older.madang.provider.close()

    rows = _rows(older.path, "SELECT at, tool, outcome FROM audit ORDER BY seq")
    assert len(rows) == 40
    assert rows[0][1:] == ("create_playbook", "ok")
    assert rows[-1][1:] == ("get_current_state", "ok")


def _rows(data_dir: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(data_dir / "madang.db"))
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


async def test_a_session_from_before_sessions_had_rows_can_be_copied_exported_and_deleted(
    older: OlderData, tmp_path: Path
) -> None:
    madang, call = older.madang, older.madang.call("python")
    copy = replace(call, session_id=SessionId("copy"))
    before = [await older.data(tool) for tool in ("get_current_state", "list_stores", "list_directory")]

    await madang.session_operations.copy(call, copy.session)
    await madang.session_operations.export(call, tmp_path / "older.zip")
    await madang.session_operations.forget(call)
    await madang.session_operations.import_(call, tmp_path / "older.zip")

    after = [await older.data(tool) for tool in ("get_current_state", "list_stores", "list_directory")]
    assert after[0] == before[0]
    assert [store["name"] for store in after[1]["stores"]] == [store["name"] for store in before[1]["stores"]]
    files = [[(entry["path"], entry["size"]) for entry in listing["entries"]] for listing in (before[2], after[2])]
    assert files[0] == files[1]
    reply = await madang.provider.execute_tool(copy, "get_current_state", {})
    assert reply.data == before[0]
