"""A press on a page in the chat is done once, or the person is told, at any moment in the life of its frame.

A browser finds a frame of another process by what was drawn of it last. Of a frame that is only just there, or in a tab
that is not in front, that may be nothing: then it gives the press to the frame around it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Route, expect

from tests.browser.chat import ChatTab, ask, texts_of
from tests.browser.embedding import chromium

QUESTION = ask("prompt_user", prompt="Which tea?", type="text")


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """The whole Chromium, as people have it: which frame gets a press depends on how and when it draws."""
    async with chromium() as browser:
        yield browser


async def miss(tab: ChatTab, target: Locator, title: str, *, frame: str) -> None:
    """Press something in a page as a browser does that gives it to one of the two frames around the page."""
    outer = tab.card(title).locator("iframe")
    element = outer if frame == "outer" else outer.content_frame.locator("iframe")
    place = await target.evaluate("(el) => { const { x, y } = el.getBoundingClientRect(); return [x + 6, y + 6]; }")
    await element.evaluate(
        """(frame, [left, top]) => {
            const { x, y } = frame.getBoundingClientRect();
            for (const type of ["mousedown", "mouseup", "click"])
                frame.dispatchEvent(new MouseEvent(type, { bubbles: true, clientX: x + left, clientY: y + top }));
        }""",
        place,
    )


@pytest.mark.parametrize("frame", ["outer", "inner"])
async def test_a_press_that_the_browser_gives_to_a_frame_answers_the_question(tab: ChatTab, frame: str) -> None:
    await tab.start_session(QUESTION)
    await tab.view("Question").get_by_role("textbox", name="Which tea?").fill("oolong")
    await miss(tab, tab.view("Question").get_by_role("button", name="Send"), "Question", frame=frame)

    await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()
    await tab.expect_state("")
    assert "oolong" in texts_of(await tab.server.messages(tab.session_id), "assistant")[-1]


async def test_such_a_press_goes_on_from_a_wait(tab: ChatTab) -> None:
    await tab.start_session(ask("wait_for_user", message="Plug it in"))
    go_on = tab.view("Waiting for you").get_by_role("button", name="Continue")
    await expect(go_on).to_be_visible()
    await miss(tab, go_on, "Waiting for you", frame="outer")

    await expect(tab.card("Waiting for you").get_by_text("Answered", exact=True)).to_be_visible()


async def test_such_a_press_deletes_and_selects_playbooks(tab: ChatTab) -> None:
    session = await tab.start_session()
    for goal in ("Brew tea", "Roast coffee"):
        await tab.server.call_tool(session, "create_playbook", goal=goal, workflow=[])
    await tab.write(ask("show_playbooks"))
    view = tab.view("Playbooks")
    await expect(view.get_by_role("button", name="Delete: Roast coffee")).to_be_visible()
    await miss(tab, view.get_by_role("button", name="Delete: Roast coffee"), "Playbooks", frame="outer")
    await miss(tab, view.get_by_role("button", name="Delete", exact=True), "Playbooks", frame="inner")
    await expect(view.get_by_role("status")).to_contain_text("Deleted: Roast coffee")
    await miss(tab, view.get_by_role("button", name="Select: Brew tea"), "Playbooks", frame="outer")

    await expect(tab.card("Playbooks").get_by_text("Answered", exact=True)).to_be_visible()


async def test_such_a_press_downloads_an_export(tab: ChatTab) -> None:
    await tab.start_session()
    await tab.server.call_tool(tab.session_id, "write_file", path="tea.txt", content="oolong")
    await tab.write(ask("export_file", path="tea.txt"))
    download = tab.view("Exported file").get_by_role("button", name="Download")
    await expect(download).to_be_visible()
    async with tab.page.expect_download() as saved:
        await miss(tab, download, "Exported file", frame="outer")

    assert (await saved.value).suggested_filename == "tea.txt"


@pytest.mark.parametrize("frame", ["outer", "inner"])
async def test_a_press_right_after_the_frame_is_shown_again_is_done(tab: ChatTab, frame: str) -> None:
    await tab.start_session(QUESTION)
    await tab.view("Question").get_by_role("textbox", name="Which tea?").fill("oolong")
    button = await tab.view("Question").get_by_role("button", name="Send").bounding_box()
    assert button is not None
    outer = tab.card("Question").locator("iframe")
    await (outer if frame == "outer" else outer.content_frame.locator("iframe")).evaluate(
        """async (frame) => {
            frame.style.display = "none"
            for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame)
            frame.style.display = ""
            frame.getBoundingClientRect()
        }"""
    )
    # Before its page has its size back, nothing is at that place, and nobody sees anything to press.
    await tab.view("Question").locator("body").evaluate("() => new Promise(requestAnimationFrame)")
    await tab.page.mouse.click(button["x"] + 9, button["y"] + 9)

    await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()


async def test_a_press_in_a_tab_that_is_not_in_front_is_done(tab: ChatTab) -> None:
    session = await tab.start_session()
    other = await tab.another()
    await other.page.bring_to_front()
    await tab.server.write(session, QUESTION)
    await tab.view("Question").get_by_role("textbox", name="Which tea?").fill("oolong")
    await tab.view("Question").get_by_role("button", name="Send").click()

    await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()
    await expect(other.card("Question").get_by_text("Answered elsewhere", exact=True)).to_be_visible()


async def test_a_second_press_while_the_first_is_under_way_is_the_same_answer(tab: ChatTab) -> None:
    await tab.start_session(QUESTION)
    await tab.view("Question").get_by_role("textbox", name="Which tea?").fill("oolong")
    calls: list[Any] = []
    may_go = asyncio.Event()

    async def hold(route: Route) -> None:
        calls.append(route.request.post_data_json)
        await may_go.wait()
        await route.continue_()

    await tab.page.route("**/api/views/*/tools", hold)
    send = tab.view("Question").get_by_role("button", name=re.compile("^Send"))
    async with tab.page.expect_request("**/api/views/*/tools"):
        await miss(tab, send, "Question", frame="outer")
    await miss(tab, send, "Question", frame="inner")
    may_go.set()

    await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()
    assert [call["name"] for call in calls] == ["reply_prompt"]


async def test_a_press_on_a_frame_without_its_page_is_told(tab: ChatTab) -> None:
    may_go = asyncio.Event()

    async def hold(route: Route) -> None:
        await may_go.wait()
        await route.continue_()

    await tab.page.route("**/proxy?view=*", hold)
    await tab.start_session(QUESTION)
    await tab.card("Question").locator("iframe").dispatch_event("mousedown")
    await expect(tab.page.get_by_text("The page did not get your press. Press once more.")).to_be_visible()
    may_go.set()
    await tab.view("Question").get_by_role("textbox", name="Which tea?").fill("oolong")
    await tab.view("Question").get_by_role("button", name="Send").click()

    await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()


async def test_a_press_that_the_server_does_not_get_is_told_and_can_be_done_again(tab: ChatTab) -> None:
    tab.recorder.expect("ERR_FAILED")
    await tab.start_session(QUESTION)
    await tab.view("Question").get_by_role("textbox", name="Which tea?").fill("oolong")
    await tab.page.route("**/api/views/*/tools", lambda route: route.abort(), times=1)
    await miss(tab, tab.view("Question").get_by_role("button", name="Send"), "Question", frame="outer")
    await expect(tab.view("Question").get_by_role("status")).to_contain_text("That did not work.")
    await miss(tab, tab.view("Question").get_by_role("button", name="Try again"), "Question", frame="outer")

    await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()
