"""Sessions of other programs have any name: each can be opened, or is refused as one that is not there."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from madang.core.ids import SessionId
from tests.host.hosting import hosting
from tests.host.test_views import upload


def segment(name: str) -> str:
    return "~" + base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


@pytest.mark.parametrize("name", ["a/b", "..", ".", "한글 이름", "~x", "a?b#c%2F", "x" * 200, "tea", "<b>", "a//b/"])
async def test_a_session_of_any_name_is_opened(tmp_path: Path, name: str) -> None:
    async with hosting(tmp_path) as tab:
        call = replace(tab.host.agent.madang.call("python"), session_id=SessionId(name))
        await tab.host.agent.madang.provider.execute_tool(call, "add_todo", {"name": "Buy tea"})
        path = f"/api/sessions/{segment(name)}"
        assert [one["id"] for one in (await tab.get("/api/sessions"))["sessions"]] == [name]
        assert (await tab.get(path))["id"] == name
        assert (await tab.http.patch(path, json={"title": "Tea"})).status_code == 200
        done = await tab.post(f"{path}/tools/get_current_state", {"arguments": {}})
        assert "Buy tea" in done["text"]
        assert (await tab.get(f"{path}/messages"))["messages"] == []
        async with tab.events(segment(name)) as events:
            assert "Buy tea" in str(await events.until("STATE_SNAPSHOT"))
        assert (await upload(tab, segment(name), "a.txt", b"tea")).status_code == 201
        assert (await tab.http.delete(path)).status_code == 200
        assert (await tab.http.get(path)).status_code == 404


async def test_what_is_no_name_is_no_session(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        told = set()
        for name in ("nothing", "~", "~!", "~_w", "~AA", "x" * 5_000, "%00", "a%0Ab", "~" + "A" * 5_000, segment("no")):
            answer = await tab.http.get(f"/api/sessions/{name}")
            assert answer.status_code == 404, name
            told.add(answer.text)
        assert len(told) == 1
