"""The configurations that people paste into their clients parse and start what there is."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import yaml

from madang.cli import _parser
from madang.cli.parser import DEFAULT_ADDRESS
from madang.cli.tools import token_estimate
from madang.core.tools import MethodTool
from madang.database.sqlite.database import SqliteDatabase
from madang.services import builtin_services, prebuilt_schemas
from tests.asking import NO_FOLDERS
from tests.docs.pages import PAGES, ROOT, Block, blocks, name_of

README = ROOT / "README.md"
GUIDE = ROOT / "docs/guides/connect-a-client.md"
LANGUAGES = ("json", "toml", "yaml")
BY_HAND = GUIDE.read_text(encoding="utf-8").partition("\n## By hand\n")[2].partition("\n## ")[0]
CLIENTS = re.findall(r"^### (.+)$", BY_HAND, re.MULTILINE)
CONFIGS = {block.heading: block for block in blocks(GUIDE) if block.language in LANGUAGES and block.heading in CLIENTS}
STARTERS = [
    "Claude Code",
    "Codex",
    "Gemini CLI",
    "Copilot CLI",
    "opencode",
    "Claude Desktop",
    "VS Code",
    "Goose",
    "MCP Inspector",
]
"""The clients that start Madang themselves."""


@dataclass(frozen=True, slots=True)
class Started:
    """What a configuration starts."""

    command: str
    args: list[str]


def test_the_guide_has_a_configuration_for_each_client() -> None:
    assert [client for client in CONFIGS if client != "VS Code over HTTP"] == STARTERS


def test_the_one_example_of_the_readme_is_that_of_most_clients() -> None:
    (example,) = [block for block in blocks(README) if block.language in LANGUAGES]

    assert _parsed(example) == _parsed(CONFIGS["Claude Desktop"])


@pytest.mark.parametrize("client", STARTERS)
def test_a_configuration_starts_a_command_that_the_package_installs(client: str) -> None:
    started = _started(_parsed(CONFIGS[client]))

    assert started == Started("madang", ["mcp"])
    assert started.command in {script.name for script in entry_points(group="console_scripts")}
    assert _parser().parse_args(started.args).http is None


def test_the_configuration_over_http_has_the_address_the_server_prints_and_a_token() -> None:
    config = _parsed(CONFIGS["VS Code over HTTP"])

    server = config["servers"]["madang"]
    (asked,) = config["inputs"]
    assert server["type"] == "http"
    assert server["url"] == f"http://{DEFAULT_ADDRESS}/mcp"
    assert server["headers"] == {"Authorization": f"Bearer ${{input:{asked['id']}}}"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_configuration_parses(page: Path) -> None:
    for block in blocks(page):
        if block.language in LANGUAGES:
            assert isinstance(_parsed(block), dict)


def test_the_guide_tells_what_the_services_cost() -> None:
    """Within a tenth of what `madang tools` prints."""
    guide = GUIDE.read_text(encoding="utf-8")
    services = builtin_services(SqliteDatabase(None), NO_FOLDERS)
    schemas = prebuilt_schemas()
    rows = re.findall(r"^\| [^|]+ \| (?:`([a-z,]+)`|\(leave it out\)) \| (\d+) \| ([\d,]+) \|$", guide, re.MULTILINE)

    assert len(rows) == 6
    for names, count, tokens in rows:
        offered = [one for one in services if not names or not set(names.split(",")).isdisjoint(one.metadata.names)]
        tools = [
            replace(tool, schemas=schemas[tool.name])
            for service in offered
            for tool in service.tools
            if isinstance(tool, MethodTool) and tool.audience != "panel"
        ]
        assert len(tools) == int(count), names
        assert sum(map(token_estimate, tools)) == pytest.approx(int(tokens.replace(",", "")), rel=0.1), names


def _parsed(block: Block) -> Any:
    match block.language:
        case "json":
            return json.loads(block.body)
        case "toml":
            return tomllib.loads(block.body)
        case _:
            return yaml.safe_load(block.body)


def _started(config: dict[str, Any]) -> Started:
    (servers,) = config.values()
    server = servers["madang"]
    command = server.get("command") or server["cmd"]
    return Started(command[0], command[1:]) if isinstance(command, list) else Started(command, server["args"])
