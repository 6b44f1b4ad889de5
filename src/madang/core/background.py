"""Work in the background: tasks that have an owner, whose failures are logged and whose end is waited for."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any

from madang.core.errors import MadangError

CLOSE_S = 1.0
MIN_BACKOFF_S = 0.25
MAX_BACKOFF_S = 5.0
STEADY_S = 60.0
"""A loop that has run so long begins with the shortest backoff again."""

logger = logging.getLogger(__name__)


class Background:
    """The background tasks of one process. A failure ends its own task alone."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None] | None:
        """Run `work` until it ends or this is closed. After that nothing is started any more, and None is returned."""
        if self._is_closed:
            work.close()
            return None
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def keep(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> asyncio.Task[None] | None:
        """Run a loop until this is closed: one that fails is logged and started again, after a growing backoff."""
        return None if self._is_closed else self.start(_kept(work, name), name)

    async def close(self) -> None:
        """Cancel what still runs, and wait for its end, though not for ever."""
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=CLOSE_S)
            for task in late:
                logger.error("%s did not end within %g s", task.get_name(), CLOSE_S)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s failed", task.get_name(), exc_info=error)


async def _kept(work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
    backoff_s, logged = MIN_BACKOFF_S, ""
    while True:
        started_s = time.monotonic()
        try:
            await work()
            return
        except Exception as error:
            if time.monotonic() - started_s >= STEADY_S:
                backoff_s, logged = MIN_BACKOFF_S, ""
            if (reason := repr(error)) != logged:  # once for each reason: an outage would fill the log
                exc_info = None if isinstance(error, MadangError) else error
                logger.error("%s failed, and is started again: %s", name, error, exc_info=exc_info)
                logged = reason
        await asyncio.sleep(backoff_s)
        backoff_s = min(2 * backoff_s, MAX_BACKOFF_S)
