"""Madang's pages in real Chromium: sandboxed, with a host that speaks to them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from types import SimpleNamespace
from typing import Any

import pytest
from anyio import Event
from playwright.async_api import Browser, Locator, expect

from madang.rendering.pages import render_fragment, render_page
from tests.browser.embedding import EmbeddingHost, chromium

pytestmark = pytest.mark.anyio

HOSTILE = [
    "<img src=x onerror=window.__pwned=1>",
    "</script><!--<script>window.__pwned=1</script>",
    "{{7*7}} ${7*7} javascript:window.__pwned=1",
    '" onmouseover="window.__pwned=1" \' onfocus=\'window.__pwned=1',
    "\u202egnp.exe <b>\u202c end",
    "한국어 목표 <script>window.__pwned=1</script> 🙂",
]


def translate(template: str, **values: object) -> str:
    return template.format(**values)


def tool_error(tool: str, message: str) -> dict[str, Any]:
    return {
        "isError": True,
        "content": [{"type": "text", "text": f"[{tool}] Error: {message}"}],
    }


class FakePlaybooks:
    """The playbook tools in memory, with the results they have on the wire."""

    def __init__(self, goals: list[str], *, embedded: bool = False) -> None:
        self.goals_by_id = {f"pb-{number}": goal for number, goal in enumerate(goals, start=1)}
        self.embedded = embedded
        self.broken = False
        self.hold: Event | None = None

    async def __call__(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if self.hold:
            await self.hold.wait()
        if self.broken:
            return tool_error(name, "<b>The disk is full.</b>\nHint: Make room & try again.")
        if name == "get_playbook_page":
            return self.listing(arguments["page"], arguments.get("pageSize", 10))
        if arguments["id"] not in self.goals_by_id:
            return tool_error(name, f"Playbook {arguments['id']} not found.")
        if name == "delete_playbook":
            del self.goals_by_id[arguments["id"]]
        return {
            "content": [{"type": "text", "text": f"[{name}] Done."}],
            "structuredContent": {"id": arguments["id"]},
        }

    def fragment(self, number: int, size: int) -> str:
        total = len(self.goals_by_id)
        pages = -(-total // size)
        number = min(number, pages)
        items = [
            SimpleNamespace(
                id=id,
                goal=goal,
                initial_command="Start",
                steps=3,
                created_at="2026-11-15T09:00:00Z",
            )
            for id, goal in self.goals_by_id.items()
        ][(number - 1) * size : number * size]
        page = SimpleNamespace(
            page=number,
            page_size=size,
            total_items=total,
            total_pages=pages,
            items=items,
        )
        return render_fragment("playbook/playbooks.html", {"page": page}, translate)

    def page(self, number: int = 1, size: int = 10) -> str:
        return render_page(
            self.fragment(number, size),
            title="Playbooks",
            lang="en",
            refresh_tool="get_playbook_page",
        )

    def listing(self, number: int = 1, size: int = 10) -> dict[str, Any]:
        if not self.goals_by_id:
            return {
                "content": [
                    {
                        "type": "text",
                        "text": "[get_playbook_page] No playbooks found for agent A.",
                    }
                ]
            }
        result: dict[str, Any] = {
            "content": [{"type": "text", "text": "[get_playbook_page] Here they are."}],
            "structuredContent": {"page": {"page": number, "pageSize": size}},
        }
        if self.embedded:
            resource = {
                "uri": "ui://playbook/list",
                "mimeType": "text/html",
                "text": self.page(number, size),
            }
            result["content"].append({"type": "resource", "resource": resource})
        else:
            result["_meta"] = {"madang/html": self.fragment(number, size)}
        return result


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


Show = Callable[..., AbstractAsyncContextManager[EmbeddingHost]]


@pytest.fixture(params=["apps", "old mcp-ui"])
def show(request: pytest.FixtureRequest, browser: Browser) -> Show:
    """Show the playbooks as either host would: a linked view, or an embedded page."""

    def showing(playbooks: FakePlaybooks, size: int = 10) -> AbstractAsyncContextManager[EmbeddingHost]:
        if request.param == "apps":
            host = EmbeddingHost(playbooks)
            return host.showing(browser, EMPTY_PAGE, tool_result=playbooks.listing(1, size))
        playbooks.embedded = True
        return EmbeddingHost(playbooks, legacy=True).showing(browser, playbooks.page(1, size))

    return showing


EMPTY_PAGE = render_page("", title="Playbooks", lang="en", refresh_tool="get_playbook_page")


def goals(count: int) -> list[str]:
    return [f"Goal number {number}" for number in range(1, count + 1)]


async def test_selecting_calls_the_tool_and_says_so(show: Show) -> None:
    async with show(FakePlaybooks(goals(3))) as host:
        await host.frame.get_by_role("button", name="Select: Goal number 2").click()

        await expect(host.frame.get_by_role("status")).to_have_text(re.compile("I selected playbook pb-2"))
        assert host.calls == [("select_playbook", {"id": "pb-2"})]
        assert host.messages == []


async def test_selecting_tells_the_hosts_model_where_the_host_takes_messages(
    browser: Browser,
) -> None:
    playbooks = FakePlaybooks(goals(3))
    host = EmbeddingHost(playbooks, host_capabilities={"serverTools": {}, "message": {"text": {}}})
    async with host.showing(browser, EMPTY_PAGE, tool_result=playbooks.listing()):
        await host.frame.get_by_role("button", name="Select: Goal number 2").click()

        text = "I selected playbook pb-2. Please get it and carry it out."
        assert await host.recorded("message") == [{"role": "user", "content": [{"type": "text", "text": text}]}]


async def test_deleting_from_the_page_refreshes_the_list_and_stays_on_its_page(
    show: Show,
) -> None:
    async with show(FakePlaybooks(goals(5)), size=2) as host:
        await host.frame.get_by_role("button", name="Next →").click()
        await host.frame.get_by_role("button", name="Delete: Goal number 3").click()

        await expect(host.frame.locator("h2")).to_have_text(["Goal number 4", "Goal number 5"])
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 2 (4 total)")
        assert host.calls[1:] == [
            ("delete_playbook", {"id": "pb-3"}),
            ("get_playbook_page", {"page": 2, "pageSize": 2}),
        ]


async def test_deleting_the_last_one_leaves_no_row_behind(show: Show) -> None:
    async with show(FakePlaybooks(goals(1))) as host:
        await host.frame.get_by_role("button", name="Delete").click()

        await expect(host.frame.locator("main")).to_have_text("No playbooks found for agent A.")


async def test_next_and_previous_keep_the_page_size(show: Show) -> None:
    async with show(FakePlaybooks(goals(25))) as host:
        await expect(host.frame.get_by_role("button", name="← Previous")).to_be_disabled()
        await host.frame.get_by_role("button", name="Next →").click()
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 3 (25 total)")
        await host.frame.get_by_role("button", name="Next →").click()
        await expect(host.frame.locator("h2")).to_have_count(5)
        await expect(host.frame.get_by_role("button", name="Next →")).to_be_disabled()
        await host.frame.get_by_role("button", name="← Previous").click()
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 3 (25 total)")

        assert host.calls == [("get_playbook_page", {"page": page, "pageSize": 10}) for page in (2, 3, 2)]


async def test_hostile_goals_are_shown_as_text(show: Show) -> None:
    playbooks = FakePlaybooks(HOSTILE * 2)
    async with show(playbooks, size=6) as host:
        await expect(host.frame.locator("h2")).to_have_text(HOSTILE)
        await host.frame.get_by_role("button", name="Next →").click()
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 2 (12 total)")
        await expect(host.frame.locator("h2")).to_have_text(HOSTILE)
        for button in await host.frame.locator(".select-pb-btn").all():
            await button.hover()
            await button.click()
            await expect(button).to_be_enabled()

        assert await host.view.evaluate("typeof window.__pwned") == "undefined"
        assert await host.view.evaluate("document.querySelectorAll('main :is(img, script, b)').length") == 0
        assert host.requests == []
        assert len(host.calls) == 7


async def test_markup_that_escaped_escaping_can_neither_run_nor_load(
    browser: Browser,
) -> None:
    """The content security policy is the second fence, if a template forgets one."""
    raw = '<img src="http://canary.example/x" onerror="window.__pwned=1"><button onclick="window.__pwned=1">Go</button>'
    page = render_page(raw + "<script>window.__pwned=1</script>", title="Raw", lang="en")
    host = EmbeddingHost(FakePlaybooks([]))
    async with host.showing(browser, page, tool_result={"_meta": {"madang/html": raw}}):
        await host.frame.get_by_role("button", name="Go").click()
        await host.settle()

        assert await host.view.evaluate("typeof window.__pwned") == "undefined"
        assert host.requests == []


async def test_an_error_is_shown_as_text_and_the_buttons_work_again(show: Show) -> None:
    playbooks = FakePlaybooks(goals(3))
    async with show(playbooks) as host:
        playbooks.broken = True
        await host.frame.get_by_role("button", name="Delete: Goal number 1").click()
        status = host.frame.get_by_role("status")
        await expect(status).to_have_text("Error: <b>The disk is full.</b>\nHint: Make room & try again.")
        await expect(host.frame.locator("h2")).to_have_text(goals(3))

        playbooks.broken = False
        await host.frame.get_by_role("button", name="Delete: Goal number 1").click()
        await expect(host.frame.locator("h2")).to_have_text(goals(3)[1:])
        await expect(status).to_have_text("")


async def test_a_call_that_fails_in_the_host_is_an_error_too(show: Show) -> None:
    class Offline(FakePlaybooks):
        async def __call__(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            raise ConnectionError("The server is gone.")

    async with show(Offline(goals(3))) as host:
        await host.frame.get_by_role("button", name="Select: Goal number 1").click()

        await expect(host.frame.get_by_role("status")).to_have_text(re.compile("The server is gone."))


async def test_while_a_call_runs_the_page_is_busy_and_a_second_click_does_nothing(
    show: Show,
) -> None:
    playbooks = FakePlaybooks(goals(3))
    playbooks.hold = Event()
    async with show(playbooks) as host:
        await host.frame.get_by_role("button", name="Select: Goal number 1").dblclick()
        await expect(host.frame.locator("main")).to_have_attribute("aria-busy", "true")
        await expect(host.frame.locator("main button:enabled")).to_have_count(0)

        playbooks.hold.set()
        await expect(host.frame.locator("main")).not_to_have_attribute("aria-busy", "true")
        await expect(host.frame.locator("main button:enabled")).to_have_count(6)
        assert len(host.calls) == 1


async def test_what_is_no_button_is_not_called_twice_either(browser: Browser) -> None:
    playbooks = FakePlaybooks(goals(1))
    playbooks.hold = Event()
    link = """<a href="#" data-tool="select_playbook" data-args='{"id": "pb-1"}'>Go</a>"""
    host = EmbeddingHost(playbooks)
    async with host.showing(browser, render_page(link, title="Link", lang="en")):
        await host.frame.get_by_role("link", name="Go").dblclick()
        playbooks.hold.set()

        await expect(host.frame.get_by_role("status")).to_have_text("Done.")
        assert host.calls == [("select_playbook", {"id": "pb-1"})]


async def test_a_call_without_an_answer_ends_after_a_minute(browser: Browser) -> None:
    playbooks = FakePlaybooks(goals(3))
    host = EmbeddingHost(playbooks)
    async with host.showing(browser, EMPTY_PAGE, tool_result=playbooks.listing(), fake_clock=True):
        playbooks.hold = Event()
        await host.frame.get_by_role("button", name="Select: Goal number 1").click()
        await host.page.clock.run_for(59_000)
        await expect(host.frame.locator("main button:enabled")).to_have_count(0)
        await host.page.clock.run_for(2_000)

        await expect(host.frame.get_by_role("status")).to_have_text("The host did not answer.")
        await expect(host.frame.locator("main button:enabled")).to_have_count(6)
        playbooks.hold.set()


async def tab_to(host: EmbeddingHost, target: Locator) -> None:
    # One at a time: keys pressed while focus moves into the frame are lost.
    for _ in range(10):
        await host.page.keyboard.press("Tab")
        await host.settle()
        if await target.evaluate("(element) => element === document.activeElement"):
            return
    pytest.fail(f"The Tab key does not reach {target}.")


async def test_the_keyboard_alone_is_enough_and_focus_is_not_lost(show: Show) -> None:
    async with show(FakePlaybooks(goals(5)), size=2) as host:
        keyboard = host.page.keyboard
        focused = host.frame.locator(":focus")
        await expect(host.frame.locator("h2")).to_have_count(2)
        await tab_to(host, host.frame.get_by_role("button", name="Next →"))

        await keyboard.press("Enter")
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 3 (5 total)")
        await expect(focused).to_have_text("Next →")

        await keyboard.press("Space")
        await expect(host.frame.locator(".page-info")).to_have_text("Page 3 of 3 (5 total)")
        await expect(focused).to_have_text("Playbooks")

        await tab_to(host, host.frame.get_by_role("button", name="Select"))
        await keyboard.press("Enter")
        await expect(host.frame.get_by_role("status")).to_have_text(re.compile("pb-5"))
        await expect(focused).to_have_attribute("aria-label", "Select: Goal number 5")

        await tab_to(host, host.frame.get_by_role("button", name="Delete"))
        await keyboard.press("Enter")
        await expect(host.frame.locator(".page-info")).to_have_text("Page 2 of 2 (4 total)")
        await expect(focused).to_have_text("Playbooks")


async def test_a_message_from_a_window_that_is_not_the_host_is_ignored(
    browser: Browser,
) -> None:
    playbooks = FakePlaybooks(goals(3))
    host = EmbeddingHost(playbooks)
    async with host.showing(browser, EMPTY_PAGE, tool_result=playbooks.listing()):
        await expect(host.frame.locator("h2")).to_have_text(goals(3))
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
        await expect(host.frame.locator("h2")).to_have_text(goals(3))


@pytest.mark.parametrize(
    ("replayed", "arguments"),
    [
        ({}, {"page": 1}),
        (
            {"structuredContent": {"page": {"page": 2, "pageSize": 2}}},
            {"page": 2, "pageSize": 2},
        ),
    ],
    ids=["nothing", "data only"],
)
async def test_a_view_opened_without_its_page_fetches_it(
    browser: Browser, replayed: dict[str, Any], arguments: dict[str, Any]
) -> None:
    host = EmbeddingHost(FakePlaybooks(goals(3)))
    async with host.showing(browser, EMPTY_PAGE, tool_result=replayed):
        await expect(host.frame.locator("h2").first).to_be_visible()
        await host.notify("ui/notifications/tool-result", {})
        await host.settle()

        assert host.calls == [("get_playbook_page", arguments)]


async def test_a_failed_tool_shows_its_error_and_calls_nothing(
    browser: Browser,
) -> None:
    host = EmbeddingHost(FakePlaybooks(goals(3)))
    async with host.showing(browser, EMPTY_PAGE, tool_result=tool_error("show_playbooks", "No.")):
        await expect(host.frame.get_by_role("status")).to_have_text("Error: No.")

        assert host.calls == []


async def test_the_hosts_theme_is_applied_and_follows_its_changes(
    browser: Browser,
) -> None:
    playbooks = FakePlaybooks(goals(3))
    variables = {
        "--color-background-primary": "rgb(1, 2, 3)",
        "--color-text-primary": "light-dark(red, rgb(9, 8, 7))",
    }
    context = {"theme": "dark", "styles": {"variables": variables}}
    host = EmbeddingHost(playbooks, host_context=context)
    async with host.showing(browser, EMPTY_PAGE, tool_result=playbooks.listing()):
        body = host.frame.locator("body")
        await expect(host.frame.locator("html")).to_have_attribute("data-theme", "dark")
        await expect(body).to_have_css("background-color", "rgb(1, 2, 3)")
        await expect(body).to_have_css("color", "rgb(9, 8, 7)")

        await host.notify("ui/notifications/host-context-changed", {"theme": "light"})
        await expect(body).to_have_css("color", "rgb(255, 0, 0)")
        await expect(body).to_have_css("background-color", "rgb(1, 2, 3)")


async def test_the_height_is_the_contents_and_is_reported_without_a_loop(
    show: Show,
) -> None:
    async with show(FakePlaybooks(goals(25))) as host:
        await expect(host.frame.locator("h2")).to_have_count(10)
        await host.settle()
        tall = host.sizes[-1]["height"]
        assert tall == await host.view.evaluate("document.documentElement.scrollHeight")
        assert len(host.sizes) <= 3
        before = len(host.sizes)

        await host.frame.get_by_role("button", name="Next →").click()
        await host.frame.get_by_role("button", name="Next →").click()
        await expect(host.frame.locator("h2")).to_have_count(5)
        await host.settle()

        assert host.sizes[-1]["height"] < tall
        assert len(host.sizes) <= before + 1


async def test_a_change_of_a_few_pixels_is_not_reported(show: Show) -> None:
    async with show(FakePlaybooks(goals(3))) as host:
        await expect(host.frame.locator("h2")).to_have_count(3)
        await host.settle()
        reported = len(host.sizes)
        padding = "(px) => { document.querySelector('main').style.paddingBottom = px }"

        await host.view.evaluate(padding, "19px")
        await host.settle()
        assert len(host.sizes) == reported

        await host.view.evaluate(padding, "20px")
        await host.recorded("size", reported + 1)


async def test_every_request_of_the_host_gets_an_answer(browser: Browser) -> None:
    playbooks = FakePlaybooks(goals(3))
    host = EmbeddingHost(playbooks)
    async with host.showing(browser, EMPTY_PAGE, tool_result=playbooks.listing()):
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


async def test_a_host_that_answers_late_is_still_spoken_to_as_an_apps_host(
    browser: Browser,
) -> None:
    playbooks = FakePlaybooks(goals(3))
    host = EmbeddingHost(playbooks, answer_after_ms=900)
    async with host.showing(browser, EMPTY_PAGE, tool_result=playbooks.listing()):
        assert host.record("unexpected")[0] == {"type": "ui-lifecycle-iframe-ready"}
        await host.frame.get_by_role("button", name="Select: Goal number 1").click()

        await expect(host.frame.get_by_role("status")).to_have_text(re.compile("pb-1"))
        assert host.calls == [("select_playbook", {"id": "pb-1"})]
        assert host.sizes


async def test_a_click_before_a_late_host_answers_leaves_no_dead_buttons(
    browser: Browser,
) -> None:
    playbooks = FakePlaybooks(goals(3))
    host = EmbeddingHost(playbooks, answer_after_ms=1500)
    async with host.showing(browser, playbooks.page(), until="unexpected"):
        select = host.frame.get_by_role("button", name="Select: Goal number 1")
        await select.click()
        await expect(select).to_be_disabled()
        await expect(host.frame.get_by_role("status")).to_have_text("The host did not answer.")

        await select.click()
        await expect(host.frame.get_by_role("status")).to_have_text(re.compile("pb-1"))


async def test_an_old_host_may_put_its_answer_at_the_top_of_the_message(
    browser: Browser,
) -> None:
    playbooks = FakePlaybooks(goals(3), embedded=True)
    host = EmbeddingHost(playbooks, legacy=True, flat_answers=True)
    async with host.showing(browser, playbooks.page()):
        await host.frame.get_by_role("button", name="Delete: Goal number 1").click()

        await expect(host.frame.locator("h2")).to_have_text(goals(3)[1:])


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


@pytest.mark.parametrize("by_keyboard", [False, True], ids=["click", "enter"])
async def test_a_form_sends_its_fields_as_arguments(browser: Browser, by_keyboard: bool) -> None:
    async def reply(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"[{name}] Thank you."}]}

    host = EmbeddingHost(reply)
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

        await expect(host.frame.get_by_role("status")).to_have_text("Thank you.")
        assert host.calls == [
            (
                "reply",
                {"id": "q1", "text": "안녕", "many": ["a"], "none": [], "one": "y"},
            )
        ]
        await expect(host.frame.get_by_label("Text")).to_have_value("안녕")


async def test_nothing_is_cut_off_on_a_narrow_screen(browser: Browser) -> None:
    playbooks = FakePlaybooks(["x" * 500, "한국어 " * 60, *goals(3)])
    host = EmbeddingHost(playbooks, width=320)
    async with host.showing(browser, EMPTY_PAGE, tool_result=playbooks.listing()):
        await host.settle()

        assert await host.view.evaluate("document.documentElement.scrollWidth") == 320
        for button in await host.frame.get_by_role("button").all():
            box = await button.bounding_box()
            assert box is not None
            assert box["height"] >= 44
            assert box["x"] + box["width"] <= 320
