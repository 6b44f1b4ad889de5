"""Another process on one of the two loopback addresses: it never becomes the chat, nor the content of its pages."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from madang.core.errors import SetupError
from madang.server import http

TIMEOUT_S = 60
DEFAULT_PORT = 8321
LAUNCH_URL = re.compile(r"http://127\.0\.0\.1:(\d+)/#launch=")
SQUATTED = {
    "IPv4": (socket.AF_INET, "127.0.0.1", False),
    "IPv6": (socket.AF_INET6, "::1", False),
    "all of IPv4": (socket.AF_INET, "0.0.0.0", False),
    "all of IPv6": (socket.AF_INET6, "::", False),
    "all of both": (socket.AF_INET6, "::", True),
}


@contextmanager
def squatter(kind: str, port: int = 0) -> Iterator[int]:
    """Listen as another program does that wants the port for itself."""
    family, host, is_dual = SQUATTED[kind]
    with socket.socket(family) as listening:
        # What it sets must not help it, nor hinder us.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if is_dual else 1)
        listening.bind((host, port))
        listening.listen()
        yield listening.getsockname()[1]


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "madang", "web", "--no-open", *options],
        env={**os.environ, "MADANG_DATA_DIR": str(folder), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@contextmanager
def running(folder: Path, *options: str) -> Iterator[tuple[int, str]]:
    """Start `madang web`; yield its port and what it said up to its address."""
    with start(folder, *options) as process:
        try:
            assert process.stdout is not None
            output = ""
            while (address := LAUNCH_URL.search(output)) is None:
                line = process.stdout.readline()
                assert line, output
                output += line
            yield int(address[1]), output
        finally:
            process.kill()


def status_of(host: str, port: int, name: str) -> int:
    with socket.create_connection((host, port), timeout=TIMEOUT_S) as connection:
        connection.sendall(f"GET /proxy HTTP/1.1\r\nHost: {name}:{port}\r\nConnection: close\r\n\r\n".encode())
        return int(connection.recv(65536).split()[1])


@pytest.mark.parametrize("kind", SQUATTED)
def test_a_port_that_was_asked_for_is_refused_where_another_program_has_it_on_either_address(
    tmp_path: Path, kind: str
) -> None:
    with squatter(kind) as port, start(tmp_path, "--port", str(port)) as process:
        try:
            output, _ = process.communicate(timeout=TIMEOUT_S)
        finally:
            process.kill()  # else one that runs on would be waited for without an end
    assert process.returncode not in (0, None)
    assert f"port {port}" in output
    assert "#launch=" not in output, "an address is printed when both are ours"


@pytest.mark.parametrize("kind", ["IPv4", "IPv6"])
def test_where_another_program_has_the_usual_port_it_is_told_and_another_is_taken(tmp_path: Path, kind: str) -> None:
    with ExitStack() as stack:
        with suppress(OSError):  # if somebody has it already, so much the better
            stack.enter_context(squatter(kind, DEFAULT_PORT))
        with running(tmp_path) as (port, output):
            assert port != DEFAULT_PORT
            assert str(DEFAULT_PORT) in output.splitlines()[0]
            for host in ("127.0.0.1", "::1"):
                assert status_of(host, port, "localhost") == 200


def test_nobody_can_listen_beside_a_chat_that_runs(tmp_path: Path) -> None:
    with running(tmp_path, "--port", "0") as (port, _):
        for kind in SQUATTED:
            with pytest.raises(OSError, match="in use"), squatter(kind, port):
                pass
        for host in ("127.0.0.1", "::1"):
            assert (status_of(host, port, "localhost"), status_of(host, port, "127.0.0.1")) == (200, 421)


@pytest.mark.parametrize("number", [errno.EADDRINUSE, errno.EMFILE, errno.ENOBUFS, errno.EACCES])
def test_no_error_but_the_want_of_ipv6_lets_the_chat_run_on_one_address(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """A neighbour that takes all descriptors or ports of `[::1]` must not pass for a machine without IPv6."""
    opened: list[socket.socket] = []
    fail_on_ipv6(monkeypatch, number, opened)
    with pytest.raises(SetupError):
        http.loopback_sockets(0)
    assert [one.fileno() for one in opened] == [-1]


@pytest.mark.parametrize("number", [errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT])
def test_without_ipv6_one_address_is_enough(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    opened: list[socket.socket] = []
    fail_on_ipv6(monkeypatch, number, opened)
    (only,) = http.loopback_sockets(0)
    with only:
        assert only.family is socket.AF_INET


def fail_on_ipv6(monkeypatch: pytest.MonkeyPatch, number: int, opened: list[socket.socket]) -> None:
    class Socket(socket.socket):
        def __init__(self, *options: int) -> None:
            super().__init__(*options)
            opened.append(self)

        def bind(self, address: object) -> None:
            if self.family == socket.AF_INET6:
                opened.remove(self)
                raise OSError(number, os.strerror(number))
            super().bind(address)  # type: ignore[arg-type]

    monkeypatch.setattr("madang.server.http.socket.socket", Socket)


IN_A_NAMESPACE = """
import fcntl, http.client, os, re, socket, struct, subprocess, sys
open("/proc/sys/net/ipv6/conf/all/disable_ipv6", "w").write("1")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any:
    fcntl.ioctl(any, 0x8914, struct.pack("16sh", b"lo", 1 | 64))  # SIOCSIFFLAGS: up and running
process = subprocess.Popen([sys.executable, "-m", "madang", "web", "--no-open"], stdout=subprocess.PIPE, text=True)
try:
    port = int(re.search(r"127\\.0\\.0\\.1:(\\d+)/#launch=", process.stdout.readline())[1])
    for name in ("127.0.0.1", "localhost"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/proxy", headers={"host": f"{name}:{port}"})
        print(name, connection.getresponse().status)
finally:
    process.kill()
"""


def test_a_machine_without_ipv6_has_a_chat(tmp_path: Path) -> None:
    namespace = ["unshare", "--map-root-user", "--net"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*namespace, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("namespaces are not allowed here")
    done = subprocess.run(
        [*namespace, sys.executable, "-c", IN_A_NAMESPACE],
        env={**os.environ, "MADANG_DATA_DIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()) == (0, ["127.0.0.1 421", "localhost 200"]), done.stderr
