"""Madang over HTTP against the bare SDK server and against FastMCP, many connections at once."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import requires
from pathlib import Path
from typing import Any, Self

from benchmarks.harness import Effort, Finding, Goal, Sample, Side, compare, interleave
from benchmarks.libraries import THOUSAND, prepare
from benchmarks.servers import ENVIRONMENT, MODERN, ROOT, answer_of, bare_command, cpu_s, madang_command, request
from benchmarks.stdio import LISTING, NOTHING, PAGE_SIZE, STATE
from benchmarks.venvs import python_with

CONNECTIONS = 16
MANY_CONNECTIONS = 50
MAX_STALL_MS = 100.0
SLOTS = 4
TOKEN = "only-for-measuring"
FASTMCP = "4.1.2"


class Connection:
    """One keep-alive HTTP/1.1 connection that posts the same kind of call again and again."""

    def __init__(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._port = port
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Self:
        return cls(port, *await asyncio.open_connection("127.0.0.1", port))

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

    def __init__(self, pid: int, port: int, connections: Sequence[Connection]) -> None:
        self._pid = pid
        self._port = port
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

    async def rate(self, call: Mapping[str, Any], seconds: float) -> float:
        """Return how many calls per second are answered; one that fails ends the measuring."""
        started = time.monotonic()

        async def client() -> int:
            # A connection of its own: the server has closed those that were idle while it was another's turn.
            connection = await Connection.open(self._port)
            done = 0
            while time.monotonic() < started + seconds:
                await connection.call(call)
                done += 1
            connection.close()
            return done

        done = sum(await asyncio.gather(*(client() for _ in self._connections)))
        return done / (time.monotonic() - started)


@asynccontextmanager
async def http_server(command: Sequence[str], connections: int = CONNECTIONS) -> AsyncIterator[HttpServer]:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        env={**ENVIRONMENT, "MADANG_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    opened: list[Connection] = []
    try:
        said = await process.stdout.readline()
        found = re.search(rb"http://127\.0\.0\.1:(\d+)/mcp", said)
        if found is None:
            raise RuntimeError(f"The server said {said!r}.")
        port = int(found[1])
        for _ in range(connections):
            opened.append(await Connection.open(port))
        yield HttpServer(process.pid, port, opened)
    finally:
        for connection in opened:
            connection.close()
        process.terminate()
        await process.communicate()


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
    rows = [
        ("state", STATE["name"], Goal(1.3)),
        ("listing", f"list_playbooks ({PAGE_SIZE} of {library.owned:,})", Goal(1.3, promised=False)),
    ]
    return [
        compare(
            f"HTTP, {CONNECTIONS} connections, {name} vs an empty tool",
            "cpu",
            "µs CPU",
            samples[side],
            samples["bare"],
            goal,
        )
        for side, name, goal in rows
    ]


async def fastmcp(effort: Effort) -> list[Finding]:
    """Calls per second against the same tools on the same files, served by FastMCP."""
    library = await prepare(THOUSAND)
    ours = [requirement for requirement in requires("madang") or [] if "extra ==" not in requirement]
    python = python_with(f"fastmcp=={FASTMCP}", *ours)
    if python is None:
        return []
    command = ["env", f"PYTHONPATH={ROOT / 'src'}", str(python), "-m", "benchmarks.fast", str(library.folder)]
    async with (
        http_server(madang_command(library.folder, "--http", "127.0.0.1:0")) as madang,
        http_server(command) as fast,
    ):
        sides = {
            (who, what): _rating(server, call, 2)
            for who, server in (("ours", madang), ("fast", fast))
            for what, call in ((STATE["name"], STATE), ("list_playbooks", LISTING))
        }
        for side in sides.values():
            await side()
        samples = await interleave(max(3, effort.rounds // 3), sides)
    return [
        compare(
            f"HTTP, {CONNECTIONS} connections, {what} vs the same served by FastMCP {FASTMCP}",
            "rate",
            "calls/s",
            samples["ours", what],
            samples["fast", what],
            Goal(2, at_least=True, promised=promised),
        )
        # FastMCP lists all tools before a call that brings arguments; one without is what the SDK below it costs.
        for what, promised in (("list_playbooks", True), (STATE["name"], False))
    ]


async def load(effort: Effort) -> list[Finding]:
    """Many clients for a minute: nothing fails, the rate is near the bare server's, and the event loop keeps moving."""
    library = await prepare(THOUSAND)
    slot_s = effort.seconds / SLOTS
    with tempfile.TemporaryDirectory() as folder:
        reports = {who: Path(folder) / who for who in ("ours", "bare")}
        commands = {"ours": madang_command(library.folder, "--http", "127.0.0.1:0"), "bare": bare_command("http")}
        watched = {who: _watched(command, reports[who]) for who, command in commands.items()}
        async with (
            http_server(watched["ours"], MANY_CONNECTIONS) as madang,
            http_server(watched["bare"], MANY_CONNECTIONS) as bare,
        ):
            await asyncio.gather(madang.rate(STATE, 1), bare.rate(NOTHING, 1))
            started = time.monotonic()
            sides = {"ours": _rating(madang, STATE, slot_s), "bare": _rating(bare, NOTHING, slot_s)}
            samples = await interleave(SLOTS, sides)
            ended = time.monotonic()
        late_ms = {who: _longest_ms(report, started, ended) for who, report in reports.items()}
    name = f"HTTP, {MANY_CONNECTIONS} clients for {effort.seconds} s without an error"
    waits = f"{name}, longest wait of the event loop"
    ratio, goal = late_ms["ours"] / MAX_STALL_MS, Goal(1)
    return [
        compare(
            f"{name}, {STATE['name']} vs an empty tool",
            "rate",
            "calls/s",
            samples["ours"],
            samples["bare"],
            Goal(0.75, at_least=True),
        ),
        Finding(f"{waits} vs {MAX_STALL_MS:g} ms", "ms wall", late_ms["ours"], MAX_STALL_MS, ratio, goal),
        compare(
            f"{waits} vs that of the bare server",
            "late",
            "ms wall",
            [{"late": late_ms["ours"]}],
            [{"late": late_ms["bare"]}],
            Goal(1.3, promised=False),
        ),
    ]


def _watched(command: Sequence[str], report: Path) -> list[str]:
    python, flag, module, *words = command
    return [python, flag, "benchmarks.watched", str(report), module, *words]


def _longest_ms(report: Path, started: float, ended: float) -> float:
    late = [how_late for when, how_late in json.loads(report.read_text()) if started <= when <= ended]
    return max(late, default=0.001) * 1000


def _rating(server: HttpServer, call: Mapping[str, Any], seconds: float) -> Side:
    async def side() -> Sample:
        return {"rate": await server.rate(call, seconds)}

    return side
