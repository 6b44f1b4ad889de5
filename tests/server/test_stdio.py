"""The message streams over a pipe, as a client on the other end sees them."""

from __future__ import annotations

import json
import os
import threading

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCError, JSONRPCNotification, JSONRPCRequest

from madang.server.stdio import MAX_QUEUED_MESSAGES, PendingRequests, StdinReader, StdoutWriter


def _notification(number: int) -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=f"changed/{number}"))


async def _answers_nothing(_: SessionMessage) -> None:
    raise AssertionError("every line was a message")


@pytest.mark.parametrize(
    ("line", "id", "code"),
    [
        (b"\xff{", None, PARSE_ERROR),
        (b"{", None, PARSE_ERROR),
        (b'{"id":' + b"1" * 5000 + b"}", None, PARSE_ERROR),
        (b"[" * 100_000, None, PARSE_ERROR),
        (b"5", None, INVALID_REQUEST),
        (b"[]", None, INVALID_REQUEST),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', 7, INVALID_REQUEST),
        (b'{"jsonrpc":"1.0","id":"a","method":"ping"}', "a", INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping","params":[]}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"result":5}', None, INVALID_REQUEST),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_line_that_is_no_message_is_answered_and_the_next_one_still_arrives(
    line: bytes, id: int | str | None, code: int
) -> None:
    answers: list[SessionMessage] = []

    async def refuse(answer: SessionMessage) -> None:
        answers.append(answer)

    def write() -> None:
        with os.fdopen(client, "wb") as file:
            file.write(line + b'\n \n{"jsonrpc":"2.0","id":1,"method":"ping"}\n')

    stdin, client = os.pipe()
    threading.Thread(target=write).start()
    with anyio.fail_after(60):
        items = [item async for item in StdinReader(stdin, PendingRequests(timeout_s=0), refuse)]

    (answer,) = answers
    assert isinstance(answer.message, JSONRPCError)
    assert (answer.message.id, answer.message.error.code) == (id, code)
    assert [item.message for item in items] == [JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")]
    os.close(stdin)


async def test_receiving_after_the_client_left_says_so_every_time() -> None:
    stdin, client = os.pipe()
    os.close(client)
    reader = StdinReader(stdin, PendingRequests(timeout_s=0), _answers_nothing)

    with anyio.fail_after(60):
        for _ in range(2):
            with pytest.raises(anyio.EndOfStream):
                await reader.receive()
    os.close(stdin)


async def test_closing_waits_until_everything_is_written() -> None:
    client, stdout = os.pipe()
    writer = StdoutWriter(stdout, PendingRequests(timeout_s=0))

    with anyio.fail_after(60):
        for number in range(10):
            await writer.send(_notification(number))
        await writer.aclose()
        await writer.aclose()

    lines = os.read(client, 65536).splitlines()
    assert [json.loads(line)["method"] for line in lines] == [f"changed/{number}" for number in range(10)]
    with pytest.raises(anyio.ClosedResourceError):
        await writer.send(_notification(10))
    os.close(client)
    os.close(stdout)


async def test_a_client_that_does_not_read_makes_the_server_wait() -> None:
    client, stdout = os.pipe()
    writer = StdoutWriter(stdout, PendingRequests(timeout_s=0))
    sent = 0

    async def send_more_than_the_pipe_holds() -> None:
        nonlocal sent
        large = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="x" * 65536))
        for _ in range(3 * MAX_QUEUED_MESSAGES):
            await writer.send(large)
            sent += 1

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send_more_than_the_pipe_holds)
            await anyio.wait_all_tasks_blocked()
            assert sent < 2 * MAX_QUEUED_MESSAGES
            while sent < 3 * MAX_QUEUED_MESSAGES:
                await anyio.to_thread.run_sync(os.read, client, 65536)
    os.close(client)


async def test_a_client_that_went_away_does_not_stop_the_server() -> None:
    client, stdout = os.pipe()
    os.close(client)
    writer = StdoutWriter(stdout, PendingRequests(timeout_s=0))

    with anyio.fail_after(60):
        await writer.send(_notification(1))
        await writer.aclose()
    os.close(stdout)
