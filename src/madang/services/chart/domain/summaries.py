"""The statistics of a chart's series."""

from __future__ import annotations

import math
from collections.abc import Sequence

from madang.core.documents import Document
from madang.services.chart.domain.charts import Chart, Point, Series

MAX_OUTLIERS = 5
MIN_QUARTILE_POINTS = 4


class SeriesSummary(Document):
    """The statistics of one series; `outliers` has the farthest few of `outlier_count`."""

    name: str
    count: int
    min: Point
    max: Point
    mean: float
    outliers: list[Point]
    outlier_count: int


def summarize(chart: Chart) -> list[SeriesSummary]:
    """Return the statistics of each series."""
    return [_summarize_series(series) for series in chart.series]


def _summarize_series(series: Series) -> SeriesSummary:
    points = series.data
    lowest, highest = min(points, key=_value), max(points, key=_value)
    mean = _mean([point.value for point in points])
    outliers = _outliers(points)
    return SeriesSummary.model_construct(
        name=series.name,
        count=len(points),
        min=lowest,
        max=highest,
        # Rounding must not put the mean outside of the data.
        mean=min(highest.value, max(lowest.value, mean)),
        outliers=outliers[:MAX_OUTLIERS],
        outlier_count=len(outliers),
    )


def shares(series: Series) -> list[float]:
    """Return what part of the whole each point is, between 0 and 1, in their order. None of them is negative."""
    largest = max(point.value for point in series.data)
    # Their plain sum may be larger than any float.
    whole = math.fsum(point.value / largest for point in series.data)
    return [point.value / largest / whole for point in series.data]


def _mean(values: Sequence[float]) -> float:
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        # The sum of very large numbers is larger than any float, but their mean is not.
        largest = max(abs(value) for value in values)
        return math.fsum(value / largest for value in values) / len(values) * largest


def _outliers(points: Sequence[Point]) -> list[Point]:
    """Return what lies more than 1.5 interquartile ranges outside the middle half, farthest first."""
    if len(points) < MIN_QUARTILE_POINTS:
        return []
    values = sorted(point.value for point in points)
    first, third = _quantile(values, 0.25), _quantile(values, 0.75)
    low, high = first - 1.5 * (third - first), third + 1.5 * (third - first)
    outliers = [point for point in points if not low <= point.value <= high]
    return sorted(outliers, key=lambda point: max(low - point.value, point.value - high), reverse=True)


def _quantile(values: Sequence[float], share: float) -> float:
    position = share * (len(values) - 1)
    below = math.floor(position)
    part = position - below
    # Each is weighted by itself: the difference of two floats may be larger than any float.
    return values[below] * (1 - part) + (values[below + 1] * part if part else 0)


def _value(point: Point) -> float:
    return point.value
