"""All data at once over the API, the clients that came, and deleting with words."""

from __future__ import annotations

import asyncio
import io
import zipfile
from pathlib import Path
from typing import Any

import httpx2
from starlette.applications import Starlette

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, UserId
from madang.host.calls import HostCalls
from madang.host.data import DataApi
from madang.records.audit import AuditEntry
from madang.settings import Settings
from tests.host.hosting import CLIENT_TOKEN, Tab, hosting
from tests.wires import envelope

EVE = UserId("eve")


async def call_over_mcp(tab: Tab, client: str, tool: str, session: str, **arguments: Any) -> Any:
    """Call a tool as a foreign program does, in a session of its own."""
    params = {"name": tool, "arguments": arguments, "_meta": {**envelope(client), "madang/sessionId": session}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "authorization": f"Bearer {CLIENT_TOKEN}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    answer = await tab.http.post("/mcp", json=message, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_where_the_data_is_and_how_much(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        written = {"arguments": {"path": "a.txt", "content": "x" * 5000}}
        await tab.post(f"/api/sessions/{session}/tools/write_file", written)
        data = await tab.get("/api/data")
        size, again = await asyncio.gather(tab.get("/api/data/size"), tab.get("/api/data/size"))
        assert data["folder"] == str(tmp_path)
        assert size["databaseBytes"] > 0
        assert size["fileBytes"] >= 5000
        assert size["isCut"] is False
        assert again == size
        assert data["freeBytes"] > 0
        assert (data["sessionCount"], data["isOnServer"]) == (1, False)


async def test_a_backup_and_an_export_are_archives_and_leave_nothing_behind(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        await tab.new_session(title="Tea")
        for path, name, entry in [
            ("/api/data/backup", "madang-backup-", "backup.json"),
            ("/api/data/export", "madang-export-", "export.json"),
        ]:
            answer = await tab.http.post(path, json={})
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "application/zip"
            assert name in answer.headers["content-disposition"]
            assert entry in zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
        assert not list(tmp_path.glob(".archive-*"))
        for path in ("/api/data/backup", "/api/data/export", "/api/data/delete"):
            assert (await tab.http.post(path, json={}, headers={"authorization": ""})).status_code == 401
            assert (await tab.http.get(path)).status_code == 405


async def test_everything_is_deleted_only_for_the_words(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        words = (await tab.get("/api/data"))["deletionWords"]
        korean = (await tab.get("/api/data", headers={"accept-language": "ko"}))["deletionWords"]
        assert korean != words
        stopped = asyncio.Event()
        tab.host.ending.connect(stopped.set)
        for body in ({}, {"words": ""}, {"words": "yes"}, {"words": korean}, {"words": words[:-1]}, {"words": None}):
            assert (await tab.http.post("/api/data/delete", json=body)).status_code == 400, body
        assert not tab.host.ending.deletes_data

        assert (await tab.http.post("/api/data/delete", json={"words": f" {words.upper()} "})).status_code == 202
        async with asyncio.timeout(60):
            await stopped.wait()
        assert tab.host.ending.deletes_data


async def test_a_host_that_nobody_stops_deletes_nothing(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        words = (await tab.get("/api/data"))["deletionWords"]
        assert (await tab.http.post("/api/data/delete", json={"words": words})).status_code == 503


async def test_data_on_a_server_is_neither_backed_up_nor_deleted_here(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        madang = tab.host.agent.madang
        api = DataApi(
            HostCalls(madang.call("host"), madang.sessions),
            madang.sessions,
            folder=tmp_path,
            is_on_server=True,
            ending=tab.host.ending,
            export_everything=None,
        )
        app = Starlette(routes=[operation.route("host", "en") for operation in api.operations()])
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://host") as http:
            words = (await http.get("/api/data")).json()["deletionWords"]
            assert (await http.post("/api/data/backup", json={})).status_code == 409
            assert (await http.post("/api/data/delete", json={"words": words})).status_code == 409


async def test_calls_of_a_foreign_client_are_told_as_a_session_of_its(tmp_path: Path) -> None:
    async with hosting(tmp_path, settings=Settings(data_dir=tmp_path)) as tab:
        await call_over_mcp(tab, "Claude Desktop", "add_todo", "theirs", name="Buy tea")
        await call_over_mcp(tab, "Claude Desktop", "get_current_state", "theirs")
        await call_over_mcp(tab, "Cursor", "get_current_state", "other")
        mine = await tab.new_session()
        await tab.post(f"/api/sessions/{mine}/tools/get_current_state", {"arguments": {}})

        answer = await tab.get("/api/clients")
        assert answer["days"] == 30
        names = {one["name"]: one for one in answer["clients"]}
        assert set(names) == {"Claude Desktop", "Cursor"}
        assert names["Claude Desktop"]["door"] == "mcp-http"
        [session] = names["Claude Desktop"]["sessions"]
        assert (session["id"], names["Claude Desktop"]["calls"]) == ("theirs", session["calls"])

        assert (await tab.get("/api/sessions/theirs"))["client"] == "Claude Desktop"
        assert (await tab.get(f"/api/sessions/{mine}"))["client"] == ""
        calls = (await tab.get("/api/clients/sessions/theirs"))["calls"]
        assert [one["tool"] for one in calls] == ["get_current_state", "add_todo"]
        assert "Buy tea" in calls[-1]["arguments"]
        assert (await tab.get(f"/api/clients/sessions/{mine}"))["calls"] == []

        assert (await tab.http.delete("/api/sessions/theirs")).status_code == 200
        [claude] = [one for one in (await tab.get("/api/clients"))["clients"] if one["name"] == "Claude Desktop"]
        assert [one["id"] for one in claude["sessions"]] == [""]
        assert (await tab.http.get("/api/clients/sessions/theirs")).status_code == 404


async def test_a_clients_name_and_another_users_calls_do_no_harm(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        await call_over_mcp(tab, "Evil\u202e\n" + "x" * 1000, "get_current_state", "theirs")
        hers = Call(AssistantId("a"), SessionId("hers"), EVE, door="mcp-stdio", actor="foreign", client_name="Hers")
        tab.host.agent.madang.audit.record(AuditEntry(hers, "add_todo", "write", {"name": "secret"}, "ok", 1, 1.0))
        [client] = (await tab.get("/api/clients"))["clients"]
        assert len(client["name"]) <= 200
        assert "\u202e" not in client["name"]
        assert "\n" not in client["name"]
        assert (await tab.http.get("/api/clients/sessions/hers")).status_code == 404
