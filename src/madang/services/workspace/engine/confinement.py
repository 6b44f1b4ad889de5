"""A child process that can read one folder and the system's libraries, and nothing else (Landlock, Linux 5.13).

ripgrep opens files by their paths, so somebody who swaps a folder for a link at the right moment could lead it
elsewhere. The kernel refuses that here. Where it cannot, what was found is still checked before it is told.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

MEMORY_BYTES = 400 << 20
"""ripgrep holds a whole line, twice, in each of its threads; a line may be as long as a file."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_PATH_BENEATH = 1
_NO_NEW_PRIVS = 38
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_HANDLED = (1 << 13) - 1  # everything the first version knows: reading, writing, making and removing
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")

_libc = ctypes.CDLL(None, use_errno=True)


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def start_confined(arguments: Sequence[str], folder_fd: int, stdin_fd: int, *, cwd: str) -> subprocess.Popen[bytes]:
    """Start a program that can read only below `folder_fd`, where the kernel can do that.

    A restriction holds for a thread and what it starts, and cannot be taken back: so a thread that ends right after.
    """
    started: list[subprocess.Popen[bytes]] = []
    failed: list[BaseException] = []

    def start() -> None:
        try:
            _confine(arguments[0], folder_fd)
            started.append(
                subprocess.Popen(
                    arguments,
                    stdin=stdin_fd,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=cwd,
                    env={"LC_ALL": "C.UTF-8"},
                )
            )
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=start, name="confined")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    if sys.platform == "linux":
        with suppress(ProcessLookupError):
            resource.prlimit(started[0].pid, resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
            resource.prlimit(started[0].pid, resource.RLIMIT_CORE, (0, 0))  # it would be a copy of the files
    return started[0]


def _confine(program: str, folder_fd: int) -> bool:
    """Restrict this thread for good, and tell whether the kernel could."""
    if sys.platform != "linux":
        return False
    handled = ctypes.c_uint64(_HANDLED)
    ruleset: int = _libc.syscall(_CREATE_RULESET, ctypes.byref(handled), ctypes.sizeof(handled), 0)
    if ruleset < 0:
        return False
    try:
        _allow(ruleset, folder_fd, _READ_FILE | _READ_DIR)
        for path in (program, *_LIBRARIES):
            try:
                fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                # Rights of folders cannot be given for a file.
                _allow(ruleset, fd, _EXECUTE | _READ_FILE | (_READ_DIR if os.path.isdir(path) else 0))
            finally:
                os.close(fd)
        if _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            return False
        done: int = _libc.syscall(_RESTRICT_SELF, ruleset, 0)
        return done == 0
    finally:
        os.close(ruleset)


def _allow(ruleset: int, fd: int, rights: int) -> None:
    rule = _Rule(rights, fd)
    _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
