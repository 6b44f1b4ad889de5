"""How long to rest between looks at what there may be to do, while notices keep coming."""

from __future__ import annotations

GATHER_S = 0.01
"""Notices that come together are looked at together."""


class Pace:
    """Lets a few looks follow each other at once after a quiet while, and from then on one in each `every_s`.

    Whoever answers soon after a question does not wait for the next look, and a flood of notices costs no more looks
    than it would if each of them waited.
    """

    def __init__(self, every_s: float, at_once: int) -> None:
        self._every_s = every_s
        self._ahead_s = every_s * at_once
        self._earned_until = 0.0

    def rest_s(self, now: float) -> float:
        """Return how long to rest after a look at `now`, by a clock that is never set."""
        self._earned_until = max(self._earned_until, now) + self._every_s
        return max(GATHER_S, self._earned_until - now - self._ahead_s)
