"""The talk as it is read: its end stays in view while it grows, and nobody is pulled away from what they read."""

from __future__ import annotations

from playwright.async_api import expect

from tests.browser.chat import ChatTab, ask, frame_in

CHART = ask(
    "visualize_data", type="bar", title="Cups", data=[{"label": "Mon", "value": 3}, {"label": "Tue", "value": 5}]
)
QUESTION = ask("prompt_user", prompt="Which tea?", type="select", options=["oolong", "sencha", "assam"])

_IS_AT_END = """() => {
    const talk = document.querySelector(".talk")
    return talk !== null && talk.scrollHeight - talk.scrollTop - talk.clientHeight < 4
}"""
_FAR_FROM_END = """() => {
    const talk = document.querySelector(".talk")
    return talk.scrollHeight - talk.scrollTop - talk.clientHeight > 200
}"""


async def _draw_charts(tab: ChatTab, count: int = 2) -> None:
    await tab.start_session(CHART)
    for number in range(count):
        if number:
            await tab.write(CHART)
        await expect(tab.talk.locator("iframe")).to_have_count(number + 1)
    await expect(frame_in(tab.card("Chart").last).get_by_role("img", name="Cups")).to_be_attached()


async def test_the_end_stays_in_view_while_pages_grow(tab: ChatTab) -> None:
    await _draw_charts(tab)
    await tab.write(QUESTION)

    await expect(tab.view("Question").get_by_role("button", name="Send")).to_be_in_viewport()
    await tab.page.wait_for_function(_IS_AT_END)


async def test_reading_further_up_is_not_disturbed_until_one_writes(tab: ChatTab) -> None:
    await _draw_charts(tab)
    await tab.page.wait_for_function(_IS_AT_END)
    await tab.talk.hover()
    await tab.page.mouse.wheel(0, -5000)
    await tab.page.wait_for_function(_FAR_FROM_END)

    await tab.server.write(tab.session_id, "From elsewhere")
    await tab.expect_said("I read: From elsewhere")
    assert await tab.page.evaluate(_FAR_FROM_END)

    await tab.write("From here")
    await tab.expect_said("I read: From here")
    await tab.page.wait_for_function(_IS_AT_END)


async def test_a_column_made_narrow_does_not_cover_the_talk(tab: ChatTab) -> None:
    await tab.start_session("Hello")
    await expect(tab.page.get_by_role("complementary", name="Panel")).to_be_visible()

    await tab.page.set_viewport_size({"width": 375, "height": 812})
    await expect(tab.page.get_by_role("complementary", name="Panel")).to_have_count(0)
    await tab.button("Panel").click()
    await expect(tab.page.get_by_role("complementary", name="Panel")).to_be_visible()
    await tab.page.keyboard.press("Escape")
    await expect(tab.page.get_by_role("complementary", name="Panel")).to_have_count(0)

    await tab.page.set_viewport_size({"width": 1440, "height": 900})
    await expect(tab.page.get_by_role("complementary", name="Panel")).to_be_visible()
