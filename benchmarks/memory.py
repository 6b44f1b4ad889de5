"""Calls through the SDK's own client in one process: no transport, so what is left is the server and the client."""

from __future__ import annotations

from mcp import Client

from benchmarks.bare import bare_server
from benchmarks.harness import Effort, Finding, Goal, compare, interleave, repeated
from benchmarks.libraries import THOUSAND, prepare
from benchmarks.stdio import LISTING, PAGE_SIZE, STATE
from madang.app import open_madang
from madang.server.mcp import McpServer
from madang.settings import Settings


async def calls(effort: Effort) -> list[Finding]:
    """CPU of one call, client included."""
    library = await prepare(THOUSAND)
    async with (
        open_madang(Settings(data_dir=library.folder)) as madang,
        Client(McpServer(madang.provider, madang.call("python")).server) as ours,
        Client(bare_server()) as bare,
    ):
        sides = {
            "listing": repeated(lambda: ours.call_tool(**LISTING), effort.calls),
            "state": repeated(lambda: ours.call_tool(**STATE), effort.calls),
            "bare": repeated(lambda: bare.call_tool("nothing", {}), effort.calls),
        }
        for side in sides.values():
            await side()
        samples = await interleave(effort.rounds, sides)
    goal = Goal(1.3, promised=False)
    names = {"listing": f"list_playbooks ({PAGE_SIZE} of {library.owned:,})", "state": "get_current_state"}
    return [
        compare(f"in memory, {name} vs an empty tool", "cpu", "µs CPU", samples[side], samples["bare"], goal)
        for side, name in names.items()
    ]
