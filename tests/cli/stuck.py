"""Runs the `madang` command with a part that is stuck, named by the first argument; the second is how long its end may
take, in seconds."""

from __future__ import annotations

import asyncio
import sys
import time
from functools import partial
from typing import Any, NoReturn

from madang.cli import main, shutdown
from madang.server import stdio
from madang.services.planning.service import PlanningService
from madang.services.planning.store import PlanStore
from madang.services.workspace.engine.files import FileEngine


def spin(*_: Any) -> NoReturn:
    while True:
        pass


def sleep(*_: Any) -> None:
    time.sleep(600)


async def hang(*_: Any) -> None:
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            continue


async def block_the_loop(*_: Any) -> NoReturn:
    spin()


PARTS = {
    "nothing": (FileEngine, "nothing", None),
    "a thread in Python": (FileEngine, "read", spin),
    "a thread in C": (FileEngine, "read", sleep),
    "a tool": (PlanStore, "get", hang),
    "a service that closes": (PlanningService, "unload", hang),
    "the event loop": (PlanStore, "get", block_the_loop),
}

if __name__ == "__main__":
    holder, name, stuck = PARTS[sys.argv.pop(1)]
    setattr(holder, name, stuck)
    end_s = float(sys.argv.pop(1))
    # Answers are waited for inside that time, and have the same share of it as always.
    drain_s = stdio.DRAIN_TIMEOUT_S * end_s / shutdown.SHUTDOWN_S
    stdio.PendingRequests = partial(stdio.PendingRequests, drain_s)  # type: ignore[assignment, misc]
    shutdown.SHUTDOWN_S = end_s
    sys.exit(main())
