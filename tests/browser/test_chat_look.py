"""Every screen of the chat, wide and narrow, light and dark, in both languages: judged by axe-core, nothing covered or
cut off, large enough for fingers. The pictures are left in `.artefacts/` for people.

Language and width are combined in every way; light and dark so that each goes with each language and with each width.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
from PIL import Image
from playwright.async_api import Browser, Page, expect

from madang.core.calls import LOCALES, Locale
from tests.browser.chat import ChatServer, ChatTab, open_tab, serve_chat
from tests.browser.screens import SCREENS, SCRIPT, UNUSED_SCREENS, Yard, go
from tests.browser.test_chat_settings import call_as_client
from tests.node import AXE, ROOT

SIZES = {1440: 900, 375: 812}
PHONE = 375
MIN_TARGET_PX = 44
MIN_COLOURS = 20

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
DRAWN = "async () => { for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame) }"


@pytest.fixture(scope="module")
async def yard(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Yard]:
    async with serve_chat(tmp_path_factory.mktemp("chat"), SCRIPT) as server:
        yard = Yard(server)
        await yard.fill(call_as_client)
        yield yard


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where pictures of the chat are left; git ignores it."""
    folder = ROOT / ".artefacts" / "chat"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Judge:
    """Looks at what a page shows, in every shape, and keeps what is wrong."""

    def __init__(self, page: Page, locale: Locale, pictures: Path) -> None:
        self._page = page
        self._locale = locale
        self._pictures = pictures
        self.problems: dict[str, list[str]] = {}

    async def look(self, screen: str) -> None:
        for width, height in SIZES.items():
            theme: Literal["light", "dark"] = "light" if (self._locale == "en") is (width == PHONE) else "dark"
            await self._page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            await self._page.set_viewport_size({"width": width, "height": height})
            for frame in self._page.frames:
                if frame.url == "about:srcdoc":  # a page of ours, which is told of the theme
                    await frame.wait_for_function(
                        "theme => document.documentElement.dataset.theme === theme", arg=theme
                    )
            await self._page.evaluate(DRAWN)
            name = f"{screen.replace('/', '-')}-{self._locale}-{width}-{theme}"
            if found := await self._judge(name, is_phone=width == PHONE):
                self.problems[name] = found
        await self._page.set_viewport_size({"width": 1440, "height": SIZES[1440]})

    async def _judge(self, name: str, *, is_phone: bool) -> list[str]:
        if not await self._page.evaluate("'axe' in window"):
            await self._page.evaluate(AXE.read_text(encoding="utf-8"))
        found: list[str] = await self._page.evaluate(FIND_PROBLEMS, [is_phone, MIN_TARGET_PX])
        found += await self._page.evaluate(JUDGE)
        picture = await self._page.screenshot(path=self._pictures / f"{name}.png")
        return [*found, "the picture is blank"] if _is_blank(picture) else found


@asynccontextmanager
async def tab_in(browser: Browser, server: ChatServer, locale: Locale) -> AsyncIterator[ChatTab]:
    async with open_tab(browser, server, locale="ko-KR" if locale == "ko" else "en-US") as tab:
        yield tab


@pytest.mark.parametrize("locale", LOCALES)
async def test_every_screen_is_clean(browser: Browser, yard: Yard, pictures: Path, locale: Locale) -> None:
    """Whole, reachable and readable: what axe-core finds, what is covered, what is too small, what scrolls sideways."""
    async with tab_in(browser, yard.server, locale) as tab:
        judge = Judge(tab.page, locale, pictures)
        for screen in SCREENS:
            async with yard.shown(tab, screen, locale):
                await judge.look(screen)
    assert judge.problems == {}


async def test_what_is_empty_is_clean(browser: Browser, tmp_path: Path, pictures: Path) -> None:
    """A Madang in which nothing was done yet, and one that does not know who comes."""
    problems: dict[str, list[str]] = {}
    async with serve_chat(tmp_path) as server:
        for locale in LOCALES:
            async with tab_in(browser, server, locale) as tab:
                judge = Judge(tab.page, locale, pictures)
                for screen in UNUSED_SCREENS:
                    await go(tab, screen)
                    await judge.look(f"unused-{screen}")
                await tab.page.evaluate("sessionStorage.clear()")
                await tab.reload()
                await expect(tab.page.get_by_role("alert")).to_be_visible()
                await judge.look("signed-out")
                problems |= judge.problems
    assert problems == {}


def _is_blank(picture: bytes) -> bool:
    with Image.open(io.BytesIO(picture)) as image:
        return image.convert("RGB").getcolors(MIN_COLOURS) is not None  # None: there are more
