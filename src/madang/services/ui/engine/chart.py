"""What a chart is made of, what it refuses, and how the points of its series stand beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, get_args

from pydantic import Field

from madang.core.documents import Document
from madang.core.errors import InvalidArguments
from madang.core.phrases import Phrase, say
from madang.services.ui.engine.numbers import plain

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
    """What is to be drawn. Call `check` before anything else takes it."""

    type: ChartType
    series: Annotated[list[Series], Field(min_length=1, max_length=MAX_SERIES)]
    title: Caption = ""
    x_label: Caption = ""
    y_label: Caption = ""

    @property
    def count(self) -> int:
        return sum(len(series.data) for series in self.series)

    @cached_property
    def aligned(self) -> Aligned:
        """The series side by side; both pictures, the table and the files need it."""
        return align(self)


def check(chart: Chart) -> None:
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
    seen: dict[str, int] = {}
    for number, series in enumerate(chart.series):
        if not series.name.strip():
            raise InvalidArguments(
                say("series.{number}.name: must not be blank where there are several series.", number=number)
            )
        if series.name in seen:
            raise InvalidArguments(
                say(
                    "series.{number}.name: is already the name of series.{other}.",
                    number=number,
                    other=seen[series.name],
                ),
                hint=say("Give each series a name of its own: the legend tells them apart by it."),
            )
        seen[series.name] = number


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
                    value=plain(point.value),
                ),
                hint=say("Use type 'bar' for negative values."),
            )
    if not any(point.value for point in points):
        raise InvalidArguments(
            say("{field}: a pie needs a value above zero, and all of these are zero.", field=field),
            hint=say("Use type 'bar' to show zeros."),
        )


Slot = tuple[str, int]
"""A place on the axis: a label, and the how-manieth of that name it is within its series."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """The series side by side: the places there are, and for each series the value at each place, where it has one."""

    slots: list[Slot]
    columns: list[dict[Slot, float]]


def align(chart: Chart) -> Aligned:
    """Put equal labels of different series into one place, keeping the order that each series has."""
    columns = [dict(_slots(series)) for series in chart.series]
    # A place that only a later series has comes after its neighbour there, so that one day more in the
    # second of two years does not land behind December.
    after: dict[Slot | None, Slot | None] = {None: None}
    for column in columns:
        previous: Slot | None = None
        for slot in column:
            if slot not in after:
                after[slot] = after[previous]
                after[previous] = slot
            previous = slot
    slots: list[Slot] = []
    place = after[None]
    while place is not None:
        slots.append(place)
        place = after[place]
    return Aligned(slots, columns)


def _slots(series: Series) -> Iterator[tuple[Slot, float]]:
    seen: Counter[str] = Counter()
    for point in series.data:
        yield (point.label, seen[point.label]), point.value
        seen[point.label] += 1


CHART_NAMES: dict[ChartType, Phrase] = {
    "bar": say("Bar chart"),
    "line": say("Line chart"),
    "area": say("Area chart"),
    "scatter": say("Scatter plot"),
    "pie": say("Pie chart"),
}
