"""One session floods the server with costly calls: how long another session waits for its small ones."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.harness import Effort, Finding, Goal
from benchmarks.http import TOKEN
from benchmarks.servers import ENVIRONMENT, META, MODERN, ROOT, madang_command
from madang.server.mcp import SESSION_KEY

FLOODING, GUEST = "flooding", "guest"
MAX_P95_MS = 50.0
"""A small call may take this long beside a flood, or twice as long as without it if that is more."""
MANY_FILES = 20_000
PAUSE_S = 0.005
MAX_LINE_BYTES = 64 << 20

Call = Callable[[str, str, dict[str, Any] | str], Awaitable[dict[str, Any]]]
"""Calls a tool in a session, with arguments or their JSON, and returns the message that answers."""


@dataclass(frozen=True, slots=True)
class Flood:
    """Calls of one tool, so many at a time, each followed by the next."""

    name: str
    tool: str
    arguments: dict[str, Any]
    at_once: int
    sessions: int = 1


def _edits(number: int) -> list[dict[str, Any]]:
    turns = [("ab\n", "ba\n"), ("ba\n", "ab\n")] * (number // 2)
    return [{"oldText": old, "newText": new, "replaceAll": True} for old, new in turns]


NUMBER = "{number} "
"""At the beginning of a content: another one in each call, which is then no duplicate."""
KOREAN = "대한민국의 모든 권력은 국민으로부터 나온다. " * 20_000

FLOODS = (
    Flood("8 imports with a number in base 60", "import_playbooks", {"document": "a: 1" + ":1" * 1_000_000}, 8),
    Flood("8 globs of 630 **/", "search_files", {"pattern": "{" + "," * 63 + "}" + "**/" * 630 + "x"}, 8),
    Flood(f"40 searches over {MANY_FILES:,} names", "search_files", {"pattern": "*q*q*q*q*"}, 40),
    Flood("6 sessions with 100 edits of 4 MB", "edit_file", {"path": "mixed.txt", "edits": _edits(100)}, 6, 6),
    Flood("40 greps", "grep", {"pattern": r"(\w+\s?){5,60}z"}, 40),
    Flood("10 Korean texts of 1 MB", "add_content", {"content": KOREAN}, 10),
    Flood("10 different Korean texts of 1 MB", "add_content", {"content": NUMBER + KOREAN}, 10),
    Flood("8 imports of a long flat list", "import_playbooks", {"document": "[1" + ",1" * 1_000_000 + "]"}, 8),
    Flood("8 imports of many directives", "import_playbooks", {"document": "%TAG !a! b\n" * 190_000}, 8),
    Flood("8 imports of long JSON", "import_playbooks", {"document": '{"a":[1' + ",1" * 90_000 + "]}"}, 8),
    Flood(f"40 listings of {MANY_FILES:,} names", "list_directory", {"depth": 64, "offset": 10**6}, 40),
    Flood("20 packages", "export_zip", {"files": ["mixed.txt", "large.txt"]}, 20),
    Flood("30 sessions with globs", "search_files", {"pattern": "{a,b,c,d}" + "**/?/" * 300 + "x"}, 30, 30),
)


async def floods(effort: Effort) -> list[Finding]:
    """The p95 of small calls of one session beside each flood of another, over stdio and HTTP."""
    seconds = max(2.0, effort.seconds / 10)
    findings = []
    for door in (over_stdio, over_http):
        with tempfile.TemporaryDirectory() as folder:
            async with door(Path(folder)) as call:
                await _prepare(call, Path(folder))
                for flood in FLOODS:
                    findings += await _measure(call, flood, seconds, door.__name__.removeprefix("over_"))
    return findings


async def _prepare(call: Call, folder: Path) -> None:
    await done(call, GUEST, "write_file", {"path": "a.txt", "content": "x\n" * 100})
    for number in range(30):
        await done(call, _session(number), "write_file", {"path": "a/" * 60 + "f", "content": ""})
    _add_files(folder)


def _add_files(folder: Path) -> None:
    """Put files into the workspaces past the tools, which would take minutes."""
    mixed = "ab\r\n" * 1_000_000 + "\n"
    for files in folder.glob("workspaces/*/files"):
        if files.parent.name.startswith(FLOODING):
            (files / "mixed.txt").write_text(mixed, newline="")
    (first,) = folder.glob(f"workspaces/{_session(0)}-*/files")
    for number in range(MANY_FILES):
        (first / f"q{number}").touch()
    (first / "large.txt").write_text("abc def ghi " * 1_000_000)


async def _measure(call: Call, flood: Flood, seconds: float, door: str) -> list[Finding]:
    small = {"read_file": {"path": "a.txt"}, "get_current_state": {}}
    base = {tool: await _p95_ms(call, tool, arguments, seconds) for tool, arguments in small.items()}
    tasks = [
        asyncio.create_task(_repeat(call, _session(number % flood.sessions), flood)) for number in range(flood.at_once)
    ]
    await asyncio.sleep(0.3)
    beside = {tool: await _p95_ms(call, tool, arguments, seconds) for tool, arguments in small.items()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(2 * seconds)  # calls over stdio cannot be taken back
    return [
        Finding(
            f"floods, {door}, {tool} p95 beside {flood.name}, of the larger of 2 × base and {MAX_P95_MS:g} ms",
            "ms",
            beside[tool],
            base[tool],
            beside[tool] / max(2 * base[tool], MAX_P95_MS),
            Goal(1.0),
        )
        for tool in small
    ]


async def _repeat(call: Call, session: str, flood: Flood) -> None:
    """Make the calls of a flood. Arguments are encoded once: the client must not delay what it measures."""
    encoded = json.dumps(flood.arguments)
    for number in count():
        await call(session, flood.tool, encoded.replace(NUMBER, f"{id(encoded)} {number} ", 1))


async def _p95_ms(call: Call, tool: str, arguments: dict[str, Any], seconds: float) -> float:
    spent: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until or len(spent) < 5:
        before = time.perf_counter()
        await done(call, GUEST, tool, arguments)
        spent.append((time.perf_counter() - before) * 1000)
        await asyncio.sleep(PAUSE_S)
    return sorted(spent)[int(len(spent) * 0.95)]


async def done(call: Call, session: str, tool: str, arguments: dict[str, Any]) -> None:
    """Call a tool; an error would make a figure meaningless."""
    message = await call(session, tool, arguments)
    if "error" in message or message["result"].get("isError"):
        raise RuntimeError(str(message)[:500])


def _session(number: int) -> str:
    return f"{FLOODING}{number:02}"


def _body(number: int, session: str, tool: str, arguments: dict[str, Any] | str) -> bytes:
    params = {"name": tool, "_meta": {**META, SESSION_KEY: session}}
    request = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    encoded = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return f'{request.removesuffix("}}")}, "arguments": {encoded}}}}}'.encode()


@asynccontextmanager
async def over_stdio(folder: Path) -> AsyncIterator[Call]:
    """Serve over standard input and output, for calls of many sessions at a time."""
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *madang_command(folder),
        cwd=ROOT,
        env=ENVIRONMENT,
        stdin=pipe,
        stdout=pipe,
        stderr=nothing,
        limit=MAX_LINE_BYTES,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    to_server, from_server = process.stdin, process.stdout
    waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
    loop = asyncio.get_running_loop()
    numbers = count(1)

    async def read() -> None:
        while line := await from_server.readline():
            message = json.loads(line)
            future = waiting.pop(message.get("id"), None)
            if future is not None and not future.done():
                future.set_result(message)

    async def call(session: str, tool: str, arguments: dict[str, Any] | str) -> dict[str, Any]:
        number = next(numbers)
        future: asyncio.Future[dict[str, Any]] = loop.create_future()
        waiting[number] = future
        to_server.write(_body(number, session, tool, arguments) + b"\n")
        return await future

    reader = asyncio.create_task(read())
    try:
        yield call
    finally:
        process.terminate()
        await process.wait()
        reader.cancel()


@asynccontextmanager
async def over_http(folder: Path) -> AsyncIterator[Call]:
    process = await asyncio.create_subprocess_exec(
        *madang_command(folder, "--http", "127.0.0.1:0"),
        cwd=ROOT,
        env={**ENVIRONMENT, "MADANG_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    address = re.search(rb"http://127\.0\.0\.1:(\d+)/mcp", await process.stdout.readline())
    assert address is not None
    port = int(address[1])

    async def call(session: str, tool: str, arguments: dict[str, Any] | str) -> dict[str, Any]:
        body = _body(1, session, tool, arguments)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with AsyncExitStack() as opened:
            opened.callback(writer.close)
            writer.write(
                f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
                "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
                f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                + body
            )
            answer = await reader.read()
        message: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])
        return message

    try:
        yield call
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()
