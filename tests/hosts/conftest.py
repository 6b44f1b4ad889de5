"""One Chromium for all tests of a file, and for each test an Inspector with a Madang of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.doors import PROVIDER, Door, Doors
from tests.hosts.inspector import Host, chromium, inspector


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    """The store behind the server, by another process's eyes."""
    async with Doors(PROVIDER, tmp_path / "data").open() as door:
        yield door


@pytest.fixture(params=["http-auto", "stdio-legacy"])
async def host(request: pytest.FixtureRequest, tmp_path: Path, browser: Browser, door: Door) -> AsyncIterator[Host]:
    async with inspector(browser, tmp_path, request.param) as host:
        yield host
