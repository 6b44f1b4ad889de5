"""One Chromium for all, and for each test a Madang of its own with a host that shows its pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.browser.chat import OBEDIENT, ChatServer, ChatTab, open_tab, serve_chat
from tests.browser.embedding import chromium, page_browser
from tests.browser.serving import APPS, OLD_MCP_UI, ServedMadang, open_served


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with chromium(program=page_browser()) as browser:
        yield browser


@pytest.fixture(params=(APPS, OLD_MCP_UI), ids=str)
async def madang(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> AsyncIterator[ServedMadang]:
    """Madang with either kind of host."""
    async with open_served(browser, tmp_path, request.param) as served:
        yield served


@pytest.fixture
async def linked(browser: Browser, tmp_path: Path) -> AsyncIterator[ServedMadang]:
    """Madang with an MCP Apps host."""
    async with open_served(browser, tmp_path, APPS) as served:
        yield served


@pytest.fixture
async def embedded(browser: Browser, tmp_path: Path) -> AsyncIterator[ServedMadang]:
    """Madang with a host from before MCP Apps."""
    async with open_served(browser, tmp_path, OLD_MCP_UI) as served:
        yield served


@pytest.fixture(scope="session")
def artefacts() -> Path:
    """Where pictures are left for people to look at; git ignores it."""
    folder = Path(__file__).parents[1] / "artefacts"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module")
async def chat_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ChatServer]:
    """`madang web` for all tests of a module, with the module's `SCRIPT` for a model."""
    folder = tmp_path_factory.mktemp("chat")
    async with serve_chat(folder, getattr(request.module, "SCRIPT", OBEDIENT)) as server:
        yield server


@pytest.fixture
async def tab(browser: Browser, chat_server: ChatServer) -> AsyncIterator[ChatTab]:
    """A tab of a new browser, signed in to the module's `madang web`."""
    async with open_tab(browser, chat_server) as tab:
        yield tab
