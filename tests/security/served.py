"""A real HTTP server in a process of its own, and raw requests to it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOKEN = "a-token-that-only-this-test-knows"
TIMEOUT_S = 60
ACCEPT = "application/json, text/event-stream"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@dataclass(frozen=True)
class Answer:
    """What came back: a status of 0 means that the connection was closed without a word."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def message(self) -> dict[str, Any]:
        """Return the JSON-RPC message, from plain JSON or from the first event of a stream that has one."""
        text = self.body.decode()
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            # By hand: `splitlines` would also split at U+2028, which may stand in a value.
            text = next(line[6:].rstrip("\r") for line in text.split("\n") if line.startswith("data: {"))
        message: dict[str, Any] = json.loads(text)
        return message


@dataclass(frozen=True)
class Served:
    """Where the server is and what it said."""

    port: int
    data_dir: Path
    log: Path
    process: subprocess.Popen[str]

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def headers(self, **changes: str | None) -> list[tuple[str, str]]:
        """Return the headers of a good request, with some changed, or left out where None is given."""
        good = {
            "host": self.host,
            "authorization": f"Bearer {TOKEN}",
            "content-type": "application/json",
            "accept": ACCEPT,
        }
        changed = {**good, **{name.replace("_", "-"): value for name, value in changes.items()}}
        return [(name, value) for name, value in changed.items() if value is not None]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT_S)

    def request(
        self,
        method: str,
        target: str = "/mcp",
        body: bytes = b"",
        headers: list[tuple[str, str]] | None = None,
        version: str = "1.1",
    ) -> Answer:
        """Send one request as it is written here, and read the answer."""
        headers = self.headers() if headers is None else headers
        names = [name.lower() for name, _ in headers]
        if body and "content-length" not in names and "transfer-encoding" not in names:
            headers = [*headers, ("content-length", str(len(body)))]
        lines = [f"{method} {target} HTTP/{version}", *(f"{name}: {value}" for name, value in headers)]
        return self.send("\r\n".join([*lines, "connection: close", "", ""]).encode("latin-1") + body)

    def send(self, raw: bytes) -> Answer:
        with self.connect() as connection:
            # A server that has read enough answers and closes; what is still being sent then fails, as it may.
            with suppress(ConnectionError):
                connection.sendall(raw)
            return read_answer(connection)

    def post(self, message: Any, **changes: str | None) -> Answer:
        return self.request("POST", body=json.dumps(message).encode(), headers=self.headers(**changes))

    def session(self) -> str:
        """Begin a session and return its id. That it works also tells that the server is well."""
        answer = self.post(INITIALIZE)
        assert answer.status == 200, answer
        session = answer.headers["mcp-session-id"]
        assert (
            self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, mcp_session_id=session).status == 202
        )
        return session

    def call(self, session: str, tool: str, arguments: Any, **changes: str | None) -> Answer:
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        return self.post(message, mcp_session_id=session, **changes)

    def playbooks(self, session: str) -> int:
        message = self.call(session, "list_playbooks", {}).message()
        return int(message["result"]["structuredContent"]["page"]["totalItems"])


def read_answer(connection: socket.socket) -> Answer:
    """Read one answer: up to its length if it has one, else up to the end of the connection."""
    data = b""
    with suppress(ConnectionError):
        while b"\r\n\r\n" not in data and (part := connection.recv(65536)):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    if not head:
        return Answer(0)
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(headers.get("content-length", 10**9))
    with suppress(ConnectionError):
        while len(body) < length and (part := connection.recv(65536)):
            body += part
    return Answer(int(first.split()[1]), headers, body)


@contextmanager
def serve(folder: Path, descriptors: int | None = None) -> Iterator[Served]:
    """Start a server on a free port, which may open so many descriptors; it has to stop in time at the end."""
    log = folder / "stderr.txt"
    limited = [] if descriptors is None else ["sh", "-c", f'ulimit -n {descriptors} && exec "$0" "$@"']
    command = [
        *limited,
        sys.executable,
        "-m",
        "madang",
        "mcp",
        "--http",
        "127.0.0.1:0",
        "--verbose",
        "--data-dir",
        str(folder),
    ]
    environment = {**os.environ, "MADANG_TOKEN": TOKEN}
    with (
        log.open("w") as errors,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            said = next(process.stdout)
            found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", said)
            assert found, said + log.read_text()
            yield Served(int(found[1]), folder, log, process)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
