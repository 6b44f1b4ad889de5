"""The Inspector's web page as a host of ours: an independent implementation of MCP Apps, driven as a person would.

The view runs where the Inspector puts it: in a frame with an opaque origin inside the frame of its sandbox.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from playwright.async_api import Browser, FrameLocator, Page, async_playwright, expect

from tests.hosts.programs import MADANG, TOKEN, environment, madang_over_http, running
from tests.node import inspector_command

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
PATIENCE_MS = 60_000
API_TOKEN = "for-the-page-of-the-inspector"


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Start the installed Chromium for as long as the block runs."""
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

    async def open_view(self, tool: str, /, **arguments: Any) -> FrameLocator:
        """Open the view of a tool, by its title, with these arguments."""
        await self.page.get_by_text("Apps", exact=True).click()
        await self.page.get_by_text(tool, exact=True).first.click()
        await self.page.get_by_role("switch", name="Edit as JSON").check(force=True)
        await self.page.get_by_role("textbox", name="Arguments JSON").focus()
        await self.page.keyboard.press("ControlOrMeta+a")
        await self.page.keyboard.insert_text(json.dumps(arguments))
        await self.page.get_by_test_id("open-app").click()
        return self.page.frame_locator("iframe").frame_locator("iframe")

    async def close_view(self) -> None:
        await self.page.get_by_label("Close", exact=True).click()
        await expect(self.page.locator("iframe")).to_have_count(0)


@asynccontextmanager
async def inspector(browser: Browser, folder: Path, kind: str) -> AsyncIterator[Host]:
    """Start the Inspector, connected to the Madang of `folder`/data; `kind` is a transport and a protocol era."""
    transport, era = kind.split("-")
    data_dir = folder / "data"
    async with AsyncExitStack() as stack:
        if transport == "http":
            url = await stack.enter_async_context(madang_over_http(data_dir))
            server = ["--transport", "http", "--server-url", url, "--header", f"Authorization: Bearer {TOKEN}"]
            target = ["--protocol-era", era, *server]
        else:
            entry = {"command": str(MADANG), "args": ["mcp", "--data-dir", str(data_dir)], "protocolEra": era}
            config = folder / "mcp.json"
            config.write_text(json.dumps({"mcpServers": {"madang": entry}}), encoding="utf-8")
            target = ["--config", str(config)]
        variables = environment(
            folder,
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
        await _switch_on(page)
        yield Host(page, kind)


async def _switch_on(page: Page) -> None:
    """Connect the Inspector to its server. A click before the page listens for it does nothing, so it is repeated."""
    switch = page.get_by_label("Connect or disconnect")
    connected = page.get_by_text("Connected", exact=True)
    with anyio.fail_after(PATIENCE_MS / 1000):
        while not await connected.is_visible():
            if await page.get_by_text("Disconnected", exact=True).is_visible():
                # In the page itself: the switch is drawn over its input, which has no place on the screen at first.
                await switch.evaluate("element => element.click()")
            await page.wait_for_timeout(1_000)


def _free_port() -> int:
    """Return a port that was free a moment ago: the Inspector has to be told one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
