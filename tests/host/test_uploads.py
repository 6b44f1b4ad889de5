"""Uploads: streamed to a draft, bounded in words, and gone without a trace when the person changes their mind."""

from __future__ import annotations

import asyncio
import threading
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from madang.core.calls import Call
from madang.core.uploads import AcceptedUpload, UploadedFile
from madang.host import receiving
from madang.llm.messages import Part, TextPart
from madang.services.content.domain.contents import MAX_CONTENT_BYTES
from madang.services.content.service import ContentService
from madang.services.workspace.engine.files import FileEngine
from madang.settings import Settings
from tests.agent.bench import eventually, tool_call
from tests.host.hosting import BROWSER_TOKEN, Tab, hosting
from tests.host.test_inbox_owners import audited
from tests.host.test_sessions import over
from tests.host.test_views import BINARY, call_tool, upload


def drafts(folder: Path) -> list[Path]:
    return list(folder.glob("workspaces/*/temporary/draft-*"))


async def begin(
    tab: Tab, session: str, length: int, address: str = "uploads?name=a.txt"
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Begin an upload on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", tab.host.address.port)
    head = [
        f"POST /api/sessions/{session}/{address} HTTP/1.1",
        f"Host: {tab.host.address.host}",
        f"Authorization: Bearer {BROWSER_TOKEN}",
        "Content-Type: application/octet-stream",
        f"Content-Length: {length}",
    ]
    writer.write("\r\n".join([*head, "", ""]).encode())
    await writer.drain()
    return reader, writer


async def total(tab: Tab, session: str) -> int:
    listed: int = (await call_tool(tab, session, "list_content"))["data"]["total"]
    return listed


async def test_a_file_lies_in_a_draft_while_it_comes_and_nowhere_afterwards(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        reader, writer = await begin(tab, session, 2_000_000)
        writer.write(b"tea\n" * 250_000)
        await writer.drain()

        async def written() -> int:
            return sum(path.stat().st_size for path in drafts(tmp_path))

        await eventually(written, lambda size: size > 500_000)
        writer.write(b"cup\n" * 250_000)
        answer = await reader.readuntil(b"\r\n")
        assert b"201" in answer
        writer.close()
        assert drafts(tmp_path) == []
        assert await total(tab, session) == 1


@pytest.mark.parametrize("address", ["uploads?name=a.txt", "files?path=a.txt"])
async def test_an_upload_that_is_broken_off_leaves_nothing(tmp_path: Path, address: str) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        _, writer = await begin(tab, session, 2_000_000, address)
        writer.write(b"tea\n" * 250_000)
        await writer.drain()
        await eventually(lambda: asyncio.sleep(0, drafts(tmp_path)), bool)
        writer.close()
        await eventually(lambda: asyncio.sleep(0, drafts(tmp_path)), lambda found: not found)
        assert await total(tab, session) == 0
        assert list(tmp_path.glob("workspaces/*/files/*")) == []
        assert (await upload(tab, session, "b.txt", b"tea")).status_code == 201


async def test_one_that_is_broken_off_while_it_is_parsed_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, left = asyncio.Event(), asyncio.Event()
    accept, notice = ContentService.accept_upload, receiving._disconnected

    async def slowly(self: ContentService, call: Call, upload: UploadedFile) -> AcceptedUpload:
        began.set()
        await left.wait()
        return await accept(self, call, upload)

    async def notice_leaving(request: Request) -> None:
        await notice(request)
        left.set()

    monkeypatch.setattr(ContentService, "accept_upload", slowly)
    monkeypatch.setattr(receiving, "_disconnected", notice_leaving)
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        _, writer = await begin(tab, session, 4)
        writer.write(b"tea\n")
        await began.wait()
        writer.close()
        await writer.wait_closed()
        await eventually(lambda: asyncio.sleep(0, drafts(tmp_path)), lambda found: not found)
        assert await eventually(lambda: total(tab, session), lambda count: count == 0) == 0
        assert await tab.host.agent.madang.database.find("SELECT 1 FROM content_deleted") == []
        assert [row[0] for row in await audited(tab)][:2] == ["upload", "withdraw_upload"]


async def test_one_that_is_broken_off_while_it_is_copied_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, may_go_on = threading.Event(), threading.Event()
    write = FileEngine.write_upload

    def write_late(self: FileEngine, call: Call, path: str, url: str) -> Any:
        began.set()
        assert may_go_on.wait(30)
        return write(self, call, path, url)

    monkeypatch.setattr(FileEngine, "write_upload", write_late)
    left = asyncio.Event()
    notice = receiving._disconnected

    async def notice_leaving(request: Request) -> None:
        await notice(request)
        left.set()

    monkeypatch.setattr(receiving, "_disconnected", notice_leaving)
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        _, writer = await begin(tab, session, 4, "files?path=sub/a.txt")
        writer.write(b"tea\n")
        await asyncio.to_thread(began.wait, 30)
        writer.close()
        await left.wait()
        may_go_on.set()
        await eventually(lambda: asyncio.sleep(0, drafts(tmp_path)), lambda found: not found)
        assert [path for path in tmp_path.glob("workspaces/*/files/**/*") if path.is_file()] == []


async def test_a_large_file_goes_into_the_workspace_in_little_memory(tmp_path: Path) -> None:
    part, parts = bytes(range(256)) * 4096, 48

    async def body() -> AsyncIterator[bytes]:
        for _ in range(parts):
            yield part

    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        address = f"/api/sessions/{session}/files?path=large.bin"
        tracemalloc.start()
        try:
            answer = await tab.http.post(address, content=body(), headers=BINARY)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        [kept] = tmp_path.glob("workspaces/*/files/large.bin")
        assert (answer.status_code, kept.stat().st_size) == (201, len(part) * parts)
        assert peak < len(part) * parts / 3, f"{peak / 1024**2:.1f} MiB of {parts}"
        assert drafts(tmp_path) == []


async def test_what_the_person_puts_into_the_workspace_is_told_to_the_model_once(tmp_path: Path) -> None:
    async with hosting(tmp_path, [TextPart("One.")], [TextPart("Two.")]) as tab:
        session = await tab.new_session()
        await tab.write(session, "First")
        await over(tab, session)
        put = await tab.http.post(
            f"/api/sessions/{session}/files", params={"path": "보고서.txt"}, content=b"tea", headers=BINARY
        )
        assert put.status_code == 201
        [untold] = (await tab.messages(session))["untold"]
        assert "보고서.txt" in untold["text"]
        await tab.write(session, "Second")
        await over(tab, session)
        assert str(tab.script.requests[-1].messages).count("보고서.txt") == 1
        assert (await tab.messages(session))["untold"] == []


async def test_what_is_too_large_is_told_in_the_words_of_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(MAX_CONTENT_BYTES // 1_000_000 + 2):
            yield b"x" * 1_000_000

    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        path = f"/api/sessions/{session}/uploads?name=a.txt"
        headers = {**BINARY, "accept-language": "ko"}
        chunked = await tab.http.post(path, content=endless(), headers=headers)
        assert (chunked.status_code, chunked.json()["code"]) == (413, "too_large")
        assert "25" in chunked.json()["message"]
        assert any("가" <= letter <= "힣" for letter in chunked.json()["message"])
        assert (await tab.http.post(path, content=b"x" * (MAX_CONTENT_BYTES + 1), headers=headers)).status_code == 413
        monkeypatch.setattr("madang.host.files.MAX_COPIED_FILE_BYTES", 1024**2)
        into_files = await tab.http.post(f"/api/sessions/{session}/files?path=a", content=endless(), headers=headers)
        assert (into_files.status_code, into_files.json()["code"]) == (413, "too_large")
        assert drafts(tmp_path) == []


async def test_many_files_at_once_come_in_turn_and_too_many_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        answers = await asyncio.gather(*(upload(tab, session, f"{n}.txt", f"tea {n}".encode()) for n in range(10)))
        assert [one.status_code for one in answers] == [201] * 10
        monkeypatch.setattr("madang.host.receiving.MAX_WAITING_UPLOADS", 0)
        refused = await upload(tab, session, "more.txt", b"more")
        assert (refused.status_code, refused.json()["code"]) == (429, "limit_exceeded")


async def test_an_upload_is_one_row_of_the_audit_trail(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        await upload(tab, session, "tea.txt", b"tea")
        await tab.http.post(f"/api/sessions/{session}/files?path=tea.txt", content=b"tea", headers=BINARY)
        await tab.http.post(f"/api/sessions/{session}/files?path=tea.txt", content=b"tea", headers=BINARY)

        rows = await audited(tab)

        assert rows == [("upload", "host", "person", "allow", outcome) for outcome in ("ok", "ok", "conflict")]


async def test_an_assistant_without_contents_takes_no_files(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, grants={"default": ("planning",)})
    async with hosting(tmp_path, settings=settings) as tab:
        session = await tab.new_session()
        assert (await upload(tab, session, "tea.txt", b"tea")).status_code == 403


async def test_files_that_come_at_once_do_not_pass_the_limit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("madang.host.uploads.MAX_FILES_PER_SESSION", 3)
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        await asyncio.gather(*(upload(tab, session, f"{n}.txt", f"tea {n}".encode()) for n in range(8)))
        assert await total(tab, session) <= 3


async def test_an_upload_is_named_by_nobody_else(tmp_path: Path) -> None:
    answers: list[list[Part]] = [[tool_call("add_content", fileUrl="upload:draft-1")], [TextPart("Hm.")]]
    async with hosting(tmp_path, *answers) as tab:
        session = await tab.new_session()
        await tab.write(session, "Try")
        await over(tab, session)
        [call] = (await tab.messages(session))["calls"].values()
        assert call["data"]["error"]["code"] == "invalid_arguments"
        for name in ("draft-1", "../files/a", "lock", "draft-../../x"):
            answer = await call_tool(tab, session, "add_content", fileUrl=f"upload:{name}")
            assert answer["data"]["error"]["code"] == "not_found", answer


async def test_the_document_of_the_api_has_streams_and_uploads(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        paths = (await tab.get("/api/openapi.json"))["paths"]
        assert "application/octet-stream" in paths["/api/sessions/{id}/uploads"]["post"]["requestBody"]["content"]
        assert "text/event-stream" in paths["/api/sessions/{id}/events"]["get"]["responses"]["200"]["content"]
