"""Which subscriptions a notice reaches."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madang.database.subscriptions import (
    MAX_PENDING_TOPICS,
    MAX_TOPIC_BYTES,
    Subscription,
    SubscriptionIndex,
    check_topic,
    parse_topic,
    topic,
)

PATHS = st.lists(st.sampled_from(["a", "b", "ab", "a/b", "", " ", "%", "한글"]), max_size=4)


async def received(subscription: Subscription) -> frozenset[str]:
    """Return what has been published to `subscription`, which may be nothing."""
    changes = subscription.changes()
    assert await anext(changes) == frozenset()
    try:
        async with asyncio.timeout(0):
            return await anext(changes)
    except TimeoutError:
        return frozenset()


def index_of(*subscriptions: Subscription) -> SubscriptionIndex:
    index = SubscriptionIndex()
    for subscription in subscriptions:
        index.add(subscription)
    return index


@given(subscribed=st.lists(st.lists(PATHS, min_size=1, max_size=3), max_size=5), changed=st.lists(PATHS, max_size=5))
async def test_a_notice_reaches_the_subscriptions_at_its_topic_and_above(
    subscribed: list[list[list[str]]], changed: list[list[str]]
) -> None:
    """Against asking every subscription whether the topic begins with one of its own."""
    subscriptions = [Subscription(tuple(topic(*parts) for parts in paths)) for paths in subscribed]
    index = index_of(*subscriptions)
    notices = [topic(*parts) for parts in changed]

    for notice in notices:
        index.publish(notice)

    for subscription in subscriptions:
        assert await received(subscription) == {notice for notice in notices if notice.startswith(subscription.topics)}


@given(st.lists(st.text(st.characters(exclude_categories=()))))
def test_the_parts_of_a_topic_are_read_back_whatever_they_are(parts: list[str]) -> None:
    assert parse_topic(topic(*parts)) == tuple(parts)


async def test_a_topic_is_no_neighbour_whose_name_begins_alike() -> None:
    near, below = Subscription((topic("plan", "ann"),)), Subscription((topic("plan", "anna", "1"),))
    index = index_of(near, below)

    index.publish(topic("plan", "anna"))

    assert await received(near) == frozenset()
    assert await received(below) == frozenset()


async def test_a_subscription_that_was_discarded_gets_nothing_and_leaves_nothing_behind() -> None:
    stays, leaves = Subscription(("a/", "b/")), Subscription(("a/", "a/", "c/"))
    index = index_of(stays, leaves)

    index.discard(leaves)
    index.discard(leaves)
    index.publish("a/")
    index.publish("c/")
    index.publish_all()

    assert await received(leaves) == frozenset()
    assert await received(stays) == {"a/", "b/"}
    assert len(index) == 1
    index.discard(stays)
    assert len(index) == 0
    assert index._by_topic == {}


async def test_more_topics_than_are_kept_become_those_subscribed_to() -> None:
    subscription = Subscription(("a/",))
    index = index_of(subscription)

    for number in range(MAX_PENDING_TOPICS + 1):
        index.publish(f"a/{number}/")

    assert await received(subscription) == {"a/"}


def test_topics_of_the_longest_names_can_be_sent() -> None:
    longest = "\N{LINEAR B SYLLABLE B008 A}" * 200  # four bytes each, and twelve characters in a topic

    check_topic(topic("workspace", longest, longest, longest, "0" * 36))


@pytest.mark.parametrize("bad", ["", "a\0b/", "x" * (MAX_TOPIC_BYTES + 1), "한" * (MAX_TOPIC_BYTES // 3 + 1)])
def test_what_cannot_be_sent_is_no_topic(bad: str) -> None:
    with pytest.raises(ValueError, match="Not a topic"):
        check_topic(bad)
