"""The processes of the machine, as the kernel tells them."""

from __future__ import annotations

import os
from pathlib import Path

from anyio.lowlevel import checkpoint


def children(pid: int | None = None) -> set[int]:
    """Return the children of a process that read documents, of this one by default; zombies are among them."""
    pids = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _parent(entry) == (pid or os.getpid()) and _is_reader(entry):
            pids.add(int(entry.name))
    return pids


def is_gone(pid: int) -> bool:
    """Tell whether a process that is not our child runs no more; init may be slow to take its remains away."""
    try:
        return _fields(Path(f"/proc/{pid}"))[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


async def confined(pid: int) -> None:
    """Wait until the process is about to read its document."""
    while "Max open files            3 " not in Path(f"/proc/{pid}/limits").read_text():
        await checkpoint()


def _fields(entry: Path) -> list[str]:
    return (entry / "stat").read_text().rpartition(")")[2].split()


def _parent(entry: Path) -> int:
    try:
        return int(_fields(entry)[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _is_reader(entry: Path) -> bool:
    try:
        command = (entry / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # A zombie has no command line any more.
    return not command or b"child.process" in command
