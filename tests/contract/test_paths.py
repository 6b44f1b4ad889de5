"""What every tool promises of paths: those that it takes are declared, and one under a rule gets nobody around it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from madang.agent_app import Agent, open_agent
from madang.core.tools import MethodTool
from madang.llm.opening import OpenedModel
from madang.settings import Settings
from tests.asking import CALL, Asker
from tests.promises import PROMISED, SERVICE_OF, TOOLS, prepare

SECRET = "s3cr3t-canary"
MODEL = replace(CALL, actor="model", door="agent")

LOOKS_LIKE_A_PATH = re.compile(r"(?i)(path|file|folder|directory|source|target|destination|url|uri|cwd|location)")
"""In the name of an argument."""

NO_PATHS = {
    ("grep", "glob"): "a filter over what is below path",
    ("upload_file", "source"): "the number of an upload of the person's",
}
"""Arguments that are called so and name no file of the workspace's."""

GUARDED_READS = {
    "read_file",
    "edit_file",
    "list_directory",
    "search_files",
    "grep",
    "move_file",
    "import_file",
    "export_file",
    "export_zip",
    "add_content",
}
GUARDED_CHANGES = {"write_file", "edit_file", "move_file", "delete_file", "import_file"}


def _no_model(name: str) -> OpenedModel:
    raise AssertionError


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    (tmp_path / "allowed").mkdir()
    async with open_agent(Settings(tmp_path / "data", allow_folders=(tmp_path / "allowed",)), _no_model) as agent:
        yield agent


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_an_argument_that_names_a_path_is_declared(tool: MethodTool) -> None:
    schema = tool.input_schema["properties"]
    declared = {to_camel(name) for name in tool.paths}
    texts = {name for name, one in schema.items() if one.get("type") == "string" and "enum" not in one}
    texts |= {name for name, one in schema.items() if one.get("items", {}).get("type") == "string"}

    missing = {name for name in texts if LOOKS_LIKE_A_PATH.search(name)} - declared

    assert {(tool.name, name) for name in missing} <= set(NO_PATHS)
    assert declared <= texts


async def test_every_tool_that_takes_a_path_is_decided_as_the_contract_says(agent: Agent, tmp_path: Path) -> None:
    """The rows of the policy's table that are about paths."""
    project = tmp_path / "project"
    project.mkdir()
    madang = agent.madang
    await madang.sessions.ensure(MODEL)
    madang.folders.bind(MODEL, project)

    async def asking(path: str) -> set[str]:
        names = set()
        for tool in TOOLS.values():
            if tool.audience != "model" or not tool.paths:
                continue
            for name in tool.paths:
                example = _example(tool, name, path, tmp_path / "allowed")
                if (await madang.provider.decide(MODEL, tool, example)).verdict == "ask":
                    names.add(tool.name)
        return names

    assert await asking(".env") == GUARDED_READS
    assert await asking("Makefile") == GUARDED_CHANGES
    assert await asking("src/main.py") == set()
    assert {tool.name for tool in TOOLS.values() if tool.paths} == GUARDED_READS | GUARDED_CHANGES | {"upload_file"}


def _example(tool: MethodTool, name: str, path: str, allowed: Path) -> dict[str, Any]:
    """Return arguments of a tool with a path in the place of one, and something harmless in those of the others."""
    values: dict[str, Any] = {"content": "x", "edits": [{"oldText": "a", "newText": "b"}], "pattern": "x"}
    required = {one: values.get(one, "plain.txt") for one in tool.input_schema.get("required", [])}
    key = "fileUrl" if name == "file_url" else name
    if tool.paths[name] == "source":
        path = f"{allowed}/{path}"
    return {**required, key: [path] if tool.input_schema["properties"][key]["type"] == "array" else path}


@pytest.mark.parametrize("name", PROMISED)
async def test_no_tool_tells_a_model_what_is_in_a_path_under_a_rule(agent: Agent, name: str, tmp_path: Path) -> None:
    """Whatever it calls its arguments: each text among them is a private path once."""
    madang = agent.madang
    asker = Asker(madang.provider, madang.database, CALL, madang.folders)
    arguments = await prepare(asker, name)
    asker.keep_file(".env", f"KEY={SECRET} needle\n".encode())
    (tmp_path / "allowed/.env").write_text(f"KEY={SECRET}\n")
    schema = TOOLS[name].input_schema["properties"]
    replies = [await asker.with_call(actor="model", door="agent").ask(name, **arguments)]
    for key, one in schema.items():
        for path in (".env", str(tmp_path / "allowed/.env"), (tmp_path / "allowed/.env").as_uri()):
            value = {"string": path, "array": [path]}.get(one.get("type", ""))
            if value is None:
                continue
            left = {} if TOOLS[name].either and key in ("fileUrl", "content") else arguments
            replies.append(await asker.with_call(actor="model", door="agent").ask(name, **{**left, key: value}))

    assert all(SECRET not in reply.text + json.dumps(reply.data) for reply in replies)
    if SERVICE_OF[name] in ("workspace", "content"):
        shown = [
            await asker.ask("grep", pattern="KEY=", glob="!.env"),
            await asker.ask("keyword_similarity_search", query="canary"),
        ]
        assert all(SECRET not in reply.text for reply in shown), "nor has it put it elsewhere"
