"""Questions and charts: what a call costs beside an empty tool, and how large the pages are that hosts show."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.bare import bare_server
from benchmarks.harness import Effort, Finding, Goal, compare, interleave, repeated
from benchmarks.libraries import THOUSAND, prepare
from benchmarks.memory import Ask, streams
from benchmarks.stdio import NOTHING
from madang.app import Madang, open_madang
from madang.rendering import pages
from madang.server.mcp import McpServer
from madang.services.chart.domain.charts import CHART_TYPES
from madang.settings import Settings

POINTS = 10_000
# A chart takes milliseconds where an empty tool takes microseconds: a few are enough to measure.
FEWER = 25

SHELL_BYTES = 12 * 1024
PAGE_BYTES = 100 * 1000

WAVE = [{"label": f"t{n}", "value": math.sin(n / 200) * 100 + n * 7919 % 101 / 4} for n in range(POINTS)]
MONTHS = [{"label": f"2026-{n:02}", "value": n * 7 % 11 + 1} for n in range(1, 13)]
QUESTION = {"prompt": "Which city?", "type": "select", "options": ["서울", "부산", "대구"]}


async def calls(effort: Effort) -> list[Finding]:
    """CPU of a chart of many points, and of a question from being asked to its answer being read."""
    library = await prepare(THOUSAND)
    async with open_madang(Settings(data_dir=library.folder)) as madang:
        ours = McpServer(madang.provider, madang.call("python")).server
        async with streams(ours) as ask_ours, streams(bare_server()._lowlevel_server) as ask_bare:
            sides = {
                "question": repeated(lambda: _answered(ask_ours), effort.calls),
                "chart": repeated(lambda: ask_ours(_chart("line", WAVE)), max(effort.calls // FEWER, 1)),
                "bare": repeated(lambda: ask_bare(NOTHING), effort.calls),
            }
            for side in sides.values():
                await side()
            samples = await interleave(effort.rounds, sides)
        sizes = await _sizes(madang)
    rows = [
        ("question", "prompt_user, reply_prompt and get_prompt", Goal(QUESTION_GOAL, promised=False)),
        ("chart", f"visualize_data ({POINTS:,} points)", Goal(CHART_GOAL, promised=False)),
    ]
    return [
        *(
            compare(f"in memory, {name} vs an empty tool", "cpu", "µs CPU", samples[side], samples["bare"], goal)
            for side, name, goal in rows
        ),
        *sizes,
    ]


QUESTION_GOAL = 12.0
CHART_GOAL = 700.0


async def _answered(ask: Ask) -> None:
    asked: Any = await ask({"name": "prompt_user", "arguments": QUESTION})
    id = asked["structuredContent"]["messageId"]
    await ask({"name": "reply_prompt", "arguments": {"messageId": id, "answer": "부산"}})
    await ask({"name": "get_prompt", "arguments": {"messageId": id}})


def _chart(type: str, data: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": "visualize_data", "arguments": {"type": type, "title": "Orders", "data": data}}


async def _sizes(madang: Madang) -> list[Finding]:
    """Bytes of what every page has in common, and of each page whole, as it is embedded in a result."""

    async def page(tool: str, **arguments: Any) -> int:
        reply = await madang.provider.execute_tool(madang.call("python", "embedded"), tool, arguments)
        if reply.page is None:
            raise RuntimeError(reply.text)
        return len(reply.page.document.encode())

    shell = len(pages.render_page("", title="Question", lang="ko").encode())
    shown = {
        "10 playbooks": await page("show_playbooks", pageSize=10),
        "a question": await page("prompt_user", **QUESTION),
        "a wait": await page("wait_for_user", message="Plug it in"),
        **{f"a {type} chart, 12 points": await page(**_page(type, MONTHS)) for type in CHART_TYPES},
        f"a line chart, {POINTS:,} points": await page(**_page("line", WAVE)),
        f"a scatter chart, {POINTS:,} points": await page(**_page("scatter", WAVE)),
    }
    script = len(pages._compact("bridge.js").encode())
    return [
        _size("shell, style and script of a page vs 12 KiB", shell, SHELL_BYTES, promised=True),
        _size("the script among it vs 12 KiB", script, SHELL_BYTES, promised=True),
        *(
            _size(f"page of {name} vs 100 KB", size, PAGE_BYTES, promised=f"{POINTS:,}" not in name)
            for name, size in shown.items()
        ),
    ]


def _page(type: str, data: list[dict[str, Any]]) -> dict[str, Any]:
    return {"tool": "visualize_data", **_chart(type, data)["arguments"]}


def _size(what: str, size: int, most: int, *, promised: bool) -> Finding:
    return Finding(what, "bytes", size, most, size / most, Goal(1, promised=promised))
