"""The panels beside the chat: opening one with very much in it against one with little, and how soon a change shows."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

from mcp import Client, StdioServerParameters
from playwright.async_api import CDPSession, Page

from benchmarks.harness import Effort, Finding, Goal, Side, compare, interleave
from benchmarks.web import come_in, main_thread_s, opened, sampled, tab, until
from benchmarks.web_host import HostClient, SpokenModel
from madang.agent_app import Agent
from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.host_app import WebHost
from madang.services.content.domain.contents import Chunk, Limits, NewContent
from madang.services.content.store import ContentStore

MAX_RATIO = 1.5
MAX_DELAY_S = 0.2
MAX_DELAY_FROM_ELSEWHERE_S = 1.0
CHANGES = 15

_SELECT_TAB = """(name) =>
    [...document.querySelectorAll('.panel [role=tab]')].find((one) => one.textContent === name).click()"""
_SHOWN_AT = """(words) => new Promise((resolve) => {
    const look = () => {
        if (document.querySelector('.panel .body')?.textContent.includes(words)) {
            observer.disconnect()
            resolve(performance.timeOrigin + performance.now())
        }
    }
    const observer = new MutationObserver(look)
    observer.observe(document.body, { subtree: true, childList: true, characterData: true })
    look()
})"""


@dataclass(frozen=True, slots=True)
class _Amount:
    """How much a session has in its panels."""

    files: int
    contents: int
    playbooks: int
    todos: int


MUCH = _Amount(20_000, 10_000, 1_000, 500)
LITTLE = _Amount(50, 50, 50, 50)
_ROWS = {"Plan": "Todo 1", "Playbooks": "Goal ", "Files": "file 000", "Contents": "content "}
"""What a panel has on its first screen."""


async def panels(effort: Effort) -> list[Finding]:
    """Opening each panel with much in it against one with little; then the delay of a change, from here and there."""
    rounds = max(3, effort.rounds // 2)
    findings: list[Finding] = []
    async with opened(SpokenModel()) as (host, client, browser):
        sessions = {amount: await _filled(host.agent, client, amount) for amount in (MUCH, LITTLE)}
        for name in _ROWS:
            sides: dict[_Amount, Side] = {}
            async with tab(browser) as (much_page, much_cdp), tab(browser) as (little_page, little_cdp):
                for amount, page, cdp in ((MUCH, much_page, much_cdp), (LITTLE, little_page, little_cdp)):
                    await come_in(page, client)
                    await _open_panels(page, client, sessions[amount])
                    sides[amount] = sampled(partial(_open_panel, page, cdp, name))
                    await sides[amount]()
                samples = await interleave(rounds, sides)
            what = f"web, open the panel {name} with {_told(name)} vs {_told(name, LITTLE)}"
            findings.append(compare(what, "cpu", "ms CPU", samples[MUCH], samples[LITTLE], Goal(MAX_RATIO)))
        findings += await _delays(host, client, browser)
    return findings


async def _delays(host: WebHost, client: HostClient, browser: Any) -> list[Finding]:
    session = await client.new_session("Changes")
    async with tab(browser, slowdown=1) as (page, _):
        await come_in(page, client)
        await _open_panels(page, client, session)
        await page.evaluate(_SELECT_TAB, "Plan")

        async def here(name: str) -> None:
            await client.post(f"/api/sessions/{session}/tools/add_todo", {"arguments": {"name": name}})

        inside = [await _delay_s(page, here, f"Here {number}.") for number in range(CHANGES)]
        async with _elsewhere(host, session) as other:

            async def elsewhere(name: str) -> None:
                await other.call_tool("add_todo", {"name": name})

            outside = [await _delay_s(page, elsewhere, f"Elsewhere {number}.") for number in range(CHANGES)]
    return [
        _bound("web, a change in the same process until a panel shows it", median(inside), MAX_DELAY_S),
        _bound("web, a change in another process until a panel shows it", median(outside), MAX_DELAY_FROM_ELSEWHERE_S),
    ]


async def _delay_s(page: Page, change: Any, name: str) -> float:
    """Return how long it takes from asking for a change until it is on the screen."""
    shown = asyncio.create_task(page.evaluate(_SHOWN_AT, name))
    await asyncio.sleep(0.2)  # it looks by now, and what the change before it caused is over
    started_s = time.time()
    _, shown_ms = await asyncio.gather(change(name), shown)
    return float(shown_ms) / 1000 - started_s


@asynccontextmanager
async def _elsewhere(host: WebHost, session: str) -> AsyncIterator[Client]:
    folder = str(host.agent.madang.settings.data_dir)
    arguments = ["-m", "madang", "mcp", "--data-dir", folder, "--session", session]
    async with Client(StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))) as client:
        await client.call_tool("get_current_state", {})
        yield client


async def _open_panels(page: Page, client: HostClient, session: str) -> None:
    await page.goto(f"{client.origin}/#/s/{session}")
    await until(page, "document.querySelector('.top') !== null")
    if not await page.evaluate("document.querySelector('.panel') !== null"):
        await page.keyboard.press("Control+.")
    await until(page, "document.querySelector('.panel [role=tab]') !== null")


async def _open_panel(page: Page, cdp: CDPSession, name: str) -> float:
    """Go to an empty panel, then to this one, and return what that took until its first rows are drawn."""
    await page.evaluate(_SELECT_TAB, "Work")
    await asyncio.sleep(0.4)
    before_s = await main_thread_s(cdp)
    await page.evaluate(_SELECT_TAB, name)
    await until(page, f"document.querySelector('.panel .body').textContent.includes({_ROWS[name]!r})")
    await asyncio.sleep(0.4)  # what follows the first picture belongs to it
    return await main_thread_s(cdp) - before_s


async def _filled(agent: Agent, client: HostClient, amount: _Amount) -> str:
    # Playbooks belong to an assistant.
    assistant = str((await client.post("/api/assistants", {"name": f"With {amount.playbooks}"}))["id"])
    fields = {"title": f"{amount.files} files", "assistantId": assistant}
    session: str = (await client.post("/api/sessions", fields))["id"]
    madang = agent.madang
    call = replace(madang.call("host"), session_id=SessionId(session), assistant_id=AssistantId(assistant))
    for number in range(1, amount.todos + 1):
        await _done(agent, call, "add_todo", name=f"Todo {number}")
    for number in range(amount.playbooks):
        await _done(agent, call, "create_playbook", goal=f"Goal {number}", workflow=[{"description": "Look"}])
    await _done(agent, call, "write_file", path="file 000.txt", content="x")
    folder = madang.folders.path(call) / "files"
    for number in range(1, amount.files):
        (folder / f"file {number:05}.txt").touch()
    await madang.provider.service_contexts(call)
    store = ContentStore(madang.database, Limits())
    for number in range(amount.contents):
        chunks = [Chunk(0, 1, 1, "text")]
        new = NewContent(f"{number:064}", f"content {number}.md", "text/markdown", 4, 1, "text", (), chunks)
        await store.add(call, "", new)
    return session


async def _done(agent: Agent, call: Call, tool: str, **arguments: Any) -> None:
    reply = await agent.madang.provider.execute_tool(call, tool, arguments)
    assert not reply.is_error, reply.text


def _told(name: str, amount: _Amount = MUCH) -> str:
    counts = {
        "Plan": (amount.todos, "todos"),
        "Playbooks": (amount.playbooks, "playbooks"),
        "Files": (amount.files, "files"),
        "Contents": (amount.contents, "contents"),
    }
    count, noun = counts[name]
    return f"{count:,} {noun}"


def _bound(what: str, value_s: float, bound_s: float) -> Finding:
    return Finding(
        f"{what}, vs {bound_s * 1000:g} ms", "ms", value_s * 1000, bound_s * 1000, value_s / bound_s, Goal(1)
    )
