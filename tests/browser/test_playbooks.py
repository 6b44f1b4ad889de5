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
        assert [name for name, _ in host.calls] == ["select_playbook", "get_playbook_page"]
        assert host.calls[0][1] == {"id": ids[1], "pauseId": ANY}
        assert host.calls[0][1]["pauseId"]
        assert host.messages == []

    assert await madang.recorded_runs() == [ids[1]]
    assert await madang.kept_goals() == goals(3)


async def test_what_was_selected_looks_so_and_cannot_be_selected_again(madang: ServedMadang) -> None:
    ids = await madang.given(goals(5))
    async with madang.showing(size=2) as host:
        await host.frame.get_by_role("button", name="Select: Goal number 2").click()

        row = host.frame.locator(".pb-item[aria-current=true]")
        await expect(row.locator("h2")).to_have_text("Goal number 2")
        await expect(row.get_by_text("Selected", exact=True)).to_be_visible()
        await expect(host.frame.locator(".select-pb-btn:enabled")).to_have_count(0)
        await host.frame.get_by_role("button", name="Next →").click()
        await expect(host.frame.locator("h2")).to_have_text(["Goal number 3", "Goal number 4"])
        await expect(host.frame.locator(".select-pb-btn:enabled")).to_have_count(0)
        await expect(row).to_have_count(0)

    assert await madang.recorded_runs() == [ids[1]]


async def test_the_steps_of_a_playbook_can_be_read_before_it_is_selected(madang: ServedMadang) -> None:
    steps = [{"description": "Look\naround", "action": {"toolName": "grep", "purpose": "find"}}, {"description": "<b>"}]
    criteria = {"description": "All is found", "requiredArtifacts": ["report.md", "list.csv"]}
    id = await madang.keep(goal="Goal", workflow=steps, successCriteria=criteria)
    async with madang.showing() as host:
        await host.frame.get_by_text("2 steps").click()

        await expect(host.frame.locator(".steps li")).to_have_text(["Look around", "<b>"])
        await expect(host.frame.locator("details")).to_contain_text("It is done when: All is found")
        await expect(host.frame.locator("details")).to_contain_text("It leaves: report.md, list.csv")
        for _ in range(2):
            await host.frame.locator("summary").press("Enter")
        await host.settle()
        assert host.calls == [("get_playbook", {"id": id})]

    assert await madang.recorded_runs() == []


async def test_steps_that_are_gone_are_told_and_the_list_is_fetched_anew(linked: ServedMadang) -> None:
    id = await linked.keep(goal="Goal", workflow=[{"description": "Look"}])
    await linked.given(goals(1))
    async with linked.showing() as host:
        await deleted_elsewhere(linked, id)
        await host.frame.get_by_text("1 step").click()

        await expect(host.frame.get_by_role("status")).to_contain_text("It was not found.")
        await expect(host.frame.locator("h2")).to_have_text(goals(1))


async def test_a_row_says_when_it_ran_last(linked: ServedMadang) -> None:
    ids = await linked.given(goals(2))
    await linked.call_tool("select_playbook", {"id": ids[1]})
    async with linked.showing() as host:
        await expect(host.frame.locator(".meta")).to_have_text(["Added today", "Last run today"])


async def test_a_deletion_is_asked_for_in_the_row_and_taken_back_with_one_press(madang: ServedMadang) -> None:
    ids = await madang.given(goals(3))
    async with madang.showing() as host:
        await host.frame.get_by_role("button", name="Delete: Goal number 2").click()
        await expect(host.frame.get_by_role("button", name="Keep")).to_be_focused()
        await host.frame.get_by_role("button", name="Keep").click()
        await expect(host.frame.get_by_role("button", name="Delete: Goal number 2")).to_be_focused()
        assert host.calls == []

        await delete(host, "Goal number 2")
        await expect(host.frame.get_by_role("status")).to_have_text("Deleted: Goal number 2 Undo", use_inner_text=True)
        await expect(host.frame.locator("h2")).to_have_text(["Goal number 1", "Goal number 3"])
        await host.frame.get_by_role("button", name="Undo").click()

        await expect(host.frame.get_by_role("status")).to_have_text("Restored: Goal number 2")
        await expect(host.frame.locator("h2")).to_have_text(goals(3))
        called = ["delete_playbook", "get_playbook_page", "restore_playbook", "get_playbook_page"]
        assert [name for name, _ in host.calls] == called

    assert await madang.kept_goals() == goals(3)
    async with madang.another_door() as door:
        assert (await door.done("get_playbook", id=ids[1])).data["playbook"]["version"] == 1


async def test_escape_leaves_a_playbook_alone(linked: ServedMadang) -> None:
    await linked.given(goals(1))
    async with linked.showing() as host:
        await host.frame.get_by_role("button", name="Delete").press("Enter")
        await expect(host.frame.get_by_role("button", name="Keep")).to_be_focused()
        await host.page.keyboard.press("Escape")

        await expect(host.frame.get_by_role("button", name="Delete: Goal number 1")).to_be_focused()
        assert host.calls == []


async def test_many_playbooks_can_be_searched(madang: ServedMadang) -> None:
    await madang.given([*goals(12), "보고서 쓰기"])
    async with madang.showing() as host:
        field = host.frame.get_by_role("searchbox", name="Search playbooks")
        await field.fill("보고서")
        await field.press("Enter")
        await expect(host.frame.locator("h2")).to_have_text(["보고서 쓰기"])
        await expect(field).to_be_focused()
        await expect(field).to_have_value("보고서")

        await field.fill("nothing at all")
        await host.frame.get_by_role("button", name="Search").click()
        await expect(host.frame.get_by_text("No playbook has these words.")).to_be_visible()
        await host.frame.get_by_role("button", name="Show all").click()
        await expect(host.frame.locator("h2")).to_have_count(10)


async def test_a_few_playbooks_need_no_search(linked: ServedMadang) -> None:
    await linked.given(goals(9))
    async with linked.showing() as host:
        await expect(host.frame.locator("h2")).to_have_count(9)
        await expect(host.frame.get_by_role("searchbox")).to_have_count(0)


async def test_where_there_are_none_the_page_says_so_in_its_own_words(linked: ServedMadang) -> None:
    async with linked.showing() as host:
        await expect(host.frame.locator("main")).to_contain_text("There are no playbooks yet. Ask the assistant")
        await expect(host.frame.get_by_role("button")).to_have_count(0)


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
        await expect(host.frame.get_by_role("status")).to_contain_text("It was not found.")
        await host.settle()

        assert host.messages == []

    assert await linked.recorded_runs() == []


async def test_deleting_and_turning_the_page_do_not_wake_the_model(linked: ServedMadang) -> None:
    await linked.given(goals(5))
    async with linked.showing(linked.host(host_capabilities=TAKES_MESSAGES), size=2) as host:
        await delete(host, "Goal number 1")
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
        await delete(host, "Goal number 3")

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
        await host.frame.get_by_role("button", name="Delete").press("Enter")
        await host.frame.get_by_role("button", name="Delete", exact=True).press("Enter")

        await expect(host.frame.locator("main")).to_contain_text("There are no playbooks yet.")
        await expect(host.frame.get_by_role("button", name="Undo")).to_be_focused()
        await expect(host.frame.locator("h2")).to_have_count(0)
        await expect(host.frame.get_by_role("button")).to_have_count(1)

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
        await host.frame.locator(".select-pb-btn").last.click()
        await expect(host.frame.get_by_role("status")).to_have_text(re.compile("Selected: "))

        assert await host.view.evaluate("typeof window.__pwned") == "undefined"
        assert await host.view.evaluate("document.querySelectorAll('main :is(img, script, b)').length") == 0
        assert host.requests == []

    assert await madang.recorded_runs() == ids[-1:]


async def test_an_error_is_shown_and_what_is_out_of_date_goes(madang: ServedMadang) -> None:
    ids = await madang.given(goals(3))
    async with madang.showing() as host:
        await deleted_elsewhere(madang, ids[0])
        await delete(host, "Goal number 1")
        status = host.frame.get_by_role("status")
        await expect(status).to_have_text("It was not found. It may have been deleted or moved.")
        await expect(host.frame.locator("h2")).to_have_text(goals(3)[1:])

        await delete(host, "Goal number 2")
        await expect(host.frame.locator("h2")).to_have_text(["Goal number 3"])
        await expect(status).to_contain_text("Deleted: Goal number 2")

    assert await madang.kept_goals() == ["Goal number 3"]


async def test_an_error_shows_nothing_that_the_tool_said(linked: ServedMadang, browser: Browser) -> None:
    buttons = "".join(
        f"""<button data-tool="{tool}" data-args='{{"id": "<b>bold</b>"}}'>{tool}</button>"""
        for tool in ("get_playbook", "get_nothing")
    )
    host = EmbeddingHost(linked.call_tool)
    async with host.showing(browser, render_page(buttons, title="Go", lang="en")):
        for tool, said in (("get_playbook", "It was not found."), ("get_nothing", "That did not work.")):
            await host.frame.get_by_role("button", name=tool).click()
            await expect(host.frame.get_by_role("status")).to_contain_text(said)
            await expect(host.frame.get_by_role("button", name=tool)).to_be_enabled()
            await expect(host.frame.locator("b")).to_have_count(0)


async def test_a_call_that_fails_in_the_host_is_an_error_too(madang: ServedMadang) -> None:
    is_cut_off = True

    async def call_tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if is_cut_off:
            raise ConnectionError("The server is gone.")
        return await madang.call_tool(name, arguments)

    ids = await madang.given(goals(3))
    async with madang.showing(madang.host(call_tool)) as host:
        await host.frame.get_by_role("button", name="Select: Goal number 1").click()
        status = host.frame.get_by_role("status")
        await expect(status).to_have_text("That did not work. Try again", use_inner_text=True)
        assert await madang.recorded_runs() == []

        is_cut_off = False
        await host.frame.get_by_role("button", name="Try again").click()
        await expect(status).to_have_text("Selected: Goal number 1")

    assert await madang.recorded_runs() == ids[:1]


async def test_while_a_call_runs_the_page_is_busy_and_a_second_click_does_nothing(madang: ServedMadang) -> None:
    ids = await madang.given(goals(3))
    async with madang.showing() as host:
        madang.hold = Event()
        await host.frame.get_by_role("button", name="Select: Goal number 1").dblclick()
        await expect(host.frame.locator("main")).to_have_attribute("aria-busy", "true")
        await expect(host.frame.locator("button[aria-busy=true]")).to_have_count(1)
        await expect(host.frame.locator("main button:enabled:visible")).to_have_count(0)

        madang.hold.set()
        await expect(host.frame.locator("main")).not_to_have_attribute("aria-busy", "true")
        await expect(host.frame.locator("main button:enabled:visible")).to_have_count(3)
        assert len(host.calls) == 2

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
        await expect(focused).to_have_text("Playbooks")

        await tab_to(host, host.frame.get_by_role("button", name="Delete: Goal number 5"))
        await keyboard.press("Enter")
        await expect(focused).to_have_text("Keep")
        await keyboard.press("Shift+Tab")
        await keyboard.press("Enter")
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 2 (4 total)")
        await expect(focused).to_have_text("Undo")

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
            await delete(host, "Goal number 1")
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
            await frame.get_by_role("button", name="삭제", exact=True).click()
            await expect(frame.locator("h2")).to_have_text(["새 버전 배포", "회의록 정리"])
            await expect(frame.get_by_role("button", name="되돌리기")).to_be_visible()

            await deleted_elsewhere(madang, ids[1])
            await frame.get_by_role("button", name="삭제: 새 버전 배포").click()
            await frame.get_by_role("button", name="삭제", exact=True).click()
            await expect(status).to_have_text("찾을 수 없습니다. 삭제되었거나 옮겨졌을 수 있습니다.")
            await frame.get_by_role("button", name="삭제: 회의록 정리").click()
            await frame.get_by_role("button", name="삭제", exact=True).click()
            await expect(frame.locator("main")).to_contain_text("아직 플레이북이 없습니다.")
            shown = await frame.locator("body").inner_text()

        assert re.findall("[A-Za-z_]+", shown) == []
        assert await madang.recorded_runs() == [ids[1]]
        assert await madang.kept_goals() == []


async def delete(host: EmbeddingHost, goal: str) -> None:
    """Delete a playbook on its page, and say so when asked."""
    await host.frame.get_by_role("button", name=f"Delete: {goal}").click()
    await host.frame.get_by_role("button", name="Delete", exact=True).click()


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
