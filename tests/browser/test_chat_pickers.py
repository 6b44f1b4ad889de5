"""Pickers show what is in force: the first model that was added, the assistant that will answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, expect

from tests.agent.bench import eventually
from tests.browser.chat import OBEDIENT, ChatTab, open_tab, serve_chat
from tests.model_server import ModelServer, answers
from tests.model_wires import Say

TURN = "It is your turn to be the model"


def model_on(server: ModelServer, name: str) -> dict[str, Any]:
    return {"name": name, "url": f"http://127.0.0.1:{server.port}/v1", "model": f"{name}-1"}


async def shown(picker: Locator) -> str:
    """Return what a person reads in a picker."""
    await expect(picker).to_be_visible()
    text: str = await picker.evaluate("(select) => select.selectedOptions[0].textContent")
    return text


async def expect_shown(picker: Locator, text: str) -> None:
    await eventually(lambda: shown(picker), lambda now: now == text)


def model_picker(tab: ChatTab) -> Locator:
    return tab.page.get_by_role("combobox", name="Model", exact=True)


def assistant_picker(tab: ChatTab) -> Locator:
    return tab.page.get_by_role("combobox", name="Assistant of the new session")


async def assistant_of(tab: ChatTab) -> str:
    """Return whose the open session is."""
    await tab.page.wait_for_url("**/#/s/*")
    assistant: str = (await tab.server.request("GET", f"/api/sessions/{tab.session_id}"))["assistantId"]
    return assistant


async def test_the_first_model_that_is_added_answers_the_next_message(browser: Browser, tmp_path: Path) -> None:
    async with ModelServer() as models, serve_chat(tmp_path) as server, open_tab(browser, server) as tab:
        models.plays(answers(Say("Hello back.")))
        page, wanted = tab.page, model_on(models, "person")
        await tab.go("settings/models")
        await page.get_by_role("button", name="Add a model").click()
        await page.get_by_label("Name here").fill(wanted["name"])
        await page.get_by_label("Address", exact=True).fill(wanted["url"])
        await page.get_by_label("Model, as the server calls it").fill(wanted["model"])
        await page.get_by_role("button", name="Add", exact=True).click()
        await expect(page.get_by_role("radio", name="person")).to_be_checked()

        await page.get_by_role("link", name="New session").first.click()
        await expect_shown(model_picker(tab), "person-1")
        await expect(page.get_by_text("Connect a model")).to_have_count(0)
        await tab.write("Hello")
        await tab.expect_said("Hello back.")
        await expect(page.get_by_text(TURN)).to_have_count(0)


async def test_a_session_that_waits_for_the_person_goes_on_with_the_first_model(
    browser: Browser, tmp_path: Path
) -> None:
    async with ModelServer() as models, serve_chat(tmp_path) as server, open_tab(browser, server) as tab:
        models.plays(answers(Say("Hello back.")))
        await tab.start_session("Is anybody there?")
        await expect(tab.page.get_by_text(TURN).first).to_be_visible()
        await server.request("POST", "/api/models", model_on(models, "person"))
        await tab.write("And now?")
        await tab.expect_said("Hello back.")
        await expect(tab.page.get_by_text(TURN)).to_have_count(0)


@pytest.mark.parametrize(("locale", "nothing"), [("en", "Choose…"), ("ko", "고르기…")])
async def test_where_no_model_is_in_force_none_is_shown_as_chosen(
    browser: Browser, tmp_path: Path, locale: Any, nothing: str
) -> None:
    async with ModelServer() as models, serve_chat(tmp_path, locale=locale) as server:
        models.plays(answers(Say("Hello back.")))
        await server.request("POST", "/api/models", model_on(models, "first"))
        await server.request("POST", "/api/models", model_on(models, "second"))
        await server.request("POST", "/api/models/default", {"name": ""})
        async with open_tab(browser, server) as tab:
            picker = tab.page.locator(".composer select")
            assert await shown(picker) == nothing
            await picker.select_option("second")
            assert await shown(picker) == "second-1"
            await tab.write("Hello")
            await tab.expect_said("Hello back.")
        assert [request.body["model"] for request in models.requests] == ["second-1"]


async def test_the_assistant_that_is_shown_is_the_one_that_answers(browser: Browser, tmp_path: Path) -> None:
    async with serve_chat(tmp_path, OBEDIENT) as server:
        await server.request("POST", "/api/assistants", {"name": "Baker"})
        default = (await server.request("GET", f"/api/sessions/{await server.new_session()}"))["assistantId"]
        # One that was edited is in the list by its name, after others.
        version = (await server.request("GET", f"/api/assistants/{default}"))["version"]
        await server.request("PATCH", f"/api/assistants/{default}", {"version": version, "instructions": "Be brief."})
        async with open_tab(browser, server) as tab:
            await expect_shown(assistant_picker(tab), "Madang")
            await tab.write("Hello")
            await tab.expect_said("I read: Hello")
            assert await assistant_of(tab) == default

            await tab.page.get_by_role("link", name="New session").first.click()
            await assistant_picker(tab).select_option("Baker")
            await tab.write("Bread")
            await tab.expect_said("I read: Bread")
            assert await assistant_of(tab) == "Baker"
            await expect(tab.talk.get_by_text("Baker", exact=True)).to_be_visible()


async def test_files_that_are_attached_first_settle_the_assistant(browser: Browser, tmp_path: Path) -> None:
    async with serve_chat(tmp_path, OBEDIENT) as server:
        await server.request("POST", "/api/assistants", {"name": "Baker"})
        async with open_tab(browser, server) as tab:
            await assistant_picker(tab).select_option("Baker")
            file: Any = {"name": "rye.txt", "mimeType": "text/plain", "buffer": b"rye"}
            await tab.page.locator(".composer input[type=file]").set_input_files(file)
            await expect(assistant_picker(tab)).to_be_disabled()
            assert await shown(assistant_picker(tab)) == "Baker"
            await tab.reload()
            await expect(assistant_picker(tab)).to_be_disabled()
            assert await shown(assistant_picker(tab)) == "Baker"
            await tab.write("Bread")
            assert await assistant_of(tab) == "Baker"
            await tab.page.get_by_role("link", name="New session").first.click()
            await expect(assistant_picker(tab)).to_be_enabled()


async def test_an_assistants_own_model_is_shown_where_it_answers(browser: Browser, tmp_path: Path) -> None:
    async with ModelServer() as models, serve_chat(tmp_path) as server:
        models.plays(answers(Say("Hello back.")))
        for name in ("usual", "own"):
            await server.request("POST", "/api/models", model_on(models, name))
        baker = await server.request("POST", "/api/assistants", {"name": "Baker"})
        await server.request("PATCH", "/api/assistants/Baker", {"version": baker["version"], "model": "own"})
        async with open_tab(browser, server) as tab:
            await expect_shown(model_picker(tab), "usual-1")
            await assistant_picker(tab).select_option("Baker")
            await expect_shown(model_picker(tab), "own-1")
            await tab.write("Hello")
            await tab.expect_said("Hello back.")
            await expect_shown(model_picker(tab), "own-1")
        assert [request.body["model"] for request in models.requests] == ["own-1"]
