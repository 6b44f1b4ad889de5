"""Questions and waits in real Chromium, with a real Madang behind their forms, in either kind of host."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from anyio import Event
from playwright.async_api import Browser, expect

from madang.core.calls import Locale
from madang.system import clock
from tests.browser.embedding import EmbeddingHost
from tests.browser.serving import APPS, ServedMadang, open_served
from tests.browser.test_look import fits
from tests.browser.test_playbooks import HOSTILE, TAKES_MESSAGES

COLOURS: dict[str, Any] = {"prompt": "Which colour?", "type": "select", "options": ["Blue", "Green", "빨강"]}
NAME: dict[str, Any] = {"prompt": "What is it called?", "type": "text", "placeholder": "A short name"}
SEVERAL: dict[str, Any] = {**COLOURS, "prompt": "Which colours?", "type": "multiselect"}


@asynccontextmanager
async def asking(
    madang: ServedMadang, question: dict[str, Any], host: EmbeddingHost | None = None, **view: Any
) -> AsyncIterator[tuple[EmbeddingHost, str]]:
    """Ask, show the form, and yield the host and the id of the question."""
    result = await madang.call_tool("prompt_user", question)
    async with madang.showing(host, tool="prompt_user", result=result, **view) as shown:
        await expect(shown.frame.locator("h1")).to_have_text(question["prompt"])
        yield shown, str(result["structuredContent"]["messageId"])


async def kept(madang: ServedMadang, id: str) -> dict[str, Any]:
    """Return a question as another door sees it."""
    async with madang.another_door() as door:
        return (await door.done("get_prompt", messageId=id)).data


async def answer_of(madang: ServedMadang, id: str) -> tuple[str, Any]:
    prompt = await kept(madang, id)
    return prompt["status"], prompt["answer"]


async def test_a_text_is_typed_and_sent(madang: ServedMadang) -> None:
    async with asking(madang, NAME) as (host, id):
        field = host.frame.get_by_role("textbox", name="What is it called?")
        await expect(field).to_have_attribute("placeholder", "A short name")
        await field.fill("마당\nthe yard")
        await host.frame.get_by_role("button", name="Send").click()

        await expect(host.frame.locator(".answer")).to_have_text("마당\nthe yard")
        await expect(host.frame.get_by_role("button")).to_have_count(0)
        await expect(host.frame.get_by_role("status")).to_have_text("")
        assert host.calls == [("reply_prompt", {"messageId": id, "answer": "마당\nthe yard"})]
        assert host.messages == []

    assert await answer_of(madang, id) == ("answered", "마당\nthe yard")


async def test_one_option_is_chosen_with_the_mouse(madang: ServedMadang) -> None:
    async with asking(madang, COLOURS) as (host, id):
        await expect(host.frame.get_by_role("group", name="Which colour?").get_by_role("radio")).to_have_count(3)
        await host.frame.get_by_text("Blue").click()
        await host.frame.get_by_text("빨강").click()
        await expect(host.frame.get_by_role("radio", name="Blue")).not_to_be_checked()
        await host.frame.get_by_role("button", name="Send").click()

        await expect(host.frame.locator(".answer")).to_have_text("빨강")
        assert host.calls == [("reply_prompt", {"messageId": id, "answer": "빨강"})]

    assert await answer_of(madang, id) == ("answered", "빨강")


@pytest.mark.parametrize("chosen", [["Blue", "빨강"], ["Green"], []], ids=["two", "one", "none"])
async def test_any_number_of_options_is_a_list(madang: ServedMadang, chosen: list[str]) -> None:
    async with asking(madang, SEVERAL) as (host, id):
        for option in chosen:
            await host.frame.get_by_role("checkbox", name=option).check()
        await host.frame.get_by_role("button", name="Send").click()

        await expect(host.frame.locator(".answer")).to_have_text(chosen or ["None of the options."])
        assert host.calls == [("reply_prompt", {"messageId": id, "answer": chosen})]

    assert await answer_of(madang, id) == ("answered", chosen)


@pytest.mark.parametrize(
    ("question", "keys", "answer"),
    [
        (NAME, ["Tab", "H", "i", "Tab", "Enter"], "Hi"),
        (NAME, ["Tab", "H", "i", "Control+Enter"], "Hi"),
        (COLOURS, ["Tab", "Space", "ArrowDown", "Tab", "Space"], "Green"),
        (COLOURS, ["Tab", "ArrowDown", "Enter"], "Green"),
        (SEVERAL, ["Tab", "Space", "Tab", "Tab", "Space", "Tab", "Enter"], ["Blue", "빨강"]),
    ],
    ids=["text", "text with Ctrl+Enter", "select", "select with Enter", "multiselect"],
)
async def test_the_keyboard_is_enough(
    madang: ServedMadang, question: dict[str, Any], keys: list[str], answer: Any
) -> None:
    async with asking(madang, question) as (host, id):
        await host.frame.locator("h1").focus()
        for key in keys:
            await host.page.keyboard.press(key)

        await expect(host.frame.locator(".answer").first).to_be_visible()
        # Whoever sent the form by keyboard goes on from its heading, not from the top of the window.
        await expect(host.frame.locator("h1")).to_be_focused()

    assert await answer_of(madang, id) == ("answered", answer)


async def test_where_the_keyboard_is_can_be_seen(linked: ServedMadang) -> None:
    for question, field in ((NAME, "textarea"), (COLOURS, "label:first-child"), (SEVERAL, "label:first-child")):
        async with asking(linked, question) as (host, _):
            await host.frame.locator("h1").focus()
            await host.page.keyboard.press("Tab")
            await expect(host.frame.locator(field)).to_have_css("outline-style", "solid")
            await expect(host.frame.locator(field)).to_have_css("outline-width", "2px")


@pytest.mark.parametrize("question", [NAME, COLOURS], ids=["text", "select"])
async def test_an_empty_form_is_not_sent(madang: ServedMadang, question: dict[str, Any]) -> None:
    async with asking(madang, question) as (host, id):
        await host.frame.get_by_role("button", name="Send").click()
        problem = host.frame.get_by_role("alert")
        await expect(problem).to_have_text(re.compile("Write an answer first.|Choose one of the options first."))
        field = host.frame.locator("[required]").first
        await expect(field).to_be_focused()
        await expect(field).to_have_accessible_description(re.compile("first"))
        assert host.calls == []

        # What is said goes as soon as it is no longer true.
        await (field.fill("x") if question is NAME else field.check())
        await expect(problem).to_be_hidden()
        await expect(field).to_have_accessible_description("")

    assert await answer_of(madang, id) == ("pending", "")


async def test_an_answer_of_blanks_is_not_sent(linked: ServedMadang) -> None:
    async with asking(linked, NAME) as (host, _):
        await host.frame.get_by_role("textbox").fill(" \n ")
        await host.frame.get_by_role("button", name="Send").click()

        await expect(host.frame.get_by_role("alert")).to_have_text("Write an answer first.")
        assert host.calls == []


@pytest.mark.parametrize("question", [NAME, COLOURS, SEVERAL], ids=["text", "select", "multiselect"])
async def test_cancelling_needs_no_answer(madang: ServedMadang, question: dict[str, Any]) -> None:
    async with asking(madang, question) as (host, id):
        await host.frame.get_by_role("button", name="Skip").click()

        await expect(host.frame.get_by_text("You skipped this question.")).to_be_visible()
        await expect(host.frame.get_by_role("button")).to_have_count(0)
        assert host.calls == [("reply_prompt", {"messageId": id, "cancelled": True})]

    assert await answer_of(madang, id) == ("cancelled", "")


async def test_a_form_cannot_be_sent_twice(madang: ServedMadang) -> None:
    async with asking(madang, COLOURS) as (host, id):
        madang.hold = Event()
        await host.frame.get_by_text("Blue").click()
        send = host.frame.get_by_role("button", name="Send")
        await send.click()
        waiting = host.frame.get_by_role("button", name="Sending…")
        await expect(waiting).to_be_disabled()
        await waiting.click(force=True)
        await host.frame.get_by_role("button", name="Skip").click(force=True)
        await host.frame.get_by_role("radio", name="Blue").press("Enter")
        await host.settle()
        madang.hold.set()
        madang.hold = None
        await expect(host.frame.locator(".answer")).to_have_text("Blue")

        assert host.calls == [("reply_prompt", {"messageId": id, "answer": "Blue"})]


@pytest.mark.parametrize(
    ("became", "press", "shown"),
    [
        ("answered", "Send", "Green Answered:"),
        ("answered", "Skip", "Green Answered:"),
        ("cancelled", "Send", "You skipped this question."),
        ("expired", "Send", "This question has expired."),
        ("expired", "Skip", "This question has expired."),
    ],
)
async def test_a_stale_form_gives_way_to_what_became_of_the_question(
    madang: ServedMadang, monkeypatch: pytest.MonkeyPatch, became: str, press: str, shown: str
) -> None:
    async with asking(madang, COLOURS) as (host, id):
        if became == "expired":
            monkeypatch.setattr(clock, "now", lambda: datetime(2999, 1, 1, tzinfo=UTC))
        else:
            async with madang.another_door() as door:
                given = {"answer": "Green"} if became == "answered" else {"cancelled": True}
                await door.done("reply_prompt", messageId=id, **given)
        await host.frame.get_by_text("Blue").click()
        await host.frame.get_by_role("button", name=press).click()

        status = host.frame.get_by_role("status")
        await expect(status).to_have_text("This question was closed before your answer came. Nothing was changed.")
        await expect(status).to_have_class("error")
        await expect(host.frame.locator("main")).to_contain_text(f"Which colour? {shown}", use_inner_text=True)
        await expect(host.frame.locator("form, button:visible")).to_have_count(0)
        await expect(host.frame.locator("h1")).to_be_focused()
        assert [name for name, _ in host.calls] == ["reply_prompt", "get_prompt"]
        assert host.messages == []

        assert (await kept(madang, id))["status"] == became


async def test_a_refused_answer_leaves_the_form_and_what_was_typed(madang: ServedMadang) -> None:
    async with asking(madang, NAME) as (host, id):
        long = "x" * 20_001
        await host.frame.get_by_role("textbox").fill(long)
        await host.frame.get_by_role("button", name="Send").click()

        await expect(host.frame.get_by_role("status")).to_have_text(
            "That was not accepted. Please check what you entered."
        )
        await expect(host.frame.get_by_role("textbox")).to_have_value(long)
        await expect(host.frame.get_by_role("button", name="Send")).to_be_enabled()

    assert (await kept(madang, id))["status"] == "pending"


async def test_a_question_whose_page_was_stripped_off_is_fetched(linked: ServedMadang) -> None:
    """Some hosts hand on the data of a result and not its `_meta`."""
    result = await linked.call_tool("prompt_user", COLOURS)
    id = result["structuredContent"]["messageId"]
    del result["_meta"]
    async with linked.showing(tool="prompt_user", result=result, tool_input=COLOURS) as host:
        await host.frame.get_by_text("Green").click()
        await host.frame.get_by_role("button", name="Send").click()

        await expect(host.frame.locator(".answer")).to_have_text("Green")
        assert host.calls == [
            ("get_prompt", {"messageId": id}),
            ("reply_prompt", {"messageId": id, "answer": "Green"}),
        ]

    async with linked.showing(tool="prompt_user", result={}, tool_input=COLOURS) as host:
        await host.settle()
        assert host.calls == []


async def test_a_chart_whose_page_was_stripped_off_is_drawn_again(linked: ServedMadang) -> None:
    chart = {"type": "bar", "title": "Orders", "data": [{"label": "May", "value": 3}]}
    result = await linked.call_tool("visualize_data", chart)
    del result["_meta"]
    async with linked.showing(tool="visualize_data", result=result, tool_input=chart) as host:
        await expect(host.frame.get_by_role("img", name="Orders")).to_be_visible()

        assert host.calls == [("visualize_data", chart)]


async def test_a_wait_whose_page_was_stripped_off_is_fetched(linked: ServedMadang) -> None:
    wait = {"message": "Plug it in"}
    result = await linked.call_tool("wait_for_user", wait)
    id = result["structuredContent"]["waitId"]
    del result["_meta"]
    async with linked.showing(tool="wait_for_user", result=result, tool_input=wait) as host:
        await host.frame.get_by_role("button", name="Continue").click()

        await expect(host.frame.get_by_text("Continued.")).to_be_visible()
        assert host.calls == [("get_prompt", {"messageId": id}), ("resume_from_wait", {"waitId": id})]


async def test_a_wait_that_expired_says_so_at_the_first_try(
    madang: ServedMadang, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = await madang.call_tool("wait_for_user", {"message": "Plug it in"})
    async with madang.showing(tool="wait_for_user", result=result) as host:
        monkeypatch.setattr(clock, "now", lambda: datetime(2999, 1, 1, tzinfo=UTC))
        await host.frame.get_by_role("button", name="Continue").click()

        status = host.frame.get_by_role("status")
        await expect(status).to_have_text("This wait was over before you continued. Nothing was changed.")
        await expect(host.frame.get_by_text("This wait has expired.")).to_be_visible()
        await expect(host.frame.get_by_role("button")).to_have_count(0)


async def test_reading_a_question_shows_no_page_by_itself(madang: ServedMadang) -> None:
    """A model that looks for the answer again and again must not fill the chat with forms."""
    asked = await madang.call_tool("prompt_user", COLOURS)
    read = await madang.call_tool("get_prompt", {"messageId": asked["structuredContent"]["messageId"]})

    assert [part["type"] for part in read["content"]] == ["text"]
    assert "ui/resourceUri" not in (await madang.listed_tool("get_prompt")).get("_meta", {})


async def test_sending_what_somebody_else_sent_before_shows_the_answer(madang: ServedMadang) -> None:
    async with asking(madang, COLOURS) as (host, id):
        async with madang.another_door() as door:
            await door.done("reply_prompt", messageId=id, answer="Green")
        await host.frame.get_by_text("Green").click()
        await host.frame.get_by_role("button", name="Send").click()

        await expect(host.frame.locator(".answer")).to_have_text("Green")


async def test_a_wait_goes_on_with_a_click(madang: ServedMadang) -> None:
    result = await madang.call_tool("wait_for_user", {"message": "Plug it in", "resumeInstruction": "Then I print."})
    id = result["structuredContent"]["waitId"]
    async with madang.showing(tool="wait_for_user", result=result) as host:
        await expect(host.frame.locator("h1")).to_have_text("Plug it in")
        await expect(host.frame.get_by_text("Then I print.")).to_be_visible()
        await host.frame.locator("h1").focus()
        await host.page.keyboard.press("Tab")
        await host.page.keyboard.press("Enter")

        await expect(host.frame.get_by_text("Continued.")).to_be_visible()
        await expect(host.frame.get_by_role("button")).to_have_count(0)
        assert host.calls == [("resume_from_wait", {"waitId": id})]


async def test_the_hosts_model_is_told_where_the_host_takes_messages(linked: ServedMadang) -> None:
    host = linked.host(host_capabilities=TAKES_MESSAGES)
    async with asking(linked, COLOURS, host) as (_, id):
        await host.frame.get_by_text("Blue").click()
        await host.frame.get_by_role("button", name="Send").click()
        (answered,) = await host.recorded("message")
    host = linked.host(host_capabilities=TAKES_MESSAGES)
    async with asking(linked, COLOURS, host) as (_, cancelled_id):
        await host.frame.get_by_role("button", name="Skip").click()
        (cancelled,) = await host.recorded("message")
    host = linked.host(host_capabilities=TAKES_MESSAGES)
    waiting = await linked.call_tool("wait_for_user", {"message": "Plug it in"})
    async with linked.showing(host, tool="wait_for_user", result=waiting):
        await host.frame.get_by_role("button", name="Continue").click()
        (ready,) = await host.recorded("message")

    assert [said["content"][0]["text"] for said in (answered, cancelled, ready)] == [
        f"I answered question {id}. Please read the answer with get_prompt and go on.",
        f"I do not want to answer question {cancelled_id}.",
        f"I am ready. Please continue (wait {waiting['structuredContent']['waitId']}).",
    ]


async def test_a_skipped_question_can_be_asked_for_again_once(linked: ServedMadang) -> None:
    async with asking(linked, COLOURS, linked.host(host_capabilities=TAKES_MESSAGES)) as (host, id):
        await host.frame.get_by_role("button", name="Skip").click()
        await host.frame.get_by_role("button", name="Answer after all").click()
        said = await host.recorded("message", 2)

        await expect(host.frame.get_by_role("status")).to_have_text("The assistant was asked to ask again.")
        await expect(host.frame.get_by_role("button")).to_have_count(0)
        assert said[1]["content"][0]["text"] == f"I want to answer question {id} after all. Please ask it again."
        assert await answer_of(linked, id) == ("cancelled", "")


async def test_nobody_is_offered_to_answer_after_all_where_no_message_is_taken(madang: ServedMadang) -> None:
    async with asking(madang, COLOURS) as (host, _):
        await host.frame.get_by_role("button", name="Skip").click()
        await expect(host.frame.get_by_text("You skipped this question.")).to_be_visible()

        await expect(host.frame.get_by_role("button")).to_have_count(0)


async def test_an_answer_that_failed_is_not_told_to_the_model(linked: ServedMadang) -> None:
    async with asking(linked, COLOURS, linked.host(host_capabilities=TAKES_MESSAGES)) as (host, id):
        async with linked.another_door() as door:
            await door.done("reply_prompt", messageId=id, cancelled=True)
        await host.frame.get_by_text("Blue").click()
        await host.frame.get_by_role("button", name="Send").click()
        await expect(host.frame.get_by_text("You skipped this question.")).to_be_visible()
        await host.settle()

        assert host.messages == []


async def test_hostile_texts_are_shown_as_text(madang: ServedMadang) -> None:
    hostile = " ".join(HOSTILE)
    text = {"prompt": hostile, "type": "text", "placeholder": " ".join(HOSTILE[i] for i in (0, 1, 3))}
    async with asking(madang, text) as (host, id):
        await expect(host.frame.get_by_role("textbox")).to_have_attribute("placeholder", text["placeholder"])
        await host.frame.get_by_role("textbox").fill(hostile)
        await host.frame.get_by_role("button", name="Send").click()
        await expect(host.frame.locator(".answer")).to_have_text(hostile)
        await harmless(host)
    assert await answer_of(madang, id) == ("answered", hostile)

    for type in ("select", "multiselect"):
        async with asking(madang, {"prompt": hostile, "type": type, "options": HOSTILE}) as (host, id):
            await expect(host.frame.locator("label")).to_have_text(HOSTILE)
            for label in await host.frame.locator("label").all():
                await label.click()
            await host.frame.get_by_role("button", name="Send").click()
            answer = HOSTILE if type == "multiselect" else HOSTILE[-1:]
            await expect(host.frame.locator(".answer")).to_have_text(answer)
            await harmless(host)
        assert await answer_of(madang, id) == ("answered", HOSTILE if type == "multiselect" else HOSTILE[-1])

    waiting = await madang.call_tool("wait_for_user", {"message": hostile, "resumeInstruction": hostile})
    async with madang.showing(tool="wait_for_user", result=waiting) as host:
        await expect(host.frame.locator("h1")).to_have_text(hostile)
        await expect(host.frame.locator("p.soft")).to_have_text(hostile)
        await harmless(host)


async def harmless(host: EmbeddingHost) -> None:
    assert await host.view.evaluate("typeof window.__pwned") == "undefined"
    assert await host.view.evaluate("document.querySelectorAll('main :is(img, script, b)').length") == 0
    assert host.requests == []


SHOWN: dict[Locale, list[tuple[str, dict[str, Any]]]] = {
    "en": [
        ("text", {"prompt": "What should the release be called?", "type": "text", "placeholder": "A short name"}),
        (
            "select",
            {
                "prompt": "Three tests fail on the release branch.\nWhat should I do?",
                "type": "select",
                "options": [
                    "Fix them first",
                    "Release anyway, and note them in the changelog as known problems that the next version mends",
                    "Stop and tell the team",
                ],
            },
        ),
        (
            "multiselect",
            {
                "prompt": "Who should get the report?",
                "type": "multiselect",
                "options": ["Design", "Engineering", "Finance", "Support"],
            },
        ),
    ],
    "ko": [
        ("text", {"prompt": "이번 릴리스의 이름을 무엇으로 할까요?", "type": "text", "placeholder": "짧은 이름"}),
        (
            "select",
            {
                "prompt": "릴리스 브랜치에서 테스트 세 개가 실패합니다.\n어떻게 할까요?",
                "type": "select",
                "options": [
                    "먼저 고치기",
                    "그대로 릴리스하고, 다음 버전에서 고칠 알려진 문제로 변경 기록에 적어 두기",
                    "멈추고 팀에 알리기",
                ],
            },
        ),
        (
            "multiselect",
            {
                "prompt": "보고서를 누구에게 보낼까요?",
                "type": "multiselect",
                "options": ["디자인", "개발", "재무", "지원"],
            },
        ),
    ],
}


@pytest.mark.parametrize("width", [320, 1200])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en", "ko"])
async def test_everything_fits_in_either_language_theme_and_width(
    browser: Browser, tmp_path: Path, artefacts: Path, locale: Locale, theme: str, width: int
) -> None:
    def picture(name: str) -> Path:
        return artefacts / f"prompt-{name}-{locale}-{theme}-{width}.png"

    async with open_served(browser, tmp_path, APPS, locale=locale) as madang:
        for name, question in SHOWN[locale]:
            async with asking(madang, question, madang.host(width=width), color_scheme=theme) as (host, _):
                await large_targets(host, width)
                await host.frame.locator("h1").focus()
                await host.page.keyboard.press("Tab")
                if name == "text":
                    await host.screenshot(picture(name))
                    await host.frame.get_by_role("textbox").fill("마당 1.0")
                else:
                    await host.frame.locator("label").nth(1).click()
                    await host.screenshot(picture(name))
                await host.frame.locator(".main").click()
                await expect(host.frame.locator(".answer").first).to_be_visible()
                await fits(host, width)
                await host.screenshot(picture(f"{name}-answered"))
        waiting = {"message": question["prompt"], "resumeInstruction": question["options"][0]}
        result = await madang.call_tool("wait_for_user", waiting)
        async with madang.showing(
            madang.host(width=width), tool="wait_for_user", result=result, color_scheme=theme
        ) as host:
            await expect(host.frame.locator(".main")).to_be_visible()
            await large_targets(host, width)
            await host.screenshot(picture("wait"))


async def test_long_texts_and_a_hundred_options_fit_a_narrow_screen(linked: ServedMadang) -> None:
    options = ["x" * 500, "한국어 " * 60, *(f"Option {number}" for number in range(98))]
    question = {"prompt": "y" * 4000, "type": "multiselect", "options": options}
    async with asking(linked, question, linked.host(width=320)) as (host, _):
        await large_targets(host, 320)


async def large_targets(host: EmbeddingHost, width: int) -> None:
    await fits(host, width)
    for field in await host.frame.locator("label, textarea").all():
        box = await field.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
