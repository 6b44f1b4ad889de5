"""What waits for the person, attacked in a real browser (T17, T27, T28, T29).

Questions of others, answers twice, late and at once, and calls that want to be allowed for what they look like.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, Request, expect

from madang.core.ids import SessionId
from tests.browser.chat import ChatServer, ChatTab, ask, frame_in, open_tab, script, serve_chat, texts_of
from tests.browser.embedding import chromium
from tests.host.hosting import hosting
from tests.security.canary import Canary, listening, markup
from tests.security.test_web_texts import nothing_happened

RACES = 1000
AT_ONCE = 20
UNKNOWN = "01a1e365-af26-7c81-94c1-239d4ebbc506"
HIDDEN = "\u202e\u2066\u200b\ufeff\U000e0041"
"""What would turn a line round, or is not drawn."""
LONG_STEPS = [{"description": f"step {number} {'x' * 3_900}"} for number in range(27)]
PLAYBOOK = {"goal": f"safe{HIDDEN}txt.exe", "initialCommand": "마당", "workflow": LONG_STEPS}

POST = """async ([path, body]) => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem("madang.token")}` }
    if (body !== null) headers["Content-Type"] = "application/json"
    const said = body === null ? { method: "GET" } : { method: "POST", body: JSON.stringify(body) }
    const response = await fetch(path, { ...said, headers })
    return [response.status, await response.json()]
}"""


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
async def chat(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ChatServer]:
    long = {"when": "^Do something long", "steps": [{"call": "create_playbook", "arguments": PLAYBOOK}]}
    async with serve_chat(tmp_path_factory.mktemp("pauses"), script(long)) as server:
        yield server


@pytest.fixture
async def tab(browser: Browser, chat: ChatServer) -> AsyncIterator[ChatTab]:
    async with open_tab(browser, chat) as tab:
        yield tab


async def send(tab: ChatTab, path: str, body: Any = None) -> tuple[int, Any]:
    """Send a request from inside the tab, with its token."""
    tab.recorder.expect("status of (404|409|410)")
    status, answer = await tab.page.evaluate(POST, [path, body])
    return status, answer


def question(**fields: Any) -> str:
    return ask("prompt_user", **{"prompt": "Which tea?", "type": "text", **fields})


async def item_of(tab: ChatTab) -> Any:
    await tab.expect_state("Your turn")
    [item] = [one for one in await tab.server.inbox() if one["sessionId"] == tab.session_id]
    return item


async def answer_in_frame(tab: ChatTab, text: str) -> Request:
    """Answer on the page of the question, and return the request that the page made."""
    view = tab.view("Question")
    await view.get_by_role("textbox", name="Which tea?").fill(text)
    async with tab.page.expect_request("**/api/views/*/tools") as sent:
        await view.get_by_role("button", name="Send").click()
    return await sent.value


async def reads(tab: ChatTab) -> list[str]:
    """Return what the agent said after it went on: once for each time that it did."""
    return [text for text in texts_of(await tab.server.messages(tab.session_id), "assistant") if "I read:" in text]


# T27


async def call_as(user: str, folder: Path, tool: str, **arguments: Any) -> Any:
    """Call a tool as another user of the same data folder, in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "madang", "call", tool, json.dumps(arguments), "--json"),
        *("--user", user, "--session", "theirs", "--data-dir", str(folder)),
        env=dict(os.environ),
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    return json.loads(output)


async def test_t27_the_question_of_another_user_is_as_if_it_never_was(tab: ChatTab) -> None:
    asked = await call_as("eve", tab.server.data_dir, "prompt_user", prompt="Whose secret?", type="text")
    id = asked["messageId"]
    bodies: list[Any] = [
        None,
        {"answer": "x"},
        {"answer": ["x"]},
        {"decline": True},
        {"allow": True},
        {"allow": False, "scope": "session"},
        {"say": "x"},
        {"calls": []},
        {},
    ]
    for body in bodies:
        theirs = await send(tab, f"/api/inbox/{id}", body)
        assert theirs == await send(tab, f"/api/inbox/{UNKNOWN}", body), body
        assert theirs[0] in (400, 404)
        assert id not in str(theirs)
    await tab.go(f"inbox/{id}")
    await expect(tab.page.get_by_role("main")).to_be_visible()
    assert "Whose secret" not in await tab.page.content()
    assert id not in [one["id"] for one in await tab.server.inbox()]
    kept = await call_as("eve", tab.server.data_dir, "get_prompt", messageId=id)
    assert kept["status"] == "pending"


# T28


async def test_t28_the_same_answer_again_is_told_as_it_was_and_another_one_is_refused(tab: ChatTab) -> None:
    await tab.start_session(question())
    item = await item_of(tab)
    request = await answer_in_frame(tab, "oolong")
    response = await request.response()
    assert response is not None
    first = (response.status, await response.json())
    await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()
    await tab.expect_state("")

    # By the page: the very request once more, and one with another answer.
    path, body = request.url.removeprefix(tab.server.origin), json.loads(request.post_data or "")
    assert first[0] == 200
    assert await send(tab, path, body) == first
    other = {**body, "arguments": {**body["arguments"], "answer": "green"}}
    status, refused = await send(tab, path, other)
    assert (status, refused["result"]["isError"]) == (200, True)
    assert refused["result"]["structuredContent"]["error"]["code"] == "conflict"

    # By the inbox.
    inbox = f"/api/inbox/{item['id']}"
    again = await send(tab, inbox, {"answer": "oolong"})
    assert again == await send(tab, inbox, {"answer": "oolong"})
    assert (again[0], again[1]["status"]) == (200, "answered")
    for late in ({"answer": "green"}, {"decline": True}):
        assert (await send(tab, inbox, late))[0] == 409, late

    await tab.reload()
    await expect(tab.view("Question").get_by_text("oolong")).to_be_visible()
    assert len(await reads(tab)) == 1
    assert "oolong" in (await reads(tab))[0]


@pytest.mark.parametrize("end", ["expired", "declined", "stopped"])
async def test_t28_an_answer_after_the_end_is_gone_and_wakes_nobody(tab: ChatTab, end: str) -> None:
    await tab.start_session(question(timeoutS=1) if end == "expired" else question())
    await expect(tab.card("Question")).to_have_count(1)
    [asking] = (await tab.server.request("GET", f"/api/sessions/{tab.session_id}/messages"))["calls"].values()
    id, view_path = asking["pause"]["id"], f"/api/views/{asking['view']['id']}/tools"
    match end:
        case "declined":
            await tab.view("Question").get_by_role("button", name="Skip").click()
        case "stopped":
            await tab.server.request("POST", f"/api/sessions/{tab.session_id}/stop", {})
    chip = {"expired": "Expired", "declined": "Skipped"}.get(end, "Withdrawn")
    await expect(tab.card("Question").get_by_text(chip, exact=True)).to_be_visible()
    await tab.expect_state("")
    before = await tab.server.messages(tab.session_id)

    code, status = ("conflict", 409) if end == "declined" else ("expired", 410)
    assert (await send(tab, f"/api/inbox/{id}", {"answer": "oolong"}))[0] == status
    arguments = {"messageId": id, "answer": "oolong"}
    _, answer = await send(tab, view_path, {"name": "reply_prompt", "arguments": arguments})
    assert answer["result"]["structuredContent"]["error"]["code"] == code
    await tab.write("Good evening")
    await tab.expect_said(re.compile("I read: Good evening"))
    messages = await tab.server.messages(tab.session_id)
    assert "oolong" not in json.dumps(messages)
    assert messages[: len(before)] == before


async def test_t28_an_approval_that_was_decided_is_not_decided_again(tab: ChatTab) -> None:
    session = await start_approval(tab, ask("create_playbook", goal="Decided once", workflow=[]))
    item = await item_of(tab)
    await tab.gate.get_by_role("button", name="Decline").click()
    await tab.expect_state("")
    for body in ({"allow": True}, {"allow": True, "scope": "session"}, {"allow": False}, {"decline": True}):
        assert (await send(tab, f"/api/inbox/{item['id']}", body))[0] == 409, body
    assert "Decided once" not in (await tab.server.call_tool(session, "list_playbooks", pageSize=100))["text"]
    assert len(await reads(tab)) == 2  # after the search, and after the refusal


# T29


async def test_t29_of_two_answers_at_once_one_counts_a_thousand_times(tmp_path: Path) -> None:
    """Two clients of one host, each on a connection of its own."""
    async with hosting(tmp_path) as tab:
        madang = tab.host.agent.madang
        call = replace(madang.call("host"), session_id=SessionId("race"))
        room = asyncio.Semaphore(AT_ONCE)
        async with httpx2.AsyncClient(base_url=tab.http.base_url, headers=tab.http.headers, timeout=60) as other:

            async def race(number: int) -> tuple[str, str]:
                async with room:
                    asked = await madang.provider.execute_tool(
                        call, "prompt_user", {"prompt": "Which?", "type": "text"}
                    )
                    path = f"/api/inbox/{asked.pause_id}"
                    # Each is the first half of the time.
                    first, second = (tab.http, other) if number % 2 else (other, tab.http)
                    told = await asyncio.gather(
                        first.post(path, json={"answer": "one"}), second.post(path, json={"answer": "two"})
                    )
                    assert sorted(one.status_code for one in told) == [200, 409]
                    return asked.pause_id, "one" if told[0].status_code == 200 else "two"

            winners = dict(await asyncio.gather(*(race(number) for number in range(RACES))))
        assert len(winners) == RACES
        rows = await madang.database.find("SELECT id, settled_with FROM pause", user_id=call.user_id)
        assert {id: json.loads(settled)["arguments"]["answer"] for id, settled in rows} == winners


async def test_t29_of_two_tabs_that_answer_at_once_one_counts(tab: ChatTab) -> None:
    count = 6
    await tab.start_session("\n".join(question(prompt=f"Number {number}?") for number in range(count)))
    other = await tab.another()
    tabs = {"first": tab, "second": other}
    for name, one in tabs.items():
        await expect(one.card("Question")).to_have_count(count)
        for number in range(count):
            await frame_in(one.card("Question").nth(number)).get_by_role("textbox").fill(f"{name} {number}")
    # At a moment that all of them know: a form that is told of the other's answer before would have no button.
    buttons = [
        frame_in(one.card("Question").nth(number)).get_by_role("button", name="Send")
        for one in tabs.values()
        for number in range(count)
    ]
    at = time.time() * 1000 + 2000
    click = "(one, at) => { setTimeout(() => one.click(), at - Date.now()) }"
    await asyncio.gather(*(button.evaluate(click, at) for button in buttons))

    for one in tabs.values():
        await one.expect_state("")
        await expect(one.talk.get_by_text(re.compile("^Answered( elsewhere)?$"))).to_have_count(count)
    (read,) = await reads(tab)
    told = re.findall(r"(first|second) (\d)", read)
    assert [int(number) for _, number in told] == list(range(count))
    for name, number in told:
        for one in tabs.values():
            await expect(
                frame_in(one.card("Question").nth(int(number))).get_by_text(f"{name} {number}")
            ).to_be_visible()
        chips = {key: one.card("Question").nth(int(number)) for key, one in tabs.items()}
        for key, chip in chips.items():
            await expect(
                chip.get_by_text("Answered" if key == name else "Answered elsewhere", exact=True)
            ).to_be_visible()


# T17, in an approval


async def start_approval(tab: ChatTab, words: str) -> str:
    """Let the model want something that other sessions notice, after it has read what cannot be trusted."""
    session = await tab.start_session(ask("keyword_similarity_search", query="tea"))
    await tab.expect_said(re.compile("I read:"))
    await tab.write(words)
    await expect(tab.gate).to_be_visible()
    return session


@pytest.fixture
async def canary() -> AsyncIterator[Canary]:
    async with listening() as canary:
        yield canary


async def test_t17_what_a_call_wants_is_shown_whole_and_stays_text(tab: ChatTab, canary: Canary) -> None:
    """A brace before a space ends what the scripted model takes for a call, so it is left out of these texts."""
    hostile = [text for text in markup(canary) if "}" not in text]
    steps = [{"description": text} for text in hostile]
    await start_approval(tab, ask("create_playbook", goal=hostile[0], workflow=steps))
    shown = await tab.gate.get_by_label("Arguments").inner_text()
    assert json.loads(shown) == {"goal": hostile[0], "workflow": steps}
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", shown)
    await nothing_happened(tab, canary)
    await tab.gate.get_by_role("button", name="Decline").click()
    await tab.expect_state("")
    await tab.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    await nothing_happened(tab, canary)


async def test_t17_a_hundred_kilobytes_are_shown_whole_and_enter_allows_nothing(tab: ChatTab, canary: Canary) -> None:
    session = await start_approval(tab, "Do something long")
    place = tab.gate.get_by_label("Arguments")
    shown = await place.inner_text()
    assert len(shown) > 100_000
    assert json.loads(shown) == PLAYBOOK
    assert re.fullmatch(r"[\x20-\x7e\n가-힣]*", shown), "what is not seen is an escape"
    # All of it is within reach: nothing is beside what scrolls, and the buttons stay in sight.
    assert await place.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    await place.evaluate("(one) => { one.scrollTop = one.scrollHeight }")
    assert await place.evaluate("(one) => one.scrollTop + one.clientHeight >= one.scrollHeight - 1")
    for name in ("Allow once", "Always in this session"):
        button = tab.gate.get_by_role("button", name=name)
        await expect(button).to_be_enabled()
        await expect(button).to_be_in_viewport(ratio=1)
        for key in ("Enter", "NumpadEnter", "Control+Enter", "Shift+Enter"):
            await button.focus()
            await tab.page.keyboard.press(key)
    await place.focus()
    await tab.page.keyboard.press("Enter")
    await expect(tab.gate).to_be_visible()
    assert await item_of(tab)
    await tab.gate.get_by_role("button", name="Decline").click()
    await tab.expect_state("")
    assert "safe" not in (await tab.server.call_tool(session, "list_playbooks", pageSize=100))["text"]
    await nothing_happened(tab, canary)
