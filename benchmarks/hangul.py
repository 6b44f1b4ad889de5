"""The first Korean text and query of a server: how long another session's small calls wait beside it."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.floods import GUEST, Call, done, over_stdio
from benchmarks.harness import Effort, Finding, Goal

WRITER = "writer"
PACE_S = 0.01
QUIET_S = 1.0
MAX_STALL_MS = 100.0
SEARCH = "keyword_similarity_search"
FIRSTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    # The search is answered when the text before it is in the index.
    "text": [("add_content", {"content": "대한민국의 모든 권력은 국민으로부터 나온다."}), (SEARCH, {"query": "words"})],
    "query": [(SEARCH, {"query": "국민의 권력"})],
}


async def stalls(effort: Effort) -> list[Finding]:
    """The longest that `get_current_state` every 10 ms takes beside the first Hangul, and beside nothing."""
    findings = []
    for what, calls in FIRSTS.items():
        rounds = [await _round(calls) for _ in range(effort.starts)]
        findings.append(
            Finding(
                f"hangul, longest get_current_state beside the first Korean {what}, "
                f"of the larger of 2 × without and {MAX_STALL_MS:g} ms",
                "ms",
                median(beside for beside, _ in rounds),
                median(quiet for _, quiet in rounds),
                median(beside / max(2 * quiet, MAX_STALL_MS) for beside, quiet in rounds),
                Goal(1.0),
            )
        )
    return findings


async def _round(calls: list[tuple[str, dict[str, Any]]]) -> tuple[float, float]:
    """Return the longest waits in a server of its own: beside the calls, and before them."""
    with tempfile.TemporaryDirectory() as folder:
        async with over_stdio(Path(folder)) as call:
            await done(call, WRITER, "add_content", {"content": "words"})
            await done(call, WRITER, SEARCH, {"query": "words"})
            quiet = await _longest_ms(call, asyncio.sleep(QUIET_S))
            return await _longest_ms(call, _one_by_one(call, calls)), quiet


async def _one_by_one(call: Call, calls: list[tuple[str, dict[str, Any]]]) -> None:
    for tool, arguments in calls:
        await done(call, WRITER, tool, arguments)


async def _longest_ms(call: Call, work: Awaitable[None]) -> float:
    """Return the longest that a small call took while some work went on."""
    longest_ms = 0.0
    working = asyncio.ensure_future(work)
    while not working.done():
        before = time.perf_counter()
        await done(call, GUEST, "get_current_state", {})
        longest_ms = max(longest_ms, (time.perf_counter() - before) * 1000)
        await asyncio.sleep(PACE_S)
    await working
    return longest_ms
