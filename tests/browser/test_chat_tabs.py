"""Several tabs of one chat, and a reload of one in every state: all show the same, and nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys

import anyio.to_thread
from playwright.async_api import Browser, Route, expect

from tests.browser.chat import ChatServer, ChatTab, ask, frame_in, held, open_tab, script, texts_of

SCRIPT = script(
    held("The kettle is on", when="^Boil water"),
    {"when": "^Break it", "steps": [{"fail": "request_refused"}]},
)
QUESTION = ask("prompt_user", prompt="Which tea?", type="text")


async def answer(tab: ChatTab, text: str) -> None:
    await tab.view("Question").get_by_role("textbox", name="Which tea?").fill(text)
    await tab.view("Question").get_by_role("button", name="Send").click()


async def call_from_shell(server: ChatServer, session: str, tool: str, **arguments: str) -> None:
    """Call a tool from another process on the same data folder."""
    command = [sys.executable, "-m", "madang", "call", tool, json.dumps(arguments), "--session", session]
    environment = {**os.environ, "MADANG_DATA_DIR": str(server.data_dir)}
    await anyio.to_thread.run_sync(lambda: subprocess.run(command, env=environment, check=True, capture_output=True))


# Two tabs


async def test_a_message_in_one_tab_shows_in_the_other(tab: ChatTab) -> None:
    await tab.start_session()
    other = await tab.another()
    await tab.write("Good morning")

    for one in (tab, other):
        await one.expect_said("Good morning", 2)  # the person's words, and what the model read
        await one.expect_state("")


async def test_an_answer_in_one_tab_shows_in_the_other_as_answered_elsewhere(tab: ChatTab) -> None:
    await tab.start_session(QUESTION)
    other = await tab.another()
    await expect(other.view("Question").get_by_role("button", name="Send")).to_be_visible()
    await answer(tab, "oolong")

    await expect(other.card("Question").get_by_text("Answered elsewhere", exact=True)).to_be_visible()
    await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()
    for one in (tab, other):
        await one.expect_state("")
        await expect(one.view("Question").get_by_role("button", name="Send")).to_have_count(0)
        await expect(one.view("Question").get_by_text("oolong")).to_be_visible()


async def test_an_answer_from_another_process_shows_as_answered(tab: ChatTab) -> None:
    session = await tab.start_session(QUESTION)
    await tab.expect_state("Your turn")
    [item] = [one for one in await tab.server.inbox() if one["sessionId"] == session]
    await call_from_shell(tab.server, session, "reply_prompt", messageId=item["id"], answer="oolong")

    await tab.expect_state("")
    await expect(tab.card("Question").get_by_text("Answered elsewhere", exact=True)).to_be_visible()
    await expect(tab.view("Question").get_by_text("oolong")).to_be_visible()


async def test_an_approval_that_was_decided_elsewhere_leaves_the_gate(tab: ChatTab) -> None:
    await start_approval(tab)
    other = await tab.another()
    await expect(other.gate).to_be_visible()
    await tab.gate.get_by_role("button", name="Decline").click()

    for one in (tab, other):
        await expect(one.gate).to_have_count(0)
        await expect(one.composer).to_be_visible()


async def test_the_second_of_two_answers_is_told_that_it_came_too_late(tab: ChatTab) -> None:
    session = await tab.start_session(QUESTION)
    await tab.expect_state("Your turn")
    [item] = [one for one in await tab.server.inbox() if one["sessionId"] == session]

    async def answer_before(route: Route) -> None:
        await tab.server.request("POST", f"/api/inbox/{item['id']}", {"answer": "oolong"})
        await route.continue_()

    await tab.page.route("**/api/views/*/tools", answer_before)
    async with tab.page.expect_response("**/api/views/*/tools") as answered:
        await answer(tab, "green")

    result = (await (await answered.value).json())["result"]
    assert result["isError"]
    await tab.expect_said(re.compile("I read:"))
    await expect(tab.view("Question").get_by_text("oolong")).to_be_visible()
    await expect(tab.view("Question").get_by_text("green")).to_have_count(0)
    assert "green" not in texts_of(await tab.server.messages(session), "assistant")[-1]


async def test_a_list_that_comes_late_brings_back_no_question_that_was_answered(tab: ChatTab) -> None:
    session = await tab.start_session(ask("prompt_user", prompt="Before or after?", type="text"))
    await tab.expect_state("Your turn")
    [item] = [one for one in await tab.server.inbox() if one["sessionId"] == session]
    await tab.go(f"inbox/{item['id']}")  # not the one that has waited longest, which another test may have left
    asked = tab.page.get_by_role("main").get_by_role("heading", name="Before or after?", level=3)
    await expect(asked).to_be_visible()
    is_held, may_go = asyncio.Event(), asyncio.Event()

    async def hold_first(route: Route) -> None:
        response = await route.fetch()
        if not is_held.is_set():
            is_held.set()
            await may_go.wait()
        await route.fulfill(response=response)

    await tab.page.route("**/api/inbox", hold_first)
    await tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # it reads the list
    await is_held.wait()
    async with tab.page.expect_response("**/api/inbox"):  # the list after the answer
        await tab.page.get_by_role("textbox", name="Your answer").fill("after")
        await tab.page.get_by_role("button", name="Send", exact=True).click()
        await expect(asked).to_have_count(0)
    await tab.page.evaluate(
        "new MutationObserver(() => (globalThis.isAskedAgain ||= [...document.querySelectorAll('h3')]"
        ".some((one) => one.textContent === 'Before or after?')))"
        ".observe(document.body, { childList: true, subtree: true })"
    )
    async with tab.page.expect_response("**/api/inbox") as late:  # the list before it
        may_go.set()
    await (await late.value).finished()
    await tab.page.evaluate("new Promise((done) => setTimeout(() => requestAnimationFrame(done), 50))")

    assert not await tab.page.evaluate("globalThis.isAskedAgain")


async def test_what_is_stopped_in_one_tab_stops_in_the_other(tab: ChatTab) -> None:
    await tab.start_session("Boil water")
    other = await tab.another()
    await other.expect_said("The kettle is on")
    await other.button("Stop").click()

    for one in (tab, other):
        await one.expect_said(re.compile("^Stopped$"))
        await one.expect_state("")


async def test_a_session_that_is_made_in_one_tab_is_listed_in_the_other(tab: ChatTab) -> None:
    await tab.start_session("Good morning")
    other = await tab.another()
    await other.start_session(title="Only just made")

    await expect(tab.page.get_by_role("link", name="Only just made")).to_be_visible()


async def test_a_second_madang_web_opens_the_first(tab: ChatTab, browser: Browser) -> None:
    await tab.start_session("Remember the tea", title="Tea time")
    printed = await tab.server.run()
    assert "running already" in printed
    address = re.search(r"http://127\.0\.0\.1:(\d+)/#launch=\S+", printed)
    assert address is not None
    assert int(address[1]) == tab.server.port
    async with open_tab(browser, tab.server) as other:
        await other.page.goto(address[0])
        await other.page.get_by_role("link", name="Tea time").click()
        await other.expect_said("Remember the tea", 2)


async def test_a_launch_address_works_once(tab: ChatTab, browser: Browser) -> None:
    address = await tab.server.launch_url()
    async with open_tab(browser, tab.server) as other:
        await other.page.evaluate("sessionStorage.clear()")
        await other.page.goto("about:blank")
        await other.page.goto(address)
        await expect(other.composer).to_be_visible()
        await expect(other.page).not_to_have_url(re.compile("launch"))
    async with open_tab(browser, tab.server) as late:
        late.recorder.expect("status of 403")
        await late.page.evaluate("sessionStorage.clear()")
        await late.page.goto("about:blank")
        await late.page.goto(address)
        await expect(late.page.get_by_role("alert")).to_contain_text("used already")


# Reloads


async def start_approval(tab: ChatTab) -> str:
    session = await tab.start_session(ask("keyword_similarity_search", query="tea"))
    await tab.expect_said(re.compile("I read:"))
    await tab.write(ask("create_playbook", goal=f"Made in {session}", workflow=[]))
    await expect(tab.gate).to_be_visible()
    return session


async def test_a_reload_while_it_streams(tab: ChatTab) -> None:
    await tab.start_session("Boil water")
    await tab.expect_said("The kettle is on")
    await tab.reload()

    await tab.expect_said("The kettle is on")
    await tab.expect_said("Boil water")
    await tab.expect_state("Running")
    await tab.button("Stop").click()
    await tab.expect_state("")


async def test_a_reload_while_it_waits(tab: ChatTab) -> None:
    await tab.start_session(QUESTION)
    await tab.expect_state("Your turn")
    await tab.reload()

    await tab.expect_state("Your turn")
    await expect(tab.card("Question")).to_have_count(1)
    await answer(tab, "oolong")
    await tab.expect_state("")
    assert "oolong" in texts_of(await tab.server.messages(tab.session_id), "assistant")[-1]


async def test_a_reload_at_an_approval(tab: ChatTab) -> None:
    session = await start_approval(tab)
    await tab.reload()

    await expect(tab.gate).to_contain_text(f"Made in {session}")
    await expect(tab.composer).to_have_count(0)
    await tab.gate.get_by_role("button", name="Allow once").click()
    await tab.expect_state("")
    assert f"Made in {session}" in (await tab.server.call_tool(session, "list_playbooks"))["text"]


async def test_a_reload_after_an_answer(tab: ChatTab) -> None:
    await tab.start_session(QUESTION)
    await answer(tab, "oolong")
    await tab.expect_said(re.compile("I read:"))
    await tab.reload()

    await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()
    await expect(tab.view("Question").get_by_text("oolong")).to_be_visible()
    await tab.expect_said(re.compile("I read:"))
    await tab.expect_state("")


async def test_a_reload_after_a_failure(tab: ChatTab) -> None:
    await tab.start_session("Break it")
    failure = tab.talk.get_by_role("alert")
    await expect(failure).to_contain_text("The script lets this request fail")
    words = await failure.inner_text()
    await tab.reload()

    await tab.expect_said("Break it")
    await expect(failure).to_have_text(words, use_inner_text=True)  # a turn has none of it until it is drawn
    await tab.write("Good morning")
    await tab.expect_said(re.compile("I read: Good morning"))


async def test_a_reload_after_a_stop(tab: ChatTab) -> None:
    await tab.start_session("Boil water")
    await tab.expect_said("The kettle is on")
    await tab.button("Stop").click()
    await tab.expect_said(re.compile("^Stopped$"))
    await tab.reload()

    await tab.expect_said("Boil water")
    await tab.expect_said(re.compile("^Stopped$"))
    await tab.expect_said("The kettle is on")
    await tab.expect_state("")


async def test_a_reload_with_a_message_in_the_queue(tab: ChatTab) -> None:
    await tab.start_session("Boil water")
    await tab.expect_said("The kettle is on")
    await tab.write("And toast")
    await expect(tab.page.get_by_text("And toast")).to_have_count(1)
    await tab.reload()

    await expect(tab.page.get_by_text("Next turn")).to_have_count(1)
    await expect(tab.page.get_by_text("And toast")).to_have_count(1)
    await tab.button("Withdraw").click()
    await expect(tab.page.get_by_text("And toast")).to_have_count(0)


async def test_a_reload_with_a_draft(tab: ChatTab) -> None:
    session = await tab.start_session("Good morning")
    await tab.composer.fill("Half of a\nthought, 반쯤")
    await tab.reload()
    await expect(tab.composer).to_have_value("Half of a\nthought, 반쯤")

    await tab.start_session()
    await expect(tab.composer).to_have_value("")
    await tab.open(session)
    await expect(tab.composer).to_have_value("Half of a\nthought, 반쯤")
    assert len(texts_of(await tab.server.messages(session), "user")) == 1


async def test_each_tab_has_a_draft_of_its_own(tab: ChatTab) -> None:
    await tab.start_session("Good morning")
    await tab.composer.fill("The first")
    other = await tab.another()
    await other.composer.fill("The second")
    await tab.write("The first")
    await other.expect_said(re.compile("I read: The first"))
    await other.reload()
    await expect(other.composer).to_have_value("The second")


async def test_a_reload_of_a_draft_before_the_first_message(tab: ChatTab) -> None:
    await tab.composer.fill("Not sent yet")
    await tab.reload()
    await expect(tab.composer).to_have_value("Not sent yet")
    await tab.composer.press("Enter")

    await tab.expect_said("I read: Not sent yet")
    await expect(tab.composer).to_have_value("")
    await tab.go("")
    await expect(tab.composer).to_have_value("")


async def test_a_reload_with_three_questions_open(tab: ChatTab) -> None:
    await tab.start_session("\n".join(ask("prompt_user", prompt=f"Number {one}?", type="text") for one in (1, 2, 3)))
    await expect(tab.card("Question")).to_have_count(3)
    second = frame_in(tab.card("Question").nth(1))
    await second.get_by_role("textbox").fill("two")
    await second.get_by_role("button", name="Send").click()
    await expect(tab.talk.get_by_text("Answered", exact=True)).to_have_count(1)
    await tab.reload()

    await expect(tab.talk.get_by_text("Answered", exact=True)).to_have_count(1)
    await expect(tab.talk.get_by_text("Your turn", exact=True)).to_have_count(2)
    await expect(tab.page.get_by_text("2 waiting for an answer")).to_be_visible()
