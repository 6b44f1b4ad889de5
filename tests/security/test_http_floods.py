"""Floods of the HTTP door: connections, heads and bodies that never end, and sessions that are left behind.

Beside each, a client with the token is served throughout.
"""

from __future__ import annotations

import json
import resource
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from madang.server.http_server import Clocks
from tests.security.served import INITIALIZE, TIMEOUT_S, TOKEN, Answer, Served, read_answer, serve

DESCRIPTORS = 1024
"""The usual limit; the server's own."""

MAX_CALL_S = 0.9 * Clocks().head_s
"""Whoever is kept out waits until the clock of those who came before is over."""
PAUSE_S = 0.05
BODY = json.dumps(INITIALIZE).encode()


@pytest.fixture(scope="module", autouse=True)
def _many_descriptors() -> Iterator[None]:
    """Let this process open more sockets than the server may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 4096
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, max(hard, needed)))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("served"), DESCRIPTORS) as served:
        served.playbooks(served.session())  # opens what stays open
        yield served


@contextmanager
def another_client(served: Served) -> Iterator[None]:
    """Call tools all the while, each over a new connection; every call has to be answered, and in time.

    It pauses between them: without, it would keep the server and this process busy for as long as a flood lasts.
    """
    session = served.session()
    is_over = threading.Event()
    slow_calls: list[float] = []
    failures: list[BaseException] = []

    def call() -> None:
        while not is_over.wait(PAUSE_S):
            began_at = time.monotonic()
            try:
                assert served.playbooks(session) == 0
            except BaseException as error:
                failures.append(error)
                return
            if (duration_s := time.monotonic() - began_at) > MAX_CALL_S:
                slow_calls.append(duration_s)

    thread = threading.Thread(target=call)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(TIMEOUT_S)
    assert not failures
    assert not slow_calls


def open_descriptors(served: Served) -> int:
    return len(list(Path(f"/proc/{served.process.pid}/fd").iterdir()))


def resident_bytes(served: Served) -> int:
    (line,) = [line for line in Path(f"/proc/{served.process.pid}/status").read_text().splitlines() if "VmRSS" in line]
    return int(line.split()[1]) * 1024


def wait_for_descriptors(served: Served, most: int) -> None:
    until = time.monotonic() + TIMEOUT_S
    while open_descriptors(served) > most:
        assert time.monotonic() < until, f"{open_descriptors(served)} descriptors are open"
        time.sleep(0.1)


def all_closed(connections: list[socket.socket], *, drip: bytes = b"", every_s: float = 1.0) -> list[bytes]:
    """Wait until the server has closed all of them, sending something now and then; return what each was told."""
    told = dict.fromkeys(connections, b"")
    still_open = set(connections)
    until = time.monotonic() + TIMEOUT_S
    poll = select.poll()
    by_number = {connection.fileno(): connection for connection in connections}
    for number in by_number:
        poll.register(number, select.POLLIN)
    dripped_at = time.monotonic()
    while still_open:
        assert time.monotonic() < until, f"{len(still_open)} connections are still open"
        for number, _ in poll.poll(200):
            connection = by_number[number]
            try:
                data = connection.recv(65536)
            except ConnectionError:
                data = b""
            told[connection] += data
            if not data:
                poll.unregister(number)
                still_open.remove(connection)
        if drip and time.monotonic() - dripped_at > every_s:
            dripped_at = time.monotonic()
            for connection in still_open:
                try:
                    connection.sendall(drip)
                except ConnectionError:
                    continue
    return list(told.values())


@contextmanager
def connections(served: Served, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(served.connect()) for _ in range(count)]


def head(served: Served, length: int, **changes: str | None) -> bytes:
    lines = [f"{name}: {value}" for name, value in served.headers(**changes)]
    return "\r\n".join(["POST /mcp HTTP/1.1", *lines, f"content-length: {length}", "", ""]).encode()


def quiet_log(served: Served, size_before: int) -> None:
    log = served.log.read_text()[size_before:]
    assert "Traceback" not in log
    # The calls of the other client are as many as there was time for.
    assert len([line for line in log.splitlines() if "list_playbooks ok" not in line]) < 1000


@pytest.mark.parametrize("first_bytes", [b"", b"POST /mcp HTTP/1.1\r\nHost: x\r\n"], ids=["silent", "half a head"])
def test_two_thousand_connections_without_a_request_keep_nobody_out(served: Served, first_bytes: bytes) -> None:
    before, log_before = open_descriptors(served), len(served.log.read_text())
    with another_client(served), connections(served, 2000) as silent:
        for connection in silent if first_bytes else []:
            try:
                connection.sendall(first_bytes)
            except ConnectionError:
                continue  # closed in favour of another
        assert open_descriptors(served) < DESCRIPTORS - 128
        all_closed(silent)
    wait_for_descriptors(served, before + 32)
    quiet_log(served, log_before)


def test_connections_that_come_again_and_again_keep_nobody_out(served: Served) -> None:
    before = open_descriptors(served)
    with another_client(served), connections(served, 300):
        for _ in range(20):
            with connections(served, 200):
                pass
    wait_for_descriptors(served, before + 32)


def test_three_hundred_half_requests_are_told_that_their_time_is_over(served: Served) -> None:
    """One more byte each second is no reason to wait on."""
    first_bytes = head(served, 0)[:60]
    with another_client(served), connections(served, 100) as slow:
        for connection in slow:
            connection.sendall(first_bytes)
        told = all_closed(slow, drip=b"x")
    assert {data.partition(b"\r\n")[0] for data in told} == {b"HTTP/1.1 408 Request Timeout"}

    with another_client(served), connections(served, 300) as slow:
        for connection in slow:
            try:
                connection.sendall(first_bytes)
            except ConnectionError:
                continue
        all_closed(slow, drip=b"x")


def test_bodies_that_never_come_are_given_up(served: Served) -> None:
    before, log_before = open_descriptors(served), len(served.log.read_text())
    with another_client(served), connections(served, 100) as slow:
        for connection in slow:
            connection.sendall(head(served, 4_000_000) + BODY[:10])
        told = all_closed(slow, drip=b" ")
    assert {data.partition(b"\r\n")[0] for data in told} == {b"HTTP/1.1 408 Request Timeout"}
    wait_for_descriptors(served, before + 32)
    quiet_log(served, log_before)


def test_bodies_of_refused_requests_are_given_up(served: Served) -> None:
    with another_client(served), connections(served, 100) as slow:
        for connection in slow:
            connection.sendall(head(served, 4_000_000, authorization="Bearer wrong") + BODY[:10])
        told = all_closed(slow, drip=b" ")
    assert {data.partition(b"\r\n")[0] for data in told} == {b"HTTP/1.1 401 Unauthorized"}


def test_a_body_without_a_length_is_given_up_too(served: Served) -> None:
    lines = [f"{name}: {value}" for name, value in served.headers(transfer_encoding="chunked")]
    with served.connect() as slow:
        slow.sendall("\r\n".join(["POST /mcp HTTP/1.1", *lines, "", ""]).encode())
        (told,) = all_closed([slow], drip=b"1\r\n \r\n")
    assert told.startswith(b"HTTP/1.1 408")


def test_chunks_that_are_none_after_a_refusal_leave_no_traceback(served: Served) -> None:
    log_before = len(served.log.read_text())
    headers = served.headers(authorization=None, transfer_encoding="chunked")
    lines = [f"{name}: {value}" for name, value in headers]
    with served.connect() as connection:
        connection.sendall("\r\n".join(["POST /mcp HTTP/1.1", *lines, "", ""]).encode())
        assert read_answer(connection).status == 401
        connection.sendall(b"no chunk\r\n")
        all_closed([connection])
    quiet_log(served, log_before)


HEADS = {
    "one of 64 KiB": [("x-long", "x" * 65536)],
    "two thousand": [(f"x-{number}", "x") for number in range(2000)],
    "many of 4 KiB": [(f"x-{number}", "x" * 4096) for number in range(20)],
}


@pytest.mark.parametrize("kind", HEADS)
def test_t37_headers_that_are_too_large_are_refused(served: Served, kind: str) -> None:
    answer: Answer = served.request("POST", body=BODY, headers=[*served.headers(), *HEADS[kind]])

    assert answer.status == 431


def test_t37_a_header_without_an_end_is_refused(served: Served) -> None:
    answer = served.send(b"POST /mcp HTTP/1.1\r\nx-long: " + b"x" * 70_000)

    assert answer.status == 431


def test_a_thousand_sessions_that_were_left_cost_nothing_that_stays(served: Served) -> None:
    with another_client(served):
        for _ in range(400):
            served.session()
        descriptors, memory = open_descriptors(served), resident_bytes(served)
        for _ in range(600):
            served.session()
        assert open_descriptors(served) < descriptors + 16
        assert resident_bytes(served) < memory + 24 * 1024 * 1024
    quiet_log(served, 0)
    # Clients of both eras still hear of changes.
    with listening(served) as changes:
        session = served.session()
        served.call(session, "create_playbook", {"goal": "told", "workflow": [{"description": "x"}]})
        heard = b""
        while b"notifications/resources/list_changed" not in heard:
            part = changes.recv(65536)
            assert part, heard
            heard += part
    assert TOKEN not in served.log.read_text()


@contextmanager
def listening(served: Served) -> Iterator[socket.socket]:
    """A stream of changes of the newer era."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"resourcesListChanged": True}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params}).encode()
    with served.connect() as connection:
        versions = {"mcp_protocol_version": "2026-07-28", "mcp_method": "subscriptions/listen"}
        connection.sendall(head(served, len(body), **versions) + body)
        begun = b""
        while b"acknowledged" not in begun:
            part = connection.recv(65536)
            assert part, begun
            begun += part
        yield connection


def test_a_server_without_descriptors_says_so_once_and_recovers(tmp_path: Path) -> None:
    """Something else may take the descriptors that were counted on."""
    with serve(tmp_path, DESCRIPTORS) as served:
        session = served.session()
        assert served.playbooks(session) == 0
        log_before = len(served.log.read_text())
        few = open_descriptors(served) + 8
        resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, (few, DESCRIPTORS))
        with connections(served, 40) as silent:
            all_closed(silent)
        assert served.playbooks(session) == 0
        log = served.log.read_text()[log_before:]
    assert "Traceback" not in log
    assert log.count("cannot be accepted") == 1
