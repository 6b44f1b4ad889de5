"""T58 on real sockets: readers that do not read hold little, are cut, and find everything when they come again."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from madang.host import stream
from madang.host.reader import MAX_QUEUED_BYTES, ReaderQueue
from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest, Streamed
from madang.llm.messages import TextPart
from tests.agent.bench import Script, eventually
from tests.host.hosting import BROWSER_TOKEN, Tab, hosting
from tests.host.test_sessions import over

PIECE = "green tea " * 2_000
PIECES = 400


class Endless(Script):
    """Writes 8 MB, faster than a slow reader takes it, when it is let."""

    def __init__(self) -> None:
        super().__init__([TextPart("")])
        self.go_on = asyncio.Event()

    async def stream(self, request: ModelRequest) -> Streamed:
        await self.go_on.wait()
        for _ in range(PIECES):
            yield ModelDelta("text", PIECE)
            await asyncio.sleep(0)
        yield ModelAnswer((TextPart("Done."),), "stop")


@asynccontextmanager
async def connected(tab: Tab, session: str, after: int = 0) -> AsyncIterator[socket.socket]:
    """A client that asks for a stream and has read its head, with small buffers. It reads no more by itself."""
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, ("127.0.0.1", tab.host.address.port))
        head = [
            f"GET /api/sessions/{session}/events?after={after} HTTP/1.1",
            f"Host: {tab.host.address.host}",
            f"Authorization: Bearer {BROWSER_TOKEN}",
        ]
        await loop.sock_sendall(client, "\r\n".join([*head, "", ""]).encode())
        async with asyncio.timeout(30):
            assert b"200" in await loop.sock_recv(client, 64)
        yield client


async def read_rest(client: socket.socket) -> bytes:
    loop, data = asyncio.get_running_loop(), b""
    async with asyncio.timeout(60):
        while True:
            try:
                part = await loop.sock_recv(client, 65_536)
            except ConnectionResetError:
                return data
            if not part:
                return data
            data += part


def queues(tab: Tab) -> list[ReaderQueue]:
    return tab.host.readers._all()


async def test_t58_a_reader_that_does_not_read_holds_at_most_a_mebibyte_and_is_told_to_come_again(
    tmp_path: Path,
) -> None:
    script = Endless()
    async with hosting(tmp_path, script=script) as tab:
        session = await tab.new_session()
        async with connected(tab, session) as client:
            await eventually(lambda: asyncio.sleep(0, queues(tab)), lambda found: len(found) == 1)
            [queue] = queues(tab)
            sizes: list[int] = []
            push = queue.push_text

            def watched(live: Any) -> None:
                push(live)
                sizes.append(queue.size_bytes)

            queue.push_text = watched  # type: ignore[method-assign]
            await tab.write(session, "Tell me")
            script.go_on.set()
            await over(tab, session)  # the run does not wait for it
            assert len(sizes) >= PIECES
            assert max(sizes) <= MAX_QUEUED_BYTES
            assert queue.size_bytes == 0
            told = await read_rest(client)
        assert len(told) < 4 * MAX_QUEUED_BYTES  # what the system held on the way
        events = [json.loads(line[6:]) for line in told.splitlines() if line.startswith(b"data: ")]
        assert (events[-1]["name"], events[-1]["value"]) == ("madang/resync", {"reason": "slow"})
        assert told.endswith(b"0\r\n\r\n")
        last = max(event.get("seq", 0) for event in events)
        # It comes again with the last number that it has, and gets the rest, exactly.
        async with tab.events(session, after=last) as again:
            await again.until("RUN_FINISHED")
            assert again.stored()[0]["_id"] == last + 1
        await eventually(lambda: asyncio.sleep(0, queues(tab)), lambda found: not found)


async def test_a_reader_that_takes_nothing_at_all_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stream.SEND_TIMEOUT_S == 30
    monkeypatch.setattr(stream, "SEND_TIMEOUT_S", 0.5)
    monkeypatch.setattr(stream, "END_TIMEOUT_S", 0.5)
    script = Endless()
    async with hosting(tmp_path, script=script) as tab:
        session = await tab.new_session()
        async with connected(tab, session) as client:
            await eventually(lambda: asyncio.sleep(0, queues(tab)), lambda found: len(found) == 1)
            await tab.write(session, "Tell me")
            script.go_on.set()
            await eventually(lambda: asyncio.sleep(0, queues(tab)), lambda found: not found)
            told = await read_rest(client)
            assert not told.endswith(b"0\r\n\r\n")


async def test_a_long_log_costs_a_slow_reader_nothing_and_loses_nothing(tmp_path: Path) -> None:
    text = "초록 차 " * 40_000
    async with hosting(tmp_path, *[[TextPart(text)] for _ in range(8)]) as tab:
        session = await tab.new_session()
        for _ in range(8):
            await tab.write(session, "Tell me")
            await over(tab, session)
        last_seq = (await tab.get(f"/api/sessions/{session}"))["lastSeq"]
        loop = asyncio.get_running_loop()
        async with connected(tab, session) as client:
            seen, sizes = b"", []
            async with asyncio.timeout(60):
                while f"id: {last_seq}\n".encode() not in seen[-100_000:]:
                    seen += await loop.sock_recv(client, 50_000)
                    sizes += [queue.size_bytes for queue in queues(tab)]
                    await asyncio.sleep(0.001)
        assert max(sizes) <= MAX_QUEUED_BYTES
        numbers = [int(line[4:]) for line in seen.splitlines() if line.startswith(b"id: ")]
        assert numbers == list(range(1, last_seq + 1))


async def test_a_quiet_stream_is_pinged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stream.HEARTBEAT_S == 15
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.2)
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        loop = asyncio.get_running_loop()
        async with connected(tab, session) as client:
            seen = b""
            async with asyncio.timeout(30):
                while seen.count(b": \n\n") < 4:
                    seen += await loop.sock_recv(client, 65_536)
