"""`scripts/preview` shows the page of every tool that has one."""

from __future__ import annotations

import pytest

from tests.preview import page_of
from tests.promises import PROMISED


@pytest.mark.parametrize("tool", [tool for tool, promise in PROMISED.items() if promise.shows_page])
async def test_the_page_of_a_tool_can_be_previewed(tool: str) -> None:
    page = await page_of(tool, "ko")

    assert page.startswith("<!doctype html>")
    assert 'lang="ko"' in page
