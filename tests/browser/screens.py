"""Every screen of the chat, with something on it: sessions in every state, in both languages, in one process."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from playwright.async_api import Route, expect

from madang.core.calls import LOCALES, Locale
from tests.agent.bench import eventually
from tests.browser.chat import ChatServer, ChatTab, held, script

ANSWER = """Here is **the week**, 이번 주입니다.

| day | cups |
|---|---|
| 월요일 | 3 |
| Tuesday | 5 |

```python
def brew(leaves: str, minutes: int = 3) -> str:
    return f"{leaves} after {minutes} minutes, which is a line that is longer than a phone is wide"
```

1. https://example.com/a/very/long/address/that/has/no/place/to/break/and/goes/on/and/on/and/on
2. 가나다라마바사아자차카타파하가나다라마바사아자차카타파하가나다라마바사아자차카타파하
"""
CHART = {"type": "bar", "title": "차", "data": [{"label": "월", "value": 3}, {"label": "화", "value": 5}]}
QUESTION = {"prompt": "어떤 차로 할까요? Which tea?", "type": "select", "options": ["녹차", "Oolong", "보이차"]}
PLAYBOOK = {"goal": "주간 보고서 발행 · Weekly report", "workflow": []}
SCRIPT = script(
    {"when": "^Report", "steps": [{"think": "Cups of tea."}, {"call": "visualize_data", "arguments": CHART}]},
    {"when": r"^\[visualize_data\]", "steps": [{"say": ANSWER}]},
    {"when": "^Ask", "steps": [{"say": "A question."}, {"call": "prompt_user", "arguments": QUESTION}]},
    {"when": "^Hurry", "steps": [{"call": "prompt_user", "arguments": {**QUESTION, "timeoutS": 1}}]},
    {"when": r"^\[prompt_user\]", "steps": [{"say": "I go on."}]},
    {"when": "^Approve", "steps": [{"call": "keyword_similarity_search", "arguments": {"query": "차"}}]},
    {"when": r"^\[keyword_similarity_search\]", "steps": [{"call": "create_playbook", "arguments": PLAYBOOK}]},
    {"when": "^Stumble", "steps": [{"call": "read_file", "arguments": {"path": "없는 파일.md"}}]},
    {"when": "^Fail", "steps": [{"fail": "request_refused"}]},
    held(ANSWER, when="^Write"),
    obeys=False,
)
SESSIONS = {
    "chat": ("Report", ""),
    "waiting": ("Ask", "waiting"),
    "answered": ("Ask", ""),
    "declined": ("Ask", ""),
    "expired": ("Hurry", ""),
    "gate": ("Approve", "waiting"),
    "stumbled": ("Stumble", ""),
    "failed": ("Fail", ""),
    "running": ("Write", "running"),
}
"""What is said in each, and the state of its run then."""
PANELS = ("plan", "playbooks", "files", "contents", "work")
SETTINGS = ("models", "look", "rules", "data", "clients")
SCREENS = (
    *SESSIONS,
    *(f"panel-{name}" for name in PANELS),
    "foreign",
    "loading",
    "no-page",
    "welcome",
    "inbox",
    "inbox/answered",
    "inbox/over",
    "sessions",
    "sessions-found",
    "manual",
    "manual/add_todo",
    "assistants",
    "assistants/Editor",
    "assistant-tried",
    *(f"settings/{name}" for name in SETTINGS),
    "palette",
    "dialog",
    "offline",
)
UNUSED_SCREENS = ("first-run", "inbox", "sessions", "settings/clients")
"""Of a Madang in which nothing was done yet."""
FOREIGN = "desk"
"""A session of another program."""


class Yard:
    """A chat with a session in every state, in each language."""

    def __init__(self, server: ChatServer) -> None:
        self.server = server
        self._sessions: dict[tuple[Locale, str], str] = {}

    async def fill(self, call_as_client: Callable[..., Awaitable[None]]) -> None:
        """Make the sessions, and wait until each is in its state."""
        server = self.server
        await server.request("POST", "/api/assistants", {"name": "Editor"})
        for locale in LOCALES:
            for name, (words, _) in SESSIONS.items():
                id = await server.new_session(locale=locale, title=f"{name} · 차 이야기")
                self._sessions[locale, name] = id
                await server.write(id, f"{words} · 부탁합니다")
            chat = self._sessions[locale, "chat"]
            await server.call_tool(chat, "create_goal", goal="월요일 회의 전에 주간 보고서 내기")
            for todo in ("변경 모으기", "Draw the chart of the week, with all that was merged"):
                await server.call_tool(chat, "add_todo", name=todo)
            await server.call_tool(chat, "write_file", path="보고서/주간 보고서.md", content="# 보고서")
            await server.call_tool(chat, "add_content", content="녹차는 끓인 물을 식혀서 우린다.")
        await server.call_tool(chat, "create_playbook", goal="차 우리기", workflow=[{"description": "물 끓이기"}])
        await call_as_client(server.data_dir, "Claude Desktop", FOREIGN, "add_todo", {"name": "Buy tea"})
        for name, settlement in (("answered", {"answer": "녹차"}), ("declined", {"decline": True})):
            ids = {self._sessions[locale, name] for locale in LOCALES}
            items = await eventually(server.inbox, partial(_ask_in, ids))
            for item in items:
                if item["sessionId"] in ids:
                    await server.request("POST", f"/api/inbox/{item['id']}", settlement)

        async def read() -> dict[str, str]:
            listed = (await self.server.request("GET", "/api/sessions"))["sessions"]
            return {one["id"]: one["run"]["state"] if one["run"] else "" for one in listed}

        def are_there(now: dict[str, str]) -> bool:
            return all(now[id] == SESSIONS[name][1] for (_, name), id in self._sessions.items())

        await eventually(read, are_there)

    @asynccontextmanager
    async def shown(self, tab: ChatTab, screen: str, locale: Locale) -> AsyncIterator[None]:
        """Go to a screen, and wait until it is drawn; what was opened over it is closed at the end."""
        page = tab.page
        if screen in SESSIONS:
            await tab.open(self._sessions[locale, screen])
        match screen.partition("-"):
            case ("chat" | "running", _, _):
                await expect(tab.talk.get_by_role("table")).to_be_visible()
            case ("waiting" | "answered" | "declined" | "expired", _, _):
                await expect(tab.talk.locator("iframe")).to_be_visible()
            case ("gate", _, _):
                await expect(tab.gate.get_by_role("button").last).to_be_enabled()
            case ("failed", _, _):
                await expect(tab.talk.get_by_role("alert")).to_be_visible()
            case ("stumbled", _, _):
                await expect(tab.talk.get_by_text("read_file").first).to_be_visible()
            case ("foreign", _, _):
                await tab.open(FOREIGN)
                await expect(tab.talk.get_by_text("add_todo")).to_be_visible()
            case ("panel", _, name):
                await self._open_panel(tab, locale, PANELS.index(name))
            case ("loading", _, _):
                await self._hold_messages(tab, locale)
            case ("no", _, _):
                tab.recorder.expect("ERR_FAILED")
                await page.route("**/proxy?*", lambda route: route.abort())
                await tab.open(self._sessions[locale, "chat"])
                await expect(tab.talk.locator(".view .empty")).to_be_visible()
            case ("welcome", _, _):
                await tab.go("")
                await expect(page.get_by_role("heading", level=1)).to_be_visible()
            case ("sessions", _, "found"):
                await tab.go("sessions")
                await page.get_by_role("searchbox").fill("차")
                await expect(page.locator("mark").first).to_be_visible()
            case ("assistant", _, "tried"):
                await tab.go("assistants/Editor")
                await page.get_by_role("button", name=re.compile("^(Try it|써 보기)$")).click()
                await expect(page.get_by_role("complementary").get_by_role("textbox")).to_be_visible()
            case ("palette", _, _):
                await tab.open(self._sessions[locale, "chat"])
                await page.keyboard.press("Control+k")
                await expect(page.get_by_role("option").nth(5)).to_be_visible()
            case ("dialog", _, _):
                await tab.open(self._sessions[locale, "chat"])
                await tab.head.get_by_role("button", name=re.compile("^(More|더 보기)")).click()
                await page.get_by_role("menuitem").last.click()
                await expect(page.get_by_role("alertdialog")).to_be_visible()
            case ("offline", _, _):
                tab.recorder.expect("ERR_FAILED")
                await page.route("**/events?*", lambda route: route.abort())
                await tab.open(self._sessions[locale, "stumbled"])
                await expect(page.get_by_text(re.compile("reconnecting|다시 잇는 중", re.IGNORECASE))).to_be_visible()
            case _:
                await go(tab, screen)
        yield
        match screen.partition("-"):
            case ("palette" | "dialog", _, _):
                await page.keyboard.press("Escape")
            case ("loading" | "no" | "offline", _, _):
                await page.unroute_all(behavior="ignoreErrors")

    async def _open_panel(self, tab: ChatTab, locale: Locale, number: int) -> None:
        await tab.open(self._sessions[locale, "chat"])
        panel = tab.page.locator("aside.panel")
        if not await panel.count():
            await tab.page.keyboard.press("Control+.")
        one = panel.get_by_role("tab").nth(number)
        await one.click()
        await expect(one).to_have_attribute("aria-selected", "true")
        await expect(panel.get_by_role("tabpanel")).not_to_be_empty()

    async def _hold_messages(self, tab: ChatTab, locale: Locale) -> None:
        """Open a session whose messages do not come."""

        async def hold(route: Route) -> None:
            pass

        await tab.page.route("**/messages?*", hold)
        await tab.go(f"s/{self._sessions[locale, 'stumbled']}")
        await expect(tab.page.locator(".skeleton").first).to_be_visible()


def _ask_in(sessions: set[str], items: list[Any]) -> bool:
    return sessions <= {item["sessionId"] for item in items}


async def go(tab: ChatTab, screen: str) -> None:
    """Go to a screen that has an address and a heading, and wait until it is drawn."""
    await tab.go("" if screen == "first-run" else screen)
    await expect(tab.page.get_by_role("heading", level=1).first).to_be_visible()
    await expect(tab.page.locator("[aria-busy=true]")).to_have_count(0)
    if screen == "first-run":
        await expect(tab.page.get_by_role("progressbar")).to_be_visible()
