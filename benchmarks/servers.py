"""Servers in processes of their own, seen from outside: what they cost, and a client that costs them nothing extra.

The client is written by hand, so that the figures are the server's and not those of a client library.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
CLIENT = {"name": "benchmark", "version": "0"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}

ROOT = Path(__file__).parent.parent
# An installed package has its byte code; so has a checkout after its first start, unless this variable forbids it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def madang_command(data_dir: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "madang", "mcp", "--data-dir", str(data_dir), *more]


def bare_command(transport: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.bare", transport]


def cpu_s(pid: int) -> float:
    """Return the CPU time of all threads of a process, in nanosecond steps where /proc has hundredths of a second.

    This is what the C library's clock_getcpuclockid() makes of a process id; Python does not offer that call.
    """
    return time.clock_gettime((~pid << 3) | 2)


def resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def request(number: int, method: str, params: Mapping[str, Any], *, era: str = MODERN) -> bytes:
    """Return one JSON-RPC request as the given era writes it."""
    sent = {**params, "_meta": META} if era == MODERN else params
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": sent}).encode()


class StdioServer:
    """A server on the other end of two pipes."""

    def __init__(self, command: Sequence[str], era: str = MODERN) -> None:
        self._era = era
        self._number = 0
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.pid = self._process.pid
        if era == LEGACY:
            self.ask("initialize", protocolVersion=LEGACY, capabilities={}, clientInfo=CLIENT)
            self._send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its result."""
        self._number += 1
        self._send(request(self._number, method, params, era=self._era))
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._number:
                return answer_of(message)
        raise RuntimeError("The server closed its output.")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()


def answer_of(message: dict[str, Any]) -> dict[str, Any]:
    """Return the result in a JSON-RPC response; an error of either kind would make a figure meaningless."""
    result: dict[str, Any] = message.get("result", {})
    if "error" in message or result.get("isError"):
        raise RuntimeError(str(message)[:500])
    return result


@contextmanager
def stdio_server(command: Sequence[str], era: str = MODERN) -> Iterator[StdioServer]:
    server = StdioServer(command, era)
    try:
        yield server
    finally:
        server.close()
