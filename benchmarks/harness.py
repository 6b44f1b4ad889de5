"""Rounds, medians and verdicts. It knows nothing of what is measured.

Both sides of a comparison run in turns within each round, and a ratio is the median over the rounds: on a shared
machine noise then hits both sides alike, and one disturbed round decides nothing.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

Sample = Mapping[str, float]
"""What one side cost in one round, by metric."""

Side = Callable[[], Awaitable[Sample]]
SideT = TypeVar("SideT")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: less with `--quick`, for trying out."""

    rounds: int
    starts: int
    calls: int
    seconds: int
    """How long a load lasts."""


FULL = Effort(rounds=21, starts=15, calls=150, seconds=60)
QUICK = Effort(rounds=3, starts=3, calls=100, seconds=10)


@dataclass(frozen=True, slots=True)
class Goal:
    """The bound of a ratio. Those not yet promised are information: missing them fails nothing."""

    ratio: float
    at_least: bool = False
    promised: bool = True

    def is_met(self, ratio: float) -> bool:
        return ratio >= self.ratio if self.at_least else ratio <= self.ratio

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.ratio:g}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table: what ours and the floor cost (medians), and the median of their ratios."""

    what: str
    unit: str
    ours: float
    floor: float
    ratio: float
    goal: Goal

    @property
    def is_missed(self) -> bool:
        return self.goal.promised and not self.goal.is_met(self.ratio)

    @property
    def verdict(self) -> str:
        met = "met" if self.goal.is_met(self.ratio) else "missed"
        return met if self.goal.promised else f"info: {met}"


async def interleave(rounds: int, sides: Mapping[SideT, Side]) -> dict[SideT, list[Sample]]:
    """Run every side once per round, each time starting with another one."""
    samples: dict[SideT, list[Sample]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            samples[name].append(await sides[name]())
    return samples


def compare(what: str, metric: str, unit: str, ours: Sequence[Sample], floor: Sequence[Sample], goal: Goal) -> Finding:
    """Return the finding from the samples of both sides, which belong together round by round."""
    mine = [sample[metric] for sample in ours]
    theirs = [sample[metric] for sample in floor]
    ratios = [a / b for a, b in zip(mine, theirs, strict=True)]
    return Finding(what, unit, median(mine), median(theirs), median(ratios), goal)


def repeated(work: Callable[[], Awaitable[object]], times: int) -> Side:
    """Return a side that does `work` many times and gives the microseconds of one."""

    async def side() -> Sample:
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(times):
            await work()
        spent = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        return {name: seconds / times * 1e6 for name, seconds in spent.items()}

    return side


def repeated_inline(work: Callable[[], object], times: int) -> Side:
    """As `repeated`, for work that needs no event loop and should not pay for one."""

    async def side() -> Sample:
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(times):
            work()
        spent = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        return {name: seconds / times * 1e6 for name, seconds in spent.items()}

    return side
