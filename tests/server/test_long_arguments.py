"""Long arguments come whole and in order, through every door."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from typing import Any

import anyio
import httpx2
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, JSONRPCError, JSONRPCNotification, JSONRPCRequest

from madang.core.calls import Call
from madang.core.results import ToolResult
from madang.server.bodies import INLINE_PARSE_MAX_BYTES
from madang.server.stdio import PendingRequests, StdinReader, StdoutWriter
from tests.doors import TOKEN
from tests.security.served import ACCEPT, INITIALIZE
from tests.server.serving import Offering, schema_tool, serving, serving_http
from tests.wires import envelope

MESSAGE = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
LONG = '가나다 \\ "quoted" 🚀\n' * (3 * INLINE_PARSE_MAX_BYTES // 10)


async def _read(*lines: bytes) -> tuple[list[SessionMessage], list[JSONRPCError]]:
    """Return the messages of these lines, and what those are answered with that are none."""
    answers: list[JSONRPCError] = []

    def write() -> None:
        with os.fdopen(client, "wb") as file:
            file.write(b"".join(line + b"\n" for line in lines))

    async def refuse(answer: SessionMessage) -> None:
        assert isinstance(answer.message, JSONRPCError)
        answers.append(answer.message)

    stdin, client = os.pipe()
    threading.Thread(target=write).start()
    with anyio.fail_after(60):
        items = [item async for item in StdinReader(stdin, PendingRequests(timeout_s=0), refuse)]
    os.close(stdin)
    return items, answers


async def test_messages_over_a_pipe_stay_in_order_and_more_come_than_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madang.server.stdio.MAX_LINE_BYTES", 8 * INLINE_PARSE_MAX_BYTES)
    call: dict[str, Any] = {**MESSAGE, "params": {"name": "x", "arguments": {"a": "한" * INLINE_PARSE_MAX_BYTES}}}
    lines = []
    for number in range(12):
        lines.append(json.dumps({**call, "id": number}).encode())
        lines.append(json.dumps({"jsonrpc": "2.0", "method": f"changed/{number}"}).encode())

    items, answers = await _read(*lines)
    assert not answers

    messages = [item.message for item in items]
    assert [one.id for one in messages if isinstance(one, JSONRPCRequest)] == list(range(12))
    assert [one.method for one in messages[1::2] if isinstance(one, JSONRPCNotification)] == [
        f"changed/{number}" for number in range(12)
    ]
    for item in items[::2]:
        assert isinstance(item.message, JSONRPCRequest)
        assert item.message.params == call["params"]


@pytest.mark.parametrize(("text", "reason"), [(b"\\ud83d", "half of a surrogate pair"), (b"\\x", "invalid escape")])
async def test_a_string_that_is_none_is_told_as_in_a_short_line(text: bytes, reason: str) -> None:
    call = json.dumps({**MESSAGE, "params": {"name": "x", "arguments": {"a": "%"}}}).encode()

    items, (answer,) = await _read(call.replace(b"%", b"x" * INLINE_PARSE_MAX_BYTES + text))

    assert items == []
    assert answer.id == MESSAGE["id"]
    assert answer.error.code == PARSE_ERROR
    assert reason in answer.error.message


class _Echo:
    """Offers a tool that keeps its arguments."""

    def __init__(self) -> None:
        self.seen: list[Mapping[str, Any]] = []
        self.service = Offering(schema_tool("echo", self._keep))

    async def _keep(self, call: Call, arguments: Mapping[str, Any]) -> ToolResult[Any]:
        self.seen.append(arguments)
        return ToolResult([f"client {'yes' if call.client_id else 'no'}"], {})


ARGUMENTS = {"a": [{"b": LONG}], "c": LONG, "d": "short"}


@pytest.mark.parametrize("hello", [None, INITIALIZE], ids=["modern", "legacy"])
async def test_a_tool_gets_its_long_arguments_over_a_pipe(hello: dict[str, Any] | None) -> None:
    echo = _Echo()
    meta = {} if hello else {"_meta": envelope("test")}
    calls: list[dict[str, Any]] = [
        {**MESSAGE, "id": id, "params": {"name": "echo", "arguments": arguments, **meta}}
        for id, arguments in (("long", ARGUMENTS), ("short", {"a": 1}))
    ]
    bad = json.dumps({**calls[1], "id": "bad", "params": {**calls[1]["params"], "arguments": {"a": "%"}}})
    lines = [json.dumps(one) for one in ([hello] if hello else []) + calls]
    lines.append(bad.replace("%", "x" * INLINE_PARSE_MAX_BYTES + "\\ud83d"))
    (stdin, to_server), (from_server, stdout) = os.pipe(), os.pipe()
    answers: dict[str, Any] = {}

    def exchange() -> None:
        with os.fdopen(to_server, "wb") as requests, os.fdopen(from_server, "rb") as results:
            for line in lines:
                requests.write(line.encode() + b"\n")
                requests.flush()
            while len(answers) < len(lines):
                message = json.loads(results.readline())
                answers[message["id"]] = message

    with anyio.fail_after(60):
        async with serving(echo.service) as served, anyio.create_task_group() as tasks:
            pending = PendingRequests()
            writer = StdoutWriter(stdout, pending)
            tasks.start_soon(served.server.serve_connection, StdinReader(stdin, pending, writer.send), writer)
            await anyio.to_thread.run_sync(exchange)
    os.close(stdin)
    os.close(stdout)

    assert ARGUMENTS in echo.seen
    assert len(echo.seen) == 2
    texts = [answers[id]["result"]["content"][0]["text"] for id in ("long", "short")]
    assert texts[0] == texts[1] == "[echo] client yes"
    assert answers["bad"]["error"]["code"] == PARSE_ERROR
    assert "half of a surrogate pair" in answers["bad"]["error"]["message"]


@pytest.mark.parametrize("is_modern", [True, False], ids=["modern", "legacy"])
async def test_a_tool_gets_its_long_arguments_over_http(is_modern: bool) -> None:
    echo = _Echo()
    headers = {"authorization": f"Bearer {TOKEN}", "accept": ACCEPT, "content-type": "application/json"}
    meta = {"_meta": envelope("test")} if is_modern else {}
    call = {**MESSAGE, "params": {"name": "echo", "arguments": ARGUMENTS, **meta}}
    async with serving(echo.service) as served, serving_http(served.server) as url, httpx2.AsyncClient() as client:
        if is_modern:
            version = meta["_meta"]["io.modelcontextprotocol/protocolVersion"]
            headers |= {"mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "echo"}
        else:
            opened = await client.post(url, headers=headers, json=INITIALIZE)
            headers |= {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-06-18"}
        answer = await client.post(url, headers=headers, content=json.dumps(call).encode(), timeout=60)
        assert answer.status_code == 200
        bad = json.dumps(call).replace("short", "x" * INLINE_PARSE_MAX_BYTES + "\\x")
        assert (await client.post(url, headers=headers, content=bad.encode(), timeout=60)).status_code == 400

    assert echo.seen == [ARGUMENTS]
