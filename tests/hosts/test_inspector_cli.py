"""The Inspector's command line as a client: what it says of our tools, over both transports and in both eras."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import anyio
import pytest

from madang.app import open_madang
from madang.core.tools import Tool
from madang.settings import Settings
from tests.hosts.programs import MADANG, TOKEN, environment, madang_over_http
from tests.node import inspector_command

WAYS = [(transport, era) for transport in ("stdio", "http") for era in ("legacy", "modern")]


@dataclass(frozen=True)
class Inspector:
    """The Inspector, told which server to ask and in which era."""

    target: list[str]
    era: str
    home: Path

    async def ask(self, *arguments: str) -> CompletedProcess[bytes]:
        # As a host that shows pages: so all tools are listed, those for the buttons too.
        options = ["--cli", "--protocol-era", self.era, "--advertise-apps", "--format", "json", *arguments]
        with anyio.fail_after(60):
            return await anyio.run_process(
                inspector_command(*options, *self.target), check=False, env=environment(self.home)
            )

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        asked = await self.ask(
            "-q", "--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)
        )
        assert asked.stdout, asked.stderr.decode()
        result: dict[str, Any] = json.loads(asked.stdout)["result"]
        return result


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
async def url(data_dir: Path) -> AsyncIterator[str]:
    async with madang_over_http(data_dir) as url:
        yield url


@pytest.fixture(params=WAYS, ids=["-".join(way) for way in WAYS])
def inspector(request: pytest.FixtureRequest, data_dir: Path, url: str, tmp_path: Path) -> Inspector:
    transport, era = request.param
    if transport == "http":
        target = ["--transport", "http", "--server-url", url, "--header", f"Authorization: Bearer {TOKEN}"]
    else:
        target = ["-e", f"MADANG_DATA_DIR={data_dir}", str(MADANG), "mcp"]
    return Inspector(target, era, tmp_path)


@pytest.fixture(scope="module")
async def tools(tmp_path_factory: pytest.TempPathFactory) -> list[Tool]:
    """The tools there are, from the provider itself."""
    async with open_madang(Settings(tmp_path_factory.mktemp("tools"))) as madang:
        return await madang.provider.available_tools(madang.call("python"))


async def test_every_schema_is_portable(inspector: Inspector, tools: list[Tool]) -> None:
    asked = await inspector.ask("--method", "tools/list", "--strict")

    assert (asked.returncode, asked.stderr.decode()) == (0, "")
    listed = json.loads(asked.stdout)["result"]["tools"]
    assert {tool["name"] for tool in listed} == {tool.name for tool in tools}


async def test_every_view_is_there_and_needs_no_network(inspector: Inspector, tools: list[Tool]) -> None:
    asked = await inspector.ask("--method", "tools/list", "--app-info")

    assert (asked.returncode, asked.stderr.decode()) == (0, "")
    apps = [json.loads(line) for line in asked.stdout.splitlines()]
    assert apps == [_app(tool) for tool in tools]


def _app(tool: Tool) -> dict[str, Any]:
    """Return what the Inspector is to find out about the view of a tool."""
    if not tool.page:
        return {"hasApp": False, "toolName": tool.name}
    app = {
        "hasApp": True,
        "toolName": tool.name,
        "resourceUri": f"ui://{tool.page}",
        "csp": {"connectDomains": [], "resourceDomains": []},
        "prefersBorder": True,
        "resourceMimeType": "text/html;profile=mcp-app",
    }
    return app | {"visibility": ["app"]} if tool.audience == "person" else app


async def test_tools_answer_and_their_errors_arrive_as_they_were_said(inspector: Inspector) -> None:
    """The Inspector checks data against the tool's output schema, errors included, as older TypeScript clients do."""
    created = await inspector.call("create_playbook", goal="Ship", workflow=[{"description": "Tag"}])
    missing = await inspector.call("get_playbook", id="nobody")

    assert created["structuredContent"]["playbook"]["goal"] == "Ship"
    assert missing["isError"] is True
    assert missing["content"][0]["text"].startswith("[get_playbook] Error: Playbook nobody not found.\nHint: ")


@pytest.mark.parametrize("inspector", [("stdio", "modern")], indirect=True)
async def test_every_skill_has_the_bytes_it_announces(inspector: Inspector) -> None:
    await inspector.call("create_playbook", goal="Ship", workflow=[{"description": "Tag"}])

    asked = await inspector.ask("--method", "skills/list", "--verify")

    skills = [json.loads(line) for line in asked.stdout.splitlines()]
    assert asked.returncode == 0, asked.stderr.decode()
    assert {skill["outcome"] for skill in skills} == {"verified"}
