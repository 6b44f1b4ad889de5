"""Confined processes: what they cannot do any more."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from madang.services.workspace.engine.ripgrep import find_ripgrep
from madang.system.confinement import start_confined

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Landlock is part of Linux")

CONFINED = """
import os, socket, sys
from madang.system.confinement import confine_process
confine_process(64 << 20, 5)
# As code would that a document brought along: with the numbers of the standard three at its disposal.
os.close(0)
def fails(do):
    try:
        do()
    except (OSError, MemoryError) as error:
        return type(error).__name__
    return "possible"
print(*(fails(do) for do in (
    lambda: os.open("/etc/passwd", os.O_RDONLY),
    lambda: os.listdir("/"),
    lambda: os.open("/tmp/planted", os.O_WRONLY | os.O_CREAT),
    lambda: os.truncate(sys.argv[2], 0),
    lambda: os.execv("/bin/sh", ["sh", "-c", "echo possible"]),
    lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1),
    lambda: bytearray(80 << 20),
)))
"""


def test_a_confined_process_can_open_run_and_reach_nothing(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("all of it")
    with socket.create_server(("127.0.0.1", 0)) as server:
        arguments = [str(server.getsockname()[1]), str(target)]
        done = subprocess.run([sys.executable, "-c", CONFINED, *arguments], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["PermissionError"] * 6 + ["MemoryError"]
    assert target.read_text() == "all of it"


def test_a_confined_program_can_read_its_folder_and_nothing_beside_it(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    (inside / "a.txt").write_text("needle inside\n")
    outside.mkdir()
    (outside / "b.txt").write_text("needle outside\n")
    arguments = [find_ripgrep(), "--no-config", "needle", "a.txt", "../outside/b.txt", str(outside)]

    with _started(arguments, inside) as process:
        out, err = process.communicate()

    assert out == b"a.txt:needle inside\n"
    assert err.count(b"Permission denied") == 2
    assert (outside / "b.txt").read_text(), "only that thread was confined"


def test_a_confined_program_is_bounded_in_memory_and_time(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with _started([find_ripgrep(), "needle", "-"], tmp_path, stdin=tmp_path / "pipe") as process:
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        process.kill()

    assert "Max data size             104857600            104857600" in limits
    assert "Max cpu time              7                    8" in limits
    assert "Max core file size        0                    0" in limits


def _started(arguments: list[str], folder: Path, stdin: Path = Path(os.devnull)) -> subprocess.Popen[bytes]:
    folder_fd = os.open(folder, os.O_RDONLY)
    stdin_fd = os.open(stdin, os.O_RDWR)
    try:
        return start_confined(arguments, folder_fd, stdin_fd, cwd=str(folder), memory_bytes=100 << 20, cpu_s=7)
    finally:
        os.close(folder_fd)
        os.close(stdin_fd)


def test_the_module_brings_nothing_else_of_madang_along() -> None:
    """The child that reads documents starts with it, and has to be quick."""
    code = "import sys; import madang.system.confinement; print(*sorted(n for n in sys.modules if 'madang' in n))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["madang", "madang.system", "madang.system.confinement"]
