"""The server is killed under an open tab and started again: the tab connects by itself, nothing is lost or doubled."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Route, expect

from tests.browser.chat import (
    OBEDIENT,
    UNREACHABLE,
    ChatServer,
    ChatTab,
    ask,
    held,
    open_tab,
    script,
    serve_chat,
    texts_of,
)

HELD = script(held("The kettle", when="^Boil water"))
"""Begins an answer and never ends it: until the next process, which has another script."""
WHOLE = script({"when": "^Boil water", "steps": [{"say": "The kettle is on, all of it"}]})
QUESTION = ask("prompt_user", prompt="Which tea?", type="text")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ChatServer]:
    async with serve_chat(tmp_path, HELD) as server:
        yield server


@pytest.fixture
async def tab(browser: Browser, server: ChatServer) -> AsyncIterator[ChatTab]:
    async with open_tab(browser, server) as tab:
        tab.recorder.expect(UNREACHABLE)
        yield tab


async def restart(tab: ChatTab, next_script: dict[str, object] = OBEDIENT) -> None:
    """Kill the server, wait until the tab has noticed, and start it again."""
    await tab.server.kill()
    await expect(tab.page.get_by_text("The connection to Madang was lost")).to_be_visible()
    tab.server.write_script(next_script)
    await tab.server.start()
    await expect(tab.page.get_by_text("The connection to Madang was lost")).to_have_count(0)


async def test_a_server_that_is_killed_while_it_streams(tab: ChatTab) -> None:
    session = await tab.start_session("Boil water")
    await tab.expect_said("The kettle")
    await tab.composer.fill("Half a thought")
    await restart(tab, WHOLE)

    await tab.expect_said("The kettle is on, all of it")
    await tab.expect_state("")
    await tab.expect_said(re.compile("^Boil water"))
    await expect(tab.talk.get_by_text("The kettle")).to_have_count(1)
    await expect(tab.composer).to_have_value("Half a thought")
    messages = await tab.server.messages(session)
    assert texts_of(messages, "user") == ["Boil water"]
    assert len(texts_of(messages, "assistant")) == 1
    await tab.reload()
    await expect(tab.talk.get_by_text("The kettle is on, all of it")).to_have_count(1)


async def test_a_server_that_is_killed_while_it_waits(tab: ChatTab) -> None:
    session = await tab.start_session(QUESTION)
    await tab.view("Question").get_by_role("textbox", name="Which tea?").fill("half an answer")
    await restart(tab)

    await tab.expect_state("Your turn")
    await expect(tab.card("Question")).to_have_count(1)
    field = tab.view("Question").get_by_role("textbox", name="Which tea?")
    await expect(field).to_have_value("half an answer")
    await field.fill("oolong")
    await tab.view("Question").get_by_role("button", name="Send").click()
    await tab.expect_said(re.compile("I read:"))
    await tab.expect_state("")
    answers = texts_of(await tab.server.messages(session), "assistant")
    assert [text for text in answers if "oolong" in text] == answers[-1:]


async def test_a_question_that_is_answered_while_the_server_is_away_is_not_lost(tab: ChatTab) -> None:
    await tab.start_session(QUESTION)
    await tab.view("Question").get_by_role("textbox", name="Which tea?").fill("oolong")
    await tab.server.kill()
    await tab.view("Question").get_by_role("button", name="Send").click()
    await expect(tab.view("Question").get_by_role("textbox", name="Which tea?")).to_have_value("oolong")
    await tab.server.start()
    await expect(tab.page.get_by_text("The connection to Madang was lost")).to_have_count(0)
    await tab.view("Question").get_by_role("button", name="Send").click()

    await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()
    await tab.expect_said(re.compile("I read:"))


async def test_a_server_that_is_killed_at_an_approval(tab: ChatTab) -> None:
    session = await tab.start_session(ask("keyword_similarity_search", query="tea"))
    await tab.expect_said(re.compile("I read:"))
    await tab.write(ask("create_playbook", goal="Brew tea", workflow=[]))
    await expect(tab.gate).to_be_visible()
    await restart(tab)

    await expect(tab.gate).to_have_count(1)
    await tab.gate.get_by_role("button", name="Allow once").click()
    await tab.expect_said(re.compile("I read:"), 2)
    listed = await tab.server.call_tool(session, "list_playbooks")
    assert listed["data"]["page"]["totalItems"] == 1


async def test_a_message_in_the_queue_of_a_server_that_is_killed_is_given_once(tab: ChatTab) -> None:
    session = await tab.start_session("Boil water")
    await tab.expect_said("The kettle")
    await tab.write("And toast")
    await expect(tab.page.get_by_text("Next turn")).to_have_count(1)
    await restart(tab, WHOLE)

    await expect(tab.page.get_by_text("Next turn")).to_have_count(0)
    await tab.expect_state("")
    assert texts_of(await tab.server.messages(session), "user") == ["Boil water", "And toast"]
    await tab.expect_said(re.compile("^And toast$"))


async def test_a_message_that_is_written_while_the_server_is_away_stays_in_its_field(tab: ChatTab) -> None:
    session = await tab.start_session()
    await tab.write("Good morning")
    await tab.expect_said(re.compile("I read: Good morning"))
    await tab.server.kill()
    await tab.composer.fill("Are you there?")
    await tab.composer.press("Enter")
    await expect(tab.page.get_by_role("status").filter(has_text="Madang cannot be reached")).to_be_visible()
    await expect(tab.composer).to_have_value("Are you there?")
    await tab.server.start()
    await expect(tab.page.get_by_text("The connection to Madang was lost")).to_have_count(0)
    await tab.composer.press("Enter")

    await tab.expect_said(re.compile("I read: Are you there"))
    assert texts_of(await tab.server.messages(session), "user") == ["Good morning", "Are you there?"]


async def test_a_message_whose_receipt_is_lost_is_not_sent_twice(tab: ChatTab) -> None:
    """The server has it, and is gone before it can say so: the field must not offer it again."""
    session = await tab.start_session("Good morning")
    await tab.expect_said(re.compile("I read: Good morning"))

    async def lose_receipt(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await tab.page.route("**/messages", lose_receipt)
    await tab.composer.fill("Are you there?")
    await tab.composer.press("Enter")
    await tab.expect_said(re.compile("I read: Are you there"))
    await expect(tab.page.get_by_role("status").filter(has_text="Madang cannot be reached")).to_be_visible()
    await expect(tab.composer).to_have_value("")
    assert texts_of(await tab.server.messages(session), "user") == ["Good morning", "Are you there?"]


async def test_a_server_that_is_stopped_and_started_again_is_found_again(tab: ChatTab) -> None:
    await tab.start_session("Good morning")
    await tab.expect_said(re.compile("I read: Good morning"))
    await tab.server.stop()
    await expect(tab.page.get_by_text("The connection to Madang was lost")).to_be_visible()
    await tab.expect_said(re.compile("I read: Good morning"))
    await tab.server.start()
    await expect(tab.page.get_by_text("The connection to Madang was lost")).to_have_count(0)

    await tab.write("Good evening")
    await tab.expect_said(re.compile("I read: Good evening"))
    await tab.expect_said(re.compile("I read: Good morning"))


async def test_a_part_that_is_wanted_while_the_server_is_away_comes_when_it_is_back(tab: ChatTab) -> None:
    await tab.start_session("Good morning")
    await tab.expect_said(re.compile("I read: Good morning"))
    await tab.composer.fill("Half a thought")
    await tab.server.kill()
    await expect(tab.page.get_by_text("The connection to Madang was lost")).to_be_visible()
    async with tab.page.expect_request("**/api/hello?*"):
        await tab.page.keyboard.press("ControlOrMeta+k")
    await expect(tab.composer).to_have_value("Half a thought")
    await tab.server.start()

    await expect(tab.page.get_by_role("dialog", name="Sessions, tools")).to_be_visible()
    await tab.page.keyboard.press("Escape")
    await expect(tab.composer).to_have_value("Half a thought")
    await expect(tab.page.get_by_text("Madang was updated")).to_have_count(0)


async def test_a_tab_of_an_older_version_says_that_it_must_be_loaded_anew(tab: ChatTab) -> None:
    """What the server has after an upgrade: a page with other names, and none of the old files."""
    await tab.start_session("Good morning")
    await tab.expect_said(re.compile("I read: Good morning"))
    await tab.composer.fill("Half a thought")
    tab.recorder.expect("status of 404")
    await tab.page.route("**/assets/*", lambda route: route.fulfill(status=404))
    await tab.page.route(tab.server.origin + "/", lambda route: route.fulfill(body='<script src="/assets/new.js">'))
    await tab.page.keyboard.press("ControlOrMeta+k")
    bar = tab.page.get_by_role("status").filter(has_text="Madang was updated")
    await expect(bar).to_be_visible()
    await expect(tab.composer).to_have_value("Half a thought")

    await tab.page.unroute_all()
    await bar.get_by_role("button", name="Reload").click()
    await expect(bar).to_have_count(0)
    await tab.expect_said(re.compile("I read: Good morning"))
    await expect(tab.composer).to_have_value("Half a thought")
    # Another time it is told without a press: when the server that was lost is back.
    await tab.page.route(tab.server.origin + "/", lambda route: route.fulfill(body='<script src="/assets/new.js">'))
    await restart(tab)
    await expect(bar).to_be_visible()
