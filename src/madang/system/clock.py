"""The clock, and the one spelling of a moment: ISO 8601 in UTC, with milliseconds and `Z`.

Rows of earlier versions have other spellings of UTC, which `parse_timestamp` reads as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator

SQLITE_NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
POSTGRESQL_NOW = "date_trunc('milliseconds', clock_timestamp())"
"""The moment as SQL, by the clock of the database: cut to what a timestamp can say, so that both are equal."""


TOLERANCE_S = 5.0
"""By how much a clock may be corrected, or a process be late, without that being a jump."""
SETTLE_S = 300.0
"""How long a jump ahead has to last before it is believed."""


def now() -> datetime:
    """Return the moment, aware, in UTC."""
    return datetime.now(UTC)


def timestamp() -> str:
    """Return this moment as it is stored and sent."""
    return format_timestamp(now())


def format_timestamp(moment: datetime) -> str:
    """Return a moment as it is stored and sent. Timestamps sort as their moments do."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class SteadyClock:
    """The moment, for what ends for good because its time has come: a clock that jumps ahead is believed later.

    Clocks are set ahead by mistake and set back again, machines wake up with a wrong one. Until a jump has lasted for
    `SETTLE_S`, this clock goes on from where it was, by the monotonic one. One that is set back is believed at once:
    then something ends later than it could.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._known, self._known_s = now(), monotonic()
        self._jumped_s: float | None = None

    def timestamp(self) -> str:
        """Return this moment, as far as it can be believed."""
        wall, elapsed_s = now(), self._monotonic()
        expected = self._known + timedelta(seconds=elapsed_s - self._known_s)
        if wall - expected > timedelta(seconds=TOLERANCE_S):
            if self._jumped_s is None:
                self._jumped_s = elapsed_s
            if elapsed_s - self._jumped_s < SETTLE_S:
                return format_timestamp(expected)
        self._known, self._known_s, self._jumped_s = wall, elapsed_s, None
        return format_timestamp(wall)


def parse_timestamp(text: str) -> datetime:
    """Return the moment of a timestamp."""
    return datetime.fromisoformat(text)


def _normalized(text: str) -> str:
    if not text:
        return ""
    moment = parse_timestamp(text)
    if moment.tzinfo is None:
        raise ValueError("a timestamp without a zone")
    return format_timestamp(moment)


Timestamp = Annotated[str, AfterValidator(_normalized)]
"""A timestamp in a document that leaves or comes: in the one spelling, or empty for none."""
