"""Answers as they are drawn: no word of HTML is lost, emphasis is seen, also next to Korean."""

from __future__ import annotations

from playwright.async_api import Locator, expect

from tests.browser.chat import ChatTab


async def answer_to(tab: ChatTab, text: str) -> Locator:
    """Let the model say a text, and return where it is drawn."""
    await tab.start_session(text)
    await tab.expect_state("")
    answer = tab.talk.locator(".prose")
    await expect(answer).to_contain_text("I read:")
    return answer


async def test_html_is_read_as_it_was_written_and_breaks_break(tab: ChatTab) -> None:
    answer = await answer_to(
        tab, 'vector<int> v, H<sub>2</sub>O\n\n<div align="center">words</div>\n\n| a |\n|---|\n| one<br>two |'
    )
    for words in ("vector<int> v", '<div align="center">words</div>'):
        await expect(answer).to_contain_text(words)
    await expect(answer.locator("sub")).to_have_text("2")
    assert await answer.locator("td").inner_text() == "one\ntwo"


async def test_emphasis_is_seen_also_next_to_korean(tab: ChatTab) -> None:
    answer = await answer_to(tab, '**"인용"**입니다 *(기울임)*은 ~~"취소"~~는')
    await expect(answer.locator("strong")).to_have_text('"인용"')
    await expect(answer.locator("del")).to_have_text('"취소"')
    slanted = answer.locator("em")
    await expect(slanted).to_have_text("(기울임)")
    drawn = await slanted.screenshot()
    await slanted.evaluate("(one) => { one.style.fontStyle = 'normal' }")
    assert await slanted.screenshot() != drawn


async def test_the_heading_of_footnotes_is_not_seen(tab: ChatTab) -> None:
    answer = await answer_to(tab, "It rests[^1].\n\n[^1]: For some days.")
    heading = answer.get_by_role("heading", name="Footnotes")
    box = await heading.bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (1, 1)
