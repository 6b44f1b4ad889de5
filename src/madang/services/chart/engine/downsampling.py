"""Downsampling: fewer points that look the same. Minima and maxima are kept, because readers look for those."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

Coordinates = tuple[float, float]
_T = TypeVar("_T")


def downsample_line(points: Sequence[Coordinates], max_points: int) -> list[Coordinates]:
    """Return at most `max_points` points of a line: of each segment the first, lowest, highest and last."""
    if len(points) <= max_points:
        return list(points)
    sample: list[Coordinates] = []
    for segment in split_evenly(points, max(1, max_points // 4)):
        indexes = range(len(segment))
        lowest, highest = min(indexes, key=lambda i: segment[i][1]), max(indexes, key=lambda i: segment[i][1])
        sample += [segment[index] for index in sorted({0, lowest, highest, len(segment) - 1})]
    return sample


def downsample_cloud(points: Sequence[Coordinates], max_points: int) -> list[Coordinates]:
    """Return about `max_points` of the points: one for each cell of a grid as fine as possible, and the outermost."""
    if len(points) <= max_points:
        return list(points)
    outermost = [find(points, key=lambda point: point[axis]) for find in (min, max) for axis in (0, 1)]
    cell_size = 2.0
    points_by_cell = {point: point for point in points}
    while len(points_by_cell) > max_points:
        points_by_cell = {(x // cell_size, y // cell_size): (x, y) for x, y in points}
        cell_size *= 1.3
    return list(dict.fromkeys([*outermost, *points_by_cell.values()]))


def split_evenly(items: Sequence[_T], count: int) -> list[Sequence[_T]]:
    """Return the items in `count` segments of about the same length, none of them empty."""
    count = min(count, len(items))
    edges = [number * len(items) // count for number in range(count + 1)]
    return [items[start:end] for start, end in pairwise(edges)]
