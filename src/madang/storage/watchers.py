"""Those who wait for changes, whichever way a back end hears of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from urllib.parse import quote

# A watcher that is slower than what happens must not fill the memory: it may as well look at everything.
MAX_PENDING_TOPICS = 1000


def topic(*parts: str) -> str:
    """Return the name of a topic: a path that ends in a slash, so that no part can pretend to be two."""
    return "".join(f"{quote(part, safe=' ')}/" for part in parts)


@dataclass(eq=False, slots=True)
class Watcher:
    """One who waits for what happens at or below its topics. What comes while it is busy is merged."""

    topics: tuple[str, ...]
    _changed: set[str] = field(default_factory=set)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _is_over: bool = False

    def tell(self, topics: Iterable[str]) -> None:
        """Say what changed; what it does not wait for is left out."""
        self._changed.update(topic for topic in topics if topic.startswith(self.topics))
        if len(self._changed) > MAX_PENDING_TOPICS:
            self._changed = set(self.topics)
        if self._changed:
            self._wake.set()

    def tell_to_look(self) -> None:
        """Say that anything may have changed."""
        self._changed = set(self.topics)
        self._wake.set()

    def end(self) -> None:
        """Say that nothing more will come."""
        self._is_over = True
        self._wake.set()

    async def changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set at once, then what changed since the last time, until the end."""
        yield frozenset()
        while True:
            await self._wake.wait()
            if self._is_over:
                return
            self._wake.clear()
            changed, self._changed = frozenset(self._changed), set()
            yield changed
