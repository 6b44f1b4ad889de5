"""Ends a serving process soon after it was told to, whatever it is doing.

It closes in order; a clock runs meanwhile, and at its end the process exits as it would if it were killed, which leaves
data whole and no child behind (they end with their parent). Commands that write files end in order without a clock.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, Self

from madang.cli.streams import OutputFailed

SHUTDOWN_S = 4.5
"""From the first signal, or the end of input, to the end of the process. People and clients are told 5 s."""


class ShutdownClock:
    """Starts at the first reason to end, and ends the process when it is over. Serve inside of it."""

    def __init__(self) -> None:
        self.exit_code = 0
        self._sink = open(os.devnull, "wb")  # noqa: SIM115 - as long as the process
        self._lock = threading.Lock()
        self._is_started = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Let Python end by itself, unless a thread is busy, which it would wait for."""
        self.start()
        if isinstance(error, SystemExit):
            self.exit_code = error.code if isinstance(error.code, int) else 1
        elif kind is not None:
            self.exit_code = 128 + signal.SIGINT if issubclass(kind, KeyboardInterrupt) else 1
        if kind is None or not issubclass(kind, Exception):  # an error has to be told first
            _exit_past_busy_threads(self.exit_code)

    def start(self) -> bool:
        """Start the clock, and tell whether it had not been started yet. Any thread may."""
        with self._lock:
            if self._is_started:
                return False
            self._is_started = True
        # A timer in C, which needs no turn among the threads of Python. What it writes is of no use to a client's log.
        faulthandler.dump_traceback_later(SHUTDOWN_S, exit=True, file=self._sink)
        return True

    def cancel(self) -> None:
        """Stop the clock, if it was started: something is to be done before the end. It starts again after that."""
        with self._lock:
            faulthandler.cancel_dump_traceback_later()
            self._is_started = False

    def start_with(self, server: Any) -> None:
        """Start the clock when a server that handles signals itself, as uvicorn's does, gets one."""
        handle_exit = server.handle_exit

        def handle(number: int, frame: FrameType | None) -> None:
            self.start()
            handle_exit(number, frame)

        server.handle_exit = handle

    def cancel_on_signals(self, task: asyncio.Task[Any]) -> _Interruption:
        """Have SIGTERM and Ctrl-C start the clock and cancel a task; a second one ends the process at once."""
        return _Interruption(self, task)


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Have SIGTERM and SIGHUP raise SystemExit in this block, so that it removes what it has not finished."""

    def handle(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)

    with _handling_once(handle):
        yield


def run_until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Run a command to its end, or until SIGTERM or SIGHUP cancels it as Ctrl-C does; return its exit code."""
    return asyncio.run(_run_until_signal(work))


async def _run_until_signal(work: Coroutine[Any, Any, int]) -> int:
    loop, task = asyncio.get_running_loop(), asyncio.create_task(work)
    signal_number = 0

    def handle(number: int, _: FrameType | None) -> None:
        nonlocal signal_number
        signal_number = number
        loop.call_soon_threadsafe(task.cancel)

    with _handling_once(handle):
        try:
            return await task
        except asyncio.CancelledError:
            if not signal_number:
                raise
            return 128 + signal_number


@contextmanager
def _handling_once(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the signals that end a process, once: a second one of a kind ends it at once."""

    def handle_once(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        handle(number, frame)

    if threading.current_thread() is not threading.main_thread():  # a program of another's that calls `main`
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # One that is ignored stays so: `nohup` means to outlive its terminal.
    before = {number: signal.getsignal(number) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, handle_once)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


class _Interruption:
    """Which signal ended a task, if one did."""

    def __init__(self, clock: ShutdownClock, task: asyncio.Task[Any]) -> None:
        self.signal_number = 0
        self._clock = clock
        self._task = task
        self._loop = asyncio.get_running_loop()
        # Not the loop's own handlers: those wait for their turn in a loop that may be held up.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if not self._clock.start() and self.signal_number:
            os._exit(128 + number)
        self.signal_number = number
        with suppress(RuntimeError):  # the loop is closed: this is about to end anyway
            # Cancelling is orderly: SystemExit raised inside an arbitrary task can leave others that never end.
            self._loop.call_soon_threadsafe(self._task.cancel)


def _exit_past_busy_threads(code: int) -> None:
    """Exit now if a thread is still at work. Python would wait for it, or tear down libraries under its feet."""
    idle = (threading.main_thread(), threading.current_thread())
    if any(thread not in idle and _is_working(thread) for thread in threading.enumerate()):
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, OutputFailed):
                stream.flush()
        os._exit(code)


def _is_working(thread: threading.Thread) -> bool:
    # The two threads of stdio wait for a client that may never write or read again.
    return thread.is_alive() and thread.name not in ("madang-stdin", "madang-stdout")
