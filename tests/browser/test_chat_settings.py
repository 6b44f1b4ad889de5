"""Settings in the browser: models, keys that are never shown again, data, clients, language and theme."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.async_api import Browser, Route, expect

from tests.agent.bench import eventually
from tests.browser.chat import OBEDIENT, ChatServer, ChatTab, open_tab, serve_chat
from tests.wires import initialize_params

SECRET = "sk-canary-0123456789-never-seen"
SCREENS = (
    "assistants",
    "assistants/default",
    "settings",
    "settings/look",
    "settings/rules",
    "settings/data",
    "settings/clients",
)


@contextmanager
def models_on_loopback() -> Iterator[str]:
    """Serve a list of models; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b'{"data": [{"id": "qwen3:9b"}]}'
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


async def test_a_model_is_added_chosen_and_removed(tab: ChatTab) -> None:
    page = tab.page
    await tab.go("settings/models")
    with models_on_loopback() as url:
        await page.get_by_role("button", name="Add a model").click()
        await page.get_by_label("Name here").fill("mine")
        await page.get_by_label("Address", exact=True).fill(url)
        await page.get_by_label("Model, as the server calls it").fill("qwen3:9b")
        await page.get_by_role("button", name="Add", exact=True).click()
        choice = page.get_by_role("radio", name=re.compile("^mine"))
        await choice.check()
        await expect(choice).to_be_checked()
    assert (await tab.server.request("GET", "/api/models"))["default"] == "mine"
    await page.get_by_role("button", name="Remove: mine").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Remove").click()
    await expect(choice).to_have_count(0)


async def test_a_key_is_typed_kept_and_nowhere_on_the_page_afterwards(tab: ChatTab) -> None:
    page = tab.page
    await tab.go("settings/models")
    field = page.get_by_label("Key of Anthropic")
    await field.fill(SECRET)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Forget the key: Anthropic")).to_be_visible()
    await expect(field).to_have_value("")
    await tab.reload()
    await expect(field).to_be_visible()
    html = await page.content()
    assert SECRET not in html
    kept = await page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert SECRET not in kept

    await page.get_by_role("button", name="Forget the key: Anthropic").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Forget the key").click()
    await expect(page.get_by_role("button", name="Forget the key: Anthropic")).to_have_count(0)


async def test_the_size_of_the_data_comes_late_and_says_when_there_is_more(tab: ChatTab) -> None:
    page, is_counted = tab.page, asyncio.Event()

    async def count(route: Route) -> None:
        await is_counted.wait()
        answer = await route.fetch()
        size = {**await answer.json(), "isCut": True}
        await route.fulfill(response=answer, json=size)

    await page.route("**/api/data/size", count)
    await tab.go("settings/data")
    await expect(page.get_by_role("button", name="Download a backup")).to_be_enabled()
    folder = page.get_by_role("region", name="Data folder")
    await expect(folder).to_contain_text("Counting its size")
    is_counted.set()
    await expect(folder).to_contain_text(re.compile(r"At least [0-9.,]+ [KM]?B: database [0-9.,]+ [KM]?B, files 0"))


async def test_a_backup_is_downloaded_and_is_one(tab: ChatTab, tmp_path: Path) -> None:
    await tab.go("settings/data")
    async with tab.page.expect_download() as coming:
        await tab.page.get_by_role("button", name="Download a backup").click()
    download = await coming.value
    assert re.fullmatch(r"madang-backup-[0-9-]+\.zip", download.suggested_filename)
    await download.save_as(tmp_path / "backup.zip")
    assert "backup.json" in zipfile.ZipFile(tmp_path / "backup.zip").namelist()


async def test_everything_is_deleted_only_for_the_words(browser: Browser, tmp_path: Path) -> None:
    async with serve_chat(tmp_path, OBEDIENT) as server, open_tab(browser, server) as tab:
        page = tab.page
        await server.new_session(title="Tea")
        await tab.go("settings/data")
        await page.get_by_role("button", name="Delete everything …").click()
        dialog = page.get_by_role("alertdialog")
        button = dialog.get_by_role("button", name="Delete everything")
        await expect(button).to_be_disabled()
        await dialog.get_by_label("To confirm").fill("delete")
        await expect(button).to_be_disabled()
        await dialog.get_by_label("To confirm").fill("delete everything")
        tab.recorder.expect(".")  # the server is gone after this
        await button.click()
        await expect(page.get_by_text("Madang stops and deletes everything")).to_be_visible()

        async def is_there() -> bool:
            return (server.data_dir / "madang.db").exists()

        await eventually(is_there, lambda now: not now)


async def test_calls_of_a_foreign_client_show_as_a_session_of_its(tab: ChatTab, chat_server: ChatServer) -> None:
    """A program on the same data folder, over standard input and output."""
    await call_as_client(chat_server.data_dir, "Claude Desktop", "theirs", "add_todo", {"name": "Buy tea"})
    await tab.go("settings/clients")
    card = tab.page.get_by_role("region", name="Claude Desktop")
    await expect(card).to_contain_text("stdio")
    await card.get_by_role("button", name="Show the calls: From Claude Desktop").click()
    await expect(card.get_by_text("Added a to-do")).to_be_visible()
    await card.get_by_role("link", name="Open: From Claude Desktop").click()
    await expect(tab.page.get_by_role("heading", name="From Claude Desktop", level=1)).to_be_visible()
    await expect(tab.talk.get_by_text("Added a to-do")).to_be_visible()


async def test_language_and_theme_hold_at_once_and_after_a_reload(tab: ChatTab) -> None:
    page = tab.page
    await tab.go("settings/look")
    await page.get_by_role("button", name="Dark").click()
    await page.get_by_role("button", name="한국어").click()
    await expect(page.get_by_role("heading", name="설정", level=1)).to_be_visible()
    await tab.reload()
    await expect(page.get_by_role("heading", name="설정", level=1)).to_be_visible()
    assert await page.evaluate("document.documentElement.dataset.theme") == "dark"


async def test_a_korean_screen_has_no_english_sentence(browser: Browser, chat_server: ChatServer) -> None:
    async with open_tab(browser, chat_server, locale="ko-KR") as tab:
        for screen in SCREENS:
            await tab.go(screen)
            await expect(tab.page.get_by_role("heading", level=1)).to_be_visible()
            await expect(tab.page.locator("[aria-busy=true]")).to_have_count(0)
            text = await tab.page.locator("main").inner_text()
            sentences = re.findall(r"(?:\b[A-Za-z][a-z]+ ){3,}[a-z]+", text)
            assert sentences == [], (screen, sentences)


async def call_as_client(folder: Path, client: str, session: str, tool: str, arguments: dict[str, Any]) -> None:
    """Call a tool through `madang mcp` as a process, as a client of that name."""
    options = ("mcp", "--data-dir", str(folder), "--session", session)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "madang",
        *options,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    call = {"name": tool, "arguments": arguments}
    for message in (
        {"id": 1, "method": "initialize", "params": initialize_params(client)},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await process.stdin.drain()
        if "id" in message:
            async with asyncio.timeout(60):
                await process.stdout.readline()
    process.stdin.close()
    async with asyncio.timeout(60):
        await process.wait()
