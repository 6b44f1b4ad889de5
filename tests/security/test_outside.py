"""A session with every tool connects to nothing but this machine: neither the server nor a child of it."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from madang.core.results import Reply
from madang.files.folders import Folders
from tests.asking import Asker
from tests.model_server import ModelServer, story
from tests.model_wires import Ask, Piece, Say
from tests.promises import PROMISED, PROMISES, SERVICE_OF, TOOLS
from tests.security.stdio_client import StdioClient

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

OUTSIDE = "192.0.2.1"
"""An address that is nobody's (RFC 5737)."""

AUDIT_HOOK = """
import os, sys

_log = os.open(os.environ["MADANG_TEST_SOCKETS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

def _note(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        os.write(_log, (repr(arguments[1]) + "\\n").encode())
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        os.write(_log, (repr((arguments[0], 0)) + "\\n").encode())

sys.addaudithook(_note)
"""


@dataclass
class Watch:
    """Where a process and its children connect to, as three watchers see it."""

    folder: Path
    polled: set[str] = field(default_factory=set)

    @property
    def environment(self) -> dict[str, str]:
        hook = self.folder / "hook"
        hook.mkdir(parents=True, exist_ok=True)
        (hook / "sitecustomize.py").write_text(AUDIT_HOOK)
        return {"PYTHONPATH": str(hook), "MADANG_TEST_SOCKETS": str(self.folder / "hooked.txt")}

    @property
    def wrapper(self) -> list[str]:
        """The command that traces another, if this machine has it."""
        calls = "trace=connect,sendto,sendmsg,sendmmsg"
        strace = ["strace", "--follow-forks", "-qq", "-e", calls, "-o", str(self.folder / "traced.txt")]
        return strace if can_trace() else []

    @contextmanager
    def polling(self, pid: int) -> Iterator[None]:
        is_over = threading.Event()

        def poll() -> None:
            while not is_over.wait(0.01):
                self.polled.update(remote_addresses(pid))

        thread = threading.Thread(target=poll)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def outside(self) -> dict[str, set[str]]:
        """Return by watcher the addresses that are not of this machine."""
        hooked, traced = self.folder / "hooked.txt", self.folder / "traced.txt"
        seen = {
            "audit hook": re.findall(r"^\('([^']*)'", hooked.read_text(), re.MULTILINE) if hooked.exists() else [],
            "strace": re.findall(r'inet_(?:addr\(|pton\(AF_INET6, )"([^"]+)"', traced.read_text())
            if self.wrapper
            else [],
            "/proc": self.polled,
        }
        return {
            watcher: {address for address in addresses if not is_local(address)} for watcher, addresses in seen.items()
        }


def can_trace() -> bool:
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-qq", "-o", os.devnull, "true"], capture_output=True, check=False).returncode == 0


def is_local(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def remote_addresses(pid: int) -> Iterator[str]:
    """Yield the far ends of the sockets of a process and its descendants."""
    for process in family(pid):
        with_sockets = Path(f"/proc/{process}")
        try:
            links = [os.readlink(fd) for fd in (with_sockets / "fd").iterdir()]
            tables = [(with_sockets / "net" / name).read_text() for name in ("tcp", "tcp6", "udp", "udp6")]
        except OSError:
            continue  # it ended
        inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
        for line in "".join(tables).splitlines():
            columns = line.split()
            if len(columns) > 9 and columns[9] in inodes and (address := hexadecimal_address(columns[2])):
                yield address


def family(pid: int) -> list[int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    members = [pid]
    for member in members:
        members += [child for child, parent in parents.items() if parent == member]
    return members


def hexadecimal_address(text: str) -> str:
    """Return an address as /proc/net writes it, in words of the machine's byte order; empty for none."""
    words = bytes.fromhex(text.partition(":")[0])
    if not any(words):
        return ""
    data = b"".join(words[start : start + 4][::-1] for start in range(0, len(words), 4))
    return socket.inet_ntop(socket.AF_INET if len(data) == 4 else socket.AF_INET6, data)


@dataclass(frozen=True)
class WireAsker(Asker):
    """Somebody who asks a real server, in a session and as an assistant of their own."""

    client: StdioClient = field(kw_only=True)
    name: str = field(kw_only=True)

    async def ask(self, tool: str, /, **arguments: Any) -> Reply:
        meta = {"madang/sessionId": self.name, "madang/assistantId": self.name}
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": f"{self.name} {tool}", "method": "tools/call", "params": params}
        result = self.client.ask(message)["result"]
        error_code = "error" if result["isError"] else ""
        return Reply(tool, "", result["content"][0]["text"], result["structuredContent"], error_code=error_code)


OFFERED = {tool: promise for tool, promise in PROMISED.items() if TOOLS[tool].audience != "panel"}
"""Those of the panels are for our own chat, and refused to clients."""


async def ask_every_tool(client: StdioClient, data_dir: Path, allowed: Path) -> dict[str, bool]:
    """Call every tool with arguments that work; return for each whether it did."""
    client.shake_hands()
    client.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    client.ask({"jsonrpc": "2.0", "id": 3, "method": "resources/list"})
    outcomes = {}
    folders = Folders(data_dir / "workspaces", [allowed])
    for tool, promise in OFFERED.items():
        nothing: Any = None
        asker = WireAsker(nothing, nothing, folders=folders, client=client, name=tool)
        ids = await PROMISES[SERVICE_OF[tool]].prepare(asker)
        outcomes[tool] = not (await asker.ask(tool, **promise.example_arguments(ids))).is_error
    page = "data:text/html,<title>A</title><img src='http://192.0.2.1/x'><link rel=stylesheet href='//192.0.2.1/y'>"
    await asker.done("add_content", fileUrl=page)
    return outcomes


async def test_a_session_with_every_tool_connects_to_nothing_outside(tmp_path: Path) -> None:
    data_dir, allowed, watch = tmp_path / "data", tmp_path / "allowed", Watch(tmp_path / "watch")
    for folder in (data_dir, allowed, watch.folder):
        folder.mkdir()
    options = ["--allow-folder", str(allowed)]
    client = StdioClient(data_dir, *options, wrapper=watch.wrapper, environment=watch.environment)

    with watch.polling(client.process.pid):
        outcomes = await ask_every_tool(client, data_dir, allowed)
        assert client.end() == 0

    assert set(outcomes) == set(OFFERED)
    assert [tool for tool, worked in outcomes.items() if not worked] == []
    assert watch.outside() == {"audit hook": set(), "strace": set(), "/proc": set()}


async def test_every_tool_works_where_there_is_no_network_at_all(tmp_path: Path) -> None:
    namespace = ["unshare", "--map-root-user", "--net"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*namespace, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("namespaces are not allowed here")
    data_dir, allowed = tmp_path / "data", tmp_path / "allowed"
    for folder in (data_dir, allowed):
        folder.mkdir()
    client = StdioClient(data_dir, "--allow-folder", str(allowed), wrapper=namespace)

    outcomes = await ask_every_tool(client, data_dir, allowed)

    assert client.end() == 0
    assert [tool for tool, worked in outcomes.items() if not worked] == []


async def test_a_run_of_the_agent_connects_to_its_models_server_alone(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "watch")
    watch.folder.mkdir()
    turns: list[list[Piece]] = [[Ask("add_content", '{"content": "문서 하나"}')], [Ask("list_content")], [Say("Done.")]]
    async with ModelServer() as server:
        server.plays(story(*turns))
        madang = str(Path(sys.executable).with_name("madang"))
        process = await asyncio.create_subprocess_exec(
            *[*watch.wrapper, sys.executable, madang, "run", "Keep this", "--model", f"{server.url}/v1#stub"],
            env={**os.environ, **watch.environment, "MADANG_DATA_DIR": str(tmp_path / "data")},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        with watch.polling(process.pid):
            output, _ = await process.communicate()

        assert (process.returncode, output.decode().strip()) == (0, "Done.")
        assert len(server.requests) == len(turns)
    assert watch.outside() == {"audit hook": set(), "strace": set(), "/proc": set()}
    assert "127.0.0.1" in (watch.folder / "hooked.txt").read_text(), "the watcher sees what there is"


# Connecting a datagram socket sends nothing.
CONNECT = f"""
import socket, time
connected = socket.socket(type=socket.SOCK_DGRAM)
connected.connect(("{OUTSIDE}", 9))
time.sleep(1)
"""


@pytest.mark.parametrize("watcher", ["audit hook", "strace", "/proc"])
def test_the_watchers_see_a_connection_of_a_child(tmp_path: Path, watcher: str) -> None:
    watch = Watch(tmp_path)
    if watcher == "strace" and not watch.wrapper:
        pytest.skip("there is no strace")
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CONNECT!r}])"
    command = [*watch.wrapper, sys.executable, "-c", code]

    environment = {**os.environ, **watch.environment}
    with subprocess.Popen(command, env=environment) as process, watch.polling(process.pid):
        process.wait(60)

    assert OUTSIDE in watch.outside()[watcher]
