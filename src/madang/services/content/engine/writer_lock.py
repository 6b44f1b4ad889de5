"""The right to write to a store's index: one task of one process has it at a time.

It is kept for a while, because opening a writer is expensive, and given up early for another process that waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from madang.core.background import Background
from madang.system.locks import FairFileLock

IDLE_RELEASE_S = 2.0
WAITER_POLL_S = 0.05

MAX_WRITERS = 8
"""Of a process. A writer has its own memory and `WRITER_THREADS`, so the stores of a bulk import take turns."""
WRITER_THREADS = 6


class WriterSlots:
    """The writers that a process may have open at once. One that is idle is given up for a store that waits."""

    def __init__(self, count: int = MAX_WRITERS) -> None:
        self._semaphore = asyncio.Semaphore(count)
        self._waiting = 0
        self.used = 0
        self.wanted = asyncio.Event()
        """Set while a store waits for a slot."""

    async def acquire(self) -> None:
        self._waiting += 1
        if self._semaphore.locked():
            self.wanted.set()
        try:
            await self._semaphore.acquire()
            self.used += 1
        finally:
            self._waiting -= 1
            if not self._waiting:
                self.wanted.clear()

    def release(self) -> None:
        self.used -= 1
        self._semaphore.release()


class WriterLock:
    """`close_writer` is called before the right is given up, `on_released` afterwards.

    An index in memory, without `folder`, has one process.
    """

    def __init__(
        self,
        folder: Path | None,
        close_writer: Callable[[], Awaitable[None]],
        background: Background,
        slots: WriterSlots,
        on_released: Callable[[], None],
    ) -> None:
        self._task_lock = asyncio.Lock()
        self._process_lock = FairFileLock(folder) if folder else None
        self._close_writer = close_writer
        self._background = background
        self._slots = slots
        self._has_slot = False
        self._on_released = on_released
        self._used_at = 0.0
        self._is_closing = asyncio.Event()
        self._release_task: asyncio.Task[None] | None = None

    @property
    def is_held(self) -> bool:
        return self._task_lock.locked() or self._release_task is not None

    @asynccontextmanager
    async def hold(self, timeout_s: float) -> AsyncIterator[None]:
        """Hold the right.

        Raises:
            TimeoutError: another process has held it for `timeout_s`, counted from here: those of this process that
                wait for one another wait for the same lock. Waiting for a slot does not count.
            OSError: there is no place for the lock.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        async with self._task_lock:
            if self._process_lock is not None:
                deadline += await self._take_slot()
                try:
                    await self._process_lock.acquire(max(0.0, deadline - loop.time()))
                except BaseException:
                    if self._release_task is None:
                        self._give_slot_back()
                    raise
            try:
                yield
            finally:
                self._used_at = loop.time()
                if self._process_lock is not None and self._release_task is None:
                    self._release_task = self._background.start(
                        self._release_when_idle(self._process_lock), "lock of a search index"
                    )

    async def close(self, timeout_s: float) -> bool:
        """Give the right up, and tell whether that was done in time."""
        self._is_closing.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                if self._release_task is not None:
                    await asyncio.wait({self._release_task})
                await self._task_lock.acquire()
            try:
                await self._release()
            finally:
                self._task_lock.release()
            return True
        return False

    async def _release_when_idle(self, lock: FairFileLock) -> None:
        loop = asyncio.get_running_loop()
        while (
            loop.time() - self._used_at < IDLE_RELEASE_S
            and not lock.has_waiter()
            and not self._slots.wanted.is_set()
            and not self._is_closing.is_set()
        ):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_closing.wait(), WAITER_POLL_S)
        async with self._task_lock:
            self._release_task = None
            await self._release()
        self._on_released()

    async def _release(self) -> None:
        try:
            await self._close_writer()
        finally:
            if self._process_lock is not None:
                self._process_lock.release()
            self._give_slot_back()

    async def _take_slot(self) -> float:
        """Take a slot unless there is one from before, and return how long that took."""
        if self._has_slot:
            return 0.0
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        await self._slots.acquire()
        self._has_slot = True
        return loop.time() - began_at

    def _give_slot_back(self) -> None:
        if self._has_slot:
            self._has_slot = False
            self._slots.release()
