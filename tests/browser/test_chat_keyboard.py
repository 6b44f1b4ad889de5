"""Every story by keyboard alone: no pointer is moved here."""

from __future__ import annotations

import re

from playwright.async_api import Locator, expect

from tests.browser.chat import ChatTab, ask, held, script

SCRIPT = script(held("The kettle is on", when="^Boil water"))
MAX_TABS = 60


async def tab_to(tab: ChatTab, target: Locator, *, back: bool = False) -> None:
    """Press Tab until something has the focus."""
    for _ in range(MAX_TABS):
        if await target.evaluate("(one) => one === one.getRootNode().activeElement && document.hasFocus()"):
            return
        await tab.page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"{target} was not reached by {MAX_TABS} tabs")


async def type_message(tab: ChatTab, text: str) -> None:
    await expect(tab.composer).to_be_focused()
    await tab.page.keyboard.insert_text(text)
    await tab.page.keyboard.press("Enter")


async def test_a_new_session_and_a_message(tab: ChatTab) -> None:
    await type_message(tab, "Good morning")

    await tab.expect_said("I read: Good morning")
    await expect(tab.composer).to_be_focused()
    await tab.page.keyboard.insert_text("two\n")
    await tab.page.keyboard.press("Shift+Enter")
    await tab.page.keyboard.insert_text("lines")
    await expect(tab.composer).to_have_value("two\n\nlines")


async def test_a_question_in_a_frame_is_answered(tab: ChatTab) -> None:
    await tab.start_session(ask("prompt_user", prompt="Which tea?", type="select", options=["green", "oolong"]))
    form = tab.view("Question")
    await expect(form.get_by_role("radio", name="green")).to_be_visible()
    await tab_to(tab, form.get_by_role("radio", name="oolong"), back=True)  # from below, the last one is the first
    await tab.page.keyboard.press("ArrowUp")
    await expect(form.get_by_role("radio", name="green")).to_be_checked()
    await tab.page.keyboard.press("ArrowDown")
    await expect(form.get_by_role("radio", name="oolong")).to_be_checked()
    await tab_to(tab, form.get_by_role("button", name="Send"))
    await tab.page.keyboard.press("Enter")

    await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()
    await tab.expect_said(re.compile("I read:.*oolong"))


async def test_an_approval(tab: ChatTab) -> None:
    session = await tab.start_session(ask("keyword_similarity_search", query="tea"))
    await tab.expect_said(re.compile("I read:"))
    await type_message(tab, ask("create_playbook", goal="By keyboard", workflow=[]))
    allow = tab.gate.get_by_role("button", name="Allow once")
    await expect(allow).to_be_enabled()
    await expect(allow).not_to_be_focused()
    await tab_to(tab, allow)
    await tab.page.keyboard.press("Enter")
    await expect(tab.gate).to_be_visible()
    await tab.page.keyboard.press("Space")

    await expect(tab.gate).to_have_count(0)
    await tab.expect_said(re.compile("I read:"), 2)
    assert "By keyboard" in (await tab.server.call_tool(session, "list_playbooks"))["text"]


async def test_the_inbox_by_its_keys(tab: ChatTab) -> None:
    await tab.start_session("\n".join(ask("prompt_user", prompt=f"Number {one}?", type="text") for one in (1, 2)))
    await expect(tab.page.get_by_text("2 waiting for an answer")).to_be_visible()
    await tab_to(tab, tab.talk, back=True)
    await tab.page.keyboard.press("g")
    await tab.page.keyboard.press("i")
    await expect(tab.page.get_by_role("heading", name="Inbox")).to_be_visible()
    field = tab.page.get_by_role("textbox", name="Your answer")
    chosen = tab.page.get_by_role("main").locator("a[aria-current=true]")
    await expect(chosen).to_contain_text("Number 1?")
    await tab.page.keyboard.press("j")
    await expect(chosen).to_contain_text("Number 2?")
    await tab_to(tab, field)
    await tab.page.keyboard.insert_text("from the inbox")
    await tab.page.keyboard.press("Control+Enter")

    await expect(tab.page.get_by_role("main").get_by_role("heading", name=re.compile("Number"), level=3)).to_have_count(
        1
    )
    await expect(chosen).to_contain_text("Number 1?")
    await expect(tab.page.get_by_role("link", name=re.compile("Number 2.*from the inbox"))).to_be_visible()


async def test_the_palette(tab: ChatTab) -> None:
    await tab.start_session(title="The tea session")
    await expect(tab.composer).to_be_focused()
    await tab.page.keyboard.press("/")
    palette = tab.page.get_by_role("dialog")
    await expect(palette.get_by_role("combobox")).to_be_focused()
    await tab.page.keyboard.insert_text("add todo")
    await expect(palette.get_by_role("option", selected=True)).to_contain_text("add_todo")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page).to_have_url(re.compile("#/manual/add_todo$"))
    await tab.page.keyboard.press("Control+k")
    await tab.page.keyboard.insert_text("tea session")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page).to_have_url(re.compile("#/s/"))
    await tab.page.keyboard.press("Control+k")
    await expect(palette).to_be_visible()
    await tab.page.keyboard.press("Escape")
    await expect(palette).to_have_count(0)


async def test_a_tool_is_called_by_hand(tab: ChatTab) -> None:
    await tab.start_session()
    await tab.go("manual/add_todo")
    field = tab.page.get_by_role("textbox", name=re.compile("^name"))
    await tab_to(tab, field)
    await tab.page.keyboard.insert_text("Buy tea")
    await tab.page.keyboard.press("Control+Enter")

    await expect(tab.page.get_by_role("tabpanel")).to_contain_text("Buy tea")
    await expect(tab.page.get_by_role("tab", selected=True)).to_have_text("What the agent reads")


async def test_a_fork_and_an_edit(tab: ChatTab) -> None:
    first = await tab.start_session("Good morning")
    await tab.expect_said("I read: Good morning")
    await tab_to(tab, tab.button("Continue in a new session from here"), back=True)
    await tab.page.keyboard.press("Enter")
    await expect(tab.page).not_to_have_url(re.compile(first))
    await tab.expect_said("I read: Good morning")
    fork = tab.session_id
    await expect(tab.composer).to_be_focused()
    await tab_to(tab, tab.button("Edit as a branch"), back=True)
    await tab.page.keyboard.press("Enter")
    await expect(tab.page).not_to_have_url(re.compile(f"{first}|{fork}"))
    await expect(tab.composer).to_have_value("Good morning")
    await expect(tab.composer).to_be_focused()
    await tab.page.keyboard.press("Control+a")
    await type_message(tab, "Good evening")

    await tab.expect_said("I read: Good evening")
    await expect(tab.talk.get_by_text("Good morning")).to_have_count(0)


async def test_sessions_are_moved_between_renamed_and_archived(tab: ChatTab) -> None:
    await tab.start_session(title="Green tea")
    session = await tab.start_session(title="Black tea")
    await tab.page.keyboard.press("Alt+ArrowDown")
    await expect(tab.head.get_by_role("heading", name="Black tea")).to_have_count(0)
    await expect(tab.head.get_by_role("heading", level=1)).to_be_visible()
    await tab.page.keyboard.press("Alt+ArrowUp")
    await expect(tab.head.get_by_role("heading", name="Black tea")).to_be_visible()
    menu = tab.head.get_by_role("button", name="More: Black tea")
    await tab_to(tab, menu, back=True)
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_role("dialog").get_by_role("textbox", name="Title")).to_be_focused()
    await tab.page.keyboard.press("Control+a")
    await tab.page.keyboard.insert_text("White tea")
    await tab.page.keyboard.press("Enter")

    await expect(tab.head.get_by_role("heading", name="White tea")).to_be_visible()
    await tab_to(tab, tab.head.get_by_role("button", name="More: White tea"), back=True)
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    await tab.page.keyboard.type("Ar")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_role("status").filter(has_text="White tea")).to_be_visible()

    # It is in no list now, and has its head all the same: it is taken out of the archive from there.
    await tab.open(session)
    await expect(tab.head.get_by_role("heading", name="White tea")).to_be_visible()
    await tab_to(tab, tab.head.get_by_role("button", name="More: White tea"), back=True)
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_role("menuitem", name="Rename")).to_be_focused()  # as at the first time
    await tab.page.keyboard.type("Res")
    await expect(tab.page.get_by_role("menuitem", name="Restore")).to_be_focused()
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_role("navigation").get_by_role("link", name="White tea")).to_be_visible()


async def test_escape_stops_a_run(tab: ChatTab) -> None:
    await tab.start_session("Boil water")
    await tab.expect_said("The kettle is on")
    await expect(tab.composer).to_be_focused()
    await tab.page.keyboard.press("Escape")

    await tab.expect_said(re.compile("^Stopped$"))
    await tab.expect_state("")
