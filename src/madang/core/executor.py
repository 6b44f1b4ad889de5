"""Runs blocking work of calls in threads: bounded for each session and user, fair between them.

Work goes into one of four lanes, each with threads of its own, so that a quick read never waits behind a search. Every
lane has a queue that refuses when it is full. Threads cannot be killed: work that may take long looks at its
`StopSignal`, and what cannot look at one runs in a child process.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, ParamSpec, Protocol, TypeVar

from madang.core.errors import LimitExceeded, Unavailable
from madang.core.phrases import say

MAX_QUEUED_PER_SESSION = 100
MAX_QUEUED_PER_USER = 400
MAX_QUEUED = 1_000
"""Of a lane. Each is a call that somebody waits for, so a longer queue would only time out later."""

YIELD_EVERY_S = 0.001
YIELD_S = 0.000_05
CONTENDED_S = 0.000_5
"""Getting the GIL back takes longer than this only if another thread is at work."""
CONTENDED_YIELD_S = 0.002
"""As long as it takes to answer a small call."""

Rest = ParamSpec("Rest")
ResultT = TypeVar("ResultT")


def yield_gil() -> None:
    """Let other threads have the GIL, between two short pieces of long work in a thread.

    Python's own switch is not enough: a thread that answers small calls gives the GIL up dozens of times for each, and
    would wait for the next switch every time. So where there is such a thread, it gets more time than it waits for.
    """
    began_at = time.perf_counter()
    time.sleep(YIELD_S)
    if time.perf_counter() - began_at > CONTENDED_S:
        time.sleep(CONTENDED_YIELD_S)


class WorkStopped(Exception):
    """The result of this work is not wanted any more."""


class StopSignal(threading.Event):
    """Tells work in a thread that its result is not wanted: its call was cancelled, or the process is closing."""

    def __init__(self) -> None:
        super().__init__()
        self._yielded_at = time.monotonic()

    def check(self) -> None:
        """Raise if the work should end.

        Raises:
            WorkStopped: it should.
        """
        if self.is_set():
            raise WorkStopped

    def checkpoint(self) -> None:
        """Raise if the work should end, and let other threads go on: called often by long Python work in a thread.

        Raises:
            WorkStopped: it should.
        """
        self.check()
        if time.monotonic() - self._yielded_at > YIELD_EVERY_S:
            yield_gil()
            self._yielded_at = time.monotonic()


class HasOwner(Protocol):
    """Whose work it is: a `Call`, or a `WorkOwner` where there is none."""

    @property
    def user_id(self) -> str: ...
    @property
    def session_id(self) -> str | None: ...


class WorkOwner(NamedTuple):
    user_id: str
    session_id: str | None


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """How many threads a lane has, and how many of them one session and one user may hold at a time."""

    threads: int
    per_session: int
    per_user: int


READS = LaneLimits(threads=8, per_session=4, per_user=7)
WRITES = LaneLimits(threads=6, per_session=2, per_user=5)
SLOW = LaneLimits(threads=3, per_session=1, per_user=2)
"""Few: each is Python that keeps a processor busy and makes every other thread wait for its turn. More at a time would
finish no sooner, because one of them runs at any moment."""
NATIVE = LaneLimits(threads=4, per_session=2, per_user=3)
"""For work outside of the interpreter, which takes turns with nothing here: children and compression."""


class Job(Generic[ResultT]):
    """One piece of work in a lane: it waits, runs in a thread, and settles its future."""

    def __init__(self, lane: Lane, owner: WorkOwner, work: Callable[[], ResultT]) -> None:
        self.owner = owner
        self.has_begun = False
        self._lane = lane
        self._work = work
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[ResultT] = self._loop.create_future()

    def drop(self) -> bool:
        """Cancel it if it has not begun, and tell whether that was so."""
        if self.has_begun or not self._lane._withdraw(self):
            return False
        self.future.cancel()
        return True

    def run(self) -> None:
        """Do the work in this thread."""
        result: Any = None
        failure: BaseException | None = None
        try:
            result = self._work()
        except BaseException as error:  # whatever it is belongs to the caller; a worker goes on
            failure = error
        with suppress(RuntimeError):  # the event loop is closed, and the caller gone with it
            self._loop.call_soon_threadsafe(self._settle, result, failure)

    def _settle(self, result: Any, failure: BaseException | None) -> None:
        self._lane._end(self)
        if self.future.done():
            return  # the caller was cancelled
        if failure is None:
            self.future.set_result(result)
        elif isinstance(failure, StopIteration):  # a future cannot raise it
            self.future.set_exception(RuntimeError("work in a thread raised StopIteration"))
        else:
            self.future.set_exception(failure)
            self.future.exception()  # retrieved: asyncio would log one that nobody waits for


class Lane:
    """Threads for one kind of work. Sessions take turns; use it within one event loop."""

    def __init__(self, name: str, limits: LaneLimits, stop_signals: weakref.WeakSet[StopSignal]) -> None:
        self._name = name
        self._limits = limits
        self._stop_signals = stop_signals
        self._queues: OrderedDict[WorkOwner, deque[Job[Any]]] = OrderedDict()
        self._queued_by_user: Counter[str] = Counter()
        self._running: Counter[WorkOwner] = Counter()
        self._running_by_user: Counter[str] = Counter()
        self._is_closed = False
        # Threads hold these and not the lane, so that a lane which nobody closes ends them with itself.
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._end_threads = weakref.finalize(self, _end_threads, self._jobs, self._threads)
        self._end_threads.atexit = False

    async def run(
        self, owner: HasOwner, work: Callable[Rest, ResultT], *args: Rest.args, **kwargs: Rest.kwargs
    ) -> ResultT:
        """Run `work` in a thread and return its result. Work of a cancelled caller that has not begun is dropped.

        Raises:
            LimitExceeded, Unavailable: too much waits already. Nothing was begun.
        """
        return await self._outcome(self.submit(owner, work, *args, **kwargs))

    async def run_accepted(
        self, owner: HasOwner, work: Callable[Rest, ResultT], *args: Rest.args, **kwargs: Rest.kwargs
    ) -> ResultT:
        """Run a later step of work that was accepted already: it is never refused, which would leave half of it."""
        return await self._outcome(self._add(owner, lambda: work(*args, **kwargs)))

    async def run_stoppable(self, owner: HasOwner, work: Callable[[StopSignal], ResultT]) -> ResultT:
        """Run `work` as `run` does, with a signal that is set when the caller is cancelled."""
        stop = self.stop_signal()
        try:
            return await self.run(owner, work, stop)
        finally:
            stop.set()

    async def run_to_end(self, owner: HasOwner, work: Callable[[StopSignal], ResultT]) -> ResultT:
        """Run a step of work that was accepted already. When the caller is cancelled, the step is told to stop and
        waited for, so that nothing goes on behind what the caller cleans up."""
        stop = self.stop_signal()
        job = self._add(owner, lambda: work(stop))
        try:
            return await asyncio.shield(job.future)
        except asyncio.CancelledError:
            stop.set()
            if not job.drop():
                await asyncio.wait([job.future])
            raise

    def submit(
        self, owner: HasOwner, work: Callable[Rest, ResultT], *args: Rest.args, **kwargs: Rest.kwargs
    ) -> Job[ResultT]:
        """Queue `work`; the caller answers for waiting and for dropping it.

        Raises:
            LimitExceeded, Unavailable: too much waits already.
        """
        key = WorkOwner(owner.user_id, owner.session_id)
        if len(self._queues.get(key, ())) >= MAX_QUEUED_PER_SESSION:
            raise session_busy()
        if (
            self._queued_by_user[key.user_id] >= MAX_QUEUED_PER_USER
            or self._queued_by_user.total() >= MAX_QUEUED
            or self._is_closed
        ):
            raise too_busy()
        return self._add(key, lambda: work(*args, **kwargs))

    def stop_signal(self) -> StopSignal:
        """Return a signal that is also set when the executor closes."""
        signal = StopSignal()
        if self._is_closed:
            signal.set()
        self._stop_signals.add(signal)
        return signal

    def close(self) -> None:
        """Cancel what waits, and end the threads when they are done. It does not wait for them."""
        self._is_closed = True
        for queue in list(self._queues.values()):
            for job in list(queue):
                job.drop()
        self._end_threads()

    async def _outcome(self, job: Job[ResultT]) -> ResultT:
        try:
            return await job.future
        except asyncio.CancelledError:
            job.drop()
            raise

    def _add(self, owner: HasOwner, work: Callable[[], ResultT]) -> Job[ResultT]:
        job = Job(self, WorkOwner(owner.user_id, owner.session_id), work)
        self._queues.setdefault(job.owner, deque()).append(job)
        self._queued_by_user[job.owner.user_id] += 1
        self._dispatch()
        return job

    def _withdraw(self, job: Job[Any]) -> bool:
        queue = self._queues.get(job.owner)
        if queue is None or job not in queue:
            return False
        queue.remove(job)
        self._left_queue(job.owner)
        return True

    def _left_queue(self, owner: WorkOwner) -> None:
        if not self._queues[owner]:
            del self._queues[owner]
        _decrement(self._queued_by_user, owner.user_id)

    def _end(self, job: Job[Any]) -> None:
        _decrement(self._running, job.owner)
        _decrement(self._running_by_user, job.owner.user_id)
        self._dispatch()

    def _dispatch(self) -> None:
        """Hand waiting work to threads, to each session in turn."""
        while self._running.total() < self._limits.threads:
            owner = next(filter(self._may_run, self._queues), None)
            if owner is None:
                return
            job = self._queues[owner].popleft()
            self._queues.move_to_end(owner)
            self._left_queue(owner)
            self._running[owner] += 1
            self._running_by_user[owner.user_id] += 1
            job.has_begun = True
            self._jobs.put(job)
            if len(self._threads) < self._running.total():
                self._start_thread()

    def _may_run(self, owner: WorkOwner) -> bool:
        return (
            self._running[owner] < self._limits.per_session
            and self._running_by_user[owner.user_id] < self._limits.per_user
        )

    def _start_thread(self) -> None:
        # Daemonic: Python waits for other threads at its end, and one may be busy for long.
        thread = threading.Thread(target=_work, args=(self._jobs,), name=f"madang-{self._name}", daemon=True)
        self._threads.append(thread)
        thread.start()


class Executor:
    """The lanes of one process: quick reads, changes of files, slow Python work such as searching names and drawing,
    and native work such as searching texts, packing, and parsing in children."""

    def __init__(
        self,
        *,
        reads: LaneLimits = READS,
        writes: LaneLimits = WRITES,
        slow: LaneLimits = SLOW,
        native: LaneLimits = NATIVE,
    ) -> None:
        self._stop_signals: weakref.WeakSet[StopSignal] = weakref.WeakSet()
        self.reads = Lane("reads", reads, self._stop_signals)
        self.writes = Lane("writes", writes, self._stop_signals)
        self.slow = Lane("slow", slow, self._stop_signals)
        self.native = Lane("native", native, self._stop_signals)

    def stop(self) -> None:
        """Tell all running work that its result is not wanted any more."""
        for signal in list(self._stop_signals):
            signal.set()

    def close(self) -> None:
        """Cancel what waits, tell what runs to stop, and wait for nothing."""
        self.stop()
        for lane in (self.reads, self.writes, self.slow, self.native):
            lane.close()


def _work(jobs: SimpleQueue[Job[Any] | None]) -> None:
    while (job := jobs.get()) is not None:
        job.run()
        del job  # it holds the lane, which nobody else may hold any more


def _end_threads(jobs: SimpleQueue[Job[Any] | None], threads: list[threading.Thread]) -> None:
    for _ in threads:
        jobs.put(None)


def _decrement(counter: Counter[Any], key: object) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


def session_busy() -> LimitExceeded:
    """Return what to say when too much work of one session waits."""
    return LimitExceeded(
        say("More than {max} calls of this session wait to be worked on.", max=MAX_QUEUED_PER_SESSION),
        hint=say("Nothing was done. Wait for the answers to some of them, then call again."),
    )


def too_busy() -> Unavailable:
    """Return what to say when too much work waits."""
    return Unavailable(
        say("Too many calls wait to be worked on."),
        hint=say("Nothing was done. Call again in a few seconds."),
    )
