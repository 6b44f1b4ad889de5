"""The chat in a real Chromium, four times slower than it is: its first load, a long answer as it streams, and opening a
long session. What a tab costs is the processor time of its main thread; elapsed time says more about the neighbours."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

from playwright.async_api import Browser, CDPSession, Page

from benchmarks.harness import Effort, Finding, Goal, Sample, Side, compare, interleave
from benchmarks.messages import ME, fill_session
from benchmarks.web_host import HostClient, SpokenModel, served_host
from madang.core.ids import SessionId
from madang.host_app import WebHost
from tests.browser.embedding import chromium

SLOWDOWN = 4
MAX_LOAD_BYTES = 250 * 1024
MAX_LOAD_CPU_S = 1.0
MIN_FRAMES = 30.0
WORDS = 5_000
STREAM_S = 12.0
PIECES = 600
"""Of the answer, which come every 20 ms: as fast as a model on a good day."""
FEW = 50
MANY = 5_000
OPEN_LIMIT_S = 60.0

_USABLE = "document.querySelector('textarea:not([disabled])') !== null"
_COUNT_FRAMES = """() => {
    const seen = []
    const count = (at) => { seen.push(at); requestAnimationFrame(count) }
    requestAnimationFrame(count)
    window.madangFrames = seen
}"""


async def load(effort: Effort) -> list[Finding]:
    """What is fetched until a talk and its panels are drawn, and what the main thread does until one can type."""
    rounds = max(3, effort.starts // 2)
    async with opened(SpokenModel("**Done.**")) as (host, client, browser):
        session = await client.new_session("One message")
        await client.post(f"/api/sessions/{session}/messages", {"text": "Go"})
        await host.agent.runner.wait_idle()
        fetched = await _fetched_bytes(browser, client, session)
        costs = [await _load_once(browser, client) for _ in range(rounds)]
    cpu_s = median(costs)
    return [
        _bound(
            f"web, first load with Markdown and panels, compressed, vs {MAX_LOAD_BYTES // 1024} KB",
            "KB",
            fetched / 1024,
            MAX_LOAD_BYTES / 1024,
        ),
        _bound(
            f"web, first load, main thread until usable at {SLOWDOWN} ×, vs {MAX_LOAD_CPU_S:g} s",
            "ms CPU",
            cpu_s * 1000,
            MAX_LOAD_CPU_S * 1000,
        ),
    ]


async def stream(effort: Effort) -> list[Finding]:
    """How many frames a second a tab draws while an answer of many words streams in, and in its last quarter."""
    rounds = max(1, effort.rounds // 7)
    async with opened(SpokenModel(_markdown(WORDS), PIECES, STREAM_S)) as (host, client, browser):
        samples = [await _stream_once(host, browser, client) for _ in range(rounds)]
    whole, end, cpu_s = (median(sample[name] for sample in samples) for name in ("whole", "end", "cpu"))
    what = f"web, {WORDS:,} words of Markdown in {STREAM_S:g} s at {SLOWDOWN} ×"
    # What other programs leave of the machine decides about frames; this one tells of ours alone.
    share = Finding(f"{what}, main thread", "s CPU", cpu_s, STREAM_S, cpu_s / STREAM_S, Goal(1, promised=False))
    return [
        _at_least(f"{what}, vs {MIN_FRAMES:g} frames a second", whole),
        _at_least(f"{what}, its last quarter, vs {MIN_FRAMES:g}", end),
        share,
    ]


async def messages(effort: Effort) -> list[Finding]:
    """Opening a long session in a tab that is there already, against a short one."""
    rounds = max(3, effort.rounds // 2)
    async with opened(SpokenModel()) as (host, client, browser):
        sessions = {count: await client.new_session(f"{count} messages") for count in (FEW, MANY)}
        empty = await client.new_session("Empty")
        for count, id in sessions.items():
            await fill_session(host.agent, replace(ME, session_id=SessionId(id)), count, is_summed_up=False)
        async with tab(browser) as (page, cdp):
            await come_in(page, client)
            opens = {
                count: partial(_open_session, page, cdp, empty, id, f"Message {count - 1} of")
                for count, id in sessions.items()
            }
            sides: dict[int, Side] = {count: sampled(open) for count, open in opens.items()}
            for side in sides.values():
                await side()  # chunks, styles, fonts
            samples = await interleave(rounds, sides)
    what = f"web, open a session of {MANY:,} messages vs {FEW}"
    return [compare(what, "cpu", "ms CPU", samples[MANY], samples[FEW], Goal(1.5))]


@asynccontextmanager
async def opened(model: SpokenModel) -> AsyncIterator[tuple[WebHost, HostClient, Browser]]:
    with tempfile.TemporaryDirectory(prefix="madang-bench-") as folder:
        async with served_host(Path(folder), model) as (host, client), chromium() as browser:
            assert host.has_front_end, "scripts/web builds it"
            yield host, client, browser


@asynccontextmanager
async def tab(browser: Browser, slowdown: int = SLOWDOWN) -> AsyncIterator[tuple[Page, CDPSession]]:
    """A tab of a browser that has nothing cached, with a clock on its main thread."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US")
    try:
        page = await context.new_page()
        cdp = await context.new_cdp_session(page)
        await cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
        await cdp.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
        yield page, cdp
    finally:
        await context.close()


async def main_thread_s(cdp: CDPSession) -> float:
    metrics = (await cdp.send("Performance.getMetrics"))["metrics"]
    (seconds,) = [metric["value"] for metric in metrics if metric["name"] == "TaskDuration"]
    return float(seconds)


async def until(page: Page, condition: str) -> None:
    # Asked from here, now and then: Playwright's own waiting runs in the page, at every frame.
    async with asyncio.timeout(OPEN_LIMIT_S):
        while not await page.evaluate(condition):  # noqa: ASYNC110 - what is waited for is in another process
            await asyncio.sleep(0.03)


async def come_in(page: Page, client: HostClient) -> None:
    await page.goto(await client.launch_url(), wait_until="commit")
    await until(page, _USABLE)


async def _load_once(browser: Browser, client: HostClient) -> float:
    async with tab(browser) as (page, cdp):
        before_s = await main_thread_s(cdp)
        await come_in(page, client)
        return await main_thread_s(cdp) - before_s


async def _fetched_bytes(browser: Browser, client: HostClient, session: str) -> int:
    """Return what the page and its assets are on the wire, until an answer and the panels beside it are drawn."""
    async with tab(browser, slowdown=1) as (page, cdp):
        urls: dict[str, str] = {}
        sizes: dict[str, int] = {}
        cdp.on("Network.responseReceived", lambda event: urls.update({event["requestId"]: event["response"]["url"]}))
        cdp.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
        await cdp.send("Network.enable")
        await come_in(page, client)
        await page.goto(f"{client.origin}/#/s/{session}")
        await until(page, "[...document.querySelectorAll('strong')].some((one) => one.textContent === 'Done.')")
        await until(page, "document.querySelector('aside [role=tablist]') !== null")
        return int(sum(size for id, size in sizes.items() if "/api/" not in urls.get(id, "/api/")))


async def _stream_once(host: WebHost, browser: Browser, client: HostClient) -> Sample:
    session = await client.new_session("Stream")
    async with tab(browser) as (page, cdp):
        await come_in(page, client)
        await page.goto(f"{client.origin}/#/s/{session}")
        await until(page, _USABLE)
        await asyncio.sleep(1.0)  # the stream is open, and what the tab does at its start is over
        before_s = await main_thread_s(cdp)
        await page.evaluate(_COUNT_FRAMES)
        await client.post(f"/api/sessions/{session}/messages", {"text": "Write"})
        await host.agent.runner.wait_idle()
        frames: list[float] = await page.evaluate("window.madangFrames")
        cpu_s = await main_thread_s(cdp) - before_s
    last = frames[-1] - STREAM_S * 1000 / 4
    return {"whole": _rate(frames), "end": _rate([at for at in frames if at >= last]), "cpu": cpu_s}


def _rate(frames: list[float]) -> float:
    return (len(frames) - 1) / (frames[-1] - frames[0]) * 1000


async def _open_session(page: Page, cdp: CDPSession, empty: str, session: str, words: str) -> float:
    """Go to an empty session, then to this one, and return what that took until its newest message is drawn."""
    await page.evaluate("(id) => { location.hash = `#/s/${id}` }", empty)
    await until(page, f"!document.body.textContent.includes({words!r})")
    await asyncio.sleep(0.5)
    before_s = await main_thread_s(cdp)
    await page.evaluate("(id) => { location.hash = `#/s/${id}` }", session)
    await until(page, f"document.body.textContent.includes({words!r})")
    await asyncio.sleep(0.5)  # what follows the first picture belongs to it
    return await main_thread_s(cdp) - before_s


def sampled(work: Callable[[], Awaitable[float]]) -> Side:
    async def side() -> Sample:
        return {"cpu": await work() * 1000}

    return side


_PROSE = (
    "Tea is **dried** and rolled, and *then* it rests for some days in a cool and dry place, as [the book]"
    "(https://example.org/tea) says of it. Nobody counts the hours, because nobody has to: the leaves change their "
    "colour slowly, from the edge to the middle, and whoever looks at them twice a day with `patience` sees it in time."
)
_LIST = "- first the leaves, as many as fit on a spoon\n- then the water, boiled and cooled\n- then a while of nothing"
_TABLE = "| tea | minutes | degrees |\n|---|---|---|\n| green | 2 | 70 |\n| black | 4 | 95 |\n| white | 3 | 80 |"
_CODE = "```python\ndef brew(tea: str, minutes: int) -> str:\n    return f'{tea} after {minutes} minutes'\n```"


def _markdown(words: int) -> str:
    """Return an answer of so many words as people get them: paragraphs under headings, lists, and now and then a table
    or some code."""
    blocks: list[str] = []
    count = number = 0
    while count < words:
        number += 1
        section = [f"## Part {number}", _PROSE, _PROSE, _LIST, _TABLE if number % 2 else _CODE]
        blocks += section
        count += len(re.findall(r"[a-zA-Z]+", " ".join(section)))
    return "\n\n".join([*blocks, "That is all."])


def _bound(what: str, unit: str, value: float, bound: float) -> Finding:
    return Finding(what, unit, value, bound, value / bound, Goal(1))


def _at_least(what: str, frames: float) -> Finding:
    return Finding(what, "frames/s", frames, MIN_FRAMES, frames / MIN_FRAMES, Goal(1, at_least=True))
