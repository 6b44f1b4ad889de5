"""The marks between the axes: bars, lines, areas and point clouds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from madang.core.texts import one_line
from madang.services.chart.domain.charts import Alignment, Chart, ChartType, Position
from madang.services.chart.domain.numbers import grouped_number, parse_number
from madang.services.chart.engine import styles
from madang.services.chart.engine.canvas import Canvas, Plot, path, tenths
from madang.services.chart.engine.downsampling import Coordinates, downsample_cloud, downsample_line, split_evenly
from madang.services.chart.engine.lettering import escape_xml, text_width, truncate_to_width
from madang.services.chart.engine.scales import Scale, compact_number

_MAX_BAR_WIDTH_PX = 64.0
_MAX_LABELLED_BARS = 14
_RADIUS = 4.2
_LINE_RADIUS = 3.2
MAX_NAMED_ENDS = 6
_MAX_END_LABEL_PX = 130
_SMALL_RADIUS = 2.2


def draw_series(canvas: Canvas, plot: Plot, chart: Chart, alignment: Alignment, vertical: Scale) -> float:
    """Draw series over labelled positions, and return how far the marks reach below the plot."""
    depth = 0.0
    if chart.type == "bar":
        depth = _bars(canvas, plot, chart, alignment, vertical)
    elif chart.type == "scatter":
        _named_cloud(canvas, plot, chart, alignment, vertical)
    else:
        _lines(canvas, plot, chart, alignment, vertical)
    _baseline(canvas, plot, vertical)
    if chart.type != "scatter":
        _hits(canvas, plot, chart, alignment)
    return depth


def end_label_room(canvas: Canvas, chart: Chart) -> float:
    """Return the room that the names of lines need at their ends, or 0 where a legend tells them apart."""
    if chart.type not in ("line", "area") or not 1 < len(chart.series) <= MAX_NAMED_ENDS or canvas.size.width < 500:
        return 0.0
    widest = max(text_width(one_line(series.name.strip()), canvas.size.font) for series in chart.series)
    return widest + 16 if widest <= _MAX_END_LABEL_PX else 0.0


def draw_cloud(canvas: Canvas, plot: Plot, chart: Chart, across: Scale, vertical: Scale) -> None:
    """Draw points with numbers on both axes."""
    points_by_series = [
        [
            (plot.inset.x(across.share(parse_number(point.label) or 0.0)), plot.y(vertical.share(point.value)))
            for point in series.data
        ]
        for series in chart.series
    ]
    _baseline(canvas, plot, vertical)
    _cloud(canvas, chart, points_by_series)


def draw_swatch(canvas: Canvas, type: ChartType, index: int, x: float, y: float) -> None:
    """Draw a series' sample for the legend: 20 units wide, at the height of a line of text."""
    if type == "bar" or type == "pie":
        canvas.add(f'<rect {canvas.surface(index)} x="{tenths(x)}" y="{tenths(y - 7)}" width="14" height="14" rx="3"/>')
        return
    if type != "scatter":
        canvas.add(_stroke(canvas, index, f"M{tenths(x)} {tenths(y)}h20"))
    canvas.symbol(index, x + 10, y, _RADIUS)


def _baseline(canvas: Canvas, plot: Plot, vertical: Scale) -> None:
    """Draw the baseline: at zero where it is on the axis, else at the edge."""
    y = plot.y(vertical.share(0.0) if vertical.ticks[-1] >= 0 else 0.0)
    canvas.add(f'<path class="axis" d="M{tenths(plot.left)} {tenths(y)}h{tenths(plot.width)}"/>')


def _bars(canvas: Canvas, plot: Plot, chart: Chart, alignment: Alignment, vertical: Scale) -> float:
    count = len(chart.series)
    groups = split_evenly(alignment.positions, max(1, canvas.size.max_vertices // 2 // count))
    band = plot.width / len(groups)
    bar_width = min(band * 0.8 / count, _MAX_BAR_WIDTH_PX)
    is_each_drawn = len(groups) == len(alignment.positions) and len(groups) * count <= canvas.size.max_marks
    for index, column in enumerate(alignment.columns):
        surface = canvas.surface(index)
        bars: list[str] = []
        for group_index, group in enumerate(groups):
            values = [column[position] for position in group if position in column]
            if not values:
                continue
            # A bar of several values spans from the lowest to the highest, so that neither is hidden.
            top, bottom = plot.y(vertical.share(max(0.0, *values))), plot.y(vertical.share(min(0.0, *values)))
            x = plot.left + (group_index + 0.5) * band + (index - count / 2) * bar_width
            if is_each_drawn:
                canvas.add(f'<path {surface} d="{_bar(x, top, bar_width * 0.94, bottom, values[0] < 0)}"/>')
            else:
                bars.append(f"M{x:.2f} {tenths(bottom)}V{tenths(top)}h{bar_width:.2f}V{tenths(bottom)}")
        if bars:
            canvas.add(f'<path {surface} d="{"".join(bars)}"/>')
    if is_each_drawn and count == 1 and len(groups) <= _MAX_LABELLED_BARS:
        return _bar_values(canvas, plot, [alignment.columns[0][position] for position in alignment.positions], vertical)
    return 0.0


def _bar(x: float, top: float, width: float, bottom: float, is_negative: bool) -> str:
    """Return the outline of a bar, with round corners at its end."""
    base, end = (top, bottom) if is_negative else (bottom, top)
    r = min(4.0, width / 2, bottom - top)
    rise, sweep = (r, 0) if is_negative else (-r, 1)
    return (
        f"M{x:.2f} {tenths(base)}V{tenths(end - rise)}a{tenths(r)} {tenths(r)} 0 0 {sweep} {tenths(r)} {tenths(rise)}"
        f"h{width - 2 * r:.2f}a{tenths(r)} {tenths(r)} 0 0 {sweep} {tenths(r)} {tenths(-rise)}V{tenths(base)}z"
    )


def _hits(canvas: Canvas, plot: Plot, chart: Chart, alignment: Alignment) -> None:
    """Lay a band over each position that says what is there when the pointer rests on it."""
    count = len(alignment.positions)
    if chart.count > canvas.size.max_marks:
        return
    for index, position in enumerate(alignment.positions):
        lines = [
            f"{series.name}: {grouped_number(column[position])}" if series.name else grouped_number(column[position])
            for series, column in zip(chart.series, alignment.columns, strict=True)
            if position in column
        ]
        title = canvas.tooltip("\n".join([position[0], *lines]))
        if title:
            x, width = plot.x(index / count), plot.width / count
            canvas.add(
                f'<rect class="hit" x="{tenths(x)}" y="{tenths(plot.top)}" width="{tenths(width)}" '
                f'height="{tenths(plot.height)}">{title}</rect>'
            )


def _bar_values(canvas: Canvas, plot: Plot, values: Sequence[float], vertical: Scale) -> float:
    band, font = plot.width / len(values), canvas.size.font
    texts = [compact_number(value, canvas.units) for value in values]
    if max(text_width(text, font) for text in texts) > band:
        return 0.0
    lowest = 0.0
    for index, (value, text) in enumerate(zip(values, texts, strict=True)):
        y = plot.y(vertical.share(value)) + (font if value < 0 else -4)
        canvas.text(text, plot.left + (index + 0.5) * band, y, max_width=band + 1, anchor="middle")
        lowest = max(lowest, y)
    return max(0.0, lowest - plot.bottom)


def _lines(canvas: Canvas, plot: Plot, chart: Chart, alignment: Alignment, vertical: Scale) -> None:
    xs = _x_by_position(plot, alignment)
    max_points = canvas.size.max_vertices // len(chart.series)
    has_marks = chart.count <= canvas.size.max_marks and len(alignment.positions) * 14 <= plot.width
    base = plot.y(vertical.share(0.0))
    ends: list[tuple[float, int]] = []
    for index, column in enumerate(alignment.columns):
        values = [(position, column[position]) for position in alignment.positions if position in column]
        sample = downsample_line([(xs[position], value) for position, value in values], max_points)
        vertices = [(x, plot.y(vertical.share(value))) for x, value in sample]
        if chart.type == "area" and len(vertices) > 1:
            outline = path([(vertices[0][0], base), *vertices, (vertices[-1][0], base)])
            canvas.add(f'<path class="area {styles.fill(index)}" d="{outline}z"/>')
        if len(vertices) > 1:
            canvas.add(_stroke(canvas, index, path(vertices)))
        if has_marks or len(vertices) == 1:
            for x, y in vertices:
                canvas.symbol(index, x, y, _LINE_RADIUS)
        ends.append((vertices[-1][1], index))
        if len(chart.series) == 1 and len(vertices) > 1:
            x, y = vertices[-1]
            canvas.text(compact_number(values[-1][1], canvas.units), x, y - 9, max_width=math.inf, anchor="middle")
    if end_label_room(canvas, chart):
        _name_ends(canvas, plot, chart, ends)


def _name_ends(canvas: Canvas, plot: Plot, chart: Chart, ends: Sequence[tuple[float, int]]) -> None:
    """Write the names of the series where their lines end, pushed apart where they would overlap."""
    font = canvas.size.font
    gap, count = font * 1.3, len(ends)
    lowest = plot.top + font
    for place, (y, index) in enumerate(sorted(ends)):
        at = min(max(y + font * 0.35, lowest), plot.bottom - gap * (count - 1 - place))
        lowest = at + gap
        name = truncate_to_width(chart.series[index].name, math.inf, font)
        canvas.add(
            f'<text class="{styles.fill(index)} end" x="{tenths(plot.x(1) + 6)}" y="{tenths(at)}">'
            f"{escape_xml(name)}</text>"
        )


def _stroke(canvas: Canvas, index: int, d: str) -> str:
    canvas.used_series.add(index)
    return f'<path class="line {styles.stroke(index)}"{styles.dash(index)} d="{d}"/>'


def _named_cloud(canvas: Canvas, plot: Plot, chart: Chart, alignment: Alignment, vertical: Scale) -> None:
    xs = _x_by_position(plot, alignment)
    points_by_series = [
        [(xs[position], plot.y(vertical.share(value))) for position, value in column.items()]
        for column in alignment.columns
    ]
    _cloud(canvas, chart, points_by_series)


def _cloud(canvas: Canvas, chart: Chart, points_by_series: Sequence[Sequence[Coordinates]]) -> None:
    if chart.count <= canvas.size.max_marks:
        for index, (series, points) in enumerate(zip(chart.series, points_by_series, strict=True)):
            for point, (x, y) in zip(series.data, points, strict=True):
                tooltip = canvas.tooltip(_point_text(series.name, point.label, point.value))
                canvas.symbol(index, x, y, _RADIUS, tooltip)
        return
    for index, points in enumerate(points_by_series):
        sample = downsample_cloud(points, 2 * canvas.size.max_vertices // len(points_by_series))
        canvas.add(f'<path {canvas.symbols(index, _SMALL_RADIUS)} d="{path(sample)}"/>')


def _x_by_position(plot: Plot, alignment: Alignment) -> dict[Position, float]:
    count = len(alignment.positions)
    return {position: plot.x((index + 0.5) / count) for index, position in enumerate(alignment.positions)}


def _point_text(series: str, label: str, value: float) -> str:
    return f"{series}, {label}: {grouped_number(value)}" if series else f"{label}: {grouped_number(value)}"
