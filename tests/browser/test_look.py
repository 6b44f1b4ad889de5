"""How pages look in real Chromium: theme, size, narrow screens; pictures are left in tests/artefacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from madang.core.calls import Locale
from tests.browser.embedding import EmbeddingHost
from tests.browser.serving import APPS, ServedMadang, open_served

GOALS = [f"Goal number {number}" for number in range(1, 26)]


def playbook(goal: str, command: str, *steps: str) -> dict[str, Any]:
    return {"goal": goal, "initialCommand": command, "workflow": [{"description": step} for step in steps]}


PLAYBOOKS = [
    playbook(
        "Publish a release",
        "Release version 1.4",
        "Run all checks and tests",
        "Write the changelog from the merged changes",
        "Build the packages",
        "Tag and publish",
    ),
    playbook("주간 업무 보고서 작성", "이번 주 보고서를 써 줘", "한 일 모으기", "다음 주 계획 정리", "팀에 공유"),
    playbook(
        "Answer a support request",
        "Look at the oldest open request",
        "Read the thread",
        "Reproduce the problem",
        "Search for a known answer",
        "Draft a reply",
        "Ask before sending",
    ),
    playbook("회의록을 할 일로 바꾸기", "어제 회의록에서 할 일을 뽑아 줘", "회의록 읽기", "담당자와 기한 찾기"),
    playbook(
        "Compare three suppliers and recommend one",
        "Compare the offers in the folder",
        "Read each offer",
        "List prices and terms side by side",
        "Recommend one",
    ),
    playbook("Prepare the monthly invoice", "Make the invoice for last month", "Collect the hours", "Fill the form"),
    playbook("신규 입사자 안내", "새 동료를 위한 안내를 준비해 줘", "계정 만들기", "첫 주 일정 짜기"),
]


@pytest.mark.parametrize("width", [320, 1200])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en", "ko"])
async def test_everything_fits_in_either_language_theme_and_width(
    browser: Browser, tmp_path: Path, artefacts: Path, locale: Locale, theme: str, width: int
) -> None:
    async with open_served(browser, tmp_path, APPS, locale=locale) as madang:
        for kept in PLAYBOOKS:
            await madang.keep(**kept)
        async with madang.showing(madang.host(width=width), size=4, color_scheme=theme) as host:
            await expect(host.frame.locator("h2")).to_have_count(4)
            await fits(host, width)
            await host.screenshot(artefacts / f"playbooks-{locale}-{theme}-{width}.png")

            await host.frame.locator(".delete-pb-btn").nth(2).click()
            await expect(host.frame.locator(".danger:visible")).to_have_count(1)
            await fits(host, width)
            await host.screenshot(artefacts / f"playbooks-question-{locale}-{theme}-{width}.png")
            await host.frame.locator(".select-pb-btn").nth(1).click()
            await expect(host.frame.get_by_role("status")).not_to_be_empty()
            await fits(host, width)
            await host.screenshot(artefacts / f"playbooks-selected-{locale}-{theme}-{width}.png")


async def test_nothing_is_cut_off_on_a_narrow_screen(linked: ServedMadang, artefacts: Path) -> None:
    await linked.given(["x" * 500, "한국어 " * 60, *GOALS[:3]])
    async with linked.showing(linked.host(width=320)) as host:
        await expect(host.frame.locator("h2")).to_have_count(5)

        await fits(host, 320)
        await host.screenshot(artefacts / "playbooks-long-320.png")


async def test_a_long_command_does_not_push_the_other_rows_away(linked: ServedMadang) -> None:
    await linked.keep(goal="Goal", initialCommand="Do this, then that. " * 200)
    async with linked.showing() as host:
        command = await host.frame.locator("h2 + p").bounding_box()

        assert command is not None
        assert command["height"] < 4 * 24


async def test_what_a_click_led_to_is_in_sight_where_the_host_scrolls_the_frame(linked: ServedMadang) -> None:
    await linked.given(GOALS[:10])
    async with linked.showing() as host:
        await expect(host.frame.locator("h2")).to_have_count(10)
        await host.page.add_style_tag(content="iframe { max-height: 300px }")
        await host.frame.get_by_role("button", name="Select: Goal number 10").click()

        await expect(host.frame.get_by_role("status")).not_to_be_empty()
        await expect(host.frame.get_by_role("status")).to_be_in_viewport(ratio=1)


async def test_the_picture_in_the_readme(linked: ServedMadang, artefacts: Path) -> None:
    """`scripts/screenshot` takes it from here."""
    picture = artefacts / "readme.png"
    for kept in PLAYBOOKS:
        await linked.keep(**kept)
    # As hosts do that bring a font of their own; the usual one of a bare machine has no Korean to go with it.
    context = {"styles": {"variables": {"--font-sans": "Noto Sans CJK KR, sans-serif"}}}
    async with linked.showing(linked.host(width=900, host_context=context), size=5) as host:
        await expect(host.frame.locator("h2")).to_have_count(5)
        await fits(host, 900)

        await host.screenshot(picture)

    assert picture.stat().st_size < 100_000


async def test_the_hosts_theme_is_applied_and_follows_its_changes(linked: ServedMadang) -> None:
    await linked.given(GOALS[:3])
    variables = {
        "--color-background-primary": "rgb(1, 2, 3)",
        "--color-text-primary": "light-dark(red, rgb(9, 8, 7))",
    }
    context = {"theme": "dark", "styles": {"variables": variables}}
    async with linked.showing(linked.host(host_context=context)) as host:
        body = host.frame.locator("body")
        await expect(host.frame.locator("html")).to_have_attribute("data-theme", "dark")
        await expect(body).to_have_css("background-color", "rgb(1, 2, 3)")
        await expect(body).to_have_css("color", "rgb(9, 8, 7)")

        await host.notify("ui/notifications/host-context-changed", {"theme": "light"})
        await expect(body).to_have_css("color", "rgb(255, 0, 0)")
        await expect(body).to_have_css("background-color", "rgb(1, 2, 3)")


async def test_the_height_is_the_contents_and_is_reported_without_a_loop(madang: ServedMadang) -> None:
    await madang.given(GOALS)
    async with madang.showing() as host:
        await expect(host.frame.locator("h2")).to_have_count(10)
        await host.settle()
        tall = host.sizes[-1]["height"]
        assert tall == await host.view.evaluate("document.documentElement.scrollHeight")
        assert len(host.sizes) <= 3
        before = len(host.sizes)

        await host.frame.get_by_role("button", name="Next →").click()
        await host.frame.get_by_role("button", name="Next →").click()
        await expect(host.frame.locator("h2")).to_have_count(5)
        await host.settle()

        assert host.sizes[-1]["height"] < tall
        assert len(host.sizes) <= before + 1


async def test_a_change_of_a_few_pixels_is_not_reported(madang: ServedMadang) -> None:
    await madang.given(GOALS[:3])
    async with madang.showing() as host:
        await expect(host.frame.locator("h2")).to_have_count(3)
        await host.settle()
        reported = len(host.sizes)
        padding = "(px) => { document.querySelector('main').style.paddingBottom = px }"

        await host.view.evaluate(padding, "19px")
        await host.settle()
        assert len(host.sizes) == reported

        await host.view.evaluate(padding, "20px")
        await host.recorded("size", reported + 1)


async def fits(host: EmbeddingHost, width: int) -> None:
    """Check that nothing is wider than the screen and that every button is large enough for a pointer or a finger."""
    await host.settle()
    assert await host.view.evaluate("document.documentElement.scrollWidth") == width
    assert await host.view.evaluate("innerHeight >= document.documentElement.scrollHeight")
    for button in await host.frame.get_by_role("button").all():
        box = await button.bounding_box()
        assert box is not None
        assert box["height"] >= (44 if width <= 480 else 32)
        assert box["x"] + box["width"] <= width
