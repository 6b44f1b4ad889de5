"""The data of a chart in rows: for the text, the page and the CSV file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from madang.services.chart.domain.charts import Chart
from madang.services.chart.domain.numbers import plain_number

ColumnKind = Literal["label", "series", "value"]
"""What a column holds, by the name that the tool's arguments have for it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `name` is empty where the caller gave none."""

    kind: ColumnKind
    name: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The data in rows, the first column being the labels; a cell is empty where a series has no value."""

    columns: list[Column]
    rows: list[list[str]]
    left_out: int = 0


def tabulate(chart: Chart, max_rows: int) -> Table:
    """Return the first rows of the chart's data, and how many were left out."""
    alignment = chart.alignment
    label, value = Column("label", chart.x_label), Column("value", chart.y_label)
    # Series that share few labels, as two clouds of points do, would be a table of empty cells.
    if len(alignment.positions) * len(chart.series) > 2 * chart.count:
        points = [(series.name, point) for series in chart.series for point in series.data]
        rows = [[point.label, name, plain_number(point.value)] for name, point in points[:max_rows]]
        return Table([label, Column("series"), value], rows, len(points) - len(rows))
    rows = [
        [position[0], *(plain_number(column[position]) if position in column else "" for column in alignment.columns)]
        for position in alignment.positions[:max_rows]
    ]
    columns = [label, *(Column("value", series.name or chart.y_label) for series in chart.series)]
    return Table(columns, rows, len(alignment.positions) - len(rows))
