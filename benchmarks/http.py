"""Madang over HTTP against the bare SDK server, many connections at once."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.harness import Effort, Finding, Goal, Sample, Side, compare, interleave
from benchmarks.libraries import THOUSAND, prepare
from benchmarks.servers import ENVIRONMENT, MODERN, ROOT, answer_of, bare_command, cpu_s, madang_command, request
from benchmarks.stdio import LISTING, NOTHING, PAGE_SIZE, STATE

CONNECTIONS = 16
TOKEN = "only-for-measuring"


class Connection:
    """One keep-alive HTTP/1.1 connection that posts the same kind of call again and again."""

    def __init__(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._port = port
        self._reader = reader
        self._writer = writer

    async def call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        body = request(1, "tools/call", call)
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {call['name']}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", answer, re.IGNORECASE)
        if " 200 " not in answer.partition("\r\n")[0] or length is None:
            raise RuntimeError(answer)
        return answer_of(json.loads(await self._reader.readexactly(int(length[1]))))

    def close(self) -> None:
        self._writer.close()


class HttpServer:
    """A server in a process of its own, and connections to it."""

    def __init__(self, pid: int, connections: Sequence[Connection]) -> None:
        self._pid = pid
        self._connections = connections

    def calling(self, call: Mapping[str, Any], times: int) -> Side:
        each = max(1, times // len(self._connections))

        async def client(connection: Connection) -> None:
            for _ in range(each):
                await connection.call(call)

        async def side() -> Sample:
            before = cpu_s(self._pid)
            await asyncio.gather(*map(client, self._connections))
            return {"cpu": (cpu_s(self._pid) - before) / (each * len(self._connections)) * 1e6}

        return side


@asynccontextmanager
async def http_server(command: Sequence[str]) -> AsyncIterator[HttpServer]:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        env={**ENVIRONMENT, "MADANG_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    connections: list[Connection] = []
    try:
        said = await process.stdout.readline()
        found = re.search(rb"http://127\.0\.0\.1:(\d+)/mcp", said)
        if found is None:
            raise RuntimeError(f"The server said {said!r}.")
        port = int(found[1])
        for _ in range(CONNECTIONS):
            connections.append(Connection(port, *await _connected(port)))
        yield HttpServer(process.pid, connections)
    finally:
        for connection in connections:
            connection.close()
        process.terminate()
        await process.communicate()


async def _connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


async def calls(effort: Effort) -> list[Finding]:
    """Server CPU of one call among those of many connections."""
    library = await prepare(THOUSAND)
    async with (
        http_server(madang_command(library.folder, "--http", "127.0.0.1:0")) as madang,
        http_server(bare_command("http")) as bare,
    ):
        sides = {
            "listing": madang.calling(LISTING, effort.calls),
            "state": madang.calling(STATE, effort.calls),
            "bare": bare.calling(NOTHING, effort.calls),
        }
        for side in sides.values():
            await side()
        samples = await interleave(effort.rounds, sides)
    goal = Goal(1.3, promised=False)
    names = {"listing": f"list_playbooks ({PAGE_SIZE} of {library.owned:,})", "state": "get_current_state"}
    return [
        compare(
            f"HTTP, {CONNECTIONS} connections, {name} vs an empty tool",
            "cpu",
            "µs CPU",
            samples[side],
            samples["bare"],
            goal,
        )
        for side, name in names.items()
    ]
