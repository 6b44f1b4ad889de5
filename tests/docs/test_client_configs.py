"""The configurations that people paste into their clients parse and start what there is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import yaml

from madang.cli import _parser
from madang.cli.serve import DEFAULT_ADDRESS
from tests.docs.pages import PAGES, ROOT, Block, blocks, name_of

README = ROOT / "README.md"
CONFIGS = {block.heading: block for block in blocks(README) if block.language in ("json", "yaml")}


@dataclass(frozen=True, slots=True)
class Started:
    """What a configuration starts."""

    command: str
    args: list[str]


def test_the_readme_has_a_configuration_for_each_client() -> None:
    assert list(CONFIGS) == ["Claude Desktop", "VS Code", "VS Code over HTTP", "Goose", "MCP Inspector"]


@pytest.mark.parametrize("client", ["Claude Desktop", "VS Code", "Goose", "MCP Inspector"])
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
def test_every_json_and_yaml_block_parses(page: Path) -> None:
    for block in blocks(page):
        if block.language in ("json", "yaml"):
            assert isinstance(_parsed(block), dict)


def _parsed(block: Block) -> Any:
    return json.loads(block.body) if block.language == "json" else yaml.safe_load(block.body)


def _started(config: dict[str, Any]) -> Started:
    (servers,) = config.values()
    server = servers["madang"]
    return Started(server.get("command") or server["cmd"], server["args"])
