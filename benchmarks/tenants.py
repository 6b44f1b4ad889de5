"""Fifty tenants at once, on a file and on a database server: `python -m benchmarks.tenants`.

Each tenant is a user whose assistant reads and writes through the provider, as over MCP. The server is one of our own
with everything flushed to disk, unless MADANG_DATABASE names an empty database. Only the ratios mean anything: both are
measured on the same machine, one after the other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from madang.app import Madang, open_madang
from madang.core.calls import Call
from madang.core.ids import UserId
from madang.services.playbook.domain import PlaybookContent, StepInput
from madang.services.playbook.store import PlaybookStore
from madang.settings import Settings

TENANTS = 50
PLAYBOOKS = 50
LOUD_CLIENTS = 16
STEP = {"description": "Boil water", "action": {"toolName": "kettle", "purpose": "to have it hot"}}


@dataclass(frozen=True, slots=True)
class Case:
    """One way to serve the tenants."""

    name: str
    on_server: bool
    processes: int
    pace_s: float = 0.0
    """How long a tenant waits between two calls."""
    loud: bool = False
    """Whether one more tenant writes as fast as it can, with many clients."""


CASES = [
    Case("file, 1 process", False, 1),
    Case("file, 4 processes", False, 4),
    Case("server, 1 process", True, 1),
    Case("server, 4 processes", True, 4),
    Case("file, 1 process, a call a second each", False, 1, 1.0),
    Case("server, 1 process, a call a second each", True, 1, 1.0),
    Case("file, the same beside a loud tenant", False, 1, 1.0, True),
    Case("server, the same beside a loud tenant", True, 1, 1.0, True),
]


def tenant(madang: Madang, number: int) -> Call:
    return replace(madang.call("python"), user_id=UserId(f"tenant-{number}"))


async def fill(settings: Settings) -> None:
    """Give every tenant its playbooks."""
    content = PlaybookContent(goal="Brew tea", workflow=[StepInput(description="Boil water")] * 5)
    async with open_madang(settings) as madang:
        store = PlaybookStore(madang.database)
        await store.open()
        for number in range(TENANTS):
            await store.add(tenant(madang, number), [content] * PLAYBOOKS)


async def live(madang: Madang, number: int, until: float, pace_s: float, took_s: list[float]) -> None:
    """Be a tenant: mostly read, sometimes write."""
    call, chance = tenant(madang, number), random.Random(number)
    listed = await madang.provider.execute_tool(call, "list_playbooks", {"pageSize": 20})
    ids = [item["id"] for item in listed.data["page"]["items"]]
    await asyncio.sleep(chance.random() * pace_s)
    while time.perf_counter() < until:
        drawn, id = chance.random(), chance.choice(ids)
        asked: tuple[str, dict[str, Any]]
        if drawn < 0.3:
            asked = "list_playbooks", {"pageSize": 20, "page": chance.randint(1, 2)}
        elif drawn < 0.6:
            asked = "get_playbook", {"id": id}
        elif drawn < 0.8:
            asked = "get_current_state", {}
        elif drawn < 0.9:
            asked = "create_goal", {"goal": f"Serve {drawn}"}
        elif drawn < 0.95:
            asked = "update_playbook", {"id": id, "playbook": {"initialCommand": f"{drawn}"}}
        else:
            asked = "create_playbook", {"goal": f"Plan {drawn}", "workflow": [STEP]}
        started = time.perf_counter()
        reply = await madang.provider.execute_tool(call, *asked)
        took_s.append(time.perf_counter() - started)
        assert not reply.is_error, reply.text
        if pace_s:
            await asyncio.sleep(pace_s * (0.5 + chance.random()))


async def be_loud(madang: Madang, until: float) -> int:
    call, done = tenant(madang, 999), 0
    while time.perf_counter() < until:
        await madang.provider.execute_tool(call, "create_playbook", {"goal": "Noise", "workflow": [STEP]})
        done += 1
    return done


async def work(settings: Settings, numbers: range, seconds: float, pace_s: float, loud: bool) -> None:
    """One process: some of the tenants, for some seconds; then print what they saw."""
    took_s: list[float] = []
    async with open_madang(settings) as madang:
        await madang.provider.available_tools(tenant(madang, 0))
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        until = time.perf_counter() + seconds
        cpu_s = time.process_time()
        noise = [asyncio.create_task(be_loud(madang, until)) for _ in range(LOUD_CLIENTS if loud else 0)]
        await asyncio.gather(*(live(madang, number, until, pace_s, took_s) for number in numbers))
        written = sum(await asyncio.gather(*noise))
        cpu_s = time.process_time() - cpu_s
    print(json.dumps({"took_s": took_s, "written": written, "cpu_s": cpu_s}), flush=True)


async def measure(case: Case, settings: Settings, seconds: float) -> tuple[float, ...]:
    """Return calls per second, median, 99th percentile and our CPU per call in ms, and the loud one's calls per second.

    The CPU is of the Madang processes only, not of the database server.
    """
    children = []
    for number in range(case.processes):
        words = ["-m", "benchmarks.tenants", "--worker", str(settings.data_dir), str(number), str(case.processes)]
        words += [str(seconds), str(case.pace_s), str(int(case.loud))]
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**26,
            env=os.environ | {"MADANG_DATABASE": settings.database},
        )
        children.append(child)
    pipes = [(child.stdin, child.stdout) for child in children]
    for _, answers in pipes:
        assert answers is not None
        await answers.readline()
    for words_to, _ in pipes:
        assert words_to is not None
        words_to.write(b"go\n")
    reports = [json.loads(await answers.readline()) for _, answers in pipes if answers is not None]
    await asyncio.gather(*(child.wait() for child in children))
    took_s = sorted(took for report in reports for took in report["took_s"])
    written = sum(report["written"] for report in reports)
    cpu_s = sum(report["cpu_s"] for report in reports)
    return (
        len(took_s) / seconds,
        took_s[len(took_s) // 2] * 1000,
        took_s[int(len(took_s) * 0.99)] * 1000,
        cpu_s / (len(took_s) + written) * 1000,
        written / seconds,
    )


async def compare(seconds: float, rounds: int) -> None:
    url = os.environ.get("MADANG_DATABASE", "")
    if not url:
        from tests.postgresql import server

        url = server(fsync=True).new_database("tenants")
    with tempfile.TemporaryDirectory() as folder:
        places = {
            False: Settings(Path(folder) / "file"),
            True: Settings(Path(folder) / "server", database=url),
        }
        for settings in places.values():
            await fill(settings)
        print(f"{TENANTS} tenants, {seconds:g} s each, medians of {rounds} rounds")
        print(f"{'':42}{'calls/s':>9}{'p50 ms':>9}{'p99 ms':>9}{'CPU ms':>9}{'loud/s':>9}")
        for case in CASES:
            measured = [await measure(case, places[case.on_server], seconds) for _ in range(rounds)]
            rate, p50, p99, cpu, written = (statistics.median(column) for column in zip(*measured, strict=True))
            print(f"{case.name:42}{rate:9.0f}{p50:9.2f}{p99:9.1f}{cpu:9.2f}{written:9.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", nargs=6, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        folder, first, step, seconds, pace_s, loud = options.worker
        settings = Settings(Path(folder), database=os.environ.get("MADANG_DATABASE", ""))
        numbers = range(int(first), TENANTS, int(step))
        asyncio.run(work(settings, numbers, float(seconds), float(pace_s), loud == "1"))
    else:
        asyncio.run(compare(options.seconds, options.rounds))


if __name__ == "__main__":
    main()
