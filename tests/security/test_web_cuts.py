"""Cut connections, servers that end while an agent waits, wrong clocks, each with a tab open (T58, T59).

And whoever takes the port of a server that is gone.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, expect

from madang.llm.messages import Part, TextPart
from tests.agent.bench import Script, eventually, tool_call
from tests.browser.chat import OBEDIENT, UNREACHABLE, ChatServer, ChatTab, ask, open_tab, script, serve_chat, texts_of
from tests.browser.embedding import chromium
from tests.host.hosting import Tab, hosting
from tests.host.test_sessions import over

LOST = "The connection to Madang was lost"
WORDS = 120
WORDS_AT_ONCE = 6


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


# T58


async def test_t58_a_client_that_is_cut_after_every_event_reads_the_exact_remainder(tmp_path: Path) -> None:
    """While the run works, asks and goes on: each connection gives one event, and is left."""
    answers: list[list[Part]] = [
        [TextPart("First I write it down."), tool_call("add_todo", "c1", name="Buy tea")],
        [tool_call("prompt_user", "c2", prompt="Which tea?", type="text")],
        [TextPart("Good.")],
    ]
    model = Script(*answers)
    model.by_history = True
    async with hosting(tmp_path, script=model) as tab:
        session = await tab.new_session()
        cut: list[dict[str, Any]] = []
        await tab.write(session, "Help me")
        while not cut or cut[-1]["type"] != "RUN_FINISHED":
            after = cut[-1]["_id"] if cut else 0
            async with tab.events(session, after) as events:
                while (await events.next())["_id"] is None:
                    pass
            cut.append(events.seen[-1])
            if cut[-1].get("name") == "madang/pause":
                await answer_open(tab)
        await over(tab, session)
        async with tab.events(session) as events:
            await events.until("RUN_FINISHED")
        assert cut == events.stored()
        assert [one["_id"] for one in cut] == list(range(1, len(cut) + 1))


async def answer_open(tab: Tab) -> None:
    [item] = await tab.inbox()
    await tab.post(f"/api/inbox/{item['id']}", {"answer": "oolong"})


def words(first: int, count: int) -> str:
    return "".join(f"word{number} " for number in range(first, first + count))


def stream_slowly() -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    for first in range(0, WORDS, WORDS_AT_ONCE):
        steps += [{"say": words(first, WORDS_AT_ONCE)}, {"wait": 0.15}]
    return script({"when": "^Tell me", "steps": steps})


async def shown_words(tab: ChatTab) -> list[int]:
    return [int(one) for one in re.findall(r"word(\d+)", await tab.talk.inner_text())]


class Wire:
    """What is between a browser and the server, and can be cut."""

    def __init__(self) -> None:
        self.target_port = 0
        self.port = 0
        self._writers: set[asyncio.StreamWriter] = set()

    async def join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._pass_on(reader, far_writer), self._pass_on(far_reader, writer))
        self._writers -= {writer, far_writer}

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def laid_wire() -> AsyncIterator[Wire]:
    wire = Wire()
    listening = await asyncio.start_server(wire.join, "127.0.0.1", 0)
    wire.port = listening.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        listening.close()
        wire.cut()


async def test_t58_a_tab_that_is_cut_while_it_streams_loses_and_doubles_nothing(tmp_path: Path) -> None:
    async with (
        serve_chat(tmp_path, stream_slowly()) as server,
        laid_wire() as wire,
        chromium(f"--host-resolver-rules=MAP 127.0.0.1 127.0.0.1:{wire.port}") as browser,
    ):
        wire.target_port = server.port
        async with open_tab(browser, server) as tab:
            await tell_and_cut(tab, wire)


async def tell_and_cut(tab: ChatTab, wire: Wire) -> None:
    tab.recorder.expect(UNREACHABLE)
    session = await tab.start_session("Tell me")
    for target in (10, 35, 60, 85):
        await expect(tab.talk).to_contain_text(f"word{target} ")
        async with tab.page.expect_request("**/api/hello?*"):
            wire.cut()
        shown = await shown_words(tab)
        assert shown == list(range(len(shown)))
    await tab.expect_state("")
    await expect(tab.talk).to_contain_text(f"word{WORDS - 1}")
    assert await shown_words(tab) == list(range(WORDS))
    live = (await tab.talk.inner_text()).split()
    await tab.reload()
    await expect(tab.talk).to_contain_text(f"word{WORDS - 1}")
    assert (await tab.talk.inner_text()).split() == live
    assert [one["role"] for one in await tab.server.messages(session)] == ["user", "assistant"]


# T59


async def restart(tab: ChatTab, how: str, days: int) -> None:
    """End the server under its tab, and start it again with a clock that is so many days wrong."""
    await (tab.server.kill() if how == "SIGKILL" else tab.server.terminate())
    await expect(tab.page.get_by_text(LOST)).to_be_visible()
    tab.server.clock_days = days
    await tab.server.start()
    await expect(tab.page.get_by_text(LOST)).to_have_count(0)


async def waiting_session(server: ChatServer, *messages: str) -> str:
    """Return a session whose run waits for the person, past the browser."""
    session = await server.new_session()
    for message in messages[:-1]:
        await server.write(session, message)
        await finished(server, session)
    await server.write(session, messages[-1])
    await eventually(server.inbox, lambda items: session in [one["sessionId"] for one in items])
    return session


async def finished(server: ChatServer, session: str) -> list[str]:
    """Wait until a session's run is over, and return what the model said."""
    path = f"/api/sessions/{session}"
    await eventually(lambda: server.request("GET", path), lambda one: one["run"] is None)
    return texts_of(await server.messages(session), "assistant")


@pytest.mark.parametrize(("how", "days"), [("SIGTERM", 1), ("SIGKILL", -1)])
async def test_t59_what_waits_outlives_the_server_and_a_clock_that_is_wrong(
    browser: Browser, tmp_path: Path, how: str, days: int
) -> None:
    question = ask("prompt_user", prompt="Which tea?", type="text")
    async with serve_chat(tmp_path, OBEDIENT) as server, open_tab(browser, server) as tab:
        tab.recorder.expect(UNREACHABLE)
        settlements: dict[str, Any] = {
            await waiting_session(server, question): {"answer": "oolong"},
            await waiting_session(server, ask("wait_for_user", message="Plug it in")): {"answer": "done"},
            await waiting_session(
                server,
                ask("keyword_similarity_search", query="tea"),
                ask("create_playbook", goal="Brew tea", workflow=[]),
            ): {"allow": True},
        }
        own = await tab.start_session(question)
        field = tab.view("Question").get_by_role("textbox", name="Which tea?")
        await field.fill("half an answer")
        before = {one["id"]: one for one in await server.inbox()}
        assert len(before) == 4
        await restart(tab, how, days)

        after = await server.inbox()
        assert {one["id"]: one for one in after} == before, "nothing has expired, and nothing is asked anew"
        await tab.expect_state("Your turn")
        await expect(tab.card("Question")).to_have_count(1)
        await expect(field).to_have_value("half an answer")
        await field.fill("green")
        await tab.view("Question").get_by_role("button", name="Send").click()
        await expect(tab.card("Question").get_by_text("Answered", exact=True)).to_be_visible()
        await tab.expect_state("")
        for item in before.values():
            if item["sessionId"] != own:
                await server.request("POST", f"/api/inbox/{item['id']}", settlements[item["sessionId"]])
        for session in (own, *settlements):
            said = [text for text in await finished(server, session) if "I read:" in text]
            assert len(said) == (2 if settlements.get(session) == {"allow": True} else 1), said
        assert "green" in (await finished(server, own))[-1]
        assert await server.inbox() == []
        # The clock is set right again: what was answered stays answered, and nobody goes on twice.
        await restart(tab, how, 0)
        await tab.expect_state("")
        assert len([text for text in await finished(server, own) if "I read:" in text]) == 1
        await tab.expect_said(re.compile("I read:"))
        assert await server.inbox() == []


# Whoever takes the port


class Thief:
    """A program that listens where the server was. It keeps what it hears, and asks the real server what to say."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.page = ""
        self.real_port = 0

    def count(self, path: str) -> int:
        return sum(one.split(" ")[1].startswith(path) for one in self.heard)

    async def knocked(self, path: str, times: int) -> None:
        await eventually(lambda: asyncio.sleep(0, self.count(path)), lambda count: count >= times)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heard.append(request)
            status, kind, body = await self._answer(request.split(" ")[1])
            head = f"HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # browsers open connections that they may need
        finally:
            writer.close()

    async def _answer(self, target: str) -> tuple[int, str, bytes]:
        if target == "/" and self.page:
            return 200, "text/html", self.page.encode()
        if self.real_port and target.startswith("/api/hello"):
            async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.real_port}", timeout=60) as http:
                answer = await http.get(target)
                assert "proof" in answer.json()
                return answer.status_code, "application/json", answer.content
        return 404, "application/json", b"{}"


@asynccontextmanager
async def thief_at(port: int) -> AsyncIterator[Thief]:
    thief = Thief()
    listening = await asyncio.start_server(thief.answer, "127.0.0.1", port)
    try:
        yield thief
    finally:
        listening.close()


BORROW = """<script>
    const channel = new BroadcastChannel("madang.token")
    channel.onmessage = ({ data }) => { window.stolen = JSON.stringify(data) }
    channel.postMessage("wanted")
    window.stored = JSON.stringify(sessionStorage)
</script>"""


async def test_a_program_that_takes_the_port_of_a_server_that_is_gone_is_sent_no_token(
    browser: Browser, tmp_path: Path
) -> None:
    """Neither by a tab that waits for its server, nor by a page of its own that asks the tab, nor for what the real
    server says at another port."""
    async with serve_chat(tmp_path, OBEDIENT) as server, open_tab(browser, server) as tab:
        tab.recorder.expect(f"{UNREACHABLE}|status of 40")
        await tab.start_session("Good morning")
        await tab.expect_said(re.compile("I read: Good morning"))
        port, token = server.port, server.token
        await server.kill()
        await expect(tab.page.get_by_text(LOST)).to_be_visible()

        async with thief_at(port) as thief:
            await thief.knocked("/api/hello", 2)
            await tab.button("Now").click()
            await tab.composer.fill("Are you there?")
            await tab.composer.press("Enter")
            await expect(tab.page.get_by_role("status").filter(has_text="cannot be reached")).to_be_visible()
            await expect(tab.composer).to_have_value("Are you there?")
            asked = thief.count("/api/hello")
            await tab.page.keyboard.press("ControlOrMeta+k")  # its code was not loaded yet, and would be the thief's
            await thief.knocked("/api/hello", asked + 1)

            thief.page = BORROW
            page = await tab.page.context.new_page()
            asked = thief.count("/api/hello")
            await page.goto(f"http://127.0.0.1:{port}/")
            await thief.knocked("/api/hello", asked + 2)
            assert await page.evaluate("[window.stolen, window.stored]") == [None, "{}"]
            await page.close()

        # Nobody is there; then the server is back, and the tab goes on.
        await server.start()
        await expect(tab.page.get_by_text(LOST)).to_have_count(0)
        await expect(tab.page.get_by_role("dialog", name="Sessions, tools")).to_be_visible()
        await tab.page.keyboard.press("Escape")
        await tab.composer.press("Enter")
        await tab.expect_said(re.compile("I read: Are you there"))
        await server.kill()
        await expect(tab.page.get_by_text(LOST)).to_be_visible()

        async with thief_at(port) as relay:
            server.port = 0
            await server.start()
            relay.real_port = server.port
            assert server.port != port
            await expect(tab.page.get_by_role("alert")).to_contain_text("madang web")

        heard = [*thief.heard, *relay.heard]
        assert not [one for one in heard if "authorization" in one.lower() or token in one]
        assert {one.split(" ")[1].partition("?")[0] for one in heard} <= {"/api/hello", "/", "/favicon.ico"}


async def test_a_server_that_shows_that_it_knows_the_token_shows_nothing_of_it(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        headers = {"authorization": ""}
        proofs = set()
        for nonce in ("a" * 16, "a" * 17, "b" * 64):
            answer = await tab.http.get("/api/hello", params={"nonce": nonce}, headers=headers)
            assert answer.status_code == 200
            proofs.add(answer.json()["proof"])
            assert json.loads(answer.text).keys() == {"proof"}
        assert len(proofs) == 3
        for wrong in ("", "a" * 15, "a" * 65, "a" * 16 + "\n", "가" * 16, "a b" * 6):
            answer = await tab.http.get("/api/hello", params={"nonce": wrong}, headers=headers)
            assert answer.status_code == 400, wrong
