"""Topics, and subscriptions to them, whichever way a back end learns of changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from urllib.parse import quote

# A consumer that is slower than the changes must not fill the memory: it may as well look at everything.
MAX_PENDING_TOPICS = 1000


def topic(*parts: str) -> str:
    """Return the name of a topic: a path that ends in a slash, so that no part can pretend to be two."""
    return "".join(f"{quote(part, safe=' ')}/" for part in parts)


@dataclass(eq=False, slots=True)
class Subscription:
    """A subscription to topic prefixes. Changes that arrive while its consumer is busy are coalesced."""

    topics: tuple[str, ...]
    _pending: set[str] = field(default_factory=set)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _is_closed: bool = False

    def publish(self, topics: Iterable[str]) -> None:
        """Add changed topics; those outside of the prefixes are left out."""
        self._pending.update(topic for topic in topics if topic.startswith(self.topics))
        if len(self._pending) > MAX_PENDING_TOPICS:
            self._pending = set(self.topics)
        if self._pending:
            self._wake.set()

    def publish_all(self) -> None:
        """Report every prefix as changed, after changes may have been missed."""
        self._pending = set(self.topics)
        self._wake.set()

    def close(self) -> None:
        """End the iterator."""
        self._is_closed = True
        self._wake.set()

    async def changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set at once, then what changed since the last time, until it is closed."""
        yield frozenset()
        while True:
            await self._wake.wait()
            if self._is_closed:
                return
            self._wake.clear()
            changed, self._pending = frozenset(self._pending), set()
            yield changed
