"""Charts as results and errors: in words for the model, as data, and as a page for the person. Pure.

A page travels with its result, so this module bounds its size. The picture itself is drawn by the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from madang.core.documents import Document
from madang.core.errors import InvalidArguments
from madang.core.phrases import ByPage, Phrase, Rows, Text, Translate, layout, say
from madang.core.results import ToolResult, UiPage
from madang.core.texts import one_line
from madang.services.chart.domain.charts import MAX_POINTS, Chart, ChartProblem, ChartType, Series
from madang.services.chart.domain.drawings import ChartPhrases, DrawChart
from madang.services.chart.domain.numbers import grouped_number, parse_number, plain_number
from madang.services.chart.domain.summaries import SeriesSummary, shares
from madang.services.chart.domain.tables import Column, ColumnKind, Table, tabulate

if TYPE_CHECKING:
    from markupsafe import Markup

# The address from before charts were a service of their own: hosts keep it with their conversations.
CHART_PAGE = "ui/chart"

MAX_PAGE_BYTES = 300_000
MAX_TABLE_BYTES = 50_000
MAX_TABLE_ROWS = 200
MAX_TEXT_ROWS = 20
MAX_LABEL_IN_TEXT_CHARS = 60
MAX_PARTS_IN_TEXT = 12
_TEMPLATE_BYTES = 6_000

CHART_NAMES: dict[ChartType, Phrase] = {
    "bar": say("Bar chart"),
    "line": say("Line chart"),
    "area": say("Area chart"),
    "scatter": say("Scatter plot"),
    "pie": say("Pie chart"),
}
COLUMN_TITLES: dict[ColumnKind, Phrase] = {"label": say("Name"), "series": say("Series"), "value": say("Value")}
COLUMN_NAMES: dict[ColumnKind, Phrase] = {"label": say("label"), "series": say("series"), "value": say("value")}


class ChartShown(Document):
    type: ChartType
    title: str
    points: int
    series: list[SeriesSummary]


@dataclass(frozen=True, slots=True)
class PageParts:
    """The contents of a page in one language; `csv_file` is empty where it is too large for a page."""

    reading: str
    pictures: Markup
    header: list[str]
    rows: list[list[str]]
    left_out: int
    svg_file: Markup
    csv_file: Markup


@dataclass(frozen=True, slots=True)
class ChartPage:
    """What `templates/chart.html` is filled with, as `chart`. Nothing is drawn before the template asks."""

    chart: Chart
    phrases: ChartPhrases
    draw: DrawChart

    @property
    def title(self) -> str:
        return self.chart.title.strip()

    def parts(self, translate: Translate) -> PageParts:
        """Draw the chart and return what fits into a page."""
        drawn = self.draw(self.chart, self.phrases, translate)
        table = tabulate(self.chart, MAX_TABLE_ROWS)
        header = [_column_name(column, translate) for column in table.columns]
        rows, table_bytes = _fit_rows(header, _grouped(table))
        left_out = table.left_out + len(table.rows) - len(rows)
        room = MAX_PAGE_BYTES - _TEMPLATE_BYTES - table_bytes - _size(drawn.pictures) - _size(drawn.svg_file)
        csv_file = drawn.csv_file if _size(drawn.csv_file) <= room else drawn.csv_file[:0]
        reading = _reading(self.chart).render(translate)
        return PageParts(reading, drawn.pictures, header, rows, left_out, drawn.svg_file, csv_file)


def chart_shown(chart: Chart, summaries: Sequence[SeriesSummary], draw: DrawChart) -> ToolResult[ChartShown]:
    """Return a chart: in words for the model, and as a page that `draw` fills. It never pauses."""
    description = describe(chart, summaries)
    rest = say("… {left_out} more line(s). Call 'visualize_data' with fewer series to read them all.")
    text: Text = [_opening(chart.title), Rows([*description, layout(""), *_table_lines(chart)], rest)]
    following = ByPage(
        shown=say("Note: Tell the person what stands out; they see the chart."),
        hidden=say("Note: No chart is shown here: give the person the table, and tell them what stands out."),
    )
    data = ChartShown.model_construct(type=chart.type, title=chart.title, points=chart.count, series=list(summaries))
    page = ChartPage(chart, chart_phrases(chart, description), draw)
    return ToolResult(
        text,
        data,
        next=[following],
        page=UiPage(name=CHART_PAGE, title=say("Chart"), template="chart/chart.html", context={"chart": page}),
    )


def _opening(title: str) -> ByPage:
    if not title:
        return ByPage(shown=say("Showing a chart."), hidden=say("The numbers of the chart:"))
    return ByPage(
        shown=say('Showing the chart "{title}".', title=title),
        hidden=say('The numbers of the chart "{title}":', title=title),
    )


def wrong_data() -> InvalidArguments:
    """Return the error for a chart with neither `data` nor `series`, or with both."""
    return InvalidArguments(
        say("data: give either 'data' for one series or 'series' for several."),
        hint=say("For example: data: [{example}]", example='{"label": "May", "value": 3}'),
    )


def chart_refused(chart: Chart, problem: ChartProblem) -> InvalidArguments:
    """Return the error for a chart that cannot be drawn: it names the field, and what to do instead."""
    # Points that came without a series have no name: they are called as the caller called them.
    points = "series.0.data" if chart.series[0].name else "data"
    match problem.reason:
        case "too_many_points":
            message = say(
                "series: has {count} points in all, and a chart takes {limit}.", count=chart.count, limit=MAX_POINTS
            )
            hint = say("Take every n-th point, or the mean of each group of points.")
        case "blank_name":
            return InvalidArguments(
                say("series.{number}.name: must not be blank where there are several series.", number=problem.index)
            )
        case "duplicate_name":
            message = say(
                "series.{number}.name: is already the name of series.{other}.",
                number=problem.index,
                other=problem.other_index,
            )
            hint = say("Give each series a name of its own: the legend tells them apart by it.")
        case "several_pies":
            message = say("series: a pie shows one series, and here are {count}.", count=len(chart.series))
            hint = say("Use type 'bar' to compare several series, or one pie for each.")
        case "negative_part":
            message = say(
                "{field}: a pie shows parts of a whole, so it cannot be negative ({value}).",
                field=f"{points}.{problem.index}.value",
                value=plain_number(chart.series[0].data[problem.index].value),
            )
            hint = say("Use type 'bar' for negative values.")
        case "empty_pie":
            message = say("{field}: a pie needs a value above zero, and all of these are zero.", field=points)
            hint = say("Use type 'bar' to show zeros.")
    return InvalidArguments(message, hint=hint)


def chart_phrases(chart: Chart, description: Sequence[Phrase]) -> ChartPhrases:
    """Return the phrases of the picture; screen readers read its name and description."""
    return ChartPhrases(
        CHART_NAMES[chart.type],
        description,
        others=say("Others ({count})"),
        total=say("Total"),
        # A language may count in other units: Korean in 만 and 억.
        units=say("K 1e3 M 1e6 B 1e9 T 1e12"),
    )


def describe(chart: Chart, summaries: Sequence[SeriesSummary]) -> list[Phrase]:
    """Return what the chart shows: one sentence about it, and one about each series."""
    overview = say(
        "{type} with {series} series and {points} point(s) in all.",
        type=CHART_NAMES[chart.type],
        series=len(chart.series),
        points=chart.count,
    )
    parts = [_describe_parts(chart.series[0])] if chart.type == "pie" else []
    return [overview, *parts, *map(_describe_series, summaries)]


def _describe_parts(series: Series) -> Phrase:
    """Return the parts of a pie, largest first: it is read for its shares."""
    ranked = sorted(zip(shares(series), series.data, strict=True), key=lambda part: -part[0])
    named = ", ".join(f"{_truncate(point.label)} {100 * share:.3g} %" for share, point in ranked[:MAX_PARTS_IN_TEXT])
    more = len(ranked) - MAX_PARTS_IN_TEXT
    if more > 0:
        return say("Shares of the whole: {parts} and {more} more.", parts=named, more=more)
    return say("Shares of the whole: {parts}.", parts=named)


def _describe_series(series: SeriesSummary) -> Phrase:
    statistics = say(
        "{count} point(s), min {min} ({min_label}), max {max} ({max_label}), mean {mean}.",
        count=series.count,
        min=plain_number(series.min.value),
        min_label=_truncate(series.min.label),
        max=plain_number(series.max.value),
        max_label=_truncate(series.max.label),
        mean=f"{series.mean:.6g}",
    )
    if series.name:
        statistics = say("{name}: {statistics}", name=_truncate(series.name), statistics=statistics)
    if not series.outliers:
        return statistics
    outliers = ", ".join(f"{plain_number(point.value)} ({_truncate(point.label)})" for point in series.outliers)
    more = series.outlier_count - len(series.outliers)
    if more:
        return say(
            "{statistics} Outliers: {outliers} and {more} more.", statistics=statistics, outliers=outliers, more=more
        )
    return say("{statistics} Outliers: {outliers}.", statistics=statistics, outliers=outliers)


def _table_lines(chart: Chart) -> list[Phrase]:
    table = tabulate(chart, MAX_TEXT_ROWS)
    header = [_truncate(column.name) or COLUMN_NAMES[column.kind] for column in table.columns]
    lines = [_table_line(header), *(_table_line([_truncate(cell) or "–" for cell in row]) for row in table.rows)]
    if table.left_out:
        lines.append(say("… {left_out} more {left_out|row is|rows are} left out here.", left_out=table.left_out))
    return lines


def _table_line(cells: Sequence[str | Phrase]) -> Phrase:
    values = {f"cell{index}": cell for index, cell in enumerate(cells)}
    return layout(" | ".join(f"{{{name}}}" for name in values), **values)


def _column_name(column: Column, translate: Translate) -> str:
    return column.name or COLUMN_TITLES[column.kind].render(translate)


def _reading(chart: Chart) -> Phrase:
    """Return in one line what a reader would look for first."""
    points = [(series.name, point) for series in chart.series for point in series.data]
    name, highest = max(points, key=lambda named: named[1].value)
    label = f"{name}, {highest.label}" if name and len(chart.series) > 1 else highest.label
    values = {"label": _truncate(label), "value": grouped_number(highest.value)}
    if chart.type == "pie":
        return say("Largest part: {label} ({value})", **values)
    if len(chart.series) > 1 or len(points) == 1:
        return say("Highest: {label} ({value})", **values)
    _, lowest = min(points, key=lambda named: named[1].value)
    return say(
        "Highest: {label} ({value}) · lowest: {low_label} ({low_value})",
        **values,
        low_label=_truncate(lowest.label),
        low_value=grouped_number(lowest.value),
    )


def _grouped(table: Table) -> Table:
    """Return a table with the digits of its values in groups of three."""

    def cell(column: Column, text: str) -> str:
        number = parse_number(text) if column.kind == "value" else None
        return text if number is None else grouped_number(number)

    rows = [[cell(column, text) for column, text in zip(table.columns, row, strict=True)] for row in table.rows]
    return Table(table.columns, rows, table.left_out)


def _fit_rows(header: Sequence[str], table: Table) -> tuple[list[list[str]], int]:
    """Return the first rows that fit into a page below this header, and the bytes of both."""
    size = sum(map(_cell_size, header))
    rows: list[list[str]] = []
    for row in table.rows:
        row_bytes = sum(map(_cell_size, row))
        if size + row_bytes > MAX_TABLE_BYTES:
            break
        size += row_bytes
        rows.append(row)
    return rows, size


def _cell_size(text: str) -> int:
    return _size(escape(text)) + len('<th scope="row" dir="auto"></th>')


def _size(text: str) -> int:
    return len(text.encode())


def _truncate(text: str) -> str:
    return one_line(text.strip(), MAX_LABEL_IN_TEXT_CHARS)
