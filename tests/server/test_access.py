"""Access control over HTTP, in process: limits on bodies, and ASGI scopes that are no requests."""

from __future__ import annotations

import asyncio
import json
import socket
from itertools import pairwise
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send

from madang.core.arguments import check_shape
from madang.core.errors import SetupError
from madang.core.limits import MAX_ARGUMENT_DEPTH, MAX_BODY_BYTES, MAX_BODY_DEPTH, MAX_BODY_VALUES
from madang.server.gate import MCP, Gate, PolicyRoute
from madang.server.http import listening_socket, local_policy

TOKEN = "t" * 32
POLICY = local_policy(TOKEN, "127.0.0.1", 8321)
HEADERS = {"host": "127.0.0.1:8321", "authorization": f"Bearer {TOKEN}", "content-type": "application/json"}


class Inside:
    """An app that notes the bodies that got in."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        self.bodies.append(message["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def send_body(
    parts: list[bytes], headers: dict[str, str] | None = None, **changes: Any
) -> tuple[int, list[bytes]]:
    """Send a request through access control; return its status (0: none at all) and the bodies that got inside."""
    inside = Inside()
    lines = [(name.encode(), value.encode()) for name, value in (HEADERS if headers is None else headers).items()]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": lines, **changes}
    incoming: list[Message] = [
        {"type": "http.request", "body": part, "more_body": number < len(parts)} for number, part in enumerate(parts, 1)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return incoming.pop(0) if incoming else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    with anyio.fail_after(60):
        await Gate(inside, POLICY, [PolicyRoute("/mcp", inside, policy=MCP)])(scope, receive, send)
    return (sent[0]["status"] if sent else 0), inside.bodies


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


TEXTS = st.text(st.sampled_from('[]{}",\\ab\n한'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=30,
)


@given(value=VALUES, wraps=st.integers(0, 80), cuts=st.lists(st.integers(0, 400), max_size=3))
@settings(max_examples=150, deadline=None)
async def test_t37_json_gets_in_unchanged_unless_it_is_too_deep(value: Any, wraps: int, cuts: list[int]) -> None:
    """Brackets and quotes inside of strings are no depth, however the body is cut on its way."""
    for _ in range(wraps):
        value = [value]
    body = json.dumps(value, ensure_ascii=False).encode()
    edges = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    parts = [body[start:end] for start, end in pairwise(edges)]

    status, inside = await send_body(parts)

    if depth(value) > MAX_BODY_DEPTH:
        assert (status, inside) == (400, [])
    else:
        assert (status, inside) == (200, [body])


@given(body=st.binary(max_size=200) | st.text(st.sampled_from('[]{}",:\\1 '), max_size=200).map(str.encode))
@settings(max_examples=200, deadline=None)
async def test_t37_any_bytes_are_answered(body: bytes) -> None:
    status, inside = await send_body([body])

    assert status in (200, 400)
    assert inside == ([body] if status == 200 else [])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (json.dumps("x" * (MAX_BODY_BYTES - 2)).encode(), 200),
        (json.dumps("x" * (MAX_BODY_BYTES - 1)).encode(), 413),
        (json.dumps([0] * MAX_BODY_VALUES).encode(), 200),
        (json.dumps([0] * (MAX_BODY_VALUES + 2)).encode(), 413),
        (json.dumps("," * (MAX_BODY_VALUES + 2)).encode(), 200),
    ],
    ids=["largest", "too large", "most values", "too many values", "commas in a string"],
)
async def test_t37_the_limits_are_where_they_are_said_to_be(body: bytes, status: int) -> None:
    parts = [body[start : start + 65536] for start in range(0, len(body), 65536)]

    assert await send_body(parts) == (status, [body] if status == 200 else [])


async def test_t37_a_body_has_room_for_the_deepest_arguments() -> None:
    arguments: dict[str, Any] = {}
    for _ in range(MAX_ARGUMENT_DEPTH - 1):
        arguments = {"a": arguments}
    check_shape(arguments)
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": arguments}}
    body = json.dumps(request).encode()

    assert await send_body([body]) == (200, [body])


@pytest.mark.parametrize("kind", ["websocket", "webtransport", "unknown"])
async def test_t40_a_connection_of_another_kind_does_not_get_in(kind: str) -> None:
    assert await send_body([b"{}"], type=kind) == (0, [])


async def test_a_client_that_goes_away_in_its_body_does_not_get_in() -> None:
    status, inside = await send_body([])

    assert (status, inside) == (400, [])


def test_t40_the_policy_allows_exact_names_with_the_port_only() -> None:
    assert POLICY.hosts == {"127.0.0.1:8321", "localhost:8321", "[::1]:8321"}
    assert POLICY.origins == {"http://127.0.0.1:8321", "http://localhost:8321", "http://[::1]:8321"}


async def test_no_part_of_an_answer_waits_for_the_acknowledgement_of_the_one_before() -> None:
    """A client may put that off for 40 ms, and an answer has two parts: so every call took that long."""
    options: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        options.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with listening_socket("127.0.0.1", 0) as listening:
        async with await asyncio.start_server(connected, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            assert await asyncio.wait_for(options, 60)
            writer.close()


def test_a_port_that_is_taken_is_a_matter_of_setup() -> None:
    with listening_socket("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert taken.getsockname()[0] == "127.0.0.1"
        with pytest.raises(SetupError, match=str(port)):
            listening_socket("localhost", port)


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/mcp/.well-known/openid-configuration",
    ],
)
async def test_a_client_that_looks_for_a_login_learns_without_a_token_that_there_is_none(
    path: str, method: str
) -> None:
    """A 401 there would send it on, to ask the person to log in."""
    headers = {name: value for name, value in HEADERS.items() if name != "authorization"}

    assert await send_body([], headers, path=path, method=method) == (404, [])
    assert await send_body([], {**headers, "host": "evil.test"}, path=path, method=method) == (421, [])
    assert await send_body([], {**headers, "origin": "http://evil.test"}, path=path, method=method) == (403, [])
    assert await send_body([], {**headers, "sec-fetch-site": "cross-site"}, path=path, method=method) == (403, [])
    assert await send_body([], HEADERS, path=path, method=method) == (404, [])
