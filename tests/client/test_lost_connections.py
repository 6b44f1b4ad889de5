"""Servers that are killed under an open connection: one clear error, at the call, and the program goes on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from madang.client import ServerProxy, connect
from madang.core.errors import ConnectionLost
from tests.security.served import TOKEN, serve

Transport = Literal["stdio", "http"]

RUN_MADANG = """if True:
    import os, pathlib, runpy, sys

    pathlib.Path(sys.argv.pop(1)).write_text(str(os.getpid()))
    sys.argv[0] = "madang"
    runpy.run_module("madang", run_name="__main__")
"""


@asynccontextmanager
async def connected(transport: Transport, folder: Path) -> AsyncIterator[tuple[ServerProxy, int]]:
    """A connection to a Madang in a process of its own, and the id of that process."""
    if transport == "http":
        with serve(folder) as served:
            async with connect(f"http://{served.host}/mcp", token=TOKEN) as server:
                yield server, served.process.pid
        return
    noted = folder / "pid"
    command = [sys.executable, "-c", RUN_MADANG, str(noted), "mcp", "--data-dir", str(folder / "data")]
    async with connect(command) as server:
        yield server, int(noted.read_text())


@pytest.fixture(params=["stdio", "http"])
def transport(request: pytest.FixtureRequest) -> Any:
    return request.param


async def test_a_server_killed_between_calls_is_one_error_at_every_later_call(
    transport: Transport, tmp_path: Path
) -> None:
    with anyio.fail_after(60):
        async with connected(transport, tmp_path) as (server, pid):
            await server.add_todo(name="Write it down")
            os.kill(pid, signal.SIGKILL)

            for _ in range(2):
                with pytest.raises(ConnectionLost, match="The connection to the server was lost: ") as raised:
                    await server.get_current_state()

    assert raised.value.code == "connection_lost"
    assert "look before you repeat it" in str(raised.value.hint)


async def test_a_server_killed_in_a_call_is_one_error_of_that_call(transport: Transport, tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with connected(transport, tmp_path) as (server, pid):
            question = await server.prompt_user(prompt="Which?", type="text")
            waiting = asyncio.create_task(server.get_prompt(message_id=question.message_id, wait_s=25))
            await server.get_current_state()
            assert not waiting.done()
            os.kill(pid, signal.SIGKILL)

            with pytest.raises(ConnectionLost):
                await waiting


async def test_an_error_that_nobody_catches_leaves_the_block_as_it_is(transport: Transport, tmp_path: Path) -> None:
    async def kill_and_call() -> None:
        async with connected(transport, tmp_path) as (server, pid):
            os.kill(pid, signal.SIGKILL)
            await server.get_current_state()

    with anyio.fail_after(60), pytest.raises(ConnectionLost):
        await kill_and_call()


async def test_a_connection_that_nobody_uses_any_more_is_closed_without_an_error(
    transport: Transport, tmp_path: Path
) -> None:
    with anyio.fail_after(60):
        async with connected(transport, tmp_path) as (server, pid):
            await server.get_current_state()
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_that_breaks_off_is_one_error_of_that_call(kind: str) -> None:
    """A server that dies while it writes: half a body, then nothing."""
    answers = {
        "server/discover": '{"error": {"code": -32601, "message": "Method not found"}}',
        "initialize": '{"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},'
        ' "serverInfo": {"name": "half", "version": "1"}}}',
        "tools/list": '{"result": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}}',
    }

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0")
        body = await reader.readexactly(int(length.split(b":")[1]))
        request = json.loads(body)
        answer = {**request, **json.loads(answers.get(request.get("method", ""), "{}").encode())}
        whole = json.dumps({key: answer[key] for key in ("jsonrpc", "id", "result", "error") if key in answer}).encode()
        if request.get("method") == "tools/call":
            head_of_answer = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: 5000\r\n\r\n"
            writer.write(head_of_answer.encode() + (b"data: " if "event" in kind else b"") + b'{"jsonrpc": ')
        elif "id" not in request:
            writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        else:
            line = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(whole)}\r\n"
            writer.write(line.encode() + b"connection: close\r\n\r\n" + whole)
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with listener:
        address = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/mcp"
        with anyio.fail_after(60):
            async with connect(address) as server:
                with pytest.raises(ConnectionLost):
                    await server.look()
                with pytest.raises(ConnectionLost):
                    await server.look()
