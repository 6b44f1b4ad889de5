"""Fewer points that look the same: no minimum and no maximum is lost, because those are what one looks for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

Spot = tuple[float, float]
_T = TypeVar("_T")


def thinned_line(points: Sequence[Spot], most: int) -> list[Spot]:
    """Return at most about `most` corners of a line: of each stretch the first, lowest, highest and last."""
    if len(points) <= most:
        return list(points)
    kept: list[Spot] = []
    for stretch in stretches(points, max(1, most // 4)):
        places = range(len(stretch))
        lowest, highest = min(places, key=lambda i: stretch[i][1]), max(places, key=lambda i: stretch[i][1])
        kept += [stretch[place] for place in sorted({0, lowest, highest, len(stretch) - 1})]
    return kept


def thinned_cloud(spots: Sequence[Spot], most: int) -> list[Spot]:
    """Return about `most` of the spots, one for each cell of a grid as fine as possible, and the outermost."""
    if len(spots) <= most:
        return list(spots)
    outermost = [find(spots, key=lambda spot: spot[axis]) for find in (min, max) for axis in (0, 1)]
    cell = 2.0
    kept = {spot: spot for spot in spots}
    while len(kept) > most:
        kept = {(x // cell, y // cell): (x, y) for x, y in spots}
        cell *= 1.3
    return list(dict.fromkeys([*outermost, *kept.values()]))


def stretches(items: Sequence[_T], count: int) -> list[Sequence[_T]]:
    """Return the items in `count` stretches of about the same length, none of them empty."""
    count = min(count, len(items))
    edges = [number * len(items) // count for number in range(count + 1)]
    return [items[start:end] for start, end in pairwise(edges)]
