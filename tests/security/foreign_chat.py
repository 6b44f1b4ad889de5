"""A chat in Chromium with other servers behind it, and a page of one of them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from anyio import fail_after
from playwright.async_api import Browser, Frame, FrameLocator, Locator, Page, expect

from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest
from madang.llm.messages import CallPart, TextPart
from tests.agent.bench import Script
from tests.browser.chat import Recorder, frame_in
from tests.host.hosting import Tab
from tests.security.hostile_server import HostileServer

DONE = "Done."


class Obedient(Script):
    """Makes the call that the person's last message is, and then says that it is done."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta | ModelAnswer]:  # type: ignore[override]
        self.requests.append(request)
        last = request.messages[-1]
        text = "".join(part.text for part in last.parts if isinstance(part, TextPart)) if last.role == "user" else ""
        call = re.match(r"CALL (\S+) (.*)", text, re.DOTALL)
        if call is None:
            yield ModelDelta("text", DONE)
            yield ModelAnswer((TextPart(DONE),), "stop")
        else:
            yield ModelAnswer((CallPart("c1", call[1], call[2]),), "tool_calls")


@dataclass
class Chat:
    """A host in this process with other servers behind it."""

    tab: Tab
    browser: Browser
    hostile: HostileServer


@dataclass
class Shown:
    """A page in the chat."""

    chat: Chat
    page: Page
    session: str
    recorder: Recorder

    @property
    def card(self) -> Locator:
        return self.page.locator("section.view").last

    @property
    def view(self) -> FrameLocator:
        return frame_in(self.card)

    @property
    def frame(self) -> Frame:
        """The inner frame: that of the proxy's child."""
        (proxy,) = self.page.main_frame.child_frames
        (inner,) = proxy.child_frames
        return inner

    async def write(self, text: str) -> None:
        composer = self.page.get_by_role("textbox", name="Message", exact=True)
        await composer.fill(text)
        await composer.press("Enter")

    async def done(self) -> None:
        """Wait until the attack has been made."""
        await expect(self.view.get_by_role("heading", name="Hostile")).to_be_visible()
        await self.until("window.isDone")

    async def until(self, claim: str) -> None:
        """Wait until something is true in the page. Playwright's own way evaluates a text there, which it may not."""
        with fail_after(60):
            while not await self.frame.evaluate(claim):
                await self.page.wait_for_timeout(20)

    def dialog(self) -> Locator:
        return self.page.get_by_role("alertdialog")

    def press(self, name: str) -> Locator:
        return self.dialog().get_by_role("button", name=name, exact=True)

    async def own_messages(self) -> list[str]:
        messages = (await self.chat.tab.messages(self.session))["messages"]
        return [part["text"] for one in messages if one["role"] == "user" for part in one["parts"]]


@asynccontextmanager
async def showing(chat: Chat, tool: str, *, is_clean: bool = True, **arguments: Any) -> AsyncIterator[Shown]:
    """Have the agent call a tool of another server in a new session, in a tab of a new browser."""
    session = await chat.tab.new_session(locale="en")
    context = await chat.browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
    recorder = Recorder()
    recorder.expect("script-src eval")  # the library of the example pages asks whether it may, and does without
    await recorder.watch(context)
    page = await context.new_page()
    try:
        await page.goto(chat.tab.host.launch_url())
        await expect(page.get_by_role("textbox", name="Message", exact=True)).to_be_visible()
        await page.goto(f"{chat.tab.host.address.origin}/#/s/{session}")
        shown = Shown(chat, page, session, recorder)
        await shown.write(f"CALL {tool} {json.dumps(arguments)}")
        await expect(shown.card).to_be_visible()
        yield shown
        if is_clean:
            recorder.check()
    finally:
        await context.close()
