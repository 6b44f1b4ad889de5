"""Sessions as archives over the API: out, back in, and what is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from httpx2 import Response

from madang.llm.messages import TextPart
from tests.host.hosting import Tab, hosting
from tests.host.test_sessions import over

BYTES = {"content-type": "application/octet-stream"}


async def import_archive(tab: Tab, archive: bytes, **headers: Any) -> Response:
    return await tab.http.post("/api/imports", content=archive, headers={**BYTES, **headers})


async def test_a_session_goes_out_and_comes_back_as_another(tmp_path: Path) -> None:
    async with hosting(tmp_path / "here", [TextPart("Sencha.")]) as tab:
        session = await tab.new_session(title="차 이야기")
        await tab.write(session, "Which tea?")
        await over(tab, session)
        answer = await tab.http.post(f"/api/sessions/{session}/export", json={})
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/zip"
        assert "%EC%B0%A8%20%EC%9D%B4%EC%95%BC%EA%B8%B0" in answer.headers["content-disposition"]

        back = (await import_archive(tab, answer.content)).json()
        assert back["title"] == "차 이야기"
        assert back["sessionId"] != session
        texts = [
            [message["role"] for message in (await tab.messages(id))["messages"]] for id in (session, back["sessionId"])
        ]
        assert texts[0] == texts[1] == ["user", "assistant"]
        assert not list((tmp_path / "here").glob(".archive-*"))


async def test_what_is_no_archive_of_a_session_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a.txt", "a")
    async with hosting(tmp_path / "here") as tab:
        for body in (b"", b"no archive", other.read_bytes()):
            answer = await import_archive(tab, body)
            assert answer.status_code == 400, body
            assert answer.json()["message"]
        assert (await import_archive(tab, b"x", authorization="")).status_code == 401
        assert (await tab.http.post("/api/sessions/nothing/export", json={})).status_code == 404
        assert (await tab.get("/api/sessions"))["sessions"] == []
        assert not list((tmp_path / "here").glob(".archive-*"))
