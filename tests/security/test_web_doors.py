"""The doors of `madang web`: other sites, other names, other origins, forms, frames, and where secrets stay (T40-T43).

The pages of another site are real ones, in Chromium, under three names: one of another site, and two that are of the
same site as the chat and as its content, on another port. Chromium's own question before a page reaches this machine is
turned off: that is its bonus, and not our fence.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sqlite3
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after
from playwright.async_api import Browser, async_playwright, expect

from madang.host.static_files import host_policy
from tests.browser.chat import OBEDIENT, ChatServer, ask, serve_chat
from tests.browser.embedding import chromium, installed_browser
from tests.security.other_site import SEND, SUBMIT, another_site, hostile_page
from tests.security.served import Answer, read_answer
from tests.security.test_http import bad_hosts, bad_origins

EVIL = "evil.test"
SITES = {"another site": EVIL, "the chat's site": "127.0.0.1", "the content's site": "localhost"}
FLAGS = ("--disable-features=LocalNetworkAccessChecks", f"--host-resolver-rules=MAP {EVIL} 127.0.0.1")


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium(*FLAGS) as browser:
        yield browser


@pytest.fixture(scope="module")
async def chat(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ChatServer]:
    async with serve_chat(tmp_path_factory.mktemp("doors"), OBEDIENT) as server:
        yield server


async def request(
    server: ChatServer, method: str, target: str, headers: list[tuple[str, str]], body: bytes = b""
) -> Answer:
    """Send one request as it is written here, and read the answer."""

    def send() -> Answer:
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
            if body:
                lines.append(f"content-length: {len(body)}")
            connection.sendall("\r\n".join([*lines, "connection: close", "", ""]).encode("latin-1") + body)
            return read_answer(connection)

    return await asyncio.to_thread(send)


async def routes(server: ChatServer) -> list[tuple[str, str]]:
    """Return method and path of every route, with a session, a view and a question that are not there."""
    document = await server.request("GET", "/api/openapi.json")
    operations = [
        (method.upper(), re.sub(r"\{\w+\}", "x", path))
        for path, methods in document["paths"].items()
        for method in methods
    ]
    assert len(operations) > 15
    others = [
        ("GET", path) for path in ("/", "/assets/x.js", "/proxy", "/exports/x/y", "/nothing", "/api/openapi.json")
    ]
    return [*operations, *others, ("POST", "/mcp"), ("GET", "/mcp"), ("OPTIONS", "/api/me"), ("OPTIONS", "/mcp")]


KEPT = (
    "session",
    "message",
    "run",
    "queued_message",
    "pause",
    "event",
    "page_view",
    "todo",
    "content",
    "image_upload",
    "playbook",
)


def kept(server: ChatServer) -> dict[str, int]:
    """Return how many rows there are of what a request could make."""
    with closing(sqlite3.connect(server.data_dir / "madang.db")) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return {
            table: database.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
            for table in KEPT
            if table in tables
        }


def good_headers(server: ChatServer, method: str) -> list[tuple[str, str]]:
    headers = [("authorization", f"Bearer {server.token}"), ("accept", "application/json, text/event-stream")]
    return [*headers, *([("content-type", "application/json")] if method in ("POST", "PATCH") else [])]


def refused(answer: Answer, *statuses: int) -> None:
    assert answer.status in statuses, answer
    assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_t40_no_route_of_the_chat_answers_under_another_host(chat: ChatServer) -> None:
    await chat.new_session()
    before = kept(chat)
    for method, path in await routes(chat):
        body = b"{}" if method in ("POST", "PATCH") else b""
        for hosts in bad_hosts(chat.port).values():
            headers = [*(("Host", host) for host in hosts), *good_headers(chat, method)]
            refused(await request(chat, method, path, headers, body), 421, 400)
    assert kept(chat) == before


async def test_t40_no_route_of_the_chat_answers_to_another_origin(chat: ChatServer) -> None:
    """The content's own origin is another one, and so is `null`, which the pages in frames have."""
    before = kept(chat)
    origins = {**bad_origins(chat.port), "our content": [f"http://localhost:{chat.port}"]}
    for method, path in await routes(chat):
        body = b"{}" if method in ("POST", "PATCH") else b""
        for name in ("127.0.0.1", "localhost"):
            for origin in origins.values():
                headers = [("Host", f"{name}:{chat.port}"), *(("Origin", one) for one in origin)]
                refused(await request(chat, method, path, [*headers, *good_headers(chat, method)], body), 403)
    assert kept(chat) == before


async def test_t40_the_content_name_serves_content_alone(chat: ChatServer) -> None:
    """With the right token too: a script that ran there could ask for nothing."""
    for method, path in await routes(chat):
        body = b"{}" if method in ("POST", "PATCH") else b""
        headers = [("Host", f"localhost:{chat.port}"), *good_headers(chat, method)]
        answer = await request(chat, method, path, headers, body)
        expected = {"/proxy": (200,), "/exports/x/y": (404,), "/nothing": (401, 404)}.get(path, (421,))
        refused(answer, *expected)


async def test_t40_a_websocket_is_no_way_in(chat: ChatServer) -> None:
    upgrade = [("upgrade", "websocket"), ("connection", "upgrade"), ("sec-websocket-version", "13")]
    key = ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
    for path in ("/", "/mcp", "/api/me", "/api/sessions/x/events", "/proxy"):
        headers = [("Host", f"127.0.0.1:{chat.port}"), ("authorization", f"Bearer {chat.token}"), *upgrade, key]
        answer = await request(chat, "GET", path, headers)
        assert answer.status != 101, path


async def test_t41_a_name_rebound_to_this_machine_gets_nothing_of_the_chat(browser: Browser, chat: ChatServer) -> None:
    # Without the policy of the refusal, which keeps its page from asking at all.
    page = await browser.new_page(bypass_csp=True)
    try:
        for path in ("/", "/proxy", "/assets/main.js", "/api/me"):
            response = await page.goto(f"http://{EVIL}:{chat.port}{path}")
            assert response is not None
            assert response.status == 421
        for path, method in (("/api/me", "GET"), ("/api/launch", "POST"), ("/api/sessions", "POST"), ("/mcp", "POST")):
            status = await page.evaluate(
                """async ([path, method, token]) => {
                    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
                    const body = method === "POST" ? "{}" : undefined
                    return (await fetch(path, { method, headers, body })).status
                }""",
                [path, method, chat.token],
            )
            assert status == 421
    finally:
        await page.close()


@pytest.mark.parametrize("name", SITES.values(), ids=SITES)
async def test_t42_another_site_changes_nothing_and_reads_nothing(
    browser: Browser, chat: ChatServer, name: str
) -> None:
    session = await chat.new_session()
    targets = [
        ("/api/sessions", "{}"),
        (f"/api/sessions/{session}/messages", '{"text": "CALL add_todo {\\"name\\": \\"csrf\\"}"}'),
        (f"/api/sessions/{session}/tools/add_todo", '{"arguments": {"name": "csrf"}}'),
        (f"/api/sessions/{session}/uploads?name=a.txt", "csrf"),
        ("/api/launch-codes", "{}"),
        ("/mcp", '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'),
    ]
    before = kept(chat)
    async with another_site() as site, hostile_page(browser, site, name) as page:
        for host in ("127.0.0.1", "localhost"):
            for path, body in targets:
                url = f"http://{host}:{chat.port}{path}"
                assert await page.evaluate(SEND, [url, body]) == [], url
                for enctype in ("text/plain", "multipart/form-data", "application/x-www-form-urlencoded"):
                    await page.evaluate(SUBMIT, [url, body, enctype])
        for kind in ("img", "script", "link", "video", "object", "embed"):
            for path in ("/", "/api/me", f"/api/sessions/{session}/messages", "/api/openapi.json"):
                outcome = await page.evaluate(
                    """([kind, url]) => new Promise((resolve) => {
                        const one = document.createElement(kind)
                        one.onload = one.onloadeddata = () => resolve("loaded")
                        one.onerror = () => resolve("refused")
                        if (kind === "link") Object.assign(one, { rel: "stylesheet", href: url })
                        else one[kind === "object" ? "data" : "src"] = url
                        document.body.append(one)
                        if (kind === "video") setTimeout(() => resolve("nothing"), 500)
                    })""",
                    [kind, f"http://127.0.0.1:{chat.port}{path}"],
                )
                assert outcome != "loaded" or kind in ("object", "embed"), (kind, path)
        assert not [one for one in site.heard if chat.token in one]
    assert kept(chat) == before


@pytest.mark.parametrize("name", SITES.values(), ids=SITES)
async def test_t42_the_chat_and_its_proxy_are_framed_by_nobody_else(
    browser: Browser, chat: ChatServer, name: str
) -> None:
    async with another_site() as site, hostile_page(browser, site, name) as page:
        for url in (f"http://127.0.0.1:{chat.port}/", f"http://localhost:{chat.port}/proxy"):
            await page.evaluate(
                """(url) => new Promise((resolve) => {
                    const frame = document.createElement("iframe")
                    frame.onload = resolve
                    frame.src = url
                    document.body.append(frame)
                })""",
                url,
            )
            frame = page.frames[-1]
            # Chromium shows a page of its own in the place of one that may not be framed.
            assert await frame.evaluate("document.querySelector('#root, iframe') === null && origin") == "null"
            assert await page.evaluate("document.querySelector('iframe:last-of-type').contentDocument") is None


@pytest.mark.parametrize("name", SITES.values(), ids=SITES)
async def test_t42_a_window_that_opens_the_chat_has_no_hold_of_it(
    browser: Browser, chat: ChatServer, name: str
) -> None:
    """The token is in the storage of a tab: one that another opens, even with a launch code, is cut off from it."""
    async with another_site() as site, hostile_page(browser, site, name) as page:
        async with page.context.expect_page() as opening:
            await page.evaluate("(url) => { window.w = open(url) }", await chat.launch_url())
        opened = await opening.value
        await expect(opened.get_by_role("textbox", name="Message", exact=True)).to_be_visible()
        assert await opened.evaluate("[opener === null, name]") == [True, ""]
        # Cut off by the opener policy: to its opener it is closed, and it can be sent nothing and led nowhere.
        assert await page.evaluate("w.closed")
        assert await page.evaluate("() => { try { return String(w.document) } catch (e) { return e.name } }") in (
            "SecurityError",
            "null",
            "undefined",
        )
        await page.evaluate("() => { try { w.location = 'about:blank' } catch {} }")
        assert opened.url.startswith(f"http://127.0.0.1:{chat.port}/")


async def test_the_policies_are_sent_as_they_are_written(chat: ChatServer) -> None:
    host = await request(chat, "GET", "/", [("Host", f"127.0.0.1:{chat.port}")])
    proxy = await request(chat, "GET", "/proxy", [("Host", f"localhost:{chat.port}")])
    content = f"http://localhost:{chat.port}"
    nonce = host.headers["content-security-policy"].partition("'nonce-")[2].partition("'")[0]
    assert len(nonce) > 20
    assert (
        host.headers["content-security-policy"]
        == (
            f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; "
            f"img-src 'self' data: blob:; font-src 'self'; frame-src {content}; frame-ancestors 'none'; "
            "base-uri 'none'; "
            "form-action 'none'; require-trusted-types-for 'script'"
        )
        == host_policy(nonce, content)
    )
    assert proxy.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        f"form-action 'none'; frame-ancestors http://127.0.0.1:{chat.port}"
    )
    assert host.headers["cross-origin-opener-policy"] == "same-origin"
    assert host.headers["x-frame-options"] == "DENY"
    assert "x-frame-options" not in proxy.headers
    again = await request(chat, "GET", "/", [("Host", f"127.0.0.1:{chat.port}")])
    assert nonce not in again.headers["content-security-policy"]


async def test_every_answer_of_the_host_is_closed_to_others_also_a_refusal(chat: ChatServer) -> None:
    for method, path in await routes(chat):
        for name in ("127.0.0.1", "localhost", EVIL):
            # A stream that is let in does not end.
            for token in ("wrong",) if path == "/api/events" else (chat.token, "wrong"):
                headers = [("Host", f"{name}:{chat.port}"), ("authorization", f"Bearer {token}")]
                body = b"{}" if method in ("POST", "PATCH") else b""
                if body:
                    headers.append(("content-type", "application/json"))
                answer = await request(chat, method, path, headers, body)
                place = (method, path, name, answer.status)
                assert answer.headers.get("x-content-type-options") == "nosniff", place
                if answer.status != 200 or path != "/proxy":
                    assert answer.headers.get("cross-origin-resource-policy") == "same-origin", place
                assert answer.headers.get("referrer-policy") == "no-referrer", place
                assert "no-store" in answer.headers.get("cache-control", "") or path.startswith("/assets/"), place
                assert "set-cookie" not in answer.headers, place


async def test_t43_a_launch_code_is_used_up_and_nothing_of_it_or_the_token_stays(tmp_path: Path) -> None:
    """In the log, the data folder but for the file of the token, the archive, addresses, and the browser's history."""
    profile = tmp_path / "profile"
    async with serve_chat(tmp_path, OBEDIENT) as server, async_playwright() as playwright:
        url = await server.launch_url()
        context = await playwright.chromium.launch_persistent_context(
            profile, executable_path=installed_browser(), chromium_sandbox=os.geteuid() != 0
        )
        try:
            page = context.pages[0]
            requests: list[str] = []
            page.on("request", lambda one: requests.append(f"{one.url} {one.headers.get('referer', '')}"))
            await page.goto(url)
            composer = page.get_by_role("textbox", name="Message", exact=True)
            await composer.fill(ask("add_todo", name="x"))
            await composer.press("Enter")
            await expect(page.get_by_text("I read").first).to_be_visible()
            assert "launch" not in page.url
            assert await page.evaluate("performance.getEntries().map((one) => one.name).join(' ')") != ""
            traces = await page.evaluate(
                "[document.cookie, JSON.stringify(localStorage), document.documentElement.outerHTML, history.length,"
                " performance.getEntries().map((one) => one.name), name].join(' ')"
            )
            assert server.token not in traces
            code = url.partition("launch=")[2]
            assert not [one for one in requests if server.token in one or code in one.partition("#")[0]]
            second = await context.new_page()
            await second.goto(url)
            await expect(second.get_by_text("madang web").first).to_be_visible()
            assert await second.evaluate("sessionStorage.length") == 0
        finally:
            await context.close()
        for path in profile.glob("**/History*"):
            assert server.token.encode() not in path.read_bytes(), path
        assert server.token not in server.output
        token = server.token.encode()
        holders = [path.name for path in server.data_dir.rglob("*") if path.is_file() and token in path.read_bytes()]
        assert len(holders) == 1, holders
        (holder,) = server.data_dir.rglob(holders[0])
        assert holder.stat().st_mode & 0o077 == 0
        archive = tmp_path / "all.zip"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "madang", "export", "--all", str(archive), "--data-dir", str(server.data_dir)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        with fail_after(60):
            await process.communicate()
        with zipfile.ZipFile(archive) as files:
            assert files.namelist()
            assert not [name for name in files.namelist() if token in files.read(name)]


async def test_t43_a_code_ends_by_being_used_even_wrongly_and_cannot_be_guessed(chat: ChatServer) -> None:
    url = await chat.launch_url()
    code = url.partition("launch=")[2]
    headers = [("Host", f"127.0.0.1:{chat.port}"), ("content-type", "application/json")]

    async def launch(value: Any) -> int:
        return (await request(chat, "POST", "/api/launch", headers, json.dumps({"code": value}).encode())).status

    for wrong in ("", code[:-1], code + "x", code.lower() + "é", None, 5, [code], {"x": code}, "\x00", "가" * 1000):
        assert await launch(wrong) in (400, 403)
    assert [await launch(code), await launch(code)] == [200, 403]
