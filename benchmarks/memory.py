"""Calls within one process: no bytes and no pipes, so what is left is what the server itself does with a call.

The promise is about the server, so its client is a few lines that speak JSON-RPC over memory streams. The same calls
through the SDK's own client are shown beside it: that client checks every answer against the tool's output schema,
which costs more the more an answer holds, and an empty tool answers nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse

from benchmarks.bare import bare_server
from benchmarks.harness import Effort, Finding, Goal, compare, interleave, repeated
from benchmarks.libraries import THOUSAND, prepare
from benchmarks.servers import META
from benchmarks.stdio import LISTING, NOTHING, PAGE_SIZE, STATE
from madang.app import open_madang
from madang.server.mcp import McpServer
from madang.settings import Settings

Call = Mapping[str, Any]
Ask = Callable[[Call], Awaitable[object]]


async def calls(effort: Effort) -> list[Finding]:
    """CPU of one call, client included."""
    library = await prepare(THOUSAND)
    async with open_madang(Settings(data_dir=library.folder)) as madang:
        ours = McpServer(madang.provider, madang.call("python")).server
        # What `MCPServer` is built on; it has no other way to serve streams of our own.
        bare = bare_server()._lowlevel_server
        async with streams(ours) as ask_ours, streams(bare) as ask_bare:
            of_server = await _compared("in memory", effort, ask_ours, ask_bare, promised=True)
        async with Client(ours) as of_ours, Client(bare) as of_bare:
            through_client = await _compared(
                "in memory through the SDK's client",
                effort,
                lambda call: of_ours.call_tool(**call),
                lambda call: of_bare.call_tool(**call),
                promised=False,
            )
    return of_server + through_client


async def _compared(how: str, effort: Effort, ours: Ask, bare: Ask, *, promised: bool) -> list[Finding]:
    sides = {
        "state": repeated(lambda: ours(STATE), effort.calls),
        "listing": repeated(lambda: ours(LISTING), effort.calls),
        "bare": repeated(lambda: bare(NOTHING), effort.calls),
    }
    for side in sides.values():
        await side()
    samples = await interleave(effort.rounds, sides)
    rows = [
        ("state", STATE["name"], Goal(1.3, promised=promised)),
        ("listing", f"list_playbooks ({PAGE_SIZE} of {THOUSAND.owned:,})", Goal(1.3, promised=False)),
    ]
    return [
        compare(f"{how}, {name} vs an empty tool", "cpu", "µs CPU", samples[side], samples["bare"], goal)
        for side, name, goal in rows
    ]


@asynccontextmanager
async def streams(server: Server[Any]) -> AsyncIterator[Ask]:
    """Serve a client that writes requests into one stream and takes the answers from another."""
    requests, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    outgoing, answers = anyio.create_memory_object_stream[SessionMessage](1)
    number = 0

    async def ask(call: Call) -> object:
        nonlocal number
        number += 1
        request = JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/call", params={**call, "_meta": META})
        await requests.send(SessionMessage(request))
        message = (await answers.receive()).message
        if not isinstance(message, JSONRPCResponse) or message.result.get("isError"):
            raise RuntimeError(str(message)[:500])
        return message.result

    async with anyio.create_task_group() as tasks, requests, answers:
        tasks.start_soon(server.run, incoming, outgoing, server.create_initialization_options())
        yield ask
        tasks.cancel_scope.cancel()
