"""What a run asks of the person, in the chat: every kind of question, and every way in which it ends."""

from __future__ import annotations

from playwright.async_api import expect

from tests.browser.chat import ChatTab, ask


async def test_a_text_question_is_answered_in_its_page(tab: ChatTab) -> None:
    await tab.start_session(ask("prompt_user", prompt="Which tea?", type="text"))
    await tab.expect_state("Your turn")
    question = tab.view("Question")
    await question.get_by_role("textbox").fill("oolong")
    await question.get_by_role("button", name="Send").click()

    await tab.expect_state("")
    await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()
    await tab.expect_said("oolong")
