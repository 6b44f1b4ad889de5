"""Assistants in the browser: set up, tried in a chat beside, copied, deleted; by keyboard, in both languages."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Page, expect

from tests.browser.chat import ChatServer, ChatTab, ask


async def make(server: ChatServer, name: str, **fields: Any) -> Any:
    made = await server.request("POST", "/api/assistants", {"name": name})
    if not fields:
        return made
    return await server.request("PATCH", f"/api/assistants/{name}", {"version": made["version"], **fields})


async def open_editor(tab: ChatTab, name: str) -> Page:
    await tab.go(f"assistants/{name}")
    await expect(tab.page.get_by_role("heading", name=name, level=1)).to_be_visible()
    return tab.page


async def test_an_assistant_is_made_and_set_up_by_keyboard_alone(tab: ChatTab) -> None:
    page = tab.page
    await tab.go("assistants")
    await page.get_by_label("Name").focus()
    await page.keyboard.type("Proofreader")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Proofreader", level=1)).to_be_visible()

    await page.get_by_label("Instructions").focus()
    await page.keyboard.type("Correct spelling only.")
    switch = page.get_by_role("switch", name="Planning")
    await switch.focus()
    await page.keyboard.press("Space")
    await expect(switch).to_have_attribute("aria-checked", "false")
    mode = page.get_by_label("Workspace: allow or ask first")
    await mode.focus()
    await page.keyboard.press("ArrowDown")
    await expect(page.get_by_role("status").get_by_text(re.compile("^Saved"))).to_be_visible()

    saved = await tab.server.request("GET", "/api/assistants/Proofreader")
    modes = {one["name"]: one["mode"] for one in saved["services"]}
    assert (saved["instructions"], modes["planning"], modes["workspace"]) == ("Correct spelling only.", "off", "ask")
    await tab.reload()
    await expect(page.get_by_label("Instructions")).to_have_value("Correct spelling only.")


async def test_a_new_session_is_of_the_assistant_that_is_chosen_for_it(tab: ChatTab) -> None:
    made = await make(tab.server, "Gardener")
    await tab.reload()
    await tab.page.get_by_role("combobox", name="Assistant of the new session").select_option("Gardener")
    await tab.write("Hello")
    await expect(tab.talk.get_by_text("Gardener")).to_be_visible()
    session = await tab.server.request("GET", f"/api/sessions/{tab.session_id}")
    assert session["assistantId"] == made["id"]


async def test_an_assistant_is_tried_at_once_in_a_chat_beside(tab: ChatTab) -> None:
    await make(tab.server, "Asker", services={"planning": "ask"})
    page = await open_editor(tab, "Asker")
    await page.get_by_role("button", name="Try it").click()
    beside = page.get_by_role("complementary", name="Trying Asker")
    field = beside.get_by_role("textbox", name="Message")
    await field.fill(ask("add_todo", name="Buy tea"))
    await field.press("Enter")
    # The service asks first: what was set up holds at once.
    await expect(beside.get_by_role("button", name="Allow once")).to_be_visible()
    await beside.get_by_role("button", name="Always").first.click()
    await expect(beside.get_by_text(re.compile("I read"))).to_be_visible()


async def test_what_was_allowed_for_good_is_listed_and_taken_back(tab: ChatTab) -> None:
    await make(tab.server, "Careful", services={"planning": "ask"})
    session = await tab.server.new_session(assistantId="Careful")
    await tab.server.write(session, ask("add_todo", name="Buy tea"))
    await tab.open(session)
    await expect(tab.page.get_by_role("button", name="Allow once")).to_be_visible()
    [item] = [one for one in await tab.server.inbox() if one["sessionId"] == session]
    await tab.server.request("POST", f"/api/inbox/{item['id']}", {"allow": True, "scope": "assistant"})

    page = await open_editor(tab, "Careful")
    await expect(page.get_by_text("add_todo", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Take back add_todo").click()
    await expect(page.get_by_text("Nothing was allowed for good.")).to_be_visible()


async def test_a_change_from_elsewhere_is_told_and_shown(tab: ChatTab) -> None:
    made = await make(tab.server, "Shared")
    page = await open_editor(tab, "Shared")
    body = {"version": made["version"], "instructions": "From elsewhere."}
    await tab.server.request("PATCH", "/api/assistants/Shared", body)
    tab.recorder.expect("409")
    await page.get_by_label("Instructions").fill("From here.")
    await expect(page.get_by_text("It was changed elsewhere meanwhile")).to_be_visible()
    await expect(page.get_by_label("Instructions")).to_have_value("From elsewhere.")
    await page.get_by_label("Instructions").fill("From here, again.")
    await expect(page.get_by_role("status").get_by_text(re.compile("^Saved"))).to_be_visible()
    assert (await tab.server.request("GET", "/api/assistants/Shared"))["instructions"] == "From here, again."


async def test_deleting_asks_first_says_what_becomes_of_sessions_and_esc_keeps_it(tab: ChatTab) -> None:
    await make(tab.server, "Temporary")
    session = await tab.server.new_session(assistantId="Temporary", title="Stays")
    page = await open_editor(tab, "Temporary")
    delete = page.get_by_role("button", name="Delete this assistant")
    await delete.focus()
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("alertdialog")
    await expect(dialog).to_contain_text("1 session of its own will stay")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await expect(delete).to_be_focused()

    await page.keyboard.press("Enter")
    await dialog.get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("heading", name="Assistants", level=1)).to_be_visible()
    await expect(page.get_by_role("link", name=re.compile("Temporary"))).to_have_count(0)
    assert (await tab.server.request("GET", f"/api/sessions/{session}"))["assistantId"] == "default"


async def test_a_copy_is_opened_and_the_first_one_stays_as_it_is(tab: ChatTab) -> None:
    await make(tab.server, "Original", instructions="Be brief.")
    page = await open_editor(tab, "Original")
    await page.get_by_role("button", name="Duplicate").click()
    await expect(page.get_by_role("heading", name="Original (copy)", level=1)).to_be_visible()
    await expect(page.get_by_label("Instructions")).to_have_value("Be brief.")
