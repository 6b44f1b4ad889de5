"""Topics, and the subscriptions of a process to them, whichever way a back end learns of changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

# A consumer that is slower than the changes must not fill the memory: it may as well look at everything.
MAX_PENDING_TOPICS = 1000
# PostgreSQL sends no longer ones. Three names of the longest kind and an id fit in.
MAX_TOPIC_BYTES = 7_999


def topic(*parts: str) -> str:
    """Return the name of a topic: a path that ends in a slash, so that no part can pretend to be two."""
    return "".join(f"{quote(part, safe=' ', errors='surrogatepass')}/" for part in parts)


def parse_topic(topic: str) -> tuple[str, ...]:
    """Return the parts that a topic was made of."""
    return tuple(unquote(part, errors="surrogatepass") for part in topic.split("/")[:-1])


def check_topic(topic: str) -> str:
    """Return `topic`. A back end asks before it commits: afterwards it would be too late to refuse one.

    Raises:
        ValueError: it cannot be sent (UnicodeEncodeError: not even be written).
    """
    if len(topic.encode()) > MAX_TOPIC_BYTES or "\0" in topic or not topic:
        raise ValueError(f"Not a topic: {topic[:100]!r}")
    return topic


@dataclass(eq=False, slots=True)
class Subscription:
    """A subscription to topics and all below them. Changes that arrive while its consumer is busy are coalesced."""

    topics: tuple[str, ...]
    _pending: set[str] = field(default_factory=set)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _is_closed: bool = False

    def publish(self, topic: str) -> None:
        """Add a changed topic."""
        self._pending.add(topic)
        if len(self._pending) > MAX_PENDING_TOPICS:
            self._pending = set(self.topics)
        self._wake.set()

    def publish_all(self) -> None:
        """Report everything subscribed to as changed, after changes may have been missed."""
        self._pending = set(self.topics)
        self._wake.set()

    def close(self) -> None:
        """End the iterator."""
        self._is_closed = True
        self._wake.set()

    async def changes(self) -> AsyncGenerator[frozenset[str], None]:
        """Yield an empty set at once, then what changed since the last time, until it is closed."""
        yield frozenset()
        while True:
            await self._wake.wait()
            if self._is_closed:
                return
            self._wake.clear()
            changed, self._pending = frozenset(self._pending), set()
            yield changed


class SubscriptionIndex:
    """The subscriptions of a process by topic: a notice costs as many look-ups as its topic has parts.

    However many subscriptions there are, only those that it is for are touched.
    """

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()
        self._by_topic: dict[str, set[Subscription]] = {}

    def __len__(self) -> int:
        return len(self._subscriptions)

    def add(self, subscription: Subscription) -> None:
        self._subscriptions.add(subscription)
        for topic in subscription.topics:
            self._by_topic.setdefault(topic, set()).add(subscription)

    def discard(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)
        for topic in subscription.topics:
            subscriptions = self._by_topic.get(topic, set())
            subscriptions.discard(subscription)
            if not subscriptions:
                self._by_topic.pop(topic, None)

    def publish(self, topic: str) -> None:
        """Report a change to the subscriptions at its topic and at every topic above."""
        for prefix in _prefixes(topic):
            for subscription in self._by_topic.get(prefix, ()):
                subscription.publish(topic)

    def publish_all(self) -> None:
        """Report everything as changed to every subscription, after changes may have been missed."""
        for subscription in self._subscriptions:
            subscription.publish_all()

    def close(self) -> None:
        """End every iterator."""
        for subscription in self._subscriptions:
            subscription.close()


def _prefixes(topic: str) -> Iterator[str]:
    """Yield the topics that hold `topic`, from the one of everything (`topic()`) to itself."""
    end = 0
    while end < len(topic):
        yield topic[:end]
        end = topic.find("/", end) + 1 or len(topic)
    yield topic
