"""The first run without a model: five real steps by a few presses, and the person in the place of the model."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, expect

from tests.browser.chat import ChatServer, ChatTab, open_tab, serve_chat, texts_of

SCRIPT = None
MAX_PRESSES = 12


@pytest.fixture
async def first_tab(browser: Browser, tmp_path: Path) -> AsyncIterator[ChatTab]:
    """The first tab of all, on a data folder that was never used."""
    async with serve_chat(tmp_path) as server, open_tab(browser, server) as tab:
        yield tab


async def tour_session(server: ChatServer) -> str:
    [session] = (await server.request("GET", "/api/sessions"))["sessions"]
    id: str = session["id"]
    return id


async def test_the_first_run_takes_at_most_twelve_presses_and_no_typing_but_one_answer(first_tab: ChatTab) -> None:
    tab = first_tab
    presses: list[str] = []

    async def press(button: Locator) -> None:
        await expect(button).to_be_in_viewport()
        presses.append(await button.inner_text())
        await button.click()

    tour = tab.page.get_by_role("main")
    await press(tab.button("Write it"))
    await press(tab.button("Show them"))
    await expect(tab.view("Playbooks").get_by_role("heading", level=2)).to_have_count(1)
    await press(tab.button("Ask me"))
    question = tab.view("Question")
    await question.get_by_role("textbox").fill("주간 보고")
    await press(question.get_by_role("button", name="Send"))
    await press(tab.button("Draw it"))
    await expect(tab.view("Chart").get_by_role("img").first).to_be_visible()
    await press(tab.button("Export it"))
    await expect(tour.get_by_text("5 / 5")).to_be_visible()
    async with tab.page.expect_download() as download:
        await press(tab.view("Exported file").get_by_role("button", name="Download"))

    assert len(presses) <= MAX_PRESSES
    assert Path(await (await download.value).path()).stat().st_size > 0
    session = await tour_session(tab.server)
    listed = await tab.server.call_tool(session, "list_playbooks")
    assert listed["data"]["page"]["totalItems"] == 1
    answered = await tab.server.call_tool(session, "list_prompts", status="answered")
    assert "주간 보고" in answered["text"]
    assert await tab.server.inbox() == []
    await tab.reload()
    await expect(tour.get_by_text("5 / 5")).to_be_visible()


async def test_the_tour_can_be_skipped(first_tab: ChatTab) -> None:
    tab = first_tab
    await tab.button("Skip").click()
    await expect(tab.button("Write it")).to_have_count(0)
    await tab.reload()
    await expect(tab.composer).to_be_visible()
    await expect(tab.button("Write it")).to_have_count(0)
    assert (await tab.server.request("GET", "/api/sessions"))["sessions"] == []


async def test_without_a_model_the_person_takes_its_turn(tab: ChatTab) -> None:
    session = await tab.start_session("What time is it?")
    await tab.expect_state("Your turn")
    await tab.go("inbox")
    await expect(tab.page.get_by_role("heading", name="It is your turn to be the model").first).to_be_visible()
    await tab.page.get_by_role("textbox", name="Your answer").fill("Tea time.")
    await tab.button("Say and end the turn").click()
    await expect(tab.button("Say and end the turn")).to_have_count(0)
    await tab.open(session)

    await tab.expect_said("Tea time.")
    await tab.expect_state("")
    assert texts_of(await tab.server.messages(session), "assistant") == ["Tea time."]


async def test_manual_mode_tells_what_an_agent_would_read_first(tab: ChatTab) -> None:
    await tab.start_session()
    await tab.go("manual/add_todo")
    await tab.page.get_by_role("textbox", name=re.compile("^name")).fill("Buy tea")
    await tab.button("Call").click()

    result = tab.page.get_by_role("region", name="Result")
    await expect(result.get_by_role("tab").first).to_have_text("What the agent reads")
    await expect(result.get_by_role("tabpanel")).to_contain_text("[add_todo]")
    await result.get_by_role("tab", name="Data").click()
    await expect(result.get_by_role("tabpanel")).to_contain_text('"Buy tea"')
