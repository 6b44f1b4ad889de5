"""Which session the person is in, by the streams that are open, and telling the services when that changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from madang.core.service import ActiveSession

GRACE_S = 1.0
"""How long a stream may be gone before the person counts as gone: a tab that moves closes one and opens the next, and
one that is reloaded comes back."""


class Presence:
    """Sends `switch_context` once for each move: to the session that was opened last, to None when all are closed."""

    def __init__(self, switch: Callable[[ActiveSession | None], Awaitable[None]], *, grace_s: float = GRACE_S) -> None:
        self._switch = switch
        self._grace_s = grace_s
        self._open: dict[object, ActiveSession] = {}
        """By stream, the one that was opened last at the end."""
        self._active: ActiveSession | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._switching: asyncio.Task[None] | None = None

    @contextmanager
    def at(self, place: ActiveSession) -> Iterator[None]:
        """Count the person as being in a session for as long as a stream of it is open."""
        stream = object()
        self._open[stream] = place
        self._stop_leaving()
        self._move(place)
        try:
            yield
        finally:
            del self._open[stream]
            if self._active not in self._open.values() and self._leaving is None:
                self._leaving = asyncio.get_running_loop().call_later(self._grace_s, self._leave)

    async def close(self) -> None:
        self._stop_leaving()
        if self._switching is not None:
            self._switching.cancel()
            await asyncio.gather(self._switching, return_exceptions=True)

    def _leave(self) -> None:
        self._leaving = None
        self._move(next(reversed(self._open.values()), None))

    def _stop_leaving(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _move(self, place: ActiveSession | None) -> None:
        if place == self._active:
            return
        self._active = place
        # One after the other, and only the last one counts: a slow service must not make a queue.
        if self._switching is None or self._switching.done():
            self._switching = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        told: object = self
        while told != self._active:
            told = self._active
            await self._switch(self._active)
