"""Long strings that are taken out of a message come back as they were, through every door."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import PARSE_ERROR, JSONRPCNotification, JSONRPCRequest

from madang.core.calls import Call
from madang.core.results import ToolResult
from madang.server import long_strings
from madang.server.long_strings import MIN_LONG_BYTES, SLICE_BYTES, LongStrings, decode_string, find_places, take_out
from madang.server.sdk import MalformedMessage
from madang.server.stdio import PendingRequests, StdinReader, StdoutWriter
from tests.doors import TOKEN
from tests.security.served import ACCEPT, INITIALIZE
from tests.server.serving import Offering, schema_tool, serving, serving_http
from tests.wires import envelope

TEXTS = st.text(st.sampled_from('"\\/u0dD8c,:{}[]ab \n\t한é🚀\ud7ff\ue000'), max_size=90)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | TEXTS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
)
MESSAGE = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
LONG = '가나다 \\ "quoted" 🚀\n' * (3 * SLICE_BYTES // 10)


def _put_together(body: bytes) -> Any:
    """Return the message of a body that was taken apart, or None if it is left whole."""
    extract = take_out(body)
    message = json.loads(extract.rest) if extract else {}
    places = find_places(message.get("method"), message.get("params"), extract.encoded) if extract else None
    if extract is None or places is None:
        return None
    for marker, place in places.items():
        long_strings.value_at(message["params"], place[:-1])[place[-1]] = decode_string(extract.encoded[marker])
    return message


@given(
    arguments=st.dictionaries(TEXTS, VALUES, max_size=4),
    slice_bytes=st.integers(13, 40),
    ensure_ascii=st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_a_message_is_the_same_wherever_a_slice_ends(
    arguments: dict[str, Any], slice_bytes: int, ensure_ascii: bool
) -> None:
    message = {**MESSAGE, "params": {"name": "x", "arguments": arguments}}
    body = json.dumps(message, ensure_ascii=ensure_ascii).encode()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_strings, "MIN_LONG_BYTES", 20)
        patch.setattr(long_strings, "SLICE_BYTES", slice_bytes)
        assert _put_together(body) == (message if take_out(body) else None)


@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_a_text_of_many_slices_is_taken_out(ensure_ascii: bool) -> None:
    message = {**MESSAGE, "params": {"name": "x", "arguments": {"a": [1, {"b": LONG}], "c": LONG[::-1], "d": "short"}}}
    body = json.dumps(message, ensure_ascii=ensure_ascii).encode()

    extract = take_out(body)
    assert extract is not None
    assert len(extract.rest) < 500
    assert _put_together(body) == message


@pytest.mark.parametrize(
    "message",
    [
        {**MESSAGE, "params": {"name": LONG, "arguments": {}}},
        {**MESSAGE, "params": {"name": "x", "_meta": {"a": LONG}, "arguments": {"a": LONG}}},
        {**MESSAGE, "params": {"name": "x", "arguments": {LONG: 1}}},
        {**MESSAGE, "params": {"name": "x", "arguments": LONG}},
        {**MESSAGE, "id": LONG, "params": {"name": "x", "arguments": {"a": LONG}}},
        {**MESSAGE, "method": "resources/read", "params": {"arguments": {"a": LONG}}},
        {**MESSAGE, "params": [LONG]},
        {**MESSAGE, "params": {"name": "x", "arguments": {"a": '"' * 200_000}}},
    ],
    ids=["name", "meta", "field", "arguments", "id", "method", "params", "quotes"],
)
def test_a_string_elsewhere_than_in_arguments_stays_where_it_is(message: dict[str, Any]) -> None:
    assert _put_together(json.dumps(message).encode()) is None


@pytest.mark.parametrize(
    "end",
    [b"\\", b"\\x", b"\\u12", b"\xff", b"\xed\xa0\xbd", b"\n", b"\\ud83d", b"\\udc00", b"\\ud83d" * SLICE_BYTES],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_string_is_refused_in_every_slice(end: bytes) -> None:
    for encoded in (b"x" * SLICE_BYTES + end, end + b"x" * SLICE_BYTES, b"x" * (SLICE_BYTES - 3) + end + b"y" * 9):
        with pytest.raises(ValueError, match=r"."):
            decode_string(memoryview(encoded + b"z"))


async def _read(*lines: bytes) -> list[SessionMessage]:
    def write() -> None:
        with os.fdopen(client, "wb") as file:
            file.write(b"".join(line + b"\n" for line in lines))

    async def refuse(answer: SessionMessage) -> None:
        raise AssertionError(answer)

    stdin, client = os.pipe()
    threading.Thread(target=write).start()
    with anyio.fail_after(60):
        items = [item async for item in StdinReader(stdin, PendingRequests(timeout_s=0), refuse)]
    os.close(stdin)
    return items


def _long_strings(item: SessionMessage) -> LongStrings:
    assert isinstance(item.metadata, ServerMessageMetadata)
    strings = item.metadata.request_context
    assert isinstance(strings, LongStrings)
    return strings


async def test_messages_over_a_pipe_stay_in_order_and_more_come_than_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madang.server.stdio.MAX_LINE_BYTES", 8 * MIN_LONG_BYTES)
    call = {**MESSAGE, "params": {"name": "x", "arguments": {"a": "한" * MIN_LONG_BYTES}}}
    lines = []
    for number in range(12):
        lines.append(json.dumps({**call, "id": number}).encode())
        lines.append(json.dumps({"jsonrpc": "2.0", "method": f"changed/{number}"}).encode())

    items = await _read(*lines)

    messages = [item.message for item in items]
    assert [one.id for one in messages if isinstance(one, JSONRPCRequest)] == list(range(12))
    assert [one.method for one in messages[1::2] if isinstance(one, JSONRPCNotification)] == [
        f"changed/{number}" for number in range(12)
    ]
    for item in items[::2]:
        assert _long_strings(item).texts.result(60) == ["한" * MIN_LONG_BYTES]


@pytest.mark.parametrize(("text", "reason"), [(b"\\ud83d", "half of a surrogate pair"), (b"\\x", "invalid escape")])
async def test_a_string_that_is_none_is_told_as_in_a_short_line(text: bytes, reason: str) -> None:
    call = json.dumps({**MESSAGE, "params": {"name": "x", "arguments": {"a": "%"}}}).encode()

    (item,) = await _read(call.replace(b"%", b"x" * MIN_LONG_BYTES + text))

    failure = _long_strings(item).texts.exception(60)
    assert isinstance(failure, MalformedMessage)
    assert failure.error.code == PARSE_ERROR
    assert reason in failure.error.message


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
    lines.append(bad.replace("%", "x" * MIN_LONG_BYTES + "\\ud83d"))
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
        bad = json.dumps(call).replace("short", "x" * MIN_LONG_BYTES + "\\x")
        assert (await client.post(url, headers=headers, content=bad.encode(), timeout=60)).status_code == 400

    assert echo.seen == [ARGUMENTS]
