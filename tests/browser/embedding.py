"""A host for one view in real Chromium: the page around the frame, driven from Python.

Owns the embedding page and the record of what the view did. It knows no tool: those
come in as a function, which asks the real server or stands for a host without one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from math import ceil
from pathlib import Path
from typing import Any, Self

from anyio import Event, fail_after
from playwright.async_api import (
    Browser,
    Frame,
    FrameLocator,
    Page,
    Route,
    async_playwright,
    expect,
)

CallTool = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
ReadResource = Callable[[str], Awaitable[dict[str, Any]]]

_HOST_URL = "http://host.example/"
_HOST_PAGE = Path(__file__).with_name("host.html")
expect.set_options(timeout=60_000)  # against hangs: five seconds are too little on a busy machine

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SHELL = "chromium-headless-shell"
_IS_WHOLE = os.environ.get("MADANG_TEST_BROWSER", "") == "chromium"


@asynccontextmanager
async def chromium(*flags: str, timezone: str = "", program: str = "") -> AsyncIterator[Browser]:
    """Start the installed Chromium for as long as the block runs, maybe with more flags or in another time zone.

    `program` is another one of its kind than `installed_browser()`. The zone is the process's own: Playwright's
    `timezone_id` reaches a frame in another process after its scripts.
    """
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program or installed_browser(),
            # Chromium cannot sandbox itself as root, the user of many containers: only then --no-sandbox.
            chromium_sandbox=os.geteuid() != 0,
            args=[
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                *flags,
            ],
            env={**os.environ, "TZ": timezone} if timezone else None,
        )
        try:
            yield browser
        finally:
            await browser.close()


def installed_browser() -> str:
    """Return where the installed Chromium is."""
    for name in _BROWSERS:
        if path := shutil.which(name):
            return path
    raise FileNotFoundError(f"None of {', '.join(_BROWSERS)} is on the PATH: scripts/system-packages installs one.")


def page_browser() -> str:
    """Return where Chromium without windows is, which shows a page in half the processor time; else the whole one.

    What its pages and frames may do is the same engine's. Where that is attacked, the whole one is, as people have it.
    """
    return installed_browser() if _IS_WHOLE else shutil.which(_SHELL) or installed_browser()


class EmbeddingHost:
    """Shows one view in a sandboxed frame, answers its calls, remembers what it did.

    Open it with `async with EmbeddingHost(call_tool).showing(browser, html) as host`.
    With `legacy=True` it is a host from before MCP Apps: it answers no JSON-RPC at all.
    With `answers_late=True` it answers `ui/initialize` only at `introduce`, so wait for
    "unexpected": the view has given it up by then and tries the older messages.
    With `lets_through`, requests that begin so really go out.
    """

    def __init__(
        self,
        call_tool: CallTool,
        *,
        read_resource: ReadResource | None = None,
        legacy: bool = False,
        flat_answers: bool = False,
        host_context: Mapping[str, Any] | None = None,
        host_capabilities: Mapping[str, Any] | None = None,
        answers_late: bool = False,
        refuses_files: bool = False,
        lets_through: str = "",
        width: int = 800,
    ) -> None:
        self._call_tool = call_tool
        self._read_resource = read_resource
        self._config = {
            "legacy": legacy,
            "flatAnswers": flat_answers,
            "hostContext": dict(host_context or {}),
            "hostCapabilities": dict({"serverTools": {}} if host_capabilities is None else host_capabilities),
            "answersLate": answers_late,
            "refusesFiles": refuses_files,
        }
        self._width = width
        self._lets_through = lets_through
        self._page: Page | None = None
        self._view: Frame | None = None
        self._records: dict[str, list[Any]] = {}
        self._recorded = Event()
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.requests: list[str] = []
        self.page_errors: list[str] = []

    @asynccontextmanager
    async def showing(
        self,
        browser: Browser,
        html: str,
        *,
        tool_result: Mapping[str, Any] | None = None,
        tool_input: Mapping[str, Any] | None = None,
        color_scheme: Any = "light",
        fake_clock: bool = False,
        until: str = "",
    ) -> AsyncIterator[Self]:
        """Open the view, wait until it introduced itself, close it after the block.

        `until` names another kind of record to wait for.
        """
        page = await browser.new_page(
            viewport={"width": self._width, "height": 900},
            color_scheme=color_scheme,
            device_scale_factor=1,
        )
        self._page = page
        try:
            if fake_clock:
                await page.clock.install()
            page.on("pageerror", lambda error: self.page_errors.append(str(error)))
            await page.route("**/*", self._serve)
            await page.expose_binding("madangCallTool", self._on_call)
            await page.expose_binding("madangReadResource", self._on_read)
            await page.expose_binding("madangRecord", self._on_record)
            await page.goto(_HOST_URL)
            config = {
                **self._config,
                "html": html,
                "toolResult": tool_result,
                "toolInput": dict(tool_input or {}),
            }
            await page.evaluate("config => startHost(config)", config)
            if fake_clock:
                await page.clock.run_for(600)
            introduced = "ready" if self._config["legacy"] else "initialized"
            await self.recorded(until or introduced)
            # Not by its name, which comes late for a frame in its own process.
            element = await page.wait_for_selector("iframe")
            self._view = await element.content_frame() if element else None
            yield self
        finally:
            await page.close()

    @property
    def page(self) -> Page:
        """The embedding page: keyboard, clock and screenshots."""
        assert self._page is not None, "not showing anything"
        return self._page

    @property
    def frame(self) -> FrameLocator:
        """The view, for locators and expectations."""
        return self.page.frame_locator("iframe[name=view]")

    @property
    def view(self) -> Frame:
        """The view, for evaluating scripts inside it."""
        assert self._view is not None, "not showing anything"
        return self._view

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What the view sent as `ui/message`."""
        return self._records.get("message", [])

    @property
    def sizes(self) -> list[dict[str, int]]:
        """The sizes the view reported, oldest first."""
        return self._records.get("size", [])

    def record(self, kind: str) -> list[Any]:
        """Whatever else the view sent: initialize, initialized, ready, unexpected."""
        return self._records.get(kind, [])

    async def recorded(self, kind: str, count: int = 1) -> list[Any]:
        """Wait until the view has sent that many messages of a kind."""
        with fail_after(60):
            while len(self.record(kind)) < count:
                await self._recorded.wait()
        return self.record(kind)

    async def introduce(self) -> None:
        """Answer `ui/initialize`, late."""
        await self.page.evaluate("introduce()")
        await self.recorded("initialized")

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification to the view, as its host."""
        await self.page.evaluate(
            "message => send(message)",
            {"jsonrpc": "2.0", "method": method, "params": params},
        )

    async def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the view, as its host, and return its answer with `result` or `error`."""
        answer: dict[str, Any] = await self.page.evaluate(
            "([method, params]) => askView(method, params)", [method, params]
        )
        return answer

    async def settle(self) -> None:
        """Let the view draw a few times, so that what it would still send is sent."""
        await self.view.evaluate(
            """async () => {
                for (let i = 0; i < 10; i++) await new Promise(requestAnimationFrame);
            }"""
        )

    async def screenshot(self, path: Path) -> None:
        """Save what a person sees of the view, as tall as it is."""
        frame = self.page.locator("iframe")
        box = await frame.bounding_box()
        assert box is not None
        # A frame in its own process is drawn only where the window shows it.
        await self.page.set_viewport_size({"width": self._width, "height": ceil(box["height"])})
        await self.settle()
        await frame.screenshot(path=path)

    async def _serve(self, route: Route) -> None:
        # Everything else is a view that tries to reach the network, and gets nowhere.
        if route.request.url == _HOST_URL:
            await route.fulfill(content_type="text/html", body=_HOST_PAGE.read_text(encoding="utf-8"))
        else:
            self.requests.append(route.request.url)
            if self._lets_through and route.request.url.startswith(self._lets_through):
                await route.continue_()
            else:
                await route.abort()

    async def _on_call(self, source: Any, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((name, arguments))
        return await self._call_tool(name, arguments)

    async def _on_read(self, source: Any, uri: str) -> dict[str, Any]:
        assert self._read_resource is not None, "this host reads nothing"
        return await self._read_resource(uri)

    def _on_record(self, source: Any, kind: str, value: Any) -> None:
        self._records.setdefault(kind, []).append(value)
        self._recorded.set()
        self._recorded = Event()
