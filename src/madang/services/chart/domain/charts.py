"""The data of a chart, what it refuses, and how the points of its series are aligned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, get_args

from pydantic import Field

from madang.core.documents import Document
from madang.core.errors import InvalidArguments
from madang.core.phrases import say
from madang.services.chart.domain.numbers import plain_number

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


def check_chart(chart: Chart) -> None:
    """Refuse what the types alone let pass.

    Raises:
        InvalidArguments: naming the field, with what to do instead.
    """
    if chart.count > MAX_POINTS:
        raise InvalidArguments(
            say("series: has {count} points in all, and a chart takes {limit}.", count=chart.count, limit=MAX_POINTS),
            hint=say("Take every n-th point, or the mean of each group of points."),
        )
    if len(chart.series) > 1:
        _check_names(chart)
    if chart.type == "pie":
        _check_pie(chart)


def _check_names(chart: Chart) -> None:
    numbers_by_name: dict[str, int] = {}
    for number, series in enumerate(chart.series):
        if not series.name.strip():
            raise InvalidArguments(
                say("series.{number}.name: must not be blank where there are several series.", number=number)
            )
        if series.name in numbers_by_name:
            raise InvalidArguments(
                say(
                    "series.{number}.name: is already the name of series.{other}.",
                    number=number,
                    other=numbers_by_name[series.name],
                ),
                hint=say("Give each series a name of its own: the legend tells them apart by it."),
            )
        numbers_by_name[series.name] = number


def _check_pie(chart: Chart) -> None:
    if len(chart.series) > 1:
        raise InvalidArguments(
            say("series: a pie shows one series, and here are {count}.", count=len(chart.series)),
            hint=say("Use type 'bar' to compare several series, or one pie for each."),
        )
    points = chart.series[0].data
    # Points that came without a series have no name: they are called as the caller called them.
    field = "series.0.data" if chart.series[0].name else "data"
    for number, point in enumerate(points):
        if point.value < 0:
            raise InvalidArguments(
                say(
                    "{field}: a pie shows parts of a whole, so it cannot be negative ({value}).",
                    field=f"{field}.{number}.value",
                    value=plain_number(point.value),
                ),
                hint=say("Use type 'bar' for negative values."),
            )
    if not any(point.value for point in points):
        raise InvalidArguments(
            say("{field}: a pie needs a value above zero, and all of these are zero.", field=field),
            hint=say("Use type 'bar' to show zeros."),
        )


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
