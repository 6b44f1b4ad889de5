from __future__ import annotations

import ast
import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio import fail_after

import madang
from madang.core.errors import LimitExceeded, Unavailable
from madang.core.executor import (
    MAX_QUEUED_PER_SESSION,
    Executor,
    LaneLimits,
    StopSignal,
    WorkOwner,
    WorkStopped,
)

A, B, C = (WorkOwner("one", name) for name in "abc")
OTHER_USER = WorkOwner("two", "a")
SMALL = LaneLimits(threads=4, per_session=2, per_user=3)
WITHIN_S = 60


@pytest.fixture
def executor() -> Iterator[Executor]:
    executor = Executor(reads=SMALL, slow=SMALL)
    yield executor
    executor.close()


class Gate:
    """Work that waits until it is let through, and counts how many wait at it."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self.entered = threading.Semaphore(0)
        self.count = 0

    def pass_through(self) -> str:
        self.count += 1
        self.entered.release()
        assert self._opened.wait(WITHIN_S)
        return "through"

    def open(self) -> None:
        self._opened.set()


async def test_work_returns_its_result_and_raises_its_error(executor: Executor) -> None:
    def fail() -> None:
        raise LookupError("no")

    assert await executor.reads.run(A, int, "7", base=8) == 7
    with pytest.raises(LookupError, match="no"):
        await executor.reads.run(A, fail)


async def test_the_flood_of_one_session_leaves_a_thread_for_another(executor: Executor) -> None:
    gate = Gate()
    flood = [asyncio.create_task(executor.slow.run(A, gate.pass_through)) for _ in range(40)]
    await asyncio.sleep(0)

    with fail_after(WITHIN_S):
        assert await executor.slow.run(B, int, "1") == 1
    assert gate.count <= SMALL.per_session

    gate.open()
    assert await asyncio.gather(*flood) == ["through"] * 40


async def test_the_flood_of_one_user_leaves_a_thread_for_another(executor: Executor) -> None:
    gate = Gate()
    flood = [asyncio.create_task(executor.slow.run(owner, gate.pass_through)) for owner in (A, B, C) for _ in range(9)]
    await asyncio.sleep(0)

    with fail_after(WITHIN_S):
        assert await executor.slow.run(OTHER_USER, int, "1") == 1
    assert gate.count <= SMALL.per_user

    gate.open()
    await asyncio.gather(*flood)


async def test_a_read_never_waits_behind_slow_work(executor: Executor) -> None:
    gate = Gate()
    flood = [asyncio.create_task(executor.slow.run(A, gate.pass_through)) for _ in range(40)]
    await asyncio.sleep(0)

    with fail_after(WITHIN_S):
        assert await executor.reads.run(A, int, "1") == 1

    gate.open()
    await asyncio.gather(*flood)


async def test_sessions_take_turns(executor: Executor) -> None:
    order: list[str] = []
    narrow = Executor(slow=LaneLimits(threads=1, per_session=1, per_user=1)).slow
    gate = Gate()
    first = asyncio.create_task(narrow.run(A, gate.pass_through))
    await asyncio.sleep(0)
    rest = [asyncio.create_task(narrow.run(A, order.append, "a")) for _ in range(3)]
    await asyncio.sleep(0)
    rest.append(asyncio.create_task(narrow.run(B, order.append, "b")))
    await asyncio.sleep(0)

    gate.open()
    await asyncio.gather(first, *rest)

    assert order[:2] in (["a", "b"], ["b", "a"])
    assert sorted(order) == ["a", "a", "a", "b"]


async def test_a_full_queue_refuses_in_words_and_takes_work_again_later(executor: Executor) -> None:
    gate = Gate()
    room = MAX_QUEUED_PER_SESSION + SMALL.per_session
    flood = [asyncio.create_task(executor.reads.run(A, gate.pass_through)) for _ in range(room)]
    await asyncio.sleep(0)

    with pytest.raises(LimitExceeded, match="calls of this session wait"):
        await executor.reads.run(A, int, "1")
    assert await executor.reads.run(B, int, "1") == 1
    accepted = asyncio.create_task(executor.reads.run_accepted(A, int, "2"))

    gate.open()
    await asyncio.gather(*flood)
    assert await accepted == 2
    assert await executor.reads.run(A, int, "3") == 3


async def test_cancelled_work_that_has_not_begun_is_dropped(executor: Executor) -> None:
    gate = Gate()
    done: list[int] = []
    busy = [asyncio.create_task(executor.slow.run(A, gate.pass_through)) for _ in range(SMALL.per_session)]
    waiting = asyncio.create_task(executor.slow.run(A, done.append, 1))
    await asyncio.sleep(0)

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    gate.open()
    await asyncio.gather(*busy)
    await executor.slow.run(A, done.append, 2)
    assert done == [2]


async def test_work_that_runs_is_told_when_its_call_is_cancelled(executor: Executor) -> None:
    begun, ended = threading.Event(), threading.Event()

    def spin(stop: StopSignal) -> None:
        begun.set()
        try:
            while True:
                stop.check()
        except WorkStopped:
            ended.set()

    task = asyncio.create_task(executor.slow.run_stoppable(A, spin))
    await asyncio.to_thread(begun.wait, WITHIN_S)

    task.cancel()

    assert await asyncio.to_thread(ended.wait, WITHIN_S)


async def test_a_step_is_told_to_stop_and_waited_for_when_its_caller_is_cancelled(executor: Executor) -> None:
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def step(stop: StopSignal) -> None:
        begun.set()
        stop.wait(WITHIN_S)
        may_end.wait(WITHIN_S)
        ended.set()

    task = asyncio.create_task(executor.native.run_to_end(A, step))
    await asyncio.to_thread(begun.wait, WITHIN_S)

    task.cancel()
    await asyncio.wait([task], timeout=0.05)
    assert not task.done()
    may_end.set()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_a_step_is_never_refused_and_one_that_has_not_begun_is_dropped_with_its_caller() -> None:
    executor = Executor(native=LaneLimits(threads=1, per_session=1, per_user=1))
    is_free = threading.Event()
    first = asyncio.create_task(executor.native.run_to_end(A, lambda _: is_free.wait(WITHIN_S)))
    await asyncio.sleep(0)
    others = [asyncio.create_task(executor.native.run_to_end(A, lambda _: 1)) for _ in range(300)]
    await asyncio.sleep(0)

    others[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await others[0]
    is_free.set()

    assert await first is True
    assert sum(await asyncio.gather(*others[1:])) == 299
    executor.close()


async def test_closing_tells_running_work_to_stop_and_refuses_what_is_new() -> None:
    executor = Executor()
    begun, ended = threading.Event(), threading.Event()

    def wait(stop: StopSignal) -> None:
        begun.set()
        stop.wait(WITHIN_S)
        ended.set()

    task = asyncio.create_task(executor.slow.run_stoppable(A, wait))
    await asyncio.to_thread(begun.wait, WITHIN_S)

    executor.close()

    assert await asyncio.to_thread(ended.wait, WITHIN_S)
    await task
    with pytest.raises(Unavailable):
        await executor.slow.run(A, int)


async def test_threads_end_with_an_executor_that_nobody_closed() -> None:
    executor = Executor()
    await executor.reads.run(A, int)
    (thread,) = executor.reads._threads

    del executor
    await asyncio.sleep(0)

    thread.join(WITHIN_S)
    assert not thread.is_alive()


CODE = Path(madang.__file__).parent
IN_THREADS = {"to_thread", "run_in_executor", "run_sync"}
MAY = {
    "database/sqlite/database.py",  # opening and closing the file, which belong to no call
    "records/audit.py",  # rows that wait for a lock, and whose calls are over
    "server/bodies.py",  # before it is known whose call it is
    "server/downloads.py",
    "cli/sessions.py",  # a question to the person, in a process of one command
    "cli/exports.py",  # all data of a person, in a process of one command
    "llm/vendors.py",  # importing a vendor's library, once
    "records/retention.py",  # deleting old copies of files, which belongs to no call
    "agent/models.py",  # reading keys from the keyring, once a model
    "cli/web.py",  # opening a browser, once
    "host/models.py",  # keys and config.toml are the person's, and belong to no session
    "host/model_catalogue.py",  # as above
    "host/data.py",  # the whole data folder, which belongs to no session
    "host/archives.py",  # files as large as it, which one person at a time reads and writes
}


def test_services_run_blocking_work_nowhere_but_in_the_executor() -> None:
    uses = [
        f"{path.relative_to(CODE)}:{node.lineno}"
        for path in CODE.rglob("*.py")
        if str(path.relative_to(CODE)) not in MAY
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Attribute) and node.attr in IN_THREADS)
        or (isinstance(node, ast.alias) and node.name.rpartition(".")[2] in IN_THREADS)
    ]

    assert uses == []


def test_a_checkpoint_raises_once_the_work_should_end_and_sleeps_only_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    yields: list[None] = []
    monkeypatch.setattr("madang.core.executor.yield_gil", lambda: yields.append(None))
    signal = StopSignal()

    monkeypatch.setattr("madang.core.executor.YIELD_EVERY_S", 3600)
    for _ in range(100):
        signal.checkpoint()
    assert yields == []

    monkeypatch.setattr("madang.core.executor.YIELD_EVERY_S", 0)
    signal.checkpoint()
    assert yields == [None]

    signal.set()
    with pytest.raises(WorkStopped):
        signal.checkpoint()
