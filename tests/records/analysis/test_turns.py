"""Whose texts are analyzed next."""

from __future__ import annotations

import pytest

from madang.core.errors import LimitExceeded, Unavailable
from madang.core.executor import MAX_QUEUED, MAX_QUEUED_PER_SESSION, WorkOwner
from madang.records.analysis import turns
from madang.records.analysis.turns import MAX_BATCH_CHARS, MAX_QUERIES_IN_A_ROW, AnalysisJob, AnalysisTurns
from madang.text.search.queries import Tokens


def job(
    user: str = "ann", session: str = "one", *, is_query: bool = False, texts: tuple[str, ...] = ("x",)
) -> AnalysisJob:
    return AnalysisJob(WorkOwner(user, session), texts, is_query, False, None)


def taken(queue: AnalysisTurns, count: int) -> list[AnalysisJob | None]:
    return [queue.next() for _ in range(count)]


def test_a_query_overtakes_texts() -> None:
    queue, text, query = AnalysisTurns(), job(), job(is_query=True)
    queue.add(text)
    assert queue.next() is text
    queue.add(query)

    assert queue.next() is query
    queue.discard(query)
    assert queue.next() is text
    queue.discard(text)
    assert queue.next() is None


def test_queries_without_end_do_not_keep_texts_from_their_turn() -> None:
    queue, text, query = AnalysisTurns(), job(), job(is_query=True)
    queue.add(text)
    queue.add(query)

    assert taken(queue, 2 * (MAX_QUERIES_IN_A_ROW + 1)).count(text) == 2


def test_users_take_turns_and_their_sessions_within_them() -> None:
    queue = AnalysisTurns()
    first, second, other = job("ann", "one"), job("ann", "two"), job("bob", "three")
    for one in (first, job("ann", "one"), second, other):
        queue.add(one)

    assert taken(queue, 6) == [first, other, second, other, first, other]


def test_a_full_queue_refuses() -> None:
    queue = AnalysisTurns()
    for _ in range(MAX_QUEUED_PER_SESSION):
        queue.add(job())
    with pytest.raises(LimitExceeded):
        queue.add(job())
    for number in range(MAX_QUEUED - MAX_QUEUED_PER_SESSION):
        queue.add(job(session=f"s{number}"))
    with pytest.raises(Unavailable):
        queue.add(job(session="late"))


def test_batches_are_small_and_hold_every_text_once() -> None:
    texts = ("a" * (MAX_BATCH_CHARS - 1), "b", "c", "d" * (3 * MAX_BATCH_CHARS), "e")
    one, batches = job(texts=texts), []
    while len(one.tokens) < len(texts):
        batches.append(tuple(one.batch()))
        one.tokens += [Tokens([], [])] * len(batches[-1])

    assert batches == [texts[:2], texts[2:3], texts[3:4], texts[4:]]


def test_texts_of_a_failed_batch_come_one_by_one() -> None:
    one = job(texts=("a", "b", "c", "d"))
    one.suspects_end = 2
    assert one.batch() == ("a",)
    one.tokens += [Tokens([], [])] * 2
    assert one.batch() == ("c", "d")


def test_forgetting_a_job_twice_changes_nothing() -> None:
    queue, one = AnalysisTurns(), job()
    queue.add(one)
    queue.discard(one)
    queue.discard(one)
    assert queue.next() is None
    assert turns.AnalysisTurns().next() is None
