"""What a chart says without being seen: statistics, a table, and a CSV file."""

from __future__ import annotations

import csv as csv_format
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from madang.core.documents import Document
from madang.core.phrases import Line, Phrase, layout, say
from madang.services.ui.engine.chart import CHART_NAMES, Chart, Point, Series
from madang.services.ui.engine.numbers import number, plain
from madang.services.ui.engine.words import one_line

MAX_OUTLIERS = 5
MAX_TABLE_ROWS = 200
MAX_TEXT_ROWS = 20
MAX_LABEL_IN_TEXT_CHARS = 60
MIN_QUARTILE_POINTS = 4
_FORMULA_SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class SeriesSummary(Document):
    """The numbers of one series; `outliers` has the farthest few of `outlier_count`."""

    name: str
    count: int
    min: Point
    max: Point
    mean: float
    outliers: list[Point]
    outlier_count: int


class ChartSummary(Document):
    """The numbers of each series."""

    series: list[SeriesSummary]


@dataclass(frozen=True, slots=True)
class Table:
    """The data in rows, the first column being the labels; empty cells are values a series does not have."""

    header: list[Line]
    rows: list[list[str]]
    left_out: int = 0

    @property
    def lines(self) -> list[list[str]]:
        """Header and rows, in no language: what has no name of its own is called as in the tool's arguments."""
        return [[str(cell) for cell in self.header], *self.rows]


def summary(chart: Chart) -> ChartSummary:
    return ChartSummary.model_construct(series=[_summarized(series) for series in chart.series])


def describe(chart: Chart) -> list[Phrase]:
    """Return what the chart shows: one sentence about it, and one about each series."""
    what = say(
        "{type} with {series} series and {points} point(s) in all.",
        type=CHART_NAMES[chart.type],
        series=len(chart.series),
        points=chart.count,
    )
    return [what, *(_told(series) for series in summary(chart).series)]


def text(chart: Chart) -> list[Phrase]:
    """Return the chart in words for a model: what it is, the numbers of each series, and a small table."""
    shown = _table(chart, MAX_TEXT_ROWS)
    lines = [*describe(chart), layout("")]
    lines += [layout("{row}", row=" | ".join(_short(cell) or "–" for cell in row)) for row in shown.lines]
    if shown.left_out:
        lines.append(say("… {left_out} more row(s) are left out here.", left_out=shown.left_out))
    return lines


def table(chart: Chart) -> Table:
    """Return the data for the page, as far as a person would read it."""
    return _table(chart, MAX_TABLE_ROWS)


def csv(chart: Chart) -> str:
    """Return all data as RFC 4180, ready for spreadsheets."""
    whole = _table(chart, chart.count)
    file = io.StringIO()
    # Without the mark, Excel reads Korean as Latin letters.
    file.write("\ufeff")
    writer = csv_format.writer(file, lineterminator="\r\n")
    for row in whole.lines:
        writer.writerow([_inert(cell) for cell in row])
    return file.getvalue()


def _summarized(series: Series) -> SeriesSummary:
    points = series.data
    lowest, highest = min(points, key=_value), max(points, key=_value)
    mean = _mean([point.value for point in points])
    outliers = _outliers(points)
    return SeriesSummary.model_construct(
        name=series.name,
        count=len(points),
        min=lowest,
        max=highest,
        mean=min(highest.value, max(lowest.value, mean)),
        outliers=outliers[:MAX_OUTLIERS],
        outlier_count=len(outliers),
    )


def _mean(values: Sequence[float]) -> float:
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        # The sum of the largest numbers there are is not one of them, but their mean is.
        largest = max(abs(value) for value in values)
        return math.fsum(value / largest for value in values) / len(values) * largest


def _outliers(points: Sequence[Point]) -> list[Point]:
    """Return what lies more than 1.5 interquartile ranges outside the middle half, farthest first."""
    if len(points) < MIN_QUARTILE_POINTS:
        return []
    values = sorted(point.value for point in points)
    first, third = _quantile(values, 0.25), _quantile(values, 0.75)
    low, high = first - 1.5 * (third - first), third + 1.5 * (third - first)
    outside = [point for point in points if not low <= point.value <= high]
    return sorted(outside, key=lambda point: max(low - point.value, point.value - high), reverse=True)


def _quantile(values: Sequence[float], share: float) -> float:
    place = share * (len(values) - 1)
    below = math.floor(place)
    part = place - below
    # Each weighed by itself: the difference of two numbers may be larger than any number.
    return values[below] * (1 - part) + (values[below + 1] * part if part else 0)


def _told(series: SeriesSummary) -> Phrase:
    told = say(
        "{count} point(s), min {min} ({min_label}), max {max} ({max_label}), mean {mean}.",
        count=series.count,
        min=plain(series.min.value),
        min_label=_short(series.min.label),
        max=plain(series.max.value),
        max_label=_short(series.max.label),
        mean=f"{series.mean:.6g}",
    )
    if series.name:
        told = say("{name}: {told}", name=_short(series.name), told=told)
    if not series.outliers:
        return told
    named = ", ".join(f"{plain(point.value)} ({_short(point.label)})" for point in series.outliers)
    more = series.outlier_count - len(series.outliers)
    if more:
        return say("{told} Outliers: {outliers} and {more} more.", told=told, outliers=named, more=more)
    return say("{told} Outliers: {outliers}.", told=told, outliers=named)


def _table(chart: Chart, most_rows: int) -> Table:
    aligned = chart.aligned
    value_name: Line = chart.y_label or say("value")
    label_name: Line = chart.x_label or say("label")
    # Series that share few labels, as two clouds of points do, would be a table of empty cells.
    if len(aligned.slots) * len(chart.series) > 2 * chart.count:
        points = [(series.name, point) for series in chart.series for point in series.data]
        rows = [[point.label, name, plain(point.value)] for name, point in points[:most_rows]]
        return Table([label_name, say("series"), value_name], rows, len(points) - len(rows))
    rows = [
        [slot[0], *(plain(column[slot]) if slot in column else "" for column in aligned.columns)]
        for slot in aligned.slots[:most_rows]
    ]
    header = [label_name, *(series.name or value_name for series in chart.series)]
    return Table(header, rows, len(aligned.slots) - len(rows))


def _inert(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula.

    A label such as `=HYPERLINK(…)` or `@SUM(…)` would be carried out when the file is opened, with the person's rights.
    Spreadsheets look past blanks and know the full-width signs too; only what is a number may begin with a sign.
    """
    is_formula = cell.lstrip()[:1] in _FORMULA_SIGNS or cell[:1] in ("\t", "\r", "\n")
    return f"'{cell}" if is_formula and cell.strip() and number(cell) is None else cell


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= MAX_LABEL_IN_TEXT_CHARS else line[: MAX_LABEL_IN_TEXT_CHARS - 1] + "…"


def _value(point: Point) -> float:
    return point.value
