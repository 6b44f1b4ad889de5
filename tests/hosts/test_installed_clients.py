"""`madang install` as the clients' own programs see it: they list our server, say that it answers, and use its tools.

The programs are large: `make hosts` fetches them into `.hosts/`, and those that are there are asked.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from hosts.install import FOLDER, NotAvailable, command_of, node
from hosts.model import ScriptedModel, serving
from hosts.programs import HOSTS, Connection, Host, Place
from hosts.script import STEPS
from madang.cli.clients.known import CLIENTS
from tests.hosts.programs import MADANG, environment
from tests.promises import TOOLS

LIMIT_S = 120
VARIABLES: Mapping[str, Mapping[str, str]] = {
    "claude-code": {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1"},
    "codex": {},
    "gemini-cli": {"GEMINI_API_KEY": "not-a-key", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
    "opencode": {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
}
# Gemini CLI gives a server five seconds, which on a busy machine are too few to be connected.
ANSWER = {
    "claude-code": "Connected",
    "codex": "enabled",
    "gemini-cli": "(Connected|Disconnected)",
    "opencode": "connected",
}
EXISTING = {
    "claude-code": '{\n  "numStartups": 3\n}',
    "codex": '# mine\nmodel = "x" # keep\n',
    "gemini-cli": '{\r\n\t// mine\r\n\t"ui": {"theme": "GitHub"}\r\n}\r\n',
    "opencode": '{\n  "$schema": "https://opencode.ai/config.json", // keep\n  "mcp": {}\n}',
}
REWRITES_ITS_FILE = ("claude-code", "gemini-cli", "opencode")
"""Clients that write to their file themselves: Claude Code always, the others when they run with a model."""


@pytest.mark.parametrize("id", VARIABLES)
def test_the_clients_own_program_lists_our_server(id: str, tmp_path: Path) -> None:
    client = next(client for client in CLIENTS if client.id == id)
    program = _program(client.title)
    variables = {**environment(tmp_path), **VARIABLES[id]}
    file = client.find_file({})  # below the home of whoever runs this; the same below the one of the test
    path = tmp_path / file.relative_to(Path.home())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(EXISTING[id].encode())

    _run([str(MADANG), "install", id], variables, tmp_path)
    listed = _run([*program, "mcp", "list"], variables, tmp_path)

    assert re.search(rf"\bmadang\b.*{ANSWER[id]}", listed), listed
    assert str(MADANG) in listed
    _run([str(MADANG), "uninstall", id], variables, tmp_path)
    if id == "claude-code":
        assert "madang" not in path.read_text()
        assert '"numStartups": 3' in path.read_text()
    else:
        assert path.read_bytes() == EXISTING[id].encode()
        assert not path.with_name(path.name + ".before-madang").exists()


@pytest.mark.parametrize("id", ["codex", "gemini-cli", "opencode"])
async def test_the_clients_own_program_uses_our_tools(id: str, tmp_path: Path) -> None:
    """With a model that plays a script: it is offered our tools, calls one, and is given the answer."""
    client = next(client for client in CLIENTS if client.id == id)
    program, host = _program(client.title), _host(client.title)
    path = tmp_path / client.find_file({}).relative_to(Path.home())
    (tmp_path / "work").mkdir()
    model = ScriptedModel([step for step in STEPS if step.tool == "list_playbooks"])
    async with serving(model.app()) as port:
        elsewhere = Connection(command=["/nowhere/madang"])
        launch = host.configure(Place(tmp_path, tmp_path / "work", f"http://127.0.0.1:{port}", elsewhere))
        variables = {**environment(tmp_path), **VARIABLES[id], **launch.variables, "NO_PROXY": "*", "CI": "1"}
        variables["PATH"] = f"{node().parent}{os.pathsep}{variables['PATH']}"
        _run([str(MADANG), "uninstall", id], variables, tmp_path)  # what is left is how to reach the model
        existing = path.read_bytes()

        _run([str(MADANG), "install", id], variables, tmp_path)
        assert str(MADANG) in path.read_text()
        await anyio.to_thread.run_sync(_run, [*program, *launch.arguments], variables, tmp_path / "work")
        _run([str(MADANG), "uninstall", id], variables, tmp_path)

    requests = json.dumps(model.requests)
    assert [tool for tool in TOOLS if tool not in requests] == []
    assert "No playbooks found" in "".join(model.given())
    if id in REWRITES_ITS_FILE:
        assert "madang" not in path.read_text()
    else:
        assert path.read_bytes() == existing


def _host(title: str) -> Host:
    return next(host for host in HOSTS if host.title == title)


def _program(title: str) -> list[str]:
    host = _host(title)
    if host.package and not (FOLDER / host.command / "installed.txt").exists():
        pytest.skip(f"{title} is not in .hosts/: make hosts fetches it")
    try:
        return command_of(host)
    except NotAvailable as error:
        pytest.skip(str(error))


def _run(command: list[str], variables: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        command,
        env={**variables, "PATH": f"{variables['PATH']}{os.pathsep}/usr/bin"},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout + done.stderr
