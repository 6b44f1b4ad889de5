"""Calling into services so that one which hangs delays no other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

HOOK_LIMIT_S = 5.0
"""How long a service may take to load before others go on without it, to tell its state, and to switch."""

ResultT = TypeVar("ResultT")

logger = logging.getLogger(__name__)

_abandoned: set[asyncio.Task[Any]] = set()


async def bounded(work: Coroutine[Any, Any, ResultT], limit_s: float) -> ResultT:
    """Return what `work` returns.

    Raises:
        TimeoutError: it is late. It is cancelled and not waited for, because it may not listen to that either.
    """
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=limit_s)
    except asyncio.CancelledError:
        abandon(task)
        raise
    if not done:
        abandon(task)
        raise TimeoutError
    return task.result()


def abandon(task: asyncio.Task[Any]) -> None:
    """Cancel a task without waiting for its end. It is kept from the garbage collector until then."""
    task.cancel()
    _abandoned.add(task)
    task.add_done_callback(_drop)


def _drop(task: asyncio.Task[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.debug("A hook that was given up failed later", exc_info=error)
