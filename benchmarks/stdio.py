"""Madang over stdio against the bare SDK server: calls, memory and starts."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.harness import Effort, Finding, Goal, Sample, Side, compare, interleave
from benchmarks.libraries import THOUSAND, prepare
from benchmarks.servers import (
    LEGACY,
    MODERN,
    StdioServer,
    bare_command,
    cpu_s,
    madang_command,
    resident_mib,
    stdio_server,
)

PAGE_SIZE = 20
LISTING: dict[str, Any] = {"name": "list_playbooks", "arguments": {"page": 1, "pageSize": PAGE_SIZE}}
STATE: dict[str, Any] = {"name": "list_stores", "arguments": {}}
"""A small read of one service. `get_current_state` tells of all services over MCP, and is measured by itself."""
EVERYTHING: dict[str, Any] = {"name": "get_current_state", "arguments": {}}
NOTHING: dict[str, Any] = {"name": "nothing", "arguments": {}}


async def calls(effort: Effort) -> list[Finding]:
    """Server CPU of one call, in both protocol eras, and the memory that serving took."""
    library = await prepare(THOUSAND)
    findings = []
    goal = Goal(1.3)
    for era in (MODERN, LEGACY):
        with ExitStack() as stack:
            madang = stack.enter_context(stdio_server(madang_command(library.folder), era))
            bare = stack.enter_context(stdio_server(bare_command("stdio"), era))
            page = madang.ask("tools/call", **LISTING)["structuredContent"]["page"]
            assert len(page["items"]) == PAGE_SIZE
            sides = {
                "listing": _calling(madang, LISTING, effort.calls),
                "state": _calling(madang, STATE, effort.calls),
                "everything": _calling(madang, EVERYTHING, effort.calls),
                "bare": _calling(bare, NOTHING, effort.calls),
            }
            for side in sides.values():
                await side()
            samples = await interleave(effort.rounds, sides)
            memory = [{"mib": resident_mib(madang.pid)}], [{"mib": resident_mib(bare.pid)}]
        what = f"stdio {era}, list_playbooks ({PAGE_SIZE} of {library.owned:,}) vs an empty tool"
        findings.append(compare(what, "cpu", "µs CPU", samples["listing"], samples["bare"], goal))
        what = f"stdio {era}, {STATE['name']} vs an empty tool"
        findings.append(compare(what, "cpu", "µs CPU", samples["state"], samples["bare"], goal))
        what = f"stdio {era}, {EVERYTHING['name']}, with the state of all services, vs an empty tool"
        unpromised = replace(goal, promised=False)
        findings.append(compare(what, "cpu", "µs CPU", samples["everything"], samples["bare"], unpromised))
        if era == MODERN:
            findings.append(compare("stdio, resident memory after these calls", "mib", "MiB", *memory, goal))
    return findings


def _calling(server: StdioServer, call: dict[str, Any], times: int) -> Side:
    async def side() -> Sample:
        before = cpu_s(server.pid)
        for _ in range(times):
            server.ask("tools/call", **call)
        return {"cpu": (cpu_s(server.pid) - before) / times * 1e6}

    return side


async def starts(effort: Effort) -> list[Finding]:
    """From the start of the process to the first `tools/list`."""
    library = await prepare(THOUSAND)
    with tempfile.TemporaryDirectory() as folder:
        fresh = (Path(folder) / str(number) for number in range(effort.starts + 1))

        async def on_fresh_folder() -> Sample:
            return _start(madang_command(next(fresh)))

        async def on_old_folder() -> Sample:
            return _start(madang_command(library.folder))

        async def bare() -> Sample:
            return _start(bare_command("stdio"))

        sides = {"existing": on_old_folder, "fresh": on_fresh_folder, "bare": bare}
        for side in sides.values():
            await side()  # so that no side pays for compiling, or for a cold disk
        samples = await interleave(effort.starts, sides)
    return [
        compare(
            f"start to first tools/list, {which} data folder",
            metric,
            f"ms {metric}",
            samples[which],
            samples["bare"],
            Goal(1.15),
        )
        for which in ("existing", "fresh")
        for metric in ("cpu", "wall")
    ]


def _start(command: Sequence[str]) -> Sample:
    started = time.perf_counter()
    with stdio_server(command) as server:
        tools = server.ask("tools/list")["tools"]
        wall, cpu = time.perf_counter() - started, cpu_s(server.pid)
    assert tools
    return {"cpu": cpu * 1000, "wall": wall * 1000}
