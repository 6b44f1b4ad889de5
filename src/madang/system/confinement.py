"""Confining child processes: what they may open and use up, and when they end.

Landlock (Linux 5.13), resource limits, no new privileges, death with the parent. Each part stands for itself: where a
system lacks one, the others hold. Only the standard library is imported, and what belongs to one platform only on use,
so a child can take this module without the rest of Madang.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
# Landlock's system calls have the same numbers on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_FOR_VERSION = 1
_PATH_BENEATH = 1
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
_STANDARD_DESCRIPTORS = 3


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


class _Ruleset:
    """A Landlock rule set that denies all that this kernel can deny; `allow` makes exceptions. Close it after use."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def create(cls) -> _Ruleset | None:
        """Return a new rule set, or None where the kernel has no Landlock."""
        if sys.platform != "linux":
            return None
        version = _syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_FOR_VERSION)
        if version < 1:
            return None
        # Rights by the version that brought them: files 1, refer 2, truncate 3, TCP 4, ioctl of devices 5, scopes 6.
        files = (1 << (13 + (version >= 2) + (version >= 3) + (version >= 5))) - 1
        fields = (files, 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)
        size = 24 if version >= 6 else 16 if version >= 4 else 8
        fd = _syscall(_CREATE_RULESET, (ctypes.c_uint64 * 3)(*fields), ctypes.c_size_t(size), 0)
        return cls(fd) if fd >= 0 else None

    def allow(self, fd: int, rights: int) -> None:
        _syscall(_ADD_RULE, self._fd, _PATH_BENEATH, ctypes.byref(_PathRule(rights, fd)), 0)

    def allow_program(self, program: str) -> None:
        """Let a program and the system's libraries be read and run."""
        assert sys.platform == "linux"
        for path in (program, *_LIBRARIES):
            try:
                fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                # Rights of folders cannot be given for a file.
                self.allow(fd, _EXECUTE | _READ_FILE | (_READ_DIR if os.path.isdir(path) else 0))
            finally:
                os.close(fd)

    def restrict_thread(self) -> bool:
        """Restrict this thread and what it starts for good, and tell whether the kernel did."""
        return _prctl(_PR_SET_NO_NEW_PRIVS, 1) == 0 and _syscall(_RESTRICT_SELF, self._fd, 0) == 0

    def close(self) -> None:
        os.close(self._fd)


def end_with_parent(parent_pid: int) -> None:
    """End this process when the thread that started it ends, however that comes about."""
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        # It died before the kernel was asked.
        os._exit(1)


def confine_process(memory_bytes: int, cpu_s: int | None) -> None:
    """Give up, for good, everything but computing and the standard streams.

    `cpu_s` bounds the processor time of its whole life; without it, the parent has to look at the clock. What is not
    imported by now cannot be any more. Call it before hostile input is read.
    """
    if sys.platform == "win32":
        raise OSError("Processes cannot be confined on Windows.")
    import resource

    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NPROC, 0)
    if cpu_s is not None:
        _limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)
    _limit(resource.RLIMIT_AS, _address_space_bytes() + memory_bytes)
    ruleset = _Ruleset.create()
    if ruleset is not None:
        ruleset.restrict_thread()
        ruleset.close()
    # Code that took the process over wants to open something: a file, a socket, a ring. No number is left for it.
    _limit(resource.RLIMIT_NOFILE, _STANDARD_DESCRIPTORS)


def start_confined(
    arguments: Sequence[str], folder_fd: int, stdin_fd: int, *, cwd: str, memory_bytes: int, cpu_s: int
) -> subprocess.Popen[bytes]:
    """Start a program that can read below `folder_fd` and the system's libraries, and nothing else.

    A program that opens files by their paths can be led out of a folder when a directory is swapped for a symbolic
    link at the right moment (TOCTOU); with Landlock the kernel refuses that. A restriction holds for a thread
    and what it starts, and cannot be taken back: so a thread is made for it. It also ends right after, so the kernel
    cannot tie the program's life to it; a lifeline does.
    """
    import subprocess  # not at the top: the child that reads documents starts without it
    import threading

    from madang.system.lifeline import TetheredProcess

    processes: list[TetheredProcess] = []
    failures: list[BaseException] = []

    def start() -> None:
        try:
            _restrict_to(folder_fd, arguments[0])
            pipe = subprocess.PIPE
            environment = {"LC_ALL": "C.UTF-8"}
            processes.append(
                TetheredProcess(arguments, stdin=stdin_fd, stdout=pipe, stderr=pipe, cwd=cwd, env=environment)
            )
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=start, name="confined")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    if sys.platform == "linux":
        import resource

        with suppress(ProcessLookupError):
            pid = processes[0].pid
            resource.prlimit(pid, resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
            resource.prlimit(pid, resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
            resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))  # a core would be a copy of the files
    processes[0].tether()
    return processes[0]


def _restrict_to(folder_fd: int, program: str) -> None:
    ruleset = _Ruleset.create()
    if ruleset is None:
        return
    try:
        ruleset.allow(folder_fd, _READ_FILE | _READ_DIR)
        ruleset.allow_program(program)
        ruleset.restrict_thread()
    finally:
        ruleset.close()


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    import resource

    hard = soft if hard is None else hard
    most = resource.getrlimit(kind)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    # macOS refuses some of these; the parent's deadline holds there as well.
    try:
        resource.setrlimit(kind, (soft, hard))
    except (ValueError, OSError):
        if sys.platform == "linux":
            raise


def _address_space_bytes() -> int:
    """Return what is already taken: libraries reserve far more than they use."""
    import resource

    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 1 << 30


def _syscall(number: int, *arguments: object) -> int:
    result: int = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    return result


def _prctl(option: int, value: int) -> int:
    result: int = ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
    return result
