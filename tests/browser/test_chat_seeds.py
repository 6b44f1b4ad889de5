"""What a web host of Madang's must do, sentence by sentence, in real Chromium against `madang web`."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from playwright.async_api import Dialog, Frame, Locator, Route, expect

from tests.browser.chat import ChatTab, ask, frame_in, script, texts_of

KOREAN_QUESTION = {"prompt": "어떤 차를 드릴까요?", "type": "select", "options": ["녹차", "우롱차"]}
KOREAN_PLAYBOOK = {"goal": "차 끓이기", "initialCommand": "물을 올려 줘", "workflow": []}
SCRIPT = script(
    {"when": "^차 한 잔", "steps": [{"say": "좋아요."}, {"call": "prompt_user", "arguments": KOREAN_QUESTION}]},
    {"when": "우롱차", "steps": [{"call": "keyword_similarity_search", "arguments": {"query": "차"}}]},
    {"when": r"^\[keyword_similarity_search\]", "steps": [{"call": "create_playbook", "arguments": KOREAN_PLAYBOOK}]},
    {"when": r"^\[create_playbook\]", "steps": [{"say": "다 되었습니다."}]},
    {"when": "^Tea and a chart", "steps": [{"say": "Here it is."}, {"call": "visualize_data", "arguments": {
        "type": "bar", "title": "Cups", "data": [{"label": "Mon", "value": 3}, {"label": "Tue", "value": 5}]}}]},
    {"when": r"^\[visualize_data\]", "steps": [{"say": "That was the chart."}]},
)  # fmt: skip


async def show_chart(tab: ChatTab) -> Frame:
    """Show a page that waits for nothing, and return its innermost frame."""
    await tab.start_session("Tea and a chart")
    await expect(tab.view("Chart").get_by_role("img", name="Cups")).to_be_visible()
    await tab.expect_said("That was the chart.")
    return await inner_frame(tab.card("Chart"))


async def inner_frame(card: Locator) -> Frame:
    """Return the frame of a page, for scripts inside of it."""
    proxy = await (await card.locator("iframe").element_handle()).content_frame()
    assert proxy is not None
    inner = await (await proxy.wait_for_selector("iframe")).content_frame()  # type: ignore[union-attr]
    assert inner is not None
    return inner


async def send_old_message(frame: Frame, type: str, **payload: Any) -> Any:
    """Send an older mcp-ui message from a page, and return what it is answered."""
    return await frame.evaluate(
        """([type, payload]) => new Promise((resolve) => {
            const messageId = crypto.randomUUID?.() ?? String(Math.random())
            addEventListener("message", ({ data }) => {
                if (data?.type === "ui-message-response" && data.messageId === messageId) resolve(data.payload)
            })
            parent.postMessage({ type, messageId, payload }, "*")
        })""",
        [type, payload],
    )


async def call_from_page(frame: Frame, name: str, arguments: dict[str, Any]) -> Any:
    """Call a tool from a page by MCP Apps, and return the answer."""
    return await frame.evaluate(
        """([name, args]) => new Promise((resolve) => {
            const id = `t-${Math.random()}`
            addEventListener("message", ({ data }) => data?.id === id && resolve(data))
            parent.postMessage({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } }, "*")
        })""",
        [name, arguments],
    )


# 1


async def test_parts_of_a_result_are_drawn_in_order_text_first_and_an_unknown_kind_is_skipped(tab: ChatTab) -> None:
    async def add_unknown_parts(route: Route) -> None:
        response = await route.fetch()
        page = await response.json()
        for message in page.get("messages", []):
            message["parts"] = [{"type": "hologram", "beam": [1]}, *message["parts"], {"type": "hologram"}]
        await route.fulfill(response=response, body=json.dumps(page))

    await show_chart(tab)
    await tab.page.route("**/api/sessions/*/messages?*", add_unknown_parts)
    await tab.reload()
    await expect(tab.view("Chart").get_by_role("img", name="Cups")).to_be_visible()

    places = [
        tab.talk.get_by_text("Tea and a chart"),
        tab.talk.get_by_text("Here it is."),
        tab.talk.get_by_text("visualize_data", exact=True).first,
        tab.card("Chart"),
        tab.talk.get_by_text("That was the chart."),
    ]
    tops = [box["y"] for place in places if (box := await place.bounding_box())]
    assert len(tops) == len(places)
    assert tops == sorted(tops)
    await expect(tab.talk.get_by_text("hologram")).to_have_count(0)
    await tab.talk.get_by_text("Drew a chart").click()
    await expect(tab.talk.get_by_role("tab").first).to_have_text("What the model read")
    await expect(tab.talk.get_by_role("tabpanel")).to_contain_text("[visualize_data]")


# 2


async def test_an_older_tool_message_calls_the_tool(tab: ChatTab) -> None:
    frame = await show_chart(tab)
    chart = {"type": "pie", "title": "Later", "data": [{"label": "a", "value": 1}]}
    answer = await send_old_message(frame, "tool", toolName="visualize_data", params=chart)

    assert "[visualize_data]" in answer["response"]["content"][0]["text"]


@pytest.mark.parametrize(
    ("type", "payload", "words"),
    [
        ("prompt", {"prompt": "Pour me a cup"}, re.compile("^Pour me a cup")),
        ("intent", {"intent": "pour", "params": {"cups": 2}}, re.compile(r'^pour .*"cups":\s*2')),
    ],
)
async def test_an_older_prompt_or_intent_becomes_a_message_of_the_person(
    tab: ChatTab, type: str, payload: dict[str, Any], words: re.Pattern[str]
) -> None:
    frame = await show_chart(tab)
    await send_old_message(frame, type, **payload)

    await tab.expect_said(words)
    said = texts_of(await tab.server.messages(tab.session_id), "user")
    assert len(said) == 2
    assert re.search(words, said[1])


async def test_an_older_link_opens_outside_after_a_check(tab: ChatTab) -> None:
    await tab.page.context.route("https://tea.example/**", lambda route: route.fulfill(body="<title>Tea</title>"))
    frame = await show_chart(tab)
    await frame.evaluate("parent.postMessage({ type: 'link', payload: { url: 'https://tea.example/x' } }, '*')")
    check = tab.page.get_by_role("alertdialog", name="Open this address?")
    await expect(check).to_contain_text("https://tea.example/x")
    await check.get_by_role("button", name="Cancel").click()
    await expect(check).to_have_count(0)
    assert len(tab.page.context.pages) == 1

    await frame.evaluate("parent.postMessage({ type: 'link', payload: { url: 'https://tea.example/x' } }, '*')")
    async with tab.page.context.expect_page() as opened:
        await check.get_by_role("button", name="Open").click()
    page = await opened.value
    await expect(page).to_have_title("Tea")
    assert await page.evaluate("opener") is None


async def test_a_link_that_is_no_address_of_the_web_opens_nothing(tab: ChatTab) -> None:
    dialogs: list[Dialog] = []
    tab.page.on("dialog", lambda dialog: dialogs.append(dialog))
    frame = await show_chart(tab)
    for url in ("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "madang:x", "/relative"):
        answer = await send_old_message(frame, "link", url=url)
        assert "address" in answer["error"]["message"]

    await expect(tab.page.get_by_role("alertdialog")).to_have_count(0)
    assert len(tab.page.context.pages) == 1
    assert dialogs == []


async def test_an_older_notify_shows_a_notice(tab: ChatTab) -> None:
    frame = await show_chart(tab)
    await send_old_message(frame, "notify", message="The kettle <b>boils</b>")

    await expect(tab.page.get_by_role("status").filter(has_text="The kettle <b>boils</b>")).to_be_visible()


# 3


async def test_a_pages_tool_name_is_resolved_within_the_server_that_made_the_page(tab: ChatTab) -> None:
    tab.recorder.expect("status of 403")
    frame = await show_chart(tab)
    for name in ("add_todo", "planning__add_todo", "Add_Todo"):
        answer = await call_from_page(frame, name, {"name": "Not mine"})
        assert "error" in answer, name
    old = await send_old_message(frame, "tool", toolName="add_todo", params={"name": "Not mine"})
    assert "error" in old

    state = await tab.server.call_tool(tab.session_id, "get_current_state")
    assert "Not mine" not in state["text"]


# 4


@pytest.mark.parametrize(
    ("type", "words"),
    [("text", "Answer: oolong"), ("select", "oolong"), ("multiselect", "oolong"), ("cancel", "no answer|declined")],
)
async def test_a_prompt_user_form_is_shown_answered_and_turned_into_the_answer(
    tab: ChatTab, type: str, words: str
) -> None:
    options = {"options": ["green", "oolong", "black"]} if "select" in type else {}
    kind = "text" if type == "cancel" else type
    await tab.start_session(ask("prompt_user", prompt="Which tea?", type=kind, **options))
    form = tab.view("Question")
    if kind == "text":
        await form.get_by_role("textbox", name="Which tea?").fill("oolong")
    else:
        await form.get_by_role("radio" if kind == "select" else "checkbox", name="oolong").check()
    await form.get_by_role("button", name="Skip" if type == "cancel" else "Send").click()

    chip = "Skipped" if type == "cancel" else "Answered"
    await expect(tab.card("Question").get_by_text(chip, exact=True)).to_be_visible()
    await expect(form.get_by_role("button")).to_have_count(0)
    await tab.expect_state("")
    read = texts_of(await tab.server.messages(tab.session_id), "assistant")[-1]
    assert re.search(words, read)
    assert "green" not in read


# 5


async def test_the_frame_follows_the_pages_height_in_both_dialects(tab: ChatTab) -> None:
    frame = await show_chart(tab)
    outer = tab.card("Chart").locator("iframe")

    async def expect_height(height: float) -> None:
        # On a whole pixel, never a scroll bar within the frame.
        await expect(outer).to_have_js_property("clientHeight", height)

    height = await frame.evaluate("Math.ceil(document.body.getBoundingClientRect().height)")
    await expect_height(height)
    await frame.evaluate("document.body.append(Object.assign(document.createElement('p'), { id: 'tall' }))")
    await frame.evaluate("document.getElementById('tall').style.height = '400px'")
    await expect_height(await frame.evaluate("Math.ceil(document.body.getBoundingClientRect().height)"))
    assert await frame.evaluate("document.body.getBoundingClientRect().height") > height + 399
    await frame.evaluate("parent.postMessage({ type: 'ui-size-change', payload: { height: 733 } }, '*')")
    await expect_height(733)


# 6


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
async def test_next_previous_disabled_ends_select_and_delete_work(
    tab: ChatTab, by: Literal["mouse", "keyboard"]
) -> None:
    session = await tab.start_session()
    for number in range(5):
        await tab.server.call_tool(session, "create_playbook", goal=f"{by} {number}", workflow=[])
    await tab.write(ask("show_playbooks", pageSize=2))
    page = tab.view("Playbooks")

    async def press(name: str, *, exact: bool = False) -> None:
        button = page.get_by_role("button", name=name, exact=exact)
        if by == "mouse":
            await button.click()
        else:
            await button.focus()
            await tab.page.keyboard.press("Enter")

    await expect(page.get_by_role("button", name="← Previous")).to_be_disabled()
    await press("Next →")
    await expect(page.get_by_role("button", name="← Previous")).to_be_enabled()
    await press("← Previous")
    await expect(page.get_by_role("button", name="← Previous")).to_be_disabled()
    goals = await page.get_by_role("heading", level=2).all_inner_texts()
    await press(f"Delete: {goals[0]}")
    await press("Delete", exact=True)
    await expect(page.get_by_role("heading", name=goals[0])).to_have_count(0)
    await tab.expect_state("Your turn")
    while await page.get_by_role("button", name="Next →").is_enabled():
        before = await page.get_by_role("heading", level=2).first.inner_text()
        await press("Next →")
        await expect(page.get_by_role("heading", level=2).first).not_to_have_text(before)
    await expect(page.get_by_role("button", name="Next →")).to_be_disabled()
    last = await page.get_by_role("heading", level=2).first.inner_text()
    await press(f"Select: {last}")

    await expect(tab.card("Playbooks").get_by_text("Answered", exact=True)).to_be_visible()
    await tab.expect_state("")
    await tab.talk.get_by_text("Showed the playbooks").click()
    read = tab.talk.get_by_role("tabpanel")
    await expect(read).to_contain_text(f'Playbook "{last}"')
    await expect(read).to_contain_text("has been selected for execution")


# 12


async def test_a_file_attached_in_the_chat_becomes_a_content_that_list_content_lists(
    tab: ChatTab, tmp_path: Path
) -> None:
    path = tmp_path / "차 이야기.md"
    path.write_text("# Oolong\n\nHalf way between green and black.", encoding="utf-8")
    async with tab.page.expect_file_chooser() as chooser:
        await tab.button("Add a file").click()
    await (await chooser.value).set_files(path)
    await expect(tab.button("Remove 차 이야기.md")).to_be_visible()
    await expect(tab.button("Send")).to_be_enabled()  # when it is uploaded
    await tab.write("Read this")
    await tab.expect_said(re.compile("I read:"))
    await tab.write(ask("list_content"))
    await tab.expect_said(re.compile("I read:"), 2)

    answers = texts_of(await tab.server.messages(tab.session_id), "assistant")
    assert "차 이야기.md" in answers[-1]
    listed = await tab.server.call_tool(tab.session_id, "list_content")
    assert len(listed["data"]["contents"]) == 1
    assert "차 이야기.md" in listed["text"]


GIVE_FILE = """([how, name, type, data]) => {
    const transfer = new DataTransfer()
    transfer.items.add(new File([Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0))], name, { type }))
    const init = { bubbles: true, cancelable: true }
    if (how === "paste") {
        document.activeElement.dispatchEvent(new ClipboardEvent("paste", { ...init, clipboardData: transfer }))
    } else {
        for (const type of ["dragover", "drop"]) {
            document.body.dispatchEvent(new DragEvent(type, { ...init, dataTransfer: transfer }))
        }
    }
}"""
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


async def test_what_is_dropped_and_pasted_goes_with_its_message_also_when_that_is_edited_or_asked_again(
    tab: ChatTab,
) -> None:
    first = await tab.start_session()
    await expect(tab.composer).to_be_focused()
    text = base64.b64encode("우롱차".encode()).decode()
    await tab.page.evaluate(GIVE_FILE, ["drop", "차.txt", "text/plain", text])
    await tab.page.evaluate(GIVE_FILE, ["paste", "dot.png", "image/png", DOT])
    await expect(tab.button("Remove 차.txt")).to_be_visible()
    await expect(tab.button("Remove dot.png")).to_be_visible()
    await tab.composer.fill("Look")
    await expect(tab.button("Send")).to_be_enabled()
    await tab.reload()
    await expect(tab.button("Remove 차.txt")).to_be_visible()
    await expect(tab.button("Remove dot.png")).to_be_visible()
    await tab.write("Look at both")
    await tab.expect_said(re.compile("I read:"))
    own = tab.talk.locator(".turn.own")
    await expect(own).to_have_text("Look at both차.txt")
    await expect(own.get_by_role("img", name="dot.png")).to_be_visible()

    await tab.button("Ask again in a branch").focus()
    await tab.page.keyboard.press("Enter")
    await expect(tab.page).not_to_have_url(re.compile(first))
    await tab.expect_said(re.compile("I read:"))
    await expect(own.get_by_role("img", name="dot.png")).to_be_visible()
    asked, again = [(await tab.server.messages(one))[0]["parts"] for one in (first, tab.session_id)]
    assert (again[0], again[2:]) == (asked[0], asked[2:])
    file = again[1]["file"]
    assert file["contentId"] in again[1]["text"]
    read = await tab.server.call_tool(tab.session_id, "read_content", contentId=file["contentId"])
    assert "우롱차" in read["text"], "the branch has a copy of it"

    await tab.button("Edit as a branch").focus()
    await tab.page.keyboard.press("Enter")
    await expect(tab.composer).to_have_value("Look at both")
    await expect(tab.button("Remove 차.txt")).to_be_visible()
    await tab.button("Remove dot.png").click()
    await tab.write("Read it")
    await expect(own).to_have_text("Read it차.txt")
    [written, note] = (await tab.server.messages(tab.session_id))[0]["parts"]
    assert (written["text"], note["file"]["name"]) == ("Read it", "차.txt")


# 13


async def test_the_export_card_downloads_bytes_whose_hash_equals_the_results(tab: ChatTab) -> None:
    text = "Oolong, 우롱차\n" * 1000
    await tab.start_session()
    await tab.server.call_tool(tab.session_id, "write_file", path="차.txt", content=text)
    await tab.write(ask("export_file", path="차.txt"))
    await tab.expect_said(re.compile("I read:"))
    async with tab.page.expect_download() as download:
        await tab.view("Exported file").get_by_role("button", name="Download").click()
    saved = await download.value

    data = Path(await saved.path()).read_bytes()
    assert saved.suggested_filename == "차.txt"
    assert data == text.encode()
    await tab.view("Exported file").get_by_text("Where it is").click()
    await expect(tab.view("Exported file").get_by_text(hashlib.sha256(data).hexdigest())).to_be_visible()


async def test_the_export_cards_link_downloads_the_same_bytes(tab: ChatTab) -> None:
    await tab.start_session()
    await tab.server.call_tool(tab.session_id, "write_file", path="차.txt", content="우롱차")
    await tab.write(ask("export_file", path="차.txt"))
    await tab.view("Exported file").get_by_role("link", name="Download in the browser").click()
    check = await tab.page.get_by_role("alertdialog").inner_text()
    address = re.search(r"http://localhost:\d+/exports/\S+", check)
    assert address is not None
    async with httpx2.AsyncClient() as http:
        answer = await http.get(address[0])

    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.content.decode() == "우롱차"


# 15


async def test_a_reload_draws_every_stored_result_again_in_its_current_state(tab: ChatTab) -> None:
    session = await tab.start_session()
    await tab.server.call_tool(session, "create_playbook", goal="Brew tea", workflow=[])
    await tab.server.call_tool(session, "write_file", path="tea.txt", content="oolong")
    calls = [
        ask("prompt_user", prompt="Which tea?", type="text"),
        ask("prompt_user", prompt="Which cup?", type="select", options=["small", "large"]),
        ask("prompt_user", prompt="Why?", type="text"),
        ask("show_playbooks"),
        ask("export_file", path="tea.txt"),
        ask("visualize_data", type="bar", title="Cups", data=[{"label": "Mon", "value": 3}]),
    ]
    await tab.write("\n".join(calls))
    await expect(tab.card("Question")).to_have_count(3)
    first, _, third = [frame_in(tab.card("Question").nth(number)) for number in range(3)]
    await first.get_by_role("textbox").fill("oolong")
    await first.get_by_role("button", name="Send").click()
    await third.get_by_role("button", name="Skip").click()
    await tab.view("Playbooks").get_by_role("button", name="Select: Brew tea").click()
    await expect(tab.talk.get_by_text("Answered", exact=True)).to_have_count(2)
    await expect(tab.talk.get_by_text("Skipped", exact=True)).to_have_count(1)
    await expect(tab.view("Playbooks").get_by_role("button", name="Select: Brew tea")).to_have_count(0)

    await tab.reload()
    await expect(tab.card("Question")).to_have_count(3)
    await expect(tab.talk.get_by_text("Answered", exact=True)).to_have_count(2)
    await expect(tab.talk.get_by_text("Skipped", exact=True)).to_have_count(1)
    await expect(first.get_by_text("oolong")).to_be_visible()
    await expect(first.get_by_role("textbox")).to_have_count(0)
    await expect(third.get_by_role("button", name="Send")).to_have_count(0)
    await expect(tab.view("Playbooks").get_by_role("button", name="Select: Brew tea")).to_have_count(0)
    await expect(tab.view("Exported file").get_by_role("heading", name="tea.txt")).to_be_visible()
    await expect(tab.view("Chart").get_by_role("img", name="Cups")).to_be_visible()
    await tab.expect_state("Your turn")
    second = frame_in(tab.card("Question").nth(1))
    await second.get_by_role("radio", name="large").check()
    await second.get_by_role("button", name="Send").click()
    await tab.expect_state("")
    assert "large" in texts_of(await tab.server.messages(session), "assistant")[-1]
