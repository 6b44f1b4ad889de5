"""One story in Firefox ESR: its rules for `localhost`, frames and policies are not Chromium's."""

from __future__ import annotations

from pathlib import Path

from tests.browser.chat import OBEDIENT, ask, serve_chat
from tests.browser.firefox import ENTER, firefox


async def test_a_person_signs_in_writes_and_answers_a_question_in_its_frame(tmp_path: Path) -> None:
    async with serve_chat(tmp_path, OBEDIENT) as server, firefox(tmp_path) as browser:
        await browser.open(await server.launch_url())
        composer = ".composer textarea"
        await browser.press(browser.tab, composer, ask("prompt_user", prompt="Which tea?", type="text") + ENTER)
        page = await browser.frame(0, 0)
        heading = await browser.find(page, "document.querySelector('h1')?.textContent || null")
        assert heading["value"] == "Which tea?"
        assert (await browser.find(page, "origin"))["value"] == "null"

        await browser.press(page, "textarea, input[type=text]", "Green")
        await browser.press(page, "button[type=submit], button")

        said = "[...document.querySelectorAll('.prose')].find((one) => one.textContent.includes('Green'))?.textContent"
        await browser.find(browser.tab, f"{said} ?? null")
        assert await server.inbox() == []
        location = await browser.find(browser.tab, "location.hash + document.title")
        assert "launch" not in location["value"]
