"""The script of every page in real Chromium: what it says to its host, and what it takes from it."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from unittest.mock import ANY

import pytest
from anyio import Event
from playwright.async_api import Browser, Locator, expect

from madang.rendering.pages import render_page
from tests.browser.embedding import CallTool, EmbeddingHost, chromium, page_browser
from tests.browser.serving import ServedMadang

GOALS = ["Goal number 1", "Goal number 2", "Goal number 3"]

FORM = """
<h1 tabindex="-1">Question</h1>
<form data-tool="reply" data-args='{"id": "q1", "text": "default"}'>
<label>Text <input type="text" name="text" required></label>
<label><input type="checkbox" name="many" value="a">A</label>
<label><input type="checkbox" name="many" value="b">B</label>
<label><input type="checkbox" name="none" value="c">C</label>
<label><input type="radio" name="one" value="x">X</label>
<label><input type="radio" name="one" value="y">Y</label>
<button type="submit">Send</button>
</form>
"""


async def test_every_request_of_the_host_gets_an_answer(linked: ServedMadang) -> None:
    await linked.given(GOALS)
    async with linked.showing() as host:
        assert await host.request("ping", {}) == {"result": {}}
        assert await host.request("ui/resource-teardown", {}) == {"result": {}}
        unknown = await host.request("tools/list", {})

        assert unknown["error"]["code"] == -32601
        assert host.record("initialize") == [
            {
                "appInfo": {"name": "madang", "version": "1"},
                "appCapabilities": {},
                "protocolVersion": "2026-01-26",
            }
        ]
        assert host.record("unexpected") == []
        assert host.page_errors == []


@pytest.mark.parametrize("has_data", [False, True], ids=["nothing", "data only"])
async def test_a_view_opened_without_its_page_fetches_it(linked: ServedMadang, has_data: bool) -> None:
    """Some hosts replay a view with an empty result, and some strip `_meta`."""
    await linked.given(GOALS)
    shown = await linked.call_tool("show_playbooks", {"page": 2, "pageSize": 2})
    del shown["_meta"]
    async with linked.showing(result=shown if has_data else {}) as host:
        await expect(host.frame.locator("h2")).to_have_text(GOALS[2:] if has_data else GOALS)
        await host.notify("ui/notifications/tool-result", {})
        await host.settle()

        assert host.calls == [("get_playbook_page", {"page": 2, "pageSize": 2} if has_data else {"page": 1})]


async def test_a_failed_tool_says_so_and_calls_nothing_by_itself(linked: ServedMadang) -> None:
    await linked.given(GOALS)
    failed = await linked.call_tool("show_playbooks", {"page": 9, "pageSize": 2})
    async with linked.showing(result=failed) as host:
        await expect(host.frame.locator("h1")).to_have_text("That did not work.")
        assert host.calls == []

        await host.frame.get_by_role("button", name="Try again").click()
        await expect(host.frame.locator("h2")).to_have_text(GOALS)
        assert host.calls == [("get_playbook_page", {"page": 1})]


@pytest.mark.parametrize("tool_input", [{}, {"page": 1}])
async def test_a_page_whose_tool_takes_no_arguments_fills_itself(browser: Browser, tool_input: dict[str, Any]) -> None:
    async def show_notes(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [], "_meta": {"madang/html": "<h1>Notes</h1>"}}

    host = EmbeddingHost(show_notes)
    page = render_page("", title="Notes", lang="en", refresh_tool="show_notes", refresh_args="")
    async with host.showing(browser, page, tool_result={}, tool_input=tool_input):
        await expect(host.frame.locator("h1")).to_have_text("Notes")

        assert host.calls == [("show_notes", {})]


async def test_a_page_without_its_content_shows_that_it_is_coming(browser: Browser) -> None:
    host = EmbeddingHost(thank)
    async with host.showing(browser, render_page("", title="Notes", lang="en")):
        await expect(host.frame.locator(".skeleton")).to_be_visible()
        await host.notify("ui/notifications/tool-cancelled", {})

        await expect(host.frame.locator("main")).to_have_text("That did not work.")


async def test_a_host_without_data_and_a_page_that_cannot_fetch_it_say_so(browser: Browser) -> None:
    page = render_page("", title="Notes", lang="en", refresh_tool="show_note", refresh_args="id")
    async with EmbeddingHost(thank).showing(browser, page, tool_result={}) as host:
        await expect(host.frame.locator("main")).to_have_text("There is nothing to show here.")
        assert host.calls == []


async def test_moments_are_told_in_the_readers_time_zone() -> None:
    """A planner in Seoul made it on the 16th, whatever the day is in Greenwich."""
    today = datetime.now(timezone(timedelta(hours=9))).replace(hour=8, minute=0, second=0, microsecond=0)
    days = [today, today - timedelta(days=1), today - timedelta(days=15), today - timedelta(days=400)]
    moments = [day.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for day in days]
    times = "".join(f'<time datetime="{one}">{one[:10]}</time>\n' for one in moments)
    times += f'<time data-clock datetime="{moments[0]}"></time><time data-clock datetime="{moments[2]}"></time>'
    page = render_page(times, title="Times", lang="ko")
    dates = [f"{day.year}. {day.month}. {day.day}." for day in days[2:]]
    clock = f"{days[2].year}년 {days[2].month}월 {days[2].day}일 오전 8:00"
    async with (
        chromium(timezone="Asia/Seoul", program=page_browser()) as browser,
        EmbeddingHost(thank).showing(browser, page) as host,
    ):
        await expect(host.frame.locator("time")).to_have_text(["오늘", "어제", *dates, "오전 8:00", clock])


async def test_a_message_from_a_window_that_is_not_the_host_is_ignored(linked: ServedMadang) -> None:
    await linked.given(GOALS)
    async with linked.showing() as host:
        await expect(host.frame.locator("h2")).to_have_text(GOALS)
        forged = {
            "jsonrpc": "2.0",
            "method": "ui/notifications/tool-result",
            "params": {"_meta": {"madang/html": "<p>forged</p>"}},
        }
        await host.view.evaluate(
            """() => {
                window.arrived = new Promise((resolve) => {
                    addEventListener('message', ({ origin }) => resolve(origin));
                });
            }"""
        )
        sibling = f"<script>parent.frames[0].postMessage({json.dumps(forged)}, '*')</script>"
        await host.page.evaluate(
            """html => {
                const frame = document.createElement('iframe');
                frame.sandbox = 'allow-scripts';
                frame.srcdoc = html;
                document.body.append(frame);
            }""",
            sibling,
        )

        assert await host.view.evaluate("window.arrived") == "null"
        await expect(host.frame.locator("h2")).to_have_text(GOALS)


async def test_markup_that_escaped_escaping_can_neither_run_nor_load(browser: Browser) -> None:
    """The content security policy is the second fence, if a template forgets one."""
    raw = '<img src="http://canary.example/x" onerror="window.__pwned=1"><button onclick="window.__pwned=1">Go</button>'
    page = render_page(raw + "<script>window.__pwned=1</script>", title="Raw", lang="en")
    host = EmbeddingHost(thank)
    async with host.showing(browser, page, tool_result={"_meta": {"madang/html": raw}}):
        await host.frame.get_by_role("button", name="Go").click()
        await host.settle()

        assert await host.view.evaluate("typeof window.__pwned") == "undefined"
        assert host.requests == []


async def test_what_is_no_button_is_not_called_twice_either(linked: ServedMadang, browser: Browser) -> None:
    (id,) = await linked.given(GOALS[:1])
    link = f"""<a href="#" data-tool="select_playbook" data-args='{{"id": "{id}"}}'>Go</a>"""
    host = linked.host()
    async with host.showing(browser, render_page(link, title="Link", lang="en")):
        linked.hold = Event()
        await host.frame.get_by_role("link", name="Go").dblclick()
        linked.hold.set()

        await expect(host.frame.get_by_role("status")).to_have_text("Done.")
        assert host.calls == [("select_playbook", {"id": id})]

    assert await linked.recorded_runs() == [id]


async def test_a_call_without_an_answer_ends_after_a_minute(linked: ServedMadang) -> None:
    await linked.given(GOALS)
    async with linked.showing(fake_clock=True) as host:
        linked.hold = Event()
        await host.frame.get_by_role("button", name="Select: Goal number 1").click()
        await host.page.clock.run_for(59_000)
        await expect(host.frame.locator("main button:enabled:visible")).to_have_count(0)
        await host.page.clock.run_for(2_000)

        await expect(host.frame.get_by_role("status")).to_have_text(re.compile("The app did not answer."))
        await expect(host.frame.locator("main button:enabled:visible")).to_have_count(6)
        linked.hold.set()


async def test_a_host_that_answers_late_is_still_spoken_to_as_an_apps_host(linked: ServedMadang) -> None:
    ids = await linked.given(GOALS)
    async with linked.showing(linked.host(answers_late=True), until="unexpected") as host:
        assert host.record("unexpected")[0] == {"type": "ui-lifecycle-iframe-ready"}
        await host.introduce()
        await host.frame.get_by_role("button", name="Select: Goal number 1").click()

        await expect(host.frame.get_by_role("status")).to_have_text("Selected: Goal number 1")
        assert host.calls[0] == ("select_playbook", {"id": ids[0], "pauseId": ANY})
        assert host.sizes


async def test_a_click_before_a_late_host_answers_leaves_no_dead_buttons(embedded: ServedMadang) -> None:
    """A page that came with its rows can be clicked before the host has said a word."""
    ids = await embedded.given(GOALS)
    async with embedded.showing(embedded.host(legacy=False, answers_late=True), until="unexpected") as host:
        select = host.frame.get_by_role("button", name="Select: Goal number 1")
        await select.click()
        await expect(select).to_be_disabled()
        await host.introduce()
        await expect(host.frame.get_by_role("status")).to_have_text(re.compile("The app did not answer."))

        await select.click()
        await expect(host.frame.get_by_role("status")).to_have_text("Selected: Goal number 1")

    assert await embedded.recorded_runs() == ids[:1]


async def test_a_call_that_a_late_host_took_is_waited_for(embedded: ServedMadang) -> None:
    """A host that speaks both ways does it: to say that it did not answer would have it done twice."""
    await embedded.given(GOALS)
    async with embedded.showing(embedded.host(legacy=False, answers_late=True), until="unexpected") as host:
        select = host.frame.get_by_role("button", name="Select: Goal number 1")
        await select.click()
        await expect(select).to_be_disabled()
        await host.settle()
        (call,) = [one for one in host.record("unexpected") if one["type"] == "tool"]
        await host.page.evaluate(
            "(messageId) => { introduce(); send({ type: 'ui-message-received', messageId }); }", call["messageId"]
        )
        await host.recorded("initialized")
        assert (await host.request("ping", {})) == {"result": {}}
        await host.settle()
        await expect(host.frame.get_by_role("status")).to_have_text("")
        await host.page.evaluate(
            "(messageId) => send({ type: 'ui-message-response', messageId, payload: { response: { content: [] } } })",
            call["messageId"],
        )

        await expect(host.frame.get_by_role("status")).to_have_text("Selected: Goal number 1")


async def test_an_old_host_may_put_its_answer_at_the_top_of_the_message(embedded: ServedMadang) -> None:
    await embedded.given(GOALS)
    async with embedded.showing(embedded.host(flat_answers=True)) as host:
        await host.frame.get_by_role("button", name="Delete: Goal number 1").click()
        await host.frame.get_by_role("button", name="Delete", exact=True).click()

        await expect(host.frame.locator("h2")).to_have_text(GOALS[1:])


@pytest.mark.parametrize("by_keyboard", [False, True], ids=["click", "enter"])
async def test_a_form_sends_its_fields_as_arguments(browser: Browser, by_keyboard: bool) -> None:
    host = EmbeddingHost(thank)
    async with host.showing(browser, render_page(FORM, title="Question", lang="en")):
        await host.frame.get_by_role("button", name="Send").click()
        assert host.calls == []

        await host.frame.get_by_label("A", exact=True).check()
        await host.frame.get_by_label("Y").check()
        await host.frame.get_by_label("Text").fill("안녕")
        if by_keyboard:
            await host.page.keyboard.press("Enter")
        else:
            await host.frame.get_by_role("button", name="Send").click()

        await expect(host.frame.get_by_role("status")).to_have_text("Done.")
        assert host.calls == [("reply", {"id": "q1", "text": "안녕", "many": ["a"], "none": [], "one": "y"})]
        await expect(host.frame.get_by_label("Text")).to_have_value("안녕")


# Presses


async def test_a_press_that_the_host_hands_over_is_like_any_other(browser: Browser) -> None:
    """A browser gives it to the frame around the page when nothing of the page was drawn yet."""
    may_answer = Event()
    host = EmbeddingHost(thank_after(may_answer))
    async with host.showing(browser, render_page(FORM, title="Question", lang="en")):
        await hand_over(host, host.frame.get_by_label("Text"))
        await expect(host.frame.get_by_label("Text")).to_be_focused()
        await host.page.keyboard.type("tea")
        await hand_over(host, host.frame.get_by_label("A", exact=True))
        await expect(host.frame.get_by_label("A", exact=True)).to_be_checked()
        await hand_over(host, host.frame.get_by_role("heading"))
        send = host.frame.get_by_role("button", name="Send")
        await hand_over(host, send)
        await hand_over(host, send)
        may_answer.set()

        await expect(host.frame.get_by_role("status")).to_have_text("Done.")
        assert [arguments["text"] for _, arguments in host.calls] == ["tea"]
        assert host.calls[0][1]["many"] == ["a"]


async def test_a_link_that_is_pressed_while_something_is_under_way_opens_afterwards(browser: Browser) -> None:
    may_answer = Event()
    host = EmbeddingHost(thank_after(may_answer))
    html = '<h1>Page</h1><button data-tool="slow">Go</button><a href="https://example.com/more">More</a>'
    async with host.showing(browser, render_page(html, title="Page", lang="en")):
        await host.frame.get_by_role("button", name="Go").click()
        link = host.frame.get_by_role("link", name="More")
        await link.dblclick()
        may_answer.set()

        await host.recorded("link")
        await expect(host.frame.locator("main[aria-busy]")).to_have_count(0)
        await expect(link).to_be_focused()
        assert host.record("link") == ["https://example.com/more"]
        assert len(host.calls) == 1


async def test_a_button_that_comes_while_something_is_under_way_does_its_work_afterwards(browser: Browser) -> None:
    """The page after the first answer is there while the call that follows it is not answered yet."""
    may_go = Event()

    async def answer(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "after":
            await may_go.wait()
            return {"content": []}
        return {"content": [], "_meta": {"madang/html": '<h1>Next</h1><button data-tool="next">Next</button>'}}

    host = EmbeddingHost(answer)
    html = '<h1>Page</h1><button data-tool="first" data-then="after">First</button>'
    async with host.showing(browser, render_page(html, title="Page", lang="en")):
        await host.frame.get_by_role("button", name="First").click()
        await host.frame.get_by_role("button", name="Next").dblclick()
        may_go.set()

        await expect(host.frame.locator("main[aria-busy]")).to_have_count(0)
        await expect(host.frame.locator("button[aria-busy]")).to_have_count(0)
        assert [name for name, _ in host.calls] == ["first", "after", "next"]


async def test_the_same_page_again_keeps_what_was_typed(browser: Browser) -> None:
    """Some hosts tell a result again; a button that is pressed and drawn anew before it is let go does nothing."""
    host = EmbeddingHost(thank)
    result = {"_meta": {"madang/html": FORM}}
    async with host.showing(browser, render_page("", title="Question", lang="en"), tool_result=result):
        await host.frame.get_by_label("Text").fill("tea")
        send = await host.frame.get_by_role("button", name="Send").bounding_box()
        assert send is not None
        await host.page.mouse.move(send["x"] + 5, send["y"] + 5)
        await host.page.mouse.down()
        await host.notify("ui/notifications/tool-result", result)
        assert await host.request("ping", {}) == {"result": {}}
        await host.page.mouse.up()

        await expect(host.frame.get_by_role("status")).to_have_text("Done.")
        assert [arguments["text"] for _, arguments in host.calls] == ["tea"]


async def hand_over(host: EmbeddingHost, target: Locator) -> None:
    """Press something as a host does that got the press instead of its page."""
    x, y = await target.evaluate("(el) => { const { x, y } = el.getBoundingClientRect(); return [x + 4, y + 4]; }")
    assert await host.request("madang/press", {"x": x, "y": y}) == {"result": {}}


async def thank(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Answer for a tool that no service has."""
    return {"content": [{"type": "text", "text": f"[{name}] Thank you."}]}


def thank_after(may_answer: Event) -> CallTool:
    async def answer(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        await may_answer.wait()
        return await thank(name, arguments)

    return answer
