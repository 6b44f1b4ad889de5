"""A parser for each test, and one Chromium that prints PDFs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from madang.services.content.engine.parsing import Parser
from tests.browser.embedding import chromium, page_browser


@pytest.fixture
async def parser() -> AsyncIterator[Parser]:
    parser = Parser()
    yield parser
    await parser.close()


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with chromium(program=page_browser()) as browser:
        yield browser
