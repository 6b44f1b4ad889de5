"""The page of playbooks in real Chromium, with a real Madang behind its buttons."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from anyio import Event
from playwright.async_api import Browser, Locator, expect

from madang.rendering.pages import render_page
from tests.browser.embedding import EmbeddingHost
from tests.browser.serving import APPS, OLD_MCP_UI, HostKind, ServedMadang, open_served
from tests.doors import Kind

TAKES_MESSAGES: dict[str, Any] = {"serverTools": {}, "message": {"text": {}}}

HOSTILE = [
    "<img src=x onerror=window.__pwned=1>",
    "</script><!--<script>window.__pwned=1</script>",
    "{{7*7}} ${7*7} javascript:window.__pwned=1",
    '" onmouseover="window.__pwned=1" \' onfocus=\'window.__pwned=1',
    "\u202egnp.exe <b>\u202c end",
    "한국어 목표 <script>window.__pwned=1</script> 🙂",
]


def goals(count: int) -> list[str]:
    return [f"Goal number {number}" for number in range(1, count + 1)]


async def test_selecting_says_so_and_records_the_run(madang: ServedMadang) -> None:
    ids = await madang.given(goals(3))
    async with madang.showing() as host:
        await host.frame.get_by_role("button", name="Select: Goal number 2").click()

        await expect(host.frame.get_by_role("status")).to_have_text("Selected: Goal number 2")
        assert host.calls == [("select_playbook", {"id": ids[1], "pauseId": ANY})]
        assert host.calls[0][1]["pauseId"]
        assert host.messages == []

    assert await madang.recorded_runs() == [ids[1]]
    assert await madang.kept_goals() == goals(3)


async def test_selecting_tells_the_hosts_model_where_the_host_takes_messages(linked: ServedMadang) -> None:
    ids = await linked.given(goals(3))
    async with linked.showing(linked.host(host_capabilities=TAKES_MESSAGES)) as host:
        await host.frame.get_by_role("button", name="Select: Goal number 2").click()

        text = f"I selected playbook {ids[1]}. Please get it and carry it out."
        assert await host.recorded("message") == [{"role": "user", "content": [{"type": "text", "text": text}]}]

    assert await linked.recorded_runs() == [ids[1]]


async def test_a_selection_that_failed_is_not_told_to_the_model(linked: ServedMadang) -> None:
    ids = await linked.given(goals(2))
    async with linked.showing(linked.host(host_capabilities=TAKES_MESSAGES)) as host:
        await deleted_elsewhere(linked, ids[0])
        await host.frame.get_by_role("button", name="Select: Goal number 1").click()
        await expect(host.frame.get_by_role("status")).to_have_text(re.compile(f"Playbook {ids[0]} not found."))
        await host.settle()

        assert host.messages == []

    assert await linked.recorded_runs() == []


async def test_deleting_and_turning_the_page_do_not_wake_the_model(linked: ServedMadang) -> None:
    await linked.given(goals(5))
    async with linked.showing(linked.host(host_capabilities=TAKES_MESSAGES), size=2) as host:
        await host.frame.get_by_role("button", name="Delete: Goal number 1").click()
        await expect(host.frame.locator("h2")).to_have_text(["Goal number 2", "Goal number 3"])
        await host.frame.get_by_role("button", name="Next →").click()
        await expect(host.frame.locator("h2")).to_have_text(["Goal number 4", "Goal number 5"])
        await host.settle()

        assert host.messages == []

    assert await linked.recorded_runs() == []


async def test_deleting_from_the_page_refreshes_the_list_and_stays_on_its_page(madang: ServedMadang) -> None:
    ids = await madang.given(goals(5))
    async with madang.showing(size=2) as host:
        await host.frame.get_by_role("button", name="Next →").click()
        await host.frame.get_by_role("button", name="Delete: Goal number 3").click()

        await expect(host.frame.locator("h2")).to_have_text(["Goal number 4", "Goal number 5"])
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 2 (4 total)")
        assert host.calls[1:] == [
            ("delete_playbook", {"id": ids[2]}),
            ("get_playbook_page", {"page": 2, "pageSize": 2, "pauseId": ANY}),
        ]

    assert await madang.kept_goals() == ["Goal number 1", "Goal number 2", "Goal number 4", "Goal number 5"]


async def test_deleting_the_last_one_leaves_no_row_behind(madang: ServedMadang) -> None:
    await madang.given(goals(1))
    async with madang.showing() as host:
        await host.frame.get_by_role("button", name="Delete").focus()
        await host.page.keyboard.press("Enter")

        await expect(host.frame.locator("h1")).to_have_text("No playbooks found for agent default.")
        await expect(host.frame.locator("h1")).to_be_focused()
        await expect(host.frame.locator("h2")).to_have_count(0)
        await expect(host.frame.get_by_role("button")).to_have_count(0)

    assert await madang.kept_goals() == []


async def test_next_and_previous_keep_the_page_size(madang: ServedMadang) -> None:
    await madang.given(goals(25))
    async with madang.showing() as host:
        await expect(host.frame.get_by_role("button", name="← Previous")).to_be_disabled()
        await host.frame.get_by_role("button", name="Next →").click()
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 3 (25 total)")
        await host.frame.get_by_role("button", name="Next →").click()
        await expect(host.frame.locator("h2")).to_have_text(goals(25)[20:])
        await expect(host.frame.get_by_role("button", name="Next →")).to_be_disabled()
        await host.frame.get_by_role("button", name="← Previous").click()
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 3 (25 total)")

        assert host.calls == [
            ("get_playbook_page", {"page": page, "pageSize": 10, "pauseId": ANY}) for page in (2, 3, 2)
        ]
        assert len({arguments["pauseId"] for _, arguments in host.calls}) == 1


async def test_hostile_goals_are_shown_as_text(madang: ServedMadang) -> None:
    ids = await madang.given(HOSTILE * 2)
    async with madang.showing(size=6) as host:
        await expect(host.frame.locator("h2")).to_have_text(HOSTILE)
        await host.frame.get_by_role("button", name="Next →").click()
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 2 (12 total)")
        await expect(host.frame.locator("h2")).to_have_text(HOSTILE)
        for button in await host.frame.locator(".select-pb-btn").all():
            await button.hover()
            await button.click()
            await expect(button).to_be_enabled()

        assert await host.view.evaluate("typeof window.__pwned") == "undefined"
        assert await host.view.evaluate("document.querySelectorAll('main :is(img, script, b)').length") == 0
        assert host.requests == []
        assert len(host.calls) == 7

    assert await madang.recorded_runs() == ids[:5:-1]


async def test_an_error_is_shown_and_the_buttons_work_again(madang: ServedMadang) -> None:
    ids = await madang.given(goals(3))
    async with madang.showing() as host:
        await deleted_elsewhere(madang, ids[0])
        await host.frame.get_by_role("button", name="Delete: Goal number 1").click()
        status = host.frame.get_by_role("status")
        await expect(status).to_have_text(
            f"Error: Playbook {ids[0]} not found.\nHint: Call 'list_playbooks' to see the ids there are."
        )
        await expect(host.frame.locator("h2")).to_have_text(goals(3))

        await host.frame.get_by_role("button", name="Delete: Goal number 2").click()
        await expect(host.frame.locator("h2")).to_have_text(["Goal number 3"])
        await expect(status).to_have_text("")

    assert await madang.kept_goals() == ["Goal number 3"]


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("get_playbook", "Error: Playbook <b>bold</b> not found."),
        ("get_<b>bold</b>", "There is no tool 'get_<b>bold</b>'."),
    ],
    ids=["tool error", "protocol error"],
)
async def test_markup_in_an_error_is_shown_as_text(
    linked: ServedMadang, browser: Browser, tool: str, said: str
) -> None:
    button = f"""<button data-tool="{tool}" data-args='{{"id": "<b>bold</b>"}}'>Go</button>"""
    host = EmbeddingHost(linked.call_tool)
    async with host.showing(browser, render_page(button, title="Go", lang="en")):
        await host.frame.get_by_role("button", name="Go").click()

        await expect(host.frame.get_by_role("status")).to_have_text(re.compile(re.escape(said)))
        await expect(host.frame.get_by_role("button", name="Go")).to_be_enabled()
        await expect(host.frame.locator("b")).to_have_count(0)


async def test_a_call_that_fails_in_the_host_is_an_error_too(madang: ServedMadang) -> None:
    async def cut_off(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise ConnectionError("The server is gone.")

    await madang.given(goals(3))
    async with madang.showing(madang.host(cut_off)) as host:
        await host.frame.get_by_role("button", name="Select: Goal number 1").click()

        await expect(host.frame.get_by_role("status")).to_have_text(re.compile("The server is gone."))

    assert await madang.recorded_runs() == []


async def test_while_a_call_runs_the_page_is_busy_and_a_second_click_does_nothing(madang: ServedMadang) -> None:
    ids = await madang.given(goals(3))
    async with madang.showing() as host:
        madang.hold = Event()
        await host.frame.get_by_role("button", name="Select: Goal number 1").dblclick()
        await expect(host.frame.locator("main")).to_have_attribute("aria-busy", "true")
        await expect(host.frame.locator("main button:enabled")).to_have_count(0)

        madang.hold.set()
        await expect(host.frame.locator("main")).not_to_have_attribute("aria-busy", "true")
        await expect(host.frame.locator("main button:enabled")).to_have_count(6)
        assert len(host.calls) == 1

    assert await madang.recorded_runs() == ids[:1]


async def test_the_keyboard_alone_is_enough_and_focus_is_not_lost(madang: ServedMadang) -> None:
    ids = await madang.given(goals(5))
    async with madang.showing(size=2) as host:
        keyboard = host.page.keyboard
        focused = host.frame.locator(":focus")
        await expect(host.frame.locator("h2")).to_have_count(2)
        await tab_to(host, host.frame.get_by_role("button", name="Next →"))

        await keyboard.press("Enter")
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 3 (5 total)")
        await expect(focused).to_have_text("Next →")

        await keyboard.press("Space")
        await expect(host.frame.locator(".page-info")).to_have_text("Page 3 of 3 (5 total)")
        await expect(focused).to_have_text("Playbooks")

        await tab_to(host, host.frame.get_by_role("button", name="Select"))
        await keyboard.press("Enter")
        await expect(host.frame.get_by_role("status")).to_have_text("Selected: Goal number 5")
        await expect(focused).to_have_attribute("aria-label", "Select: Goal number 5")

        await tab_to(host, host.frame.get_by_role("button", name="Delete"))
        await keyboard.press("Enter")
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 2 (4 total)")
        await expect(focused).to_have_text("Playbooks")

    assert await madang.recorded_runs() == [ids[4]]
    assert await madang.kept_goals() == goals(4)


@pytest.mark.parametrize("way", ["stdio", "http"])
@pytest.mark.parametrize("kind", [APPS, OLD_MCP_UI], ids=str)
async def test_the_page_works_behind_every_transport(
    browser: Browser, tmp_path: Path, kind: HostKind, way: Kind
) -> None:
    async with open_served(browser, tmp_path, kind, way=way) as madang:
        ids = await madang.given(goals(3))
        async with madang.showing(size=2) as host:
            await host.frame.get_by_role("button", name="Delete: Goal number 1").click()
            await expect(host.frame.locator("h2")).to_have_text(["Goal number 2", "Goal number 3"])
            await host.frame.get_by_role("button", name="Select: Goal number 3").click()
            await expect(host.frame.get_by_role("status")).to_have_text("Selected: Goal number 3")

        assert await madang.kept_goals() == ["Goal number 2", "Goal number 3"]
        assert await madang.recorded_runs() == [ids[2]]


@pytest.mark.parametrize("kind", [APPS, OLD_MCP_UI], ids=str)
async def test_a_korean_page_is_korean_throughout(browser: Browser, tmp_path: Path, kind: HostKind) -> None:
    async with open_served(browser, tmp_path, kind, locale="ko") as madang:
        ids = await madang.given(["주간 보고서 쓰기", "새 버전 배포", "회의록 정리"])
        async with madang.showing(size=2) as host:
            frame = host.frame
            status = frame.get_by_role("status")
            await expect(frame.locator("html")).to_have_attribute("lang", "ko")
            await expect(frame.get_by_role("heading", level=1)).to_have_text("플레이북")
            await expect(frame.get_by_role("navigation", name="쪽 이동")).to_contain_text("1/2쪽 (모두 3개)")

            await frame.get_by_role("button", name="선택: 새 버전 배포").click()
            await expect(status).to_have_text("선택했습니다: 새 버전 배포")
            await frame.get_by_role("button", name="다음 →").click()
            await expect(frame.locator("h2")).to_have_text(["회의록 정리"])
            await frame.get_by_role("button", name="← 이전").click()
            await frame.get_by_role("button", name="삭제: 주간 보고서 쓰기").click()
            await expect(frame.locator("h2")).to_have_text(["새 버전 배포", "회의록 정리"])

            await deleted_elsewhere(madang, ids[1])
            await frame.get_by_role("button", name="삭제: 새 버전 배포").click()
            await expect(status).to_have_text(re.compile(f"^오류: 플레이북 {ids[1]}을\\(를\\) 찾을 수 없습니다."))
            await frame.get_by_role("button", name="삭제: 회의록 정리").click()
            await expect(frame.locator("main")).to_have_text(re.compile("^에이전트 default의 플레이북이 없습니다."))
            shown = await frame.locator("body").inner_text()

        assert re.findall("[A-Za-z_]+", shown) == ["default", "create_playbook"]
        assert await madang.recorded_runs() == [ids[1]]
        assert await madang.kept_goals() == []


async def deleted_elsewhere(madang: ServedMadang, id: str) -> None:
    """Delete a playbook that a page still shows."""
    async with madang.another_door() as door:
        await door.done("delete_playbook", id=id)


async def tab_to(host: EmbeddingHost, target: Locator) -> None:
    # One at a time: keys pressed while focus moves into the frame are lost.
    for _ in range(10):
        await host.page.keyboard.press("Tab")
        await host.settle()
        if await target.evaluate("(element) => element === document.activeElement"):
            return
    pytest.fail(f"The Tab key does not reach {target}.")
