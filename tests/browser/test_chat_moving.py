"""Moving about: addresses of a session, a message, a file and a playbook, and one field that finds all of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from playwright.async_api import Browser, expect

from benchmarks.messages import fill_session
from madang.core.ids import SessionId
from madang.llm.messages import TextPart
from tests.browser.chat import OBEDIENT, ChatTab, ask, open_tab, serve_chat
from tests.host.hosting import hosting

STATIC = Path(__file__).parents[2] / "src" / "madang" / "host" / "static"


async def test_an_address_of_a_file_shows_it_and_survives_a_reload(tab: ChatTab) -> None:
    session = await tab.server.new_session(title="Files")
    await tab.server.call_tool(session, "write_file", path="보고서/a b.txt", content="Words of the file")
    await tab.go(f"s/{session}/f/{'%EB%B3%B4%EA%B3%A0%EC%84%9C%2Fa%20b.txt'}")
    await expect(tab.page.get_by_text("Words of the file")).to_be_visible()
    await tab.reload()
    await expect(tab.page.get_by_text("Words of the file")).to_be_visible()


async def test_an_address_of_a_message_shows_it_also_far_up(browser: Browser, tmp_path: Path) -> None:
    """Six pages before the one that is loaded first; what comes afterwards does not take the person away from it."""
    async with hosting(tmp_path, [TextPart("Nice.")], static=STATIC) as host:
        session = await host.new_session(title="Long")
        call = replace(host.host.agent.madang.call("host"), session_id=SessionId(session))
        await fill_session(host.host.agent, call, 400, is_summed_up=False)
        page = await browser.new_page()
        await page.goto(host.host.launch_url())
        await page.wait_for_url(re.compile("^((?!launch).)*$"))
        oldest = await host.get(f"/api/sessions/{session}/messages?before=10")
        wanted = next(one for one in oldest["messages"] if one["seq"] == 5)
        message = page.get_by_text(re.compile("^Message 4 of oolong"))

        await page.goto(f"{host.host.address.origin}/#/s/{session}/m/{wanted['id']}")
        await expect(message).to_be_in_viewport()
        await page.reload()
        await expect(message).to_be_in_viewport()
        await host.write(session, "One more")
        await expect(page.get_by_role("button", name="Jump to the newest")).to_be_visible()
        await expect(message).to_be_in_viewport()
        await page.close()


async def test_an_address_survives_signing_in(browser: Browser, tmp_path: Path) -> None:
    async with serve_chat(tmp_path, OBEDIENT) as server, open_tab(browser, server) as tab:
        session = await server.new_session(title="Wanted")
        context = await browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US")
        try:
            page = await context.new_page()
            await page.goto(f"{server.origin}/#/s/{session}")
            await expect(page.get_by_role("alert")).to_be_visible()
            # The launch address in the same tab, as a person pastes it.
            await page.goto(await server.launch_url())
            await expect(page.get_by_role("heading", name="Wanted")).to_be_visible()
            assert page.url == f"{server.origin}/#/s/{session}"
            assert await page.evaluate("localStorage.getItem('madang.wanted')") is None
        finally:
            await context.close()
        await expect(tab.composer).to_be_visible()


async def test_sessions_are_found_by_place_and_come_back_from_a_file(tab: ChatTab, tmp_path: Path) -> None:
    page = tab.page
    said = await tab.start_session("Where do quaggas graze?", title="Grass")
    await tab.expect_said(re.compile("I read"))
    called = await tab.start_session(ask("add_todo", name="Draw the quagga"), title="Drawing")
    await tab.expect_state("")
    await tab.server.new_session(title="Quagga names")
    await tab.go("sessions")
    field = page.get_by_role("searchbox")
    await expect(field).to_be_focused()
    await page.keyboard.press("Tab")
    await page.keyboard.press("/")
    await expect(field).to_be_focused()
    await page.keyboard.type("quagga")
    tabs = page.get_by_role("group", name="Sessions")
    await expect(tabs.get_by_role("button", name=re.compile(r"^Titles\s*1$"))).to_be_visible()
    links = page.get_by_role("main").locator(".list").get_by_role("link")
    await tabs.get_by_role("button", name=re.compile("^Tools")).click()
    await expect(links).to_have_count(1)
    assert f"/s/{called}/m/" in (await links.get_attribute("href") or "")
    await expect(links).to_contain_text("1 tool call")
    await tabs.get_by_role("button", name=re.compile("^Said")).click()
    await expect(links.filter(has_text="Grass")).to_have_count(1)

    async with page.expect_download() as saving:
        await page.get_by_role("button", name="More: Grass").click()
        await page.get_by_role("menuitem", name="Export").click()
    download = await saving.value
    assert re.fullmatch(r"Grass-[0-9-]+\.zip", download.suggested_filename)
    await download.save_as(tmp_path / "grass.zip")
    async with page.expect_file_chooser() as choosing:
        await tab.button("Import").click()
    await (await choosing.value).set_files(tmp_path / "grass.zip")
    await expect(tab.talk.get_by_text("Where do quaggas graze?", exact=True)).to_be_visible()
    assert tab.session_id != said


async def test_the_palette_finds_sessions_tools_playbooks_and_files_by_keyboard(tab: ChatTab) -> None:
    page, server = tab.page, tab.server
    session = await server.new_session(title="Zebra talk")
    await server.call_tool(session, "write_file", path="zebra-notes.txt", content="Stripes")
    await server.call_tool(session, "create_playbook", goal="Count every zebra", workflow=[])
    await tab.open(session)

    async def choose(words: str, option: str) -> None:
        await page.keyboard.press("ControlOrMeta+k")
        field = page.get_by_role("combobox", name="Sessions, tools, playbooks and files")
        await expect(field).to_be_focused()
        await field.fill(words)
        found = page.get_by_role("option", name=re.compile(option))
        await expect(found).to_be_visible()
        for _ in range(20):
            if await found.get_attribute("aria-selected") == "true":
                break
            await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await expect(field).to_be_hidden()

    await choose("zebra", "zebra-notes.txt")
    await expect(page.get_by_text("Stripes")).to_be_visible()
    await choose("zebra", "Count every zebra")
    await expect(page.get_by_role("textbox").and_(page.locator("[value='Count every zebra']"))).to_be_visible()
    await choose("prompt_user", "^prompt_user")
    await expect(page).to_have_url(re.compile("#/manual/prompt_user"))
    await choose("zebra talk", "Zebra talk")
    await expect(page).to_have_url(re.compile(f"#/s/{session}$"))
    await choose("settings", "^Settings")
    await expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()


async def test_a_session_of_another_assistant_is_begun_from_the_palette(tab: ChatTab) -> None:
    await tab.server.request("POST", "/api/assistants", {"name": "Gardener"})
    await tab.page.reload()
    await expect(tab.composer).to_be_visible()
    await tab.page.keyboard.press("ControlOrMeta+k")
    await tab.page.get_by_role("combobox", name="Sessions, tools, playbooks and files").fill("new session gardener")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page).to_have_url(re.compile("#/s/"))
    session = tab.session_id
    assert (await tab.server.request("GET", f"/api/sessions/{session}"))["assistantId"] == "Gardener"
