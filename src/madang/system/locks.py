"""Locks between processes, on files (`flock`, on Windows `msvcrt.locking`). Those of a killed process are released.

Waiting is polling: a thread that sleeps in the kernel's lock could not be called back when its caller is cancelled.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

LOCK_RETRY_S = 0.005


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Take the lock of an open file, unless another descriptor holds it. Closing the file releases it.

    A shared lock keeps out only exclusive ones; Windows has none, there it is exclusive.
    """
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl  # not at the top: Windows has none

    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_within(fd: int, timeout_s: float) -> bool:
    """Do the same, and wait for the lock for as long as `timeout_s`. It blocks."""
    until = time.monotonic() + timeout_s
    while not try_lock(fd):
        if time.monotonic() > until:
            return False
        time.sleep(LOCK_RETRY_S)
    return True


class FairFileLock:
    """A fair inter-process lock (two flocks): a waiter gets the lock before its previous holder can take it again.

    `queue` is held while waiting, `lock` while working, both files in `folder`. So the holder can see that another
    process waits, and has to queue behind it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held_fd: int | None = None

    async def acquire(self, timeout_s: float) -> None:
        """Wait for the lock. Acquiring a lock that is held here already does nothing.

        Raises:
            TimeoutError: another process has held it for as long as `timeout_s`, perhaps because it was stopped.
        """
        if self._held_fd is not None:
            return
        until = time.monotonic() + timeout_s
        while True:
            queue_fd = await self._wait_for("queue", until)
            try:
                lock_fd = await self._wait_for("lock", until)
            finally:
                os.close(queue_fd)
            # The folder may have been removed meanwhile: a lock on a file that is gone keeps no process out.
            if is_at(lock_fd, self._folder / "lock"):
                self._held_fd = lock_fd
                return
            os.close(lock_fd)

    def has_waiter(self) -> bool:
        """Tell whether another process waits."""
        try:
            queue_fd = os.open(self._folder / "queue", os.O_RDWR)
        except OSError:
            return False
        try:
            return not try_lock(queue_fd)
        finally:
            os.close(queue_fd)

    def release(self) -> None:
        """Release the lock, if it is held."""
        held_fd, self._held_fd = self._held_fd, None
        if held_fd is not None:
            os.close(held_fd)

    async def _wait_for(self, name: str, until: float) -> int:
        # One by one: with `parents`, the mode would be that of the last alone.
        for folder in (self._folder.parent, self._folder):
            folder.mkdir(mode=0o700, exist_ok=True)
        fd = os.open(self._folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while True:
                if try_lock(fd):
                    return fd
                if time.monotonic() > until:
                    raise TimeoutError
                await asyncio.sleep(LOCK_RETRY_S)
        except BaseException:
            os.close(fd)
            raise


def is_at(fd: int, path: Path) -> bool:
    """Tell whether an open file is the one at a path: it may have been removed or replaced since it was opened."""
    try:
        expected = path.stat()
    except OSError:
        return False
    actual = os.fstat(fd)
    return (expected.st_dev, expected.st_ino) == (actual.st_dev, actual.st_ino)
