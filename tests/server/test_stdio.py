"""The message streams over a pipe, as a client on the other end sees them."""

from __future__ import annotations

import json
import os
import threading

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest

from madang.server.stdio import MAX_QUEUED_MESSAGES, PendingRequests, StdinReader, StdoutWriter


def _notification(number: int) -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=f"changed/{number}"))


async def _answers_nothing(_: SessionMessage) -> None:
    raise AssertionError("every line was a message")


REQUEST = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":'


@pytest.mark.parametrize(
    ("line", "id", "code", "reason"),
    [
        (b"\xff{", None, PARSE_ERROR, "byte 1 is not UTF-8"),
        (b"{", None, PARSE_ERROR, "EOF"),
        (b"plain text", None, PARSE_ERROR, "expected value"),
        (b"\xff\xfe{\x00}\x00", None, PARSE_ERROR, "not UTF-8"),
        (b'{"id":' + b"1" * 5000 + b"}", None, PARSE_ERROR, "number out of range"),
        (b"[" * 100_000, None, PARSE_ERROR, "recursion limit"),
        (REQUEST + b'{"a":"\\ud83d"}}', 7, PARSE_ERROR, "half of a surrogate pair"),
        (REQUEST + b'{"a":"\\udc00 \\ud83d\\ude00"}}', 7, PARSE_ERROR, "surrogate pair"),
        (REQUEST + b'{"a":"\\u12"}}', 7, PARSE_ERROR, "invalid escape"),
        (REQUEST + b'{"a":"\xed\xa0\xbd"}}', 7, PARSE_ERROR, "is not UTF-8"),
        (REQUEST + b'{"a":"\x00"}}', 7, PARSE_ERROR, "control character"),
        (REQUEST + b'{"a":' + b"1" * 5000 + b"}}", 7, PARSE_ERROR, "number out of range"),
        (REQUEST + b'{"a":' * 100_000, 7, PARSE_ERROR, "recursion limit"),
        (b'{"method":"ping","params":{"a":\xff},"jsonrpc":"2.0","id":"x"}', "x", PARSE_ERROR, "not UTF-8"),
        (b'{"jsonrpc":"2.0","id":8,"result":{"a":\xff}}', None, PARSE_ERROR, "not UTF-8"),
        (b'{"method":"ping","params":{"id":8},"a":\xff}', None, PARSE_ERROR, "not UTF-8"),
        (
            b'{"jsonrpc":"2.0","id":7,"method":"ping"}\r{"jsonrpc":"2.0","id":8,"method":"ping"}\r',
            None,
            PARSE_ERROR,
            "trailing",
        ),
        (b"5", None, INVALID_REQUEST, "a JSON object"),
        (b"[]", None, INVALID_REQUEST, "batches"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, INVALID_REQUEST, "batches"),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', 7, INVALID_REQUEST, "must be a string"),
        (b'{"jsonrpc":"1.0","id":"a","method":"ping"}', "a", INVALID_REQUEST, '"jsonrpc": "2.0"'),
        (REQUEST + b"[]}", 7, INVALID_REQUEST, "must be an object"),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping","params":[]}', None, INVALID_REQUEST, "must be an object"),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, INVALID_REQUEST, "a string or an integer"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, INVALID_REQUEST, "a string or an integer"),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, INVALID_REQUEST, "a string or an integer"),
        (b'{"jsonrpc":"2.0","\\u0069d":{},"method":"ping"}', None, INVALID_REQUEST, "a string or an integer"),
        (b'{"jsonrpc":"2.0","id":7,"result":5}', None, INVALID_REQUEST, "a result or an error"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_line_that_is_no_message_is_answered_and_the_next_one_still_arrives(
    line: bytes, id: int | str | None, code: int, reason: str
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
    assert reason in answer.message.error.message
    assert answer.message.error.message.isprintable()
    assert answer.message.model_dump_json()
    assert [item.message for item in items] == [JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")]
    os.close(stdin)


async def test_a_line_that_is_too_long_is_skipped_without_being_kept_and_its_request_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("madang.server.stdio.MAX_LINE_BYTES", 100_000)
    answers: list[SessionMessage] = []

    async def refuse(answer: SessionMessage) -> None:
        answers.append(answer)

    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    fits = ping + b" " * (100_000 - len(ping))
    long = b"x" * 300_000
    lines = [
        fits,
        fits + b" ",
        b'{"method":"tools/call","params":{"a":"' + long + b'"},"jsonrpc":"2.0","id":"last"}',
        b'{"jsonrpc":"2.0","id":9,"result":{"a":"' + long + b'"}}',
        b'{"a":"' + long + b'","id":8}',
        ping,
        long,
    ]

    def write() -> None:
        with os.fdopen(client, "wb") as file:
            file.write(b"\n".join(lines))

    stdin, client = os.pipe()
    threading.Thread(target=write).start()
    with anyio.fail_after(60):
        items = [item async for item in StdinReader(stdin, PendingRequests(timeout_s=0), refuse)]

    assert len(items) == 2
    errors = [answer.message for answer in answers if isinstance(answer.message, JSONRPCError)]
    assert [error.id for error in errors] == [1, "last", None, None, None]
    assert all("was not read" in error.error.message for error in errors)
    os.close(stdin)


async def test_a_mark_of_the_byte_order_before_a_message_is_no_error() -> None:
    stdin, client = os.pipe()
    os.write(client, b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n')
    os.close(client)

    with anyio.fail_after(60):
        items = [item async for item in StdinReader(stdin, PendingRequests(timeout_s=0), _answers_nothing)]

    assert len(items) == 1
    os.close(stdin)


async def test_large_lines_are_not_read_ahead_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madang.server.stdio.MAX_LINE_BYTES", 100_000)
    line = b'{"jsonrpc":"2.0","method":"' + b"x" * 60_000 + b'"}\n'
    written = 0

    def write() -> None:
        nonlocal written
        with os.fdopen(client, "wb", buffering=0) as file:
            for _ in range(100):
                file.write(line)
                written += 1

    stdin, client = os.pipe()
    thread = threading.Thread(target=write)
    thread.start()
    reader = StdinReader(stdin, PendingRequests(timeout_s=0), _answers_nothing)
    with anyio.fail_after(60):
        await reader.receive()
        await anyio.to_thread.run_sync(thread.join, 0.5)
        # One is queued, one waits for room, and the pipe and the buffer behind it hold a MiB each.
        assert written < 45
        assert len([item async for item in reader]) == 99
    os.close(stdin)


async def test_the_end_of_input_waits_for_each_request_and_not_for_what_was_cancelled() -> None:
    def request(id: int | str) -> JSONRPCRequest:
        return JSONRPCRequest(jsonrpc="2.0", id=id, method="tools/call")

    def answer(id: int | str | None) -> JSONRPCError:
        return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=1, message=""))

    pending = PendingRequests(timeout_s=0.01)
    drained = PendingRequests(timeout_s=3600)
    for requests in (pending, drained):
        for id in (1, 1, "2", 3):
            requests.received(request(id))
        cancelled = {"requestId": 2}
        requests.received(JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=cancelled))
        requests.received(
            JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params={"requestId": []})
        )
        for answered in (answer(None), answer(1), answer(3), answer(3), answer("other")):
            requests.answered(answered)
    drained.answered(answer("1"))

    with anyio.fail_after(60):
        await drained.drained()
    assert not pending._is_empty.is_set()


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


async def test_a_message_is_one_line_however_its_reader_tells_lines_apart() -> None:
    client, stdout = os.pipe()
    writer = StdoutWriter(stdout, PendingRequests(timeout_s=0))
    value = "한글\u2028a\u2029b\x85c\nd\x0be"
    message = JSONRPCNotification(jsonrpc="2.0", method="changed", params={"value": value})

    with anyio.fail_after(60):
        await writer.send(SessionMessage(message))
        await writer.aclose()

    (line,) = os.read(client, 65536).decode().splitlines()
    assert json.loads(line)["params"] == {"value": value}
    assert "한글" in line
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
