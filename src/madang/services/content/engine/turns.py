"""Turns of several processes at one thing: who holds the lock works, who waits comes next.

The operating system lets go of the locks of a killed process. Waiting is asking again, because a thread that sleeps in
the lock could not be called back when its caller is cancelled.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from pathlib import Path

ASK_AGAIN_S = 0.005


class Turn:
    """One process's way to its turn.

    There are two locks: `queue` is held while waiting, `lock` while working. So whoever works can see that somebody
    waits, and cannot be first again before that one was.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: int | None = None

    async def take(self) -> None:
        """Wait for the turn and take it. Taking it twice is once."""
        if self._held is not None:
            return
        while True:
            queue = await self._lock("queue")
            try:
                held = await self._lock("lock")
            finally:
                os.close(queue)
            # The folder may have been removed while we waited: a lock on a file that is gone keeps nobody out.
            if _is_at(held, self._folder / "lock"):
                self._held = held
                return
            os.close(held)

    def is_wanted(self) -> bool:
        """Tell whether another process waits."""
        try:
            queue = os.open(self._folder / "queue", os.O_RDWR)
        except OSError:
            return False
        try:
            fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(queue)
        return False

    def give_back(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            os.close(held)

    async def _lock(self, name: str) -> int:
        # One by one: with `parents`, the mode would be that of the last alone.
        for folder in (self._folder.parent, self._folder):
            folder.mkdir(mode=0o700, exist_ok=True)
        file = os.open(self._folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return file
                except BlockingIOError:
                    await asyncio.sleep(ASK_AGAIN_S)
        except BaseException:
            os.close(file)
            raise


def _is_at(file: int, path: Path) -> bool:
    try:
        there = path.stat()
    except OSError:
        return False
    here = os.fstat(file)
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)
