"""What a run asks of the person, in the chat: every kind of question, and every way in which it ends."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.chat import ChatTab, ask, held, script, texts_of

OPTIONS = ["green", "oolong", "black"]
SCRIPT = script(
    held("The kettle is on", when="^Boil water"),
    {"when": "milk", "steps": [{"call": "prompt_user", "arguments": {"prompt": "Anything else?", "type": "text"}}]},
    {"when": "them again", "steps": [{"call": "show_playbooks"}]},
)


def question(**fields: Any) -> str:
    return ask("prompt_user", **{"prompt": "Which tea?", "type": "text", **fields})


async def last_answer(tab: ChatTab) -> str:
    """Return what the model said last: with an obedient one, what it had read."""
    return texts_of(await tab.server.messages(tab.session_id), "assistant")[-1]


async def expect_over(tab: ChatTab, chip: str, title: str = "Question") -> None:
    """Wait until the run is over, with a page that says how its question ended."""
    await expect(tab.card(title).get_by_text(chip, exact=True)).to_be_visible()
    await tab.expect_state("")


async def test_a_text_question_is_answered_in_its_page(tab: ChatTab) -> None:
    await tab.start_session(question())
    await tab.expect_state("Your turn")
    await expect(tab.page).to_have_title(re.compile(r"^\(\d+\) "))
    await tab.view("Question").get_by_role("textbox", name="Which tea?").fill("oolong\n마당 <b>")
    await tab.view("Question").get_by_role("button", name="Send").click()

    await expect_over(tab, "Answered")
    await expect(tab.page).to_have_title(re.compile(r"^(?!\()"))
    await expect(tab.view("Question").get_by_role("textbox")).to_have_count(0)
    read = await last_answer(tab)
    assert "> oolong\n> 마당 <b>\n" in read
    assert "Wait" not in read, "the model never sees the asking text"


async def test_one_of_several_options_is_chosen(tab: ChatTab) -> None:
    await tab.start_session(question(type="select", options=OPTIONS))
    await tab.view("Question").get_by_role("radio", name="oolong").check()
    await tab.view("Question").get_by_role("button", name="Send").click()

    await expect_over(tab, "Answered")
    assert [one for one in OPTIONS if one in await last_answer(tab)] == ["oolong"]


async def test_several_options_are_chosen(tab: ChatTab) -> None:
    await tab.start_session(question(type="multiselect", options=OPTIONS))
    for option in ("green", "black"):
        await tab.view("Question").get_by_role("checkbox", name=option).check()
    await tab.view("Question").get_by_role("button", name="Send").click()

    await expect_over(tab, "Answered")
    assert [one for one in OPTIONS if one in await last_answer(tab)] == ["green", "black"]


async def test_a_question_is_declined(tab: ChatTab) -> None:
    await tab.start_session(question())
    await tab.view("Question").get_by_role("button", name="Skip").click()

    await expect_over(tab, "Skipped")
    assert re.search("no answer|declined", await last_answer(tab))


async def test_a_question_expires(tab: ChatTab) -> None:
    await tab.start_session(question(timeoutS=1))

    await expect_over(tab, "Expired")
    assert re.search("no answer|expired", await last_answer(tab))


async def test_a_wait_ends_when_the_person_says_so(tab: ChatTab) -> None:
    await tab.start_session(ask("wait_for_user", message="Plug it in"))
    await tab.expect_state("Your turn")
    await expect(tab.view("Waiting for you").get_by_text("Plug it in")).to_be_visible()
    await tab.view("Waiting for you").get_by_role("button", name="Continue").click()

    await expect_over(tab, "Answered", "Waiting for you")


async def test_a_playbook_is_chosen_from_the_page(tab: ChatTab) -> None:
    session = await tab.start_session()
    await tab.server.call_tool(session, "create_playbook", goal="Brew tea", workflow=[])
    await tab.write(ask("show_playbooks"))
    await tab.expect_state("Your turn")
    await tab.view("Playbooks").get_by_role("button", name="Select: Brew tea").click()

    await expect_over(tab, "Answered", "Playbooks")
    assert "has been selected for execution" in await last_answer(tab)


async def test_with_three_questions_open_each_answer_reaches_its_own_call(tab: ChatTab) -> None:
    await tab.start_session("\n".join(question(prompt=f"Question {number}?") for number in (1, 2, 3)))
    await expect(tab.card("Question")).to_have_count(3)
    for number in (2, 3, 1):
        card = tab.card("Question").nth(number - 1)
        await expect(card.get_by_text("Your turn")).to_be_visible()
        view = card.frame_locator("iframe").frame_locator("iframe")
        await view.get_by_role("textbox", name=f"Question {number}?").fill(f"answer {number}")
        await view.get_by_role("button", name="Send").click()
        await expect(card.get_by_text("Answered", exact=True)).to_be_visible()

    await tab.expect_state("")
    read = await last_answer(tab)
    assert re.search("answer 1.*answer 2.*answer 3", read, re.DOTALL)


async def test_a_message_instead_of_an_answer_and_the_answer_after_all(tab: ChatTab) -> None:
    await tab.start_session(question())
    await tab.expect_state("Your turn")
    await tab.write("Is there any milk?")
    await expect(tab.card("Question")).to_have_count(2)
    await expect(tab.page.get_by_text("2 waiting for an answer")).to_be_visible()
    first = tab.card("Question").first
    await first.frame_locator("iframe").frame_locator("iframe").get_by_role("textbox").fill("oolong")
    await first.frame_locator("iframe").frame_locator("iframe").get_by_role("button", name="Send").click()

    await tab.expect_state("")
    await expect(first.get_by_text("Answered", exact=True)).to_be_visible()
    await expect(tab.talk.get_by_text("Answered later")).to_have_count(1)
    read = await last_answer(tab)
    assert "Which tea?" in read
    assert "oolong" in read


async def test_a_question_outlives_its_run_and_its_answer_starts_another(tab: ChatTab) -> None:
    await tab.start_session(question())
    await tab.expect_state("Your turn")
    await tab.write("Tell me about coffee")
    await tab.expect_state("")
    await tab.page.reload()
    await tab.view("Question").get_by_role("textbox", name="Which tea?").fill("pu-erh")
    await tab.view("Question").get_by_role("button", name="Send").click()
    await expect(tab.talk.get_by_text("Answered later")).to_have_count(1)

    await expect_over(tab, "Answered")
    assert "pu-erh" in await last_answer(tab)


async def test_a_stop_withdraws_what_the_run_has_asked(tab: ChatTab) -> None:
    await tab.start_session(question())
    await tab.expect_state("Your turn")
    await tab.server.request("POST", f"/api/sessions/{tab.session_id}/stop", {})

    await expect_over(tab, "Withdrawn")
    await expect(tab.view("Question").get_by_role("button", name="Send")).to_have_count(0)


async def test_what_is_written_can_be_sent_as_the_answer(tab: ChatTab) -> None:
    await tab.start_session(question())
    await expect(tab.page.get_by_text("1 waiting for an answer")).to_be_visible()
    await expect(tab.button("Send as the answer")).to_have_count(0)
    await tab.composer.fill("pu-erh")
    await tab.button("Send as the answer").click()

    await expect_over(tab, "Answered")
    assert "pu-erh" in await last_answer(tab)
    assert texts_of(await tab.server.messages(tab.session_id), "user") == [question()]


async def test_playbooks_that_are_shown_again_supersede_those_before(tab: ChatTab) -> None:
    session = await tab.start_session()
    await tab.server.call_tool(session, "create_playbook", goal="Brew tea", workflow=[])
    await tab.write(ask("show_playbooks"))
    await tab.expect_state("Your turn")
    await tab.write("Show them again")
    await expect(tab.card("Playbooks")).to_have_count(2)

    await expect(tab.card("Playbooks").first.get_by_text("Another question came", exact=True)).to_be_visible()
    await expect(tab.card("Playbooks").last.get_by_text("Your turn", exact=True)).to_be_visible()
    await expect(tab.page.get_by_text("1 waiting for an answer")).to_be_visible()


async def test_a_message_while_it_works_is_queued_and_can_be_withdrawn(tab: ChatTab) -> None:
    await tab.start_session("Boil water")
    await tab.expect_said("The kettle is on")
    await tab.write("And toast")
    await tab.write("And jam")
    await expect(tab.page.get_by_text("Next turn")).to_have_count(2)
    await tab.button("Withdraw").first.click()

    await expect(tab.page.get_by_text("Next turn")).to_have_count(1)
    await expect(tab.page.get_by_text("And jam")).to_be_visible()
    await expect(tab.page.get_by_text("And toast")).to_have_count(0)
    await tab.expect_state("Running")


async def test_stop_ends_the_run_and_keeps_what_was_said(tab: ChatTab) -> None:
    await tab.start_session("Boil water")
    await tab.expect_said("The kettle is on")
    await tab.button("Stop").click()

    await tab.expect_said(re.compile("^Stopped$"))
    await tab.expect_state("")
    await tab.write("Hello again")
    await tab.expect_said("I read: Hello again")


async def test_stop_withdraws_what_is_open(tab: ChatTab) -> None:
    await tab.start_session(f"{question()}\n{question(prompt='Which cup?')}")
    await tab.expect_state("Your turn")
    await tab.server.request("POST", f"/api/sessions/{tab.session_id}/stop", {})

    await tab.expect_said(re.compile("^Stopped$"))
    await expect(tab.talk.get_by_text("Withdrawn", exact=True)).to_have_count(2)
    assert [item for item in await tab.server.inbox() if item["sessionId"] == tab.session_id] == []


# Approvals


async def start_approval(tab: ChatTab, *goals: str) -> str:
    """Let the model want something that other sessions notice, after it has read what cannot be trusted."""
    session = await tab.start_session(ask("keyword_similarity_search", query="tea"))
    await tab.expect_said(re.compile("^.*I read:"))
    await tab.write("\n".join(ask("create_playbook", goal=goal, workflow=[]) for goal in goals))
    await expect(tab.gate).to_be_visible()
    return session


async def kept_goals(tab: ChatTab, session: str) -> str:
    text: str = (await tab.server.call_tool(session, "list_playbooks", pageSize=100))["text"]
    return text


@pytest.mark.parametrize("allow", [True, False])
async def test_an_approval_is_decided_where_the_composer_stands(tab: ChatTab, allow: bool) -> None:
    goal = f"Approved {allow}"
    session = await start_approval(tab, goal)
    await expect(tab.composer).to_have_count(0)
    await expect(tab.gate.get_by_text(f'"goal": "{goal}"')).to_be_visible()
    await expect(tab.gate.locator("iframe")).to_have_count(0)
    assert goal not in await kept_goals(tab, session)
    await tab.gate.get_by_role("button", name="Allow once" if allow else "Decline").click()

    await expect(tab.gate).to_have_count(0)
    # The second answer: that the gate is gone comes before the run goes on.
    await tab.expect_said(re.compile("^.*I read:"), count=2)
    assert ("did not allow" in await last_answer(tab)) is not allow
    assert (goal in await kept_goals(tab, session)) is allow


async def test_several_approvals_come_one_after_another(tab: ChatTab) -> None:
    session = await start_approval(tab, "First of two", "Second of two")
    await expect(tab.gate).to_contain_text("First of two")
    await tab.gate.get_by_role("button", name="Decline").click()
    await expect(tab.gate).to_contain_text("Second of two")
    await tab.gate.get_by_role("button", name="Allow once").click()

    await tab.expect_state("")
    goals = await kept_goals(tab, session)
    assert "Second of two" in goals
    assert "First of two" not in goals


async def test_later_leaves_an_approval_in_the_inbox(tab: ChatTab) -> None:
    session = await start_approval(tab, "Postponed")
    await tab.gate.get_by_role("button", name="Later").click()
    await expect(tab.composer).to_be_visible()
    await expect(tab.page.get_by_text("1 waiting for approval")).to_be_visible()
    await tab.page.get_by_role("link", name=re.compile("^Inbox")).first.click()
    await tab.page.get_by_role("link", name=re.compile("create_playbook")).first.click()
    await expect(tab.gate).to_contain_text("Postponed")
    await tab.gate.get_by_role("button", name="Allow once").click()
    await expect(tab.gate).to_have_count(0)

    await tab.open(session)
    await tab.expect_state("")
    assert "Postponed" in await kept_goals(tab, session)


async def test_what_is_asked_each_time_is_not_offered_for_the_session(tab: ChatTab) -> None:
    await start_approval(tab, "For the session")
    await expect(tab.gate.get_by_role("button", name="Always in this session")).to_be_visible()
    await tab.gate.get_by_role("button", name="Decline").click()
    await expect(tab.gate).to_have_count(0)

    await tab.start_session(ask("read_file", path=".env"))
    await expect(tab.gate).to_contain_text("This is asked each time.")
    await expect(tab.gate.get_by_role("button", name="Allow once")).to_be_enabled()
    await expect(tab.gate.get_by_role("button", name="Always in this session")).to_have_count(0)
    await tab.gate.get_by_role("button", name="Decline").click()
    await expect(tab.gate).to_have_count(0)


PRESS_AT_ONCE = """
    new MutationObserver((_, observer) => {
        const buttons = document.querySelectorAll("[role=alertdialog] button[data-allows]")
        if (buttons.length === 0) return
        observer.disconnect()
        for (const button of buttons) button.click()
        setTimeout(() => { for (const button of buttons) button.click(); document.body.dataset.hasPressed = "" }, 50)
    }).observe(document.body, { childList: true, subtree: true })
"""


async def test_a_press_that_was_meant_for_what_stood_there_before_does_not_allow(tab: ChatTab) -> None:
    await tab.page.evaluate(PRESS_AT_ONCE)
    session = await start_approval(tab, "By haste")
    await expect(tab.page.locator("body[data-has-pressed]")).to_be_attached()
    await expect(tab.gate.get_by_role("button", name="Allow once")).to_be_enabled()
    assert "By haste" not in await kept_goals(tab, session)
    await tab.gate.get_by_role("button", name="Decline").click()
    await tab.expect_state("")


async def test_enter_never_allows(tab: ChatTab) -> None:
    session = await start_approval(tab, "By accident")
    await expect(tab.gate.get_by_role("button", name="Allow once")).to_be_enabled()
    await tab.page.keyboard.press("Enter")
    for name in ("Allow once", "Always in this session"):
        await tab.gate.get_by_role("button", name=name).focus()
        await tab.page.keyboard.press("Enter")

    await expect(tab.gate).to_be_visible()
    assert "By accident" not in await kept_goals(tab, session)
    await tab.gate.get_by_role("button", name="Allow once").focus()
    await tab.page.keyboard.press("Space")
    await expect(tab.gate).to_have_count(0)
