"""The data of a chart, what it refuses, and how the points of its series are aligned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, get_args

from pydantic import Field

from madang.core.documents import Document

ChartType = Literal["bar", "line", "area", "scatter", "pie"]
CHART_TYPES: tuple[ChartType, ...] = get_args(ChartType)

MAX_SERIES = 20
MAX_POINTS = 10_000
MAX_LABEL_CHARS = 200

Caption = Annotated[str, Field(max_length=MAX_LABEL_CHARS)]


class Point(Document):
    """A value and what it is the value of."""

    label: Annotated[str, Field(min_length=1, max_length=MAX_LABEL_CHARS)]
    value: float


Points = Annotated[list[Point], Field(min_length=1, max_length=MAX_POINTS)]


class Series(Document):
    """Points that belong together. The name may be empty where there is only one series."""

    name: Caption
    data: Points


class Chart(Document):
    """What is to be drawn. `check_chart` comes first; everything else relies on it."""

    type: ChartType
    series: Annotated[list[Series], Field(min_length=1, max_length=MAX_SERIES)]
    title: Caption = ""
    x_label: Caption = ""
    y_label: Caption = ""

    @property
    def count(self) -> int:
        return sum(len(series.data) for series in self.series)

    @cached_property
    def alignment(self) -> Alignment:
        """The series side by side; cached, because both pictures, the table and the files need it."""
        return align(self)


@dataclass(frozen=True, slots=True)
class ChartProblem:
    """Why a chart cannot be drawn; `index` is that of the series or point, `other_index` of the one it clashes with."""

    reason: Literal["too_many_points", "blank_name", "duplicate_name", "several_pies", "negative_part", "empty_pie"]
    index: int = 0
    other_index: int = 0


def check_chart(chart: Chart) -> ChartProblem | None:
    """Return why this chart cannot be drawn, although its types are right, or None."""
    if chart.count > MAX_POINTS:
        return ChartProblem("too_many_points")
    if len(chart.series) > 1:
        return _check_names(chart.series) or (ChartProblem("several_pies") if chart.type == "pie" else None)
    return _check_pie(chart.series[0]) if chart.type == "pie" else None


def _check_names(several: Sequence[Series]) -> ChartProblem | None:
    index_by_name: dict[str, int] = {}
    for index, series in enumerate(several):
        if not series.name.strip():
            return ChartProblem("blank_name", index)
        if series.name in index_by_name:
            return ChartProblem("duplicate_name", index, index_by_name[series.name])
        index_by_name[series.name] = index
    return None


def _check_pie(series: Series) -> ChartProblem | None:
    for index, point in enumerate(series.data):
        if point.value < 0:
            return ChartProblem("negative_part", index)
    return None if any(point.value for point in series.data) else ChartProblem("empty_pie")


Position = tuple[str, int]
"""A position on the axis: a label and its occurrence index within the series."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """The series side by side: all positions, and for each series its value at each position where it has one."""

    positions: list[Position]
    columns: list[dict[Position, float]]


def align(chart: Chart) -> Alignment:
    """Give equal labels of different series one position, keeping the order within each series."""
    columns = [dict(_values_by_position(series)) for series in chart.series]
    # A linked list: a position that only a later series has comes after its neighbour there, so that one day more
    # in the second of two years does not land behind December.
    following: dict[Position | None, Position | None] = {None: None}
    for column in columns:
        previous: Position | None = None
        for position in column:
            if position not in following:
                following[position] = following[previous]
                following[previous] = position
            previous = position
    positions: list[Position] = []
    current = following[None]
    while current is not None:
        positions.append(current)
        current = following[current]
    return Alignment(positions, columns)


def _values_by_position(series: Series) -> Iterator[tuple[Position, float]]:
    occurrences: Counter[str] = Counter()
    for point in series.data:
        yield (point.label, occurrences[point.label]), point.value
        occurrences[point.label] += 1
