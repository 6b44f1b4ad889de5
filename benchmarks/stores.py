"""Many stores in one web host: what a bulk import into sessions takes at its peak, and what it costs when idle.

The host is a process of its own (`python -m benchmarks.stores COUNT`) and is looked at from here, by `/proc`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from benchmarks.harness import Effort, Finding, Goal
from benchmarks.servers import resident_mib
from benchmarks.web_host import SpokenModel, served_host
from madang.core.ids import SessionId

STORES = 4_000
QUICK_STORES = 200
IDLE_STORES = 30
LOOK_EVERY_S = 0.05
SETTLE_S = 75.0
"""Longer than indexes stay open that nobody uses."""
IDLE_S = 60.0

MAX_MIB = 300
MAX_THREADS = 100
MAX_WAKE_UPS = 300


async def stores(effort: Effort) -> list[Finding]:
    """Peaks while one content is added to each of many sessions, and the wake-ups of an idle host in a minute."""
    count = STORES if effort.rounds > 5 else QUICK_STORES
    mib, threads = await _peaks(count)
    wake_ups = await _wake_ups()
    what = f"content, one text in each of {count:,} sessions"
    return [
        _bounded(f"{what}: resident memory at most", "MiB", mib, MAX_MIB),
        _bounded(f"{what}: threads at most", "threads", threads, MAX_THREADS),
        _bounded(f"idle host with {IDLE_STORES} stores: wake-ups a minute", "wake-ups", wake_ups, MAX_WAKE_UPS),
    ]


def _bounded(what: str, unit: str, value: float, bound: float) -> Finding:
    """Return a finding whose floor is a promised bound."""
    return Finding(what, unit, value, bound, value / bound, Goal(1.0))


async def _peaks(count: int) -> tuple[float, int]:
    process = await _start(count)
    mib, threads = 0.0, 0
    added = asyncio.ensure_future(_line(process))
    while not added.done():
        mib, threads = max(mib, resident_mib(process.pid)), max(threads, len(_tasks(process.pid)))
        await asyncio.wait({added}, timeout=LOOK_EVERY_S)
    await _end(process)
    return mib, threads


async def _wake_ups() -> float:
    process = await _start(IDLE_STORES)
    await _line(process)
    await asyncio.sleep(SETTLE_S)
    before = _switches(process.pid)
    await asyncio.sleep(IDLE_S)
    wake_ups = _switches(process.pid) - before
    await _end(process)
    return wake_ups / IDLE_S * 60


async def _start(count: int) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.stores", str(count), stdin=pipe, stdout=pipe
    )


async def _line(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    return await process.stdout.readline()


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()


def _tasks(pid: int) -> list[str]:
    return os.listdir(f"/proc/{pid}/task")


def _switches(pid: int) -> int:
    """Return how often the threads of a process have waited for something, all together."""
    count = 0
    for task in _tasks(pid):
        with suppress(OSError):  # it has just ended
            for line in Path(f"/proc/{pid}/task/{task}/status").read_text().splitlines():
                count += int(line.split()[1]) if line.startswith("voluntary_ctxt_switches") else 0
    return count


async def _fill(count: int) -> None:
    """Add a text in each of many sessions of a web host, search it in each, say so, and stay idle until the input ends.

    Everything is added before anything is searched: a search waits for its index, and so slows a bulk import down.
    """
    with tempfile.TemporaryDirectory() as folder:
        async with served_host(Path(folder), SpokenModel()) as (host, _):
            madang = host.agent.madang
            calls = [replace(madang.call("python"), session_id=SessionId(f"s{number}")) for number in range(count)]
            for number, call in enumerate(calls):
                await madang.provider.execute_tool(call, "add_content", {"content": f"text {number} zebra"})
            for call in calls:
                reply = await madang.provider.execute_tool(call, "keyword_similarity_search", {"query": "zebra"})
                assert not reply.is_error, reply.text
            print("added", flush=True)
            await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_fill(int(sys.argv[1])))
