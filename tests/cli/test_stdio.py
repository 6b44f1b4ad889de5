"""`madang mcp` over stdio as a real process: standard output carries the protocol and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.security.served import INITIALIZE
from tests.wires import envelope

TIMEOUT_S = 60


class Server:
    """A stdio server that is asked one thing after another."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "madang", "mcp", "--data-dir", str(folder), "--verbose"]
        pipe = subprocess.PIPE
        self.errors = folder / "stderr.txt"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors)
        self.messages: list[dict[str, Any]] = []
        self.ask(json.dumps(INITIALIZE).encode(), 1)
        self.tell(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def tell(self, *lines: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def ask(self, line: bytes, id: int) -> dict[str, Any]:
        """Send a line and read until the answer with this id; every line on the way has to be a message."""
        self.tell(line)
        return self.read_until(id)

    def read_until(self, *ids: int | None) -> dict[str, Any]:
        """Read until an answer with one of these ids."""
        assert self.process.stdout is not None
        for answer in self.process.stdout:
            message: dict[str, Any] = json.loads(answer)
            assert message["jsonrpc"] == "2.0"
            self.messages.append(message)
            if message.get("id", 0) in ids:
                return message
        raise AssertionError(f"the server ended: {self.errors.read_text()[-2000:]}")

    def end(self) -> int:
        rest, _ = self.process.communicate(timeout=TIMEOUT_S)
        for line in rest.splitlines():
            json.loads(line)
        return self.process.returncode


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("stdio"))
    watchdog = threading.Timer(TIMEOUT_S * 3, server.process.kill)
    watchdog.start()
    yield server
    watchdog.cancel()
    assert server.end() == 0
    assert "Traceback" not in server.errors.read_text()


def call(id: int, tool: str, arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode()


def test_standard_output_is_the_protocol_alone_and_the_log_goes_elsewhere(server: Server) -> None:
    answer = server.ask(call(100, "create_goal", {"goal": "x"}), 100)

    assert not answer["result"]["isError"]
    assert "create_goal ok" in server.errors.read_text()


HOSTILE = {
    "not JSON": b"{",
    "blank": b"",
    "number": b"5",
    "list": b"[]",
    "not UTF-8": b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":"\xff"}}',
    "half a pair": call(5, "add_todo", {"name": "\ud800"}),
    "half a pair as a tool": call(5, "\ud800", {}),
    "NUL": call(5, "add_todo", {"name": "a\x00b"}),
    "NaN": call(5, "add_todo", {"name": float("nan")}),
    "5,000 digits": b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add_todo","arguments":{"name":'
    + b"1" * 5000
    + b"}}}",
    "5,000 digits as id": b'{"jsonrpc":"2.0","id":' + b"1" * 5000 + b',"method":"ping"}',
    "deep": b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add_todo","arguments":'
    + b'{"a":' * 100_000
    + b"1"
    + b"}" * 100_000
    + b"}}",
    "150 deep": b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add_todo","arguments":'
    + b'{"a":' * 150
    + b"1"
    + b"}" * 150
    + b"}}",
    "10 MB": call(5, "add_todo", {"name": "x" * 10_000_000}),
    "unknown method": b'{"jsonrpc":"2.0","id":5,"method":"no/such"}',
    "unknown tool": call(5, "no_such_tool", {}),
    "arguments are a list": call(5, "add_todo", [1]),
    "id is null": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "id is true": b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    "params are a list": b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[1]}',
    "batch": b'[{"jsonrpc":"2.0","id":5,"method":"ping"}]',
    "plain text": b"hello\x1b[2J",
    "UTF-16": '{"jsonrpc":"2.0","id":5,"method":"ping"}'.encode("utf-16-le"),
    "byte order mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":5,"method":"ping"}',
    "carriage returns": b'{"jsonrpc":"2.0","id":5,"method":"ping"}\r\r',
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_t37_a_hostile_line_is_survived_and_changes_nothing(server: Server, kind: str) -> None:
    number = 1000 + list(HOSTILE).index(kind)
    before = len(server.messages)
    server.tell(HOSTILE[kind])
    if kind != "blank":
        server.read_until(5, None)  # a line that is answered by nothing would keep a client waiting

    state = server.ask(call(number, "get_current_state", {}), number)

    answers = [message for message in server.messages[before:] if message.get("id", 0) in (5, None)]
    assert len(answers) == (kind != "blank")
    assert state["result"]["structuredContent"]["todos"] == []
    for message in server.messages:
        assert "Traceback" not in json.dumps(message)
        assert "Internal error" not in json.dumps(message)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_line_that_is_too_long_is_not_held_in_memory(tmp_path: Path) -> None:
    server = Server(tmp_path)
    before = peak_memory_bytes(server.process.pid)
    assert server.process.stdin is not None
    server.process.stdin.write(b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"')
    for _ in range(150):
        server.process.stdin.write(b"x" * 1_000_000)

    answer = server.ask(b'"}}', 5)

    assert "was not read" in answer["error"]["message"]
    # The line is dropped at its 41st MiB; to grow to that, a buffer is copied once.
    assert peak_memory_bytes(server.process.pid) - before < 110_000_000
    server.ask(call(6, "get_current_state", {}), 6)
    assert server.end() == 0


def peak_memory_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024


def test_a_flood_of_bad_lines_is_answered_line_by_line(tmp_path: Path) -> None:
    server = Server(tmp_path)
    threading.Thread(target=server.tell, args=[b"{"] * 20_000).start()
    assert server.process.stdout is not None

    for _ in range(20_000):
        assert json.loads(server.process.stdout.readline())["error"]["code"] == -32700

    server.ask(call(6, "get_current_state", {}), 6)
    assert server.end() == 0
    assert "Traceback" not in server.errors.read_text()


def test_a_client_that_goes_away_without_reading_ends_the_server(tmp_path: Path) -> None:
    server = Server(tmp_path)
    assert server.process.stdin is not None
    assert server.process.stdout is not None
    server.process.stdout.close()
    with suppress(BrokenPipeError):
        server.tell(*(call(number, "get_current_state", {}) for number in range(5, 50)))
    with suppress(BrokenPipeError):
        server.process.stdin.close()

    assert server.process.wait(TIMEOUT_S) in (0, 1)
    assert "Traceback" not in server.errors.read_text()


def test_requests_that_a_shell_pipes_in_are_answered_although_the_input_has_ended(tmp_path: Path) -> None:
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "shell", "version": "1"},
    }
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "add_todo", "arguments": {"name": "x"}}},
    ]
    result = subprocess.run(
        [sys.executable, "-m", "madang", "mcp", "--data-dir", str(tmp_path)],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["structuredContent"]["todo"]["name"] == "x"
    assert result.returncode == 0


@pytest.mark.parametrize("delay_s", [0.0, 2.0])
def test_a_client_that_probes_and_then_shakes_hands_on_one_pipe_is_served(tmp_path: Path, delay_s: float) -> None:
    """Clients of both eras do this when the start takes longer than they wait for the answer to their probe."""
    command = [sys.executable, "-m", "madang", "mcp", "--data-dir", str(tmp_path)]
    probe = {"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": envelope("copilot-cli")}}
    lines = [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(probe).encode() + b"\n")
        process.stdin.flush()
        time.sleep(delay_s)
        for line in [*lines, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]:
            process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.close()
        answers = {answer["id"]: answer for answer in map(json.loads, process.stdout)}

    assert process.returncode == 0
    assert all("result" in answers[id] for id in (0, 1, 2)), answers
    assert answers[1]["result"]["protocolVersion"] == "2025-06-18"
    assert answers[2]["result"]["tools"]
