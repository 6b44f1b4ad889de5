"""Run a server with a clock on its event loop: `python -m benchmarks.watched REPORT MODULE [WORD ...]`.

A ticker wants to run every few milliseconds; how late it comes is how long everybody else had to wait. For how long the
loop was ready to run but other programs had the processors is taken off, where the system tells (Linux): on a busy
machine that is most of it. What was seen is written to REPORT when the program ends: pairs of when (seconds of the
monotonic clock) and how late (seconds).
"""

from __future__ import annotations

import asyncio
import json
import runpy
import signal
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

EVERY_S = 0.005
WORTH_NOTING_S = 0.01

_late: list[tuple[float, float]] = []
_run = asyncio.run


def _kept_off_s() -> float:
    """Return for how long this thread has been ready to run without running."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_bytes().split()[1]) / 1e9
    except OSError:
        return 0.0


async def _tick() -> None:
    while True:
        due, kept_off_s = time.monotonic() + EVERY_S, _kept_off_s()
        await asyncio.sleep(EVERY_S)
        late = time.monotonic() - due - (_kept_off_s() - kept_off_s)
        if late > WORTH_NOTING_S:
            _late.append((due, late))


async def _watched(program: Coroutine[Any, Any, Any]) -> Any:
    ticker = asyncio.create_task(_tick())
    try:
        return await program
    finally:
        ticker.cancel()


if __name__ == "__main__":
    report = Path(sys.argv.pop(1))
    module = sys.argv.pop(1)
    # uvicorn stops in order and then sends itself the signal again: without this that would be the end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    asyncio.run = lambda program, **options: _run(_watched(program), **options)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        report.write_text(json.dumps(_late))
