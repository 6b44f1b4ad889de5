"""Work in the background: tasks that have an owner, whose failures are logged and whose end is waited for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

CLOSE_S = 1.0

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
