"""Memory that was freed goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, threading
from madang.system.memory import bound_free_memory, release_memory

def resident_mib():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon")) / 1024

def work():
    ctypes.create_string_buffer(b"x" * 20_000_000)  # after such a block glibc would keep up to 40 MB
    blocks = [ctypes.create_string_buffer(b"x" * 100_000) for _ in range(600)]
    del blocks

bound_free_memory()
threads = [threading.Thread(target=work) for _ in range(4)]
before = resident_mib()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
release_memory()
print(resident_mib() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_what_threads_have_freed_is_not_kept() -> None:
    output = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout

    assert float(output) < 12
