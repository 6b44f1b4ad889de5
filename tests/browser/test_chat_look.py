"""Every screen of the chat, wide and narrow, light and dark, in both languages: judged by axe-core, nothing covered or
cut off, large enough for fingers. The pictures are left in `.artefacts/` for people."""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import pytest
from PIL import Image
from playwright.async_api import Browser, expect

from madang.core.calls import Locale
from tests.agent.bench import eventually
from tests.browser.chat import ChatServer, ChatTab, held, open_tab, script, serve_chat
from tests.node import AXE, ROOT

WIDE, PHONE = 1440, 375
MIN_TARGET_PX = 44
MIN_COLOURS = 20
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
    {"when": "^Approve", "steps": [{"call": "keyword_similarity_search", "arguments": {"query": "차"}}]},
    {"when": r"^\[keyword_similarity_search\]", "steps": [{"call": "create_playbook", "arguments": PLAYBOOK}]},
    {"when": "^Fail", "steps": [{"fail": "request_refused"}]},
    held(ANSWER, when="^Write"),
    obeys=False,
)
SESSIONS = {"chat": "Report", "waiting": "Ask", "gate": "Approve", "failed": "Fail", "running": "Write"}
SCREENS = (*SESSIONS, "inbox", "sessions", "manual", "manual-tool", "settings", "palette", "dialog")

FIND_PROBLEMS = """([isPhone, minimum]) => {
    const problems = []
    const name = (one) => `${one.tagName.toLowerCase()} "${(one.ariaLabel || one.innerText || "").slice(0, 40)}"`
    const root = document.documentElement
    if (root.scrollWidth > innerWidth) problems.push(`the page scrolls sideways: ${root.scrollWidth}`)
    const dialog = document.querySelector("[role=dialog], [role=alertdialog].dialog, .dialog")
    const controls = [...(dialog ?? document).querySelectorAll(
        "button, a[href], input:not([hidden]), select, textarea, summary, [role=tab], [role=option], [role=menuitem]")]
    for (const control of controls) {
        const one = control.closest("label") ?? control
        if (!one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || control.disabled) continue
        const box = one.getBoundingClientRect()
        const x = box.x + box.width / 2, y = box.y + box.height / 2
        if (box.width < 2 || x < 0 || x >= innerWidth || y < 0 || y >= innerHeight) continue
        const isClipped = (() => {
            for (let at = one.parentElement; at; at = at.parentElement) {
                const { overflowX, overflowY } = getComputedStyle(at)
                const outer = at.getBoundingClientRect()
                if (overflowY !== "visible" && (y < outer.top || y > outer.bottom)) return true
                if (overflowX !== "visible" && (x < outer.left || x > outer.right)) return true
            }
            return false
        })()
        if (isClipped) continue
        const isHit = (px, py) => {
            const top = document.elementFromPoint(px, py)
            return top !== null && (one.contains(top) || top.contains(one) || top.closest("label")?.contains(one))
        }
        if (!isHit(x, y)) problems.push(`${name(one)} is covered by ${name(document.elementFromPoint(x, y))}`)
        const scrolls = (at) => at && (/auto|scroll/.test(getComputedStyle(at).overflowX) || scrolls(at.parentElement))
        const isOut = box.right > innerWidth + 1 || box.left < -1
        if (isOut && !scrolls(one.parentElement)) problems.push(`${name(one)} leaves the screen`)
        const isInText = one.tagName === "A" && one.closest("p, li, td, .prose") !== null
        if (!isPhone || isInText) continue
        const reach = minimum / 2 - 1
        const owns = (px, py) => one.contains(document.elementFromPoint(px, py))
        const isTall = box.height >= minimum - 0.5 || (owns(x, y - reach) && owns(x, y + reach))
        const isBroad = box.width >= minimum - 0.5 || (owns(x - reach, y) && owns(x + reach, y))
        if (!isTall || !isBroad) problems.push(`${name(one)} is ${box.width.toFixed()} x ${box.height.toFixed()}`)
    }
    return problems
}"""
"""Finds what is covered, cut off, or too small to be pressed by a finger."""

JUDGE = """async () => {
    const dialog = document.querySelector("[role=dialog]")  // what is behind it is hidden, its headings too
    const { violations } = await axe.run(dialog ?? document, { resultTypes: ["violations"], iframes: false })
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`)
}"""


class Yard:
    """A chat with a session in every state, and one that was never used, in one language."""

    def __init__(self, server: ChatServer, unused: ChatServer) -> None:
        self.server = server
        self.unused = unused
        self.sessions: dict[str, str] = {}

    async def fill(self) -> None:
        """Make the sessions, and wait until each is in its state."""
        for name, words in SESSIONS.items():
            id = await self.server.new_session(locale=self.server.locale, title=f"{name} · 차 이야기")
            self.sessions[name] = id
            await self.server.write(id, f"{words} · 부탁합니다")

        async def read() -> dict[str, str]:
            listed = (await self.server.request("GET", "/api/sessions"))["sessions"]
            return {one["id"]: one["run"]["state"] if one["run"] else "" for one in listed}

        states = {"chat": "", "waiting": "waiting", "gate": "waiting", "failed": "", "running": "running"}
        await eventually(read, lambda now: all(now[self.sessions[name]] == state for name, state in states.items()))


@pytest.fixture(scope="module", params=["en", "ko"])
async def yard(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Yard]:
    locale: Locale = request.param
    async with (
        serve_chat(tmp_path_factory.mktemp("chat"), SCRIPT, locale=locale) as server,
        serve_chat(tmp_path_factory.mktemp("unused"), locale=locale) as unused,
    ):
        yard = Yard(server, unused)
        await yard.fill()
        yield yard


async def show(tab: ChatTab, yard: Yard, screen: str) -> None:
    """Go to a screen, and wait until it is drawn."""
    if screen in yard.sessions:
        await tab.open(yard.sessions[screen])
    match screen:
        case "chat":
            await expect(tab.talk.get_by_role("table")).to_be_visible()
            await expect(tab.talk.locator("iframe")).to_be_visible()
        case "waiting":
            await expect(tab.talk.locator("iframe")).to_be_visible()
        case "gate":
            await expect(tab.gate.get_by_role("button").last).to_be_enabled()
        case "failed":
            await expect(tab.talk.get_by_role("alert")).to_be_visible()
        case "running":
            await expect(tab.talk.get_by_role("table")).to_be_visible()
        case "first-run":
            await expect(tab.page.get_by_role("progressbar")).to_be_visible()
        case "manual-tool":
            await tab.go("manual/add_todo")
            await expect(tab.page.get_by_role("textbox", name=re.compile("^name"))).to_be_visible()
        case "palette":
            await tab.open(yard.sessions["chat"])
            await tab.page.keyboard.press("Control+k")
            await expect(tab.page.get_by_role("option").nth(5)).to_be_visible()
        case "dialog":
            await tab.open(yard.sessions["chat"])
            await tab.head.get_by_role("button", name=re.compile("^(More|더 보기)")).click()
            await tab.page.get_by_role("menuitem").last.click()
            await expect(tab.page.get_by_role("alertdialog")).to_be_visible()
        case _:
            await tab.go(screen)
            await expect(tab.page.get_by_role("heading", level=1)).to_be_visible()
    await tab.page.evaluate("async () => { for (let i = 0; i < 10; i++) await new Promise(requestAnimationFrame) }")


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where pictures of the chat are left; git ignores it."""
    folder = ROOT / ".artefacts" / "chat"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, PHONE])
async def test_every_screen_is_clean(
    browser: Browser, yard: Yard, pictures: Path, width: int, theme: Literal["light", "dark"]
) -> None:
    """Whole, reachable and readable: what axe-core finds, what is covered, what is too small, what scrolls sideways."""
    is_phone = width == PHONE
    shape = {"viewport": {"width": width, "height": 812 if is_phone else 900}, "has_touch": is_phone}
    options: dict[str, Any] = {"color_scheme": theme, "reduced_motion": "reduce", **shape}
    problems: dict[str, list[str]] = {}

    async def judge(tab: ChatTab, screen: str) -> None:
        await show(tab, yard, screen)
        found: list[str] = await tab.page.evaluate(FIND_PROBLEMS, [is_phone, MIN_TARGET_PX])
        await tab.page.evaluate(AXE.read_text(encoding="utf-8"))
        found += await tab.page.evaluate(JUDGE)
        path = pictures / f"{screen}-{yard.server.locale}-{width}-{theme}.png"
        if len(_colours(await tab.page.screenshot(path=path))) < MIN_COLOURS:
            found.append("the picture is blank")
        if found:
            problems[screen] = found

    async with open_tab(browser, yard.unused, **options) as tab:
        await judge(tab, "first-run")
    async with open_tab(browser, yard.server, **options) as tab:
        for screen in SCREENS:
            await judge(tab, screen)
            if screen in ("palette", "dialog"):
                await tab.page.keyboard.press("Escape")

    assert problems == {}


def _colours(picture: bytes) -> set[Any]:
    with Image.open(io.BytesIO(picture)) as image:
        return {colour for _, colour in image.convert("RGB").getcolors(2**24) or []}
