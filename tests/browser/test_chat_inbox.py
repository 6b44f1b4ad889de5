"""What was asked and is over, in the chat and in the inbox; and what a model thinks before it speaks."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.async_api import Browser, expect

from tests.browser.chat import ask, frame_in, open_tab, script, serve_chat

THINKS = {
    "when": "^Think",
    "steps": [{"think": "Green before black."}, {"wait": 6}, {"say": "Green tea."}],
}


async def test_what_was_answered_and_what_was_not_is_there_in_words_also_after_a_reload(
    browser: Browser, tmp_path: Path, artefacts: Path
) -> None:
    async with serve_chat(tmp_path, script(), locale="ko") as server, open_tab(browser, server) as tab:
        question = ask("prompt_user", prompt="어떤 형식으로 낼까요?", type="select", options=["PDF", "ZIP"])
        await tab.start_session(question, title="주간 보고서")
        await tab.view("질문").get_by_role("radio", name="PDF").check()
        await tab.view("질문").get_by_role("button", name="보내기").click()
        await expect(tab.card("질문").get_by_text("답함 · PDF")).to_be_visible()
        await tab.reload()
        await expect(tab.card("질문").get_by_text("답함 · PDF")).to_be_visible()

        await tab.write(ask("prompt_user", prompt="표지도 넣을까요?", type="text"))
        await frame_in(tab.card("질문").last).get_by_role("button", name="건너뛰기").click()
        await expect(tab.card("질문").last.get_by_text("건너뜀", exact=True)).to_be_visible()
        await tab.write(ask("prompt_user", prompt="언제 보낼까요?", type="text"))

        await tab.go("inbox")
        main = tab.page.get_by_role("main")
        await expect(main.get_by_role("button", name="기다림 1")).to_have_attribute("aria-pressed", "true")
        today = main.locator("section", has=tab.page.get_by_role("heading", name="오늘 답함"))
        await expect(today.get_by_role("link")).to_have_text(re.compile("어떤 형식으로 낼까요\\?PDF"))
        await tab.page.screenshot(path=artefacts / "inbox-open-ko.png")

        await main.get_by_role("button", name="답함", exact=True).click()
        entry = main.get_by_role("link", name=re.compile("어떤 형식으로 낼까요"))
        await expect(entry).to_contain_text("주간 보고서")
        await expect(entry.get_by_text("답함 · PDF")).to_be_visible()
        await tab.page.screenshot(path=artefacts / "inbox-answered-ko.png")
        await tab.reload()
        await expect(main.get_by_role("button", name="답함", exact=True)).to_have_attribute("aria-pressed", "true")

        await main.get_by_role("button", name="지나감").click()
        entry = main.get_by_role("link", name=re.compile("표지도 넣을까요"))
        await expect(entry.get_by_text("건너뜀", exact=True)).to_be_visible()
        await expect(main.get_by_role("link")).to_have_count(1)
        await entry.click()
        await expect(tab.talk).to_be_visible()


async def test_thinking_is_one_line_that_opens_while_it_runs_and_is_closed_afterwards(
    browser: Browser, tmp_path: Path
) -> None:
    async with serve_chat(tmp_path, script(THINKS), locale="en") as server, open_tab(browser, server) as tab:
        await tab.start_session("Think of tea")
        await tab.talk.locator("details.think summary", has_text="Thinking").click()
        await expect(tab.talk.get_by_text("Green before black.")).to_be_visible()
        await tab.expect_said(re.compile("Green tea"))
        line = tab.talk.locator("details.think summary", has_text=re.compile(r"^Thought for \d+ s$"))
        await expect(line).to_be_visible()
        await expect(tab.talk.get_by_text("Green before black.")).to_be_hidden()
        await tab.reload()
        await line.click()
        await expect(tab.talk.get_by_text("Green before black.")).to_be_visible()
