"""The doors a story is told through."""

from pathlib import Path

import pytest

from tests.doors import EVERY_DOOR, MCP_DOORS, PROVIDER, DoorKind, Doors


@pytest.fixture(params=EVERY_DOOR, ids=str)
def doors(request: pytest.FixtureRequest, tmp_path: Path) -> Doors:
    """Every door, on a data folder of its own."""
    return Doors(request.param, tmp_path)


@pytest.fixture(params=(PROVIDER, DoorKind("memory"), DoorKind("memory", "legacy")), ids=str)
def quick_doors(request: pytest.FixtureRequest, tmp_path: Path) -> Doors:
    """The doors in this process: for stories that the others would only tell more slowly."""
    return Doors(request.param, tmp_path)


@pytest.fixture(params=MCP_DOORS, ids=str)
def mcp_doors(request: pytest.FixtureRequest, tmp_path: Path) -> Doors:
    """Every door that speaks MCP."""
    return Doors(request.param, tmp_path)


@pytest.fixture(params=("auto", "legacy"))
def memory_doors(request: pytest.FixtureRequest, tmp_path: Path) -> Doors:
    """MCP in memory, in both eras: for what no transport has a say in."""
    return Doors(DoorKind("memory", request.param), tmp_path)
