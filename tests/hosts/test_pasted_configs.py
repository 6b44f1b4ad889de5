"""The configurations that people paste: what they name is started as a client would, and is used."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
import pytest
import yaml
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from madang.cli.parser import DEFAULT_ADDRESS
from tests.docs.pages import blocks
from tests.hosts.programs import MADANG, TOKEN, environment, madang_over_http
from tests.node import ROOT, inspector_command

Era = Literal["auto", "legacy"]
ERAS: tuple[Era, ...] = ("auto", "legacy")


def configuration(client: str) -> Any:
    """Return the configuration under this client's heading; tests/docs sees that there are no others."""
    (block,) = (block for block in blocks(ROOT / "docs/guides/connect-a-client.md") if block.heading == client)
    parsers: dict[str, Callable[[str], Any]] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
    return parsers[block.language](block.body)


def started_by(client: str) -> tuple[str, list[str]]:
    """Return the command and arguments with which this client starts Madang."""
    config = configuration(client)
    match client:
        case "Codex":
            entry = config["mcp_servers"]["madang"]
            return entry["command"], entry["args"]
        case "opencode":
            entry = config["mcp"]["madang"]
            assert (entry["type"], entry["enabled"]) == ("local", True)
            return entry["command"][0], entry["command"][1:]
        case "Claude Code" | "Claude Desktop" | "Copilot CLI" | "Gemini CLI":
            entry = config["mcpServers"]["madang"]
            return entry["command"], entry["args"]
        case "VS Code":
            entry = config["servers"]["madang"]
            assert entry["type"] == "stdio"
            return entry["command"], entry["args"]
        case _:
            entry = config["extensions"]["madang"]
            assert (entry["type"], entry["enabled"], entry["name"]) == ("stdio", True, "madang")
            return entry["cmd"], entry["args"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "client",
    ["Claude Code", "Codex", "Gemini CLI", "Copilot CLI", "opencode", "Claude Desktop", "VS Code", "Goose"],
)
async def test_a_client_that_starts_madang_gets_its_tools(client: str, era: Era, tmp_path: Path) -> None:
    command, arguments = started_by(client)
    variables = environment(tmp_path, MADANG_DATA_DIR=str(tmp_path / "data"))
    assert shutil.which(command, path=variables["PATH"]) == str(MADANG)

    await _greet(StdioServerParameters(command=command, args=arguments, env=variables), era)

    assert (tmp_path / "data").exists()


@pytest.mark.parametrize("era", ERAS)
async def test_vs_code_reaches_a_running_madang_with_the_token_it_asks_for(era: Era, tmp_path: Path) -> None:
    config = configuration("VS Code over HTTP")
    entry = config["servers"]["madang"]
    (asked,) = config["inputs"]
    assert (entry["type"], entry["url"]) == ("http", f"http://{DEFAULT_ADDRESS}/mcp")
    assert (asked["type"], asked["password"]) == ("promptString", True)
    headers = {name: value.replace("${input:" + asked["id"] + "}", TOKEN) for name, value in entry["headers"].items()}

    # On another port than the one in the guide, which somebody may be using here.
    async with (
        madang_over_http(tmp_path) as url,
        httpx2.AsyncClient(headers=headers, timeout=60) as http_client,
    ):
        await _greet(streamable_http_client(url, http_client=http_client), era)


async def test_the_inspector_gets_the_tools_with_its_configuration(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps(configuration("MCP Inspector")), encoding="utf-8")
    options = [
        "--cli",
        "--config",
        str(config),
        "--server",
        "madang",
        "--method",
        "tools/list",
        "--format",
        "json",
        "-q",
    ]

    with anyio.fail_after(60):
        asked = await anyio.run_process(
            inspector_command(*options), env=environment(tmp_path, XDG_DATA_HOME=str(tmp_path)), cwd=tmp_path
        )

    assert "list_playbooks" in [tool["name"] for tool in json.loads(asked.stdout)["result"]["tools"]]


async def _greet(server: Any, era: Era) -> None:
    """Shake hands with a server in this era, and see that it is ours and has its tools."""
    with anyio.fail_after(60):
        async with Client(server, mode=era) as client:
            assert client.server_info is not None
            assert client.server_info.name == "madang"
            assert client.protocol_version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[era]
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert {"list_playbooks", "show_playbooks", "get_current_state"} <= set(names)
