"""The fence around the process: what it may use up, what it may open, and when it dies.

The document is not there yet when the fence goes up, so the code before it can be trusted. Each part stands for
itself: where a system lacks one, the others hold.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
# Landlock's system calls have the same numbers on every machine.
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_RULESET_VERSION = 1
_NO_DESCRIPTOR_BUT_THE_STANDARD_THREE = 3


def die_with(parent: int) -> None:
    """End this process when the thread that started it ends, however that comes about."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        # It died before we could ask to be told.
        os._exit(1)


def enclose(memory_bytes: int, cpu_s: int) -> None:
    """Give up everything that reading a document does not need. What is not imported by now cannot be any more."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NPROC, 0)
    _limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)
    _limit(resource.RLIMIT_AS, _address_space_bytes() + memory_bytes)
    if sys.platform == "linux":
        _close_the_file_system()
    # A parser that was taken over wants to open something: a file, a socket, a ring. There is no number left for it.
    _limit(resource.RLIMIT_NOFILE, _NO_DESCRIPTOR_BUT_THE_STANDARD_THREE)


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    hard = soft if hard is None else hard
    most = resource.getrlimit(kind)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    # macOS refuses some of these; the clock of the parent holds there as well.
    try:
        resource.setrlimit(kind, (soft, hard))
    except (ValueError, OSError):
        if sys.platform == "linux":
            raise


def _address_space_bytes() -> int:
    """Return what is already taken: libraries reserve far more than they use."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 1 << 30


def _close_the_file_system() -> None:
    """Forbid every path and TCP by a Landlock rule set without a rule; kernels without Landlock (< 5.13) go on."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _RULESET_VERSION)
    if version < 1:
        return
    # Kinds of access by the version that brought them: files 1, refer 2, truncate 3, TCP 4, devices 5, scopes 6.
    files = (1 << (13 + (version >= 2) + (version >= 3) + (version >= 5))) - 1
    fields = [files, 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0]
    length = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = libc.syscall(_CREATE_RULESET, (ctypes.c_uint64 * 3)(*fields), ctypes.c_size_t(length), 0)
    if ruleset >= 0:
        libc.syscall(_RESTRICT_SELF, ruleset, 0)
        os.close(ruleset)
