"""Calls by hand: where there is no model they are its turns, and all of it is there after a reload and a restart."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, expect

from tests.browser.chat import OBEDIENT, UNREACHABLE, ChatTab, open_tab, serve_chat


@pytest.fixture
async def manual_tab(browser: Browser, tmp_path: Path) -> AsyncIterator[ChatTab]:
    """A tab of a host without a model."""
    async with serve_chat(tmp_path) as server, open_tab(browser, server) as tab:
        tab.recorder.expect(UNREACHABLE)
        yield tab


def result(tab: ChatTab) -> Locator:
    return tab.page.get_by_role("region", name="Result")


async def add_todo(tab: ChatTab, name: str) -> None:
    await tab.go("manual/add_todo")
    await tab.page.get_by_role("textbox", name=re.compile("^name")).fill(name)
    await tab.button("Call").click()
    await expect(result(tab).get_by_role("tabpanel")).to_contain_text(name)


async def call_by_json(tab: ChatTab, tool: str, arguments: str) -> None:
    await tab.go(f"manual/{tool}")
    await tab.button("As JSON").click()
    await tab.page.get_by_role("textbox", name="Arguments").fill(arguments)
    await tab.button("Call").click()


async def expect_history(tab: ChatTab, *tools: str) -> None:
    """The history has calls of these tools, newest first; it is open for that time only."""
    history = tab.page.get_by_role("button", name=re.compile("^History"))
    await expect(history).to_have_text(re.compile(f"{len(tools)}$"))
    await history.click()
    listed = tab.page.get_by_role("region", name="History").get_by_role("button").locator("b")
    await expect(listed).to_have_text(list(tools))
    await history.click()


async def calls_of(tab: ChatTab, session: str) -> list[Any]:
    answer = await tab.server.request("GET", f"/api/sessions/{session}/messages")
    return list(answer["calls"].values())


async def expect_chart(tab: ChatTab) -> None:
    await expect(result(tab).get_by_role("tabpanel")).to_contain_text("[visualize_data]")
    await expect(tab.view("Chart").get_by_role("img").first).to_be_visible()


async def test_a_reload_shows_the_last_result_its_page_and_the_history(manual_tab: ChatTab) -> None:
    tab = manual_tab
    session = await tab.start_session(title="By hand")
    await add_todo(tab, "Buy tea")
    await call_by_json(tab, "visualize_data", '{"type":"bar","data":[{"label":"tea","value":3}]}')
    await expect_chart(tab)
    assert [call["tool"] for call in await calls_of(tab, session)] == ["add_todo", "visualize_data"]

    await tab.reload()
    await expect_chart(tab)
    await expect_history(tab, "visualize_data", "add_todo")
    await tab.go("manual/add_todo")
    await expect(result(tab).get_by_role("tabpanel")).to_contain_text("Buy tea")
    await expect(tab.page.get_by_role("textbox", name=re.compile("^name"))).to_have_value("Buy tea")
    await tab.open(session)
    await expect(tab.talk.get_by_text("add_todo")).to_have_count(1)
    await expect(tab.view("Chart").get_by_role("img").first).to_be_visible()


async def test_a_restart_shows_them_too_and_the_run_goes_on(manual_tab: ChatTab) -> None:
    tab = manual_tab
    session = await tab.start_session()
    await add_todo(tab, "Buy tea")
    await tab.server.kill()
    await expect(tab.page.get_by_text("The connection to Madang was lost")).to_be_visible()
    await tab.server.start()
    await expect(tab.page.get_by_text("The connection to Madang was lost")).to_have_count(0)
    await expect(result(tab).get_by_role("tabpanel")).to_contain_text("Buy tea")
    await tab.reload()
    await expect(result(tab).get_by_role("tabpanel")).to_contain_text("Buy tea")
    await expect_history(tab, "add_todo")
    await add_todo(tab, "Buy cups")
    await expect_history(tab, "add_todo", "add_todo")
    assert [call["outcome"] for call in await calls_of(tab, session)] == ["ok", "ok"]


async def test_a_question_is_asked_there_and_its_answer_is_what_is_read(manual_tab: ChatTab) -> None:
    tab = manual_tab
    await tab.start_session()
    await call_by_json(tab, "prompt_user", '{"type":"text","prompt":"Which tea?"}')
    await expect(tab.view("Question").get_by_role("textbox")).to_be_visible()
    await expect(tab.page).to_have_title(re.compile(r"^\(1\) "))
    await tab.reload()
    await tab.view("Question").get_by_role("textbox").fill("green")
    await tab.view("Question").get_by_role("button", name="Send").click()
    await expect(result(tab).get_by_role("tabpanel")).to_contain_text("green")


async def test_the_turn_without_a_model_is_no_question(manual_tab: ChatTab) -> None:
    tab = manual_tab
    session = await tab.start_session()
    await add_todo(tab, "Buy tea")
    while [item["type"] for item in await tab.server.inbox()] != ["model"]:
        await tab.page.wait_for_timeout(20)
    await tab.reload()
    await expect(result(tab).get_by_role("tabpanel")).to_contain_text("Buy tea")
    await expect(tab.page).to_have_title("Madang")
    await expect(tab.page.get_by_role("link", name=re.compile("^Inbox"))).to_have_text("Inbox")
    await tab.open(session)
    await expect(tab.page.get_by_text("waiting for an answer")).to_have_count(0)


async def test_an_own_call_beside_a_model_is_there_after_a_reload(browser: Browser, tmp_path: Path) -> None:
    async with serve_chat(tmp_path, OBEDIENT) as server, open_tab(browser, server) as tab:
        session = await tab.start_session()
        await call_by_json(tab, "visualize_data", '{"type":"bar","data":[{"label":"tea","value":3}]}')
        await expect_chart(tab)
        assert await calls_of(tab, session) == []
        await tab.reload()
        await expect_chart(tab)
        await expect_history(tab, "visualize_data")
