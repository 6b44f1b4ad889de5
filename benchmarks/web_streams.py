"""What event streams of the web host hold in memory: many that are idle, and readers that do not read."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import Effort, Finding, Goal
from benchmarks.web_host import BROWSER_TOKEN, HostClient, host_process

STREAMS = 500
MAX_STREAM_MIB = 0.3
SLOW_READERS = 40
FLOOD_MB = 24
MAX_READER_MIB = 1.0
WARM = 20
SETTLE_S = 2.0
RECEIVE_BYTES = 4096
"""What the system keeps for a reader that does not read, so that the rest stays with the server."""


async def streams(effort: Effort) -> list[Finding]:
    """Memory of a process with 500 streams of 500 sessions against itself before; then of one whose model floods, with
    readers that do not read, against the same without readers."""
    count = STREAMS if effort.rounds > 3 else STREAMS // 5
    idle_mib = await _idle_mib(count)
    alone_mib, slow_mib = await _flood_peak_mib(0), await _flood_peak_mib(SLOW_READERS)
    reader_mib = max(slow_mib - alone_mib, 0) / SLOW_READERS
    return [
        _bound(f"web, {count} idle event streams, each, vs {MAX_STREAM_MIB:g} MiB", idle_mib, MAX_STREAM_MIB),
        _bound(
            f"web, a reader that does not read {FLOOD_MB} MB of an answer, vs {MAX_READER_MIB:g} MiB",
            reader_mib,
            MAX_READER_MIB,
        ),
    ]


async def _idle_mib(count: int) -> float:
    with tempfile.TemporaryDirectory(prefix="madang-bench-") as folder, ExitStack() as opened:
        async with host_process(Path(folder)) as (pid, client):
            sessions = [await client.new_session(f"Session {number}") for number in range(count)]
            with ExitStack() as warm:
                for session in sessions[:WARM]:
                    await _open_stream(warm, client, session)
            await asyncio.sleep(SETTLE_S)
            before = _memory_mib(pid, "VmRSS")
            for session in sessions:
                await _open_stream(opened, client, session)
            await asyncio.sleep(SETTLE_S)
            return (_memory_mib(pid, "VmRSS") - before) / count


async def _flood_peak_mib(readers: int) -> float:
    """Return the most memory that a process took until its flood was over."""
    with tempfile.TemporaryDirectory(prefix="madang-bench-") as folder, ExitStack() as opened:
        async with host_process(Path(folder)) as (pid, client):
            session = await client.new_session("Flood")
            for _ in range(readers):
                await _open_stream(opened, client, session)
            await client.post(f"/api/sessions/{session}/messages", {"text": f"flood {FLOOD_MB}"})
            async with asyncio.timeout(300):
                while not await _is_answered(client, session):  # noqa: ASYNC110 - it is another process
                    await asyncio.sleep(0.1)
            return _memory_mib(pid, "VmHWM")


async def _is_answered(client: HostClient, session: str) -> bool:
    answer = await client.http.get(f"/api/sessions/{session}/messages")
    return any(message["role"] == "assistant" for message in answer.json()["messages"])


async def _open_stream(opened: ExitStack, client: HostClient, session: str) -> None:
    """Ask for a stream, and read its first bytes and no more."""
    port = client.http.base_url.port
    assert port is not None
    connection = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, ("127.0.0.1", port))
    head = (
        f"GET /api/sessions/{session}/events?after=0 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Authorization: Bearer {BROWSER_TOKEN}\r\nAccept: text/event-stream\r\n\r\n"
    )
    await loop.sock_sendall(connection, head.encode())
    async with asyncio.timeout(60):
        answer = await loop.sock_recv(connection, 512)
    assert answer.startswith(b"HTTP/1.1 200"), answer


def _memory_mib(pid: int, field: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = [one for one in lines if one.startswith(f"{field}:")]
    return int(line.split()[1]) / 1024


def _bound(what: str, value: float, bound: float) -> Finding:
    return Finding(what, "MiB", value, bound, value / bound, Goal(1))
