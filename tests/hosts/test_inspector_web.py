"""The Inspector's web page as a host of ours: an independent implementation of MCP Apps, driven as a person would.

The view runs where the Inspector puts it: in a frame with an opaque origin inside the frame of its sandbox.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, FrameLocator, Page, async_playwright, expect

from tests.doors import PROVIDER, Door, Doors
from tests.hosts.programs import MADANG, TOKEN, environment, madang_over_http, running
from tests.node import ROOT, inspector_command

ARTEFACTS = ROOT / ".artefacts"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 30_000
API_TOKEN = "for-the-page-of-the-inspector"


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    program = next(filter(None, map(shutil.which, BROWSERS)))
    # Chromium's own sandbox does not work for root, as whom containers run.
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else list(FLAGS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=flags)
        yield browser
        await browser.close()


@dataclass(frozen=True)
class Host:
    """The Inspector's page, connected to a Madang."""

    page: Page
    era: str

    async def open_view(self, title: str, **fields: str) -> FrameLocator:
        """Open the view of a tool with these arguments."""
        await self.page.get_by_text("Apps", exact=True).click()
        await self.page.get_by_text(title, exact=True).first.click()
        for name, value in fields.items():
            await self.page.get_by_label(name, exact=True).fill(value)
        await self.page.get_by_test_id("open-app").click()
        return self.page.frame_locator("iframe").frame_locator("iframe")


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    """The store behind the server, by another process's eyes; with twelve playbooks in it."""
    async with Doors(PROVIDER, tmp_path / "data").open() as door:
        for number in range(1, 13):
            await door.done("create_playbook", goal=f"Playbook {number}", workflow=[{"description": "Do it"}])
        yield door


@pytest.fixture(params=["http-auto", "stdio-legacy"])
async def host(request: pytest.FixtureRequest, tmp_path: Path, browser: Browser, door: Door) -> AsyncIterator[Host]:
    transport, era = request.param.split("-")
    data_dir = tmp_path / "data"
    async with AsyncExitStack() as stack:
        if transport == "http":
            url = await stack.enter_async_context(madang_over_http(data_dir))
            server = ["--transport", "http", "--server-url", url, "--header", f"Authorization: Bearer {TOKEN}"]
            target = ["--protocol-era", era, *server]
        else:
            entry = {"command": str(MADANG), "args": ["mcp", "--data-dir", str(data_dir)], "protocolEra": era}
            config = tmp_path / "mcp.json"
            config.write_text(json.dumps({"mcpServers": {"madang": entry}}), encoding="utf-8")
            target = ["--config", str(config)]
        variables = environment(
            tmp_path,
            CLIENT_PORT=str(_free_port()),
            MCP_SANDBOX_PORT="0",
            MCP_APP_ORIGIN_PORT="0",
            MCP_AUTO_OPEN_ENABLED="false",
            MCP_INSPECTOR_API_TOKEN=API_TOKEN,
        )
        command = inspector_command("--web", *target)
        await stack.enter_async_context(running(command, variables, until="Auth token:"))
        context = await browser.new_context(viewport={"width": 1280, "height": 900})
        stack.push_async_callback(context.close)
        context.set_default_timeout(PATIENCE_MS)
        page = await context.new_page()
        await page.goto(f"http://127.0.0.1:{variables['CLIENT_PORT']}?MCP_INSPECTOR_API_TOKEN={API_TOKEN}")
        await page.get_by_label("Connect or disconnect").click(force=True)
        await expect(page.get_by_text("Connected", exact=True)).to_be_visible(timeout=PATIENCE_MS)
        yield Host(page, request.param)


def _free_port() -> int:
    """Return a port that was free a moment ago: the Inspector has to be told one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


async def test_the_buttons_of_the_playbook_page_work_in_a_foreign_host(host: Host, door: Door) -> None:
    view = await host.open_view("Show playbooks", pageSize="5")
    rows = view.locator("li h2")
    await expect(rows).to_have_text([f"Playbook {number}" for number in range(1, 6)], timeout=PATIENCE_MS)
    await expect(view.locator(".page-info")).to_have_text("Page 1 of 3 (12 total)")
    assert await view.locator("html").evaluate("() => [location.href, origin]") == ["about:srcdoc", "null"]

    await view.get_by_role("button", name="Next →").click()
    await expect(rows).to_have_text([f"Playbook {number}" for number in range(6, 11)], timeout=PATIENCE_MS)

    await view.get_by_role("button", name="Delete: Playbook 7").click()
    await expect(rows).to_have_text([f"Playbook {number}" for number in (6, 8, 9, 10, 11)], timeout=PATIENCE_MS)
    await expect(view.locator(".page-info")).to_have_text("Page 2 of 3 (11 total)")

    await view.get_by_role("button", name="Select: Playbook 9").click()
    await expect(view.locator("#madang-status")).to_contain_text("I selected playbook", timeout=PATIENCE_MS)
    await expect(host.page.get_by_text(re.compile("^error$", re.IGNORECASE))).to_have_count(0)
    ARTEFACTS.mkdir(exist_ok=True)
    await host.page.screenshot(path=ARTEFACTS / f"inspector-{host.era}.png")

    kept = (await door.done("list_playbooks")).data["page"]["items"]
    assert [item["goal"] for item in kept] == [f"Playbook {number}" for number in range(1, 13) if number != 7]
    runs = (await door.done("list_playbook_runs")).data["page"]["items"]
    assert [run["playbookId"] for run in runs] == [item["id"] for item in kept if item["goal"] == "Playbook 9"]
