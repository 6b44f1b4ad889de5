"""Who acts follows from the door, and the audit trail says it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from madang.app import open_madang
from madang.client import connect
from madang.core.calls import Actor, Door
from madang.server.mcp import McpServer
from madang.settings import Settings
from tests.doors import MCP_DOORS, DoorKind, Doors

AUDIT = "SELECT tool, door, actor, run_id, call_id, decision FROM audit ORDER BY seq"

rows_of_the_table = pytest.mark.parametrize(
    ("door", "actor"),
    [
        ("agent", "model"),
        ("host", "person"),
        ("python", "program"),
        ("mcp-stdio", "foreign"),
        ("mcp-http", "foreign"),
    ],
)


def audit_rows(folder: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "madang.db")) as connection:
        return connection.execute(AUDIT).fetchall()


@rows_of_the_table
async def test_each_door_says_who_acts(tmp_path: Path, door: Door, actor: Actor) -> None:
    async with open_madang(Settings(tmp_path)) as madang:
        call = madang.call(door)
        answered = await madang.provider.execute_tool(call, "reply_prompt", {"messageId": "none", "answer": "x"})

    decision = "deny" if actor == "model" else "allow"
    assert answered.error_code == ("denied" if actor == "model" else "not_found")
    assert audit_rows(tmp_path) == [("reply_prompt", door, actor, "", "", decision)]


@pytest.mark.parametrize(("is_terminal", "actor"), [(True, "person"), (False, "program")])
async def test_on_the_command_line_the_terminal_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_terminal: bool, actor: Actor
) -> None:
    monkeypatch.setattr("os.isatty", lambda descriptor: is_terminal and descriptor == 0)

    async with open_madang(Settings(tmp_path)) as madang:
        assert madang.call("command").actor == actor


@pytest.mark.parametrize("kind", MCP_DOORS, ids=str)
async def test_behind_mcp_somebody_foreign_acts(tmp_path: Path, kind: DoorKind) -> None:
    async with Doors(kind, tmp_path).open() as door:
        await door.done("add_todo", name="Look")

    name = "mcp-http" if kind.way == "http" else "mcp-stdio"
    assert audit_rows(tmp_path) == [("add_todo", name, "foreign", "", "", "allow")]


async def test_our_client_in_this_process_is_a_program_and_over_mcp_it_is_foreign(tmp_path: Path) -> None:
    async with open_madang(Settings(tmp_path)) as madang:
        async with connect(madang.provider, madang.call("python")) as server:
            await server.add_todo(name="One")
        async with connect(McpServer(madang.provider, madang.call("mcp-stdio")).server) as server:
            await server.add_todo(name="Two")

    assert [row[1:3] for row in audit_rows(tmp_path)] == [("python", "program"), ("mcp-stdio", "foreign")]
