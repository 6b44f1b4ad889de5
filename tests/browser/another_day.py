"""`madang` with a clock that is days fast or slow: the first argument says how many, the rest is the command.

Run as a script. The clock is moved before anything else of Madang is imported; monotonic clocks stay, as they do when a
person sets the clock of a machine.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta

from madang.system import clock


def move_clock(later: timedelta) -> None:
    seconds = int(later.total_seconds())
    read_s, read_ns = time.time, time.time_ns
    for module, name, read in (
        (clock, "now", lambda: datetime.now(UTC) + later),
        (time, "time", lambda: read_s() + seconds),
        (time, "time_ns", lambda: read_ns() + seconds * 10**9),
    ):
        setattr(module, name, read)


if __name__ == "__main__":
    move_clock(timedelta(days=int(sys.argv.pop(1))))
    from madang.cli import main

    raise SystemExit(main())
