"""The protocol's own conformance runner against the real server over HTTP, once for each era.

Each scenario the revision requires is a test of its own; the runner goes through all of them in one go.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from starlette.types import ASGIApp, Receive, Scope, Send

from madang.app import open_madang
from madang.server.http import http_app, listening_socket, local_policy
from madang.server.http_server import HttpServer
from madang.server.mcp import McpServer
from madang.settings import Settings
from tests.conformance.fixture import add_fixture
from tests.node import CONFORMANCE, conformance_command

ERAS = ("2025-11-25", "2026-07-28")
TOKEN = "the-runner-cannot-send-one"

# Run but not scored by the runner. These are about the transport, which is ours to keep right. Left out: the tasks
# extension, which the SDK does not have, and resumable streams, which a server on this machine does not need.
ALSO_HELD = {
    "2025-11-25": ["server-session-lifecycle", "json-schema-2020-12"],
    "2026-07-28": ["json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"],
}

# Extensions are no part of a revision and are asked for by name.
EXTENSIONS = ["sep-2640-skills-enumeration", "sep-2640-skills-manifest"]

# Checks that the runner leaves out because the server does not say it could do that.
NOT_DECLARED = {
    "sep-2575-server-sends-prompts-list-changed-on-subscription",
    "sep-2575-server-sends-tools-list-changed-on-subscription",
}

# Logging and sampling are deprecated, and scenarios of both eras are about them.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


def held_scenarios(era: str) -> list[str]:
    """Return the scenarios a server must pass in this era."""
    requirements = CONFORMANCE / "requirements" / f"{era}.yaml"
    if not requirements.exists():
        return ["scripts/node-packages has not been run"]
    required: list[str] = yaml.safe_load(requirements.read_text(encoding="utf-8"))["server"]
    return required + ALSO_HELD[era]


class WithToken:
    """Stands where a client would and adds the token, which the runner cannot send, to each request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            token = (b"authorization", f"Bearer {TOKEN}".encode())
            scope = {**scope, "headers": [*scope["headers"], token]}
        await self._app(scope, receive, send)


@dataclass(frozen=True)
class Run:
    """What the runner said: its exit code, its last words, and the checks of each scenario."""

    exit_code: int
    output: str
    checks: dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """A Madang with two playbooks (which are skills too) and the fixtures of the scenarios, over real HTTP."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("conformance"))
    with listening_socket("127.0.0.1", 0) as socket:
        port = socket.getsockname()[1]
        async with open_madang(settings) as madang:
            for goal in ("Ship a release", "Answer a question"):
                arguments = {"goal": goal, "workflow": [{"description": "Begin"}]}
                await madang.provider.execute_tool(madang.call("python"), "create_playbook", arguments)
            server = McpServer(madang.provider, madang.call("mcp-http")).server
            add_fixture(server)
            app = WithToken(http_app(server, local_policy(TOKEN, "127.0.0.1", port)))
            web = HttpServer(app)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(web.serve, [socket])
                yield f"http://127.0.0.1:{port}/mcp"
                web.should_exit = True


@pytest.fixture(scope="module")
async def runs(url: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The runner's judgement of each era, and of each extension."""
    options = {era: ["--requirements", era] for era in ERAS} | {name: ["--scenario", name] for name in EXTENSIONS}
    return {name: await _run(url, tmp_path_factory.mktemp(name), *option) for name, option in options.items()}


async def _run(url: str, folder: Path, *options: str) -> Run:
    with anyio.fail_after(120):
        process = await anyio.run_process(
            conformance_command("server", "--url", url, *options, "-o", str(folder)), check=False, cwd=folder
        )
    return Run(process.returncode, process.stdout.decode()[-4000:], _read_checks(folder))


def _read_checks(folder: Path) -> dict[str, list[dict[str, Any]]]:
    checks = {}
    for path in folder.glob("server-*/checks.json"):
        # server-<scenario>-<time>, and the time is 2026-11-15T09-41-47-457Z
        scenario = path.parent.name.removeprefix("server-").rsplit("-", 6)[0]
        checks[scenario] = json.loads(path.read_text(encoding="utf-8"))
    return checks


@pytest.mark.parametrize("name", [*ERAS, *EXTENSIONS])
async def test_the_runner_is_content(runs: dict[str, Run], name: str) -> None:
    assert runs[name].exit_code == 0, runs[name].output


@pytest.mark.parametrize(
    ("name", "scenario"),
    [
        *((era, scenario) for era in ERAS for scenario in held_scenarios(era)),
        *((extension, extension) for extension in EXTENSIONS),
    ],
)
async def test_a_scenario_passes_without_a_warning(runs: dict[str, Run], name: str, scenario: str) -> None:
    checks = [check for check in runs[name].checks[scenario] if check["id"] not in NOT_DECLARED]
    unhappy = [check for check in checks if check["status"] not in ("SUCCESS", "INFO")]

    assert unhappy == []
    assert any(check["status"] == "SUCCESS" for check in checks)
