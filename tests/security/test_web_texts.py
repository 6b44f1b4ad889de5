"""Hostile texts in the chat's own chrome, in Chromium: shown as texts, led nowhere, and nothing is fetched (T17, T19).

Trusted Types are required there, and the recorder of each tab fails on a violation: no text may even try.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser.chat import ChatServer, ChatTab, ask, open_tab, script, serve_chat
from tests.browser.embedding import chromium
from tests.security.canary import Canary, listening, markdown, markup

PWNED = "<img src=x onerror=window.__pwned=1>"
SCRIPT = script(
    {"when": "^call a tool of no name", "steps": [{"call": PWNED, "arguments": {PWNED: PWNED}}]},
    {"when": "^think", "steps": [{"think": f"{PWNED} ![x](http://127.0.0.1:9/)"}, {"say": "{last}"}]},
    {"when": "^fail", "steps": [{"fail": "request_refused"}]},
)


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium("--disable-features=LocalNetworkAccessChecks") as browser:
        yield browser


@pytest.fixture(scope="module")
async def chat(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ChatServer]:
    async with serve_chat(tmp_path_factory.mktemp("texts"), SCRIPT) as server:
        yield server


@pytest.fixture
async def canary() -> AsyncIterator[Canary]:
    async with listening() as canary:
        yield canary


async def nothing_happened(tab: ChatTab, canary: Canary) -> None:
    """Check every frame, and every element that could load or lead somewhere."""
    for _ in range(5):
        await tab.page.evaluate("new Promise(requestAnimationFrame)")
    for frame in tab.page.frames:
        assert await frame.evaluate("typeof window.__pwned") == "undefined"
    elements = await tab.page.evaluate(
        """() => [...document.querySelectorAll("#root *")].flatMap((one) => {
            const bad = one.getAttributeNames().filter((name) => name.startsWith("on") || name === "srcset")
            const address = one.getAttribute("src") ?? one.getAttribute("data") ?? ""
            const link = one.getAttribute("href") ?? ""
            const isBad = bad.length > 0 || ["SCRIPT", "BASE", "META", "OBJECT", "EMBED"].includes(one.tagName)
                || one.hasAttribute("action") || one.hasAttribute("formaction")
                || (one.tagName === "IMG" && !address.startsWith("data:"))
                || /^\\s*(javascript|data|vbscript|file):/i.test(link)
            return isBad ? [one.outerHTML.slice(0, 200)] : []
        })"""
    )
    assert elements == []
    assert canary.heard == []


@pytest.mark.parametrize("kind", ["markup", "markdown"])
async def test_t17_t19_what_is_said_called_and_answered_stays_text(
    browser: Browser, chat: ChatServer, canary: Canary, kind: str
) -> None:
    """In messages, answers, thoughts, calls, errors, the title, the list of sessions, the search."""
    hostile = markup(canary) if kind == "markup" else markdown(canary)
    whole = "\n\n".join(hostile)
    async with open_tab(browser, chat) as tab:
        session = await tab.start_session(whole)
        # Said by the person, and soon by the model too, which repeats it.
        await expect(tab.talk.get_by_text(hostile[0]).first).to_be_visible()
        await tab.write(f"think {whole}")
        await tab.write("call a tool of no name")
        await expect(tab.talk.locator(".me")).to_have_count(3)
        await tab.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        await nothing_happened(tab, canary)
        await chat.request("PATCH", f"/api/sessions/{session}", {"title": hostile[0][:200]})
        await expect(tab.head).to_contain_text(hostile[0][:40])
        await tab.go("sessions")
        await expect(tab.page.get_by_role("searchbox").first).to_be_visible()
        await tab.page.get_by_role("searchbox").first.fill(hostile[0])
        await nothing_happened(tab, canary)


@pytest.mark.parametrize("kind", ["markup", "markdown"])
async def test_t17_t19_what_waits_for_the_person_stays_text(
    browser: Browser, chat: ChatServer, canary: Canary, kind: str
) -> None:
    """In questions on their page and in the inbox, and in an approval with all its arguments."""
    hostile = markup(canary) if kind == "markup" else markdown(canary)
    async with open_tab(browser, chat) as tab:
        session = await chat.new_session()
        for text in hostile:
            await chat.call_tool(session, "prompt_user", prompt=text, type="select", options=[text, "other"])
        await tab.go("inbox")
        await expect(tab.page.get_by_role("main").get_by_text(hostile[0][:30]).first).to_be_visible()
        await nothing_happened(tab, canary)
        # A brace before a space ends what the scripted model takes for a call.
        options = [text for text in hostile if "}" not in text]
        await tab.start_session(ask("prompt_user", prompt=hostile[0], type="multiselect", options=options))
        await expect(tab.view("Question").locator("h1")).to_have_text(hostile[0])
        await nothing_happened(tab, canary)
        for item in await chat.inbox():
            await chat.request("POST", f"/api/inbox/{item['id']}", {"decline": True})


async def test_t17_the_name_of_a_file_stays_text(
    browser: Browser, chat: ChatServer, canary: Canary, tmp_path: Path
) -> None:
    name = "<img src=x onerror=window.__pwned=1>\u202egpj.html"
    path = tmp_path / name
    path.write_text("<p>tea</p><script>window.__pwned=1</script>", encoding="utf-8")
    async with open_tab(browser, chat) as tab:
        await tab.start_session()
        await tab.page.locator(".composer input[type=file]").set_input_files(path)
        await expect(tab.page.locator(".composer").get_by_text("onerror").first).to_be_visible()
        await nothing_happened(tab, canary)


async def test_t19_a_link_shows_where_it_leads_before_it_opens_and_an_unsafe_one_is_none(
    browser: Browser, chat: ChatServer, canary: Canary
) -> None:
    links: dict[str, Any] = {
        "safe": f"{canary.url}?secret=1",
        "script": "javascript:window.__pwned=1",
        "odd script": "JaVaScRiPt&#58;window.__pwned=1",
        "data": "data:text/html,<script>window.__pwned=1</script>",
        "file": "file:///etc/passwd",
        "vb": "vbscript:x",
        "blob": "blob:http://127.0.0.1/x",
        "relative": "/api/sessions",
        "own": "#/settings",
    }
    text = " ".join(f"[{name}]({url})" for name, url in links.items()) + f" [https://bank.example]({canary.url}spoof)"
    async with open_tab(browser, chat) as tab:
        await tab.start_session(text)
        answer = tab.talk.locator(".prose")
        await expect(answer.get_by_role("link", name="safe")).to_be_visible()
        assert await answer.get_by_role("link").all_inner_texts() == ["safe", "https://bank.example"]
        for name, url in (("safe", f"{canary.url}?secret=1"), ("https://bank.example", f"{canary.url}spoof")):
            await answer.get_by_role("link", name=name).click()
            dialog = tab.page.get_by_role("alertdialog")
            await expect(dialog).to_contain_text(url)
            await dialog.get_by_role("button", name="Cancel").click()
            await expect(dialog).to_have_count(0)
        safe = answer.get_by_role("link", name="safe")
        for options in ({"modifiers": ["ControlOrMeta"]}, {"button": "middle"}):
            await safe.click(**options)
            await dialog.get_by_role("button", name="Cancel").click()
            await expect(dialog).to_have_count(0)
        assert len(tab.page.context.pages) == 1
        await nothing_happened(tab, canary)
