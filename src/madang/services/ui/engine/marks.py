"""What stands between the axes: bars, lines, areas and clouds of points."""

from __future__ import annotations

from collections.abc import Sequence

from madang.services.ui.engine import look
from madang.services.ui.engine.canvas import Canvas, Plot, path, short
from madang.services.ui.engine.chart import Aligned, Chart, ChartType, Slot
from madang.services.ui.engine.numbers import Scale, compact, number, plain
from madang.services.ui.engine.thinning import Spot, stretches, thinned_cloud, thinned_line
from madang.services.ui.engine.words import width

_MAX_BAR_WIDTH_PX = 64.0
_MAX_LABELLED_BARS = 14
_RADIUS = 4.2
_SMALL_RADIUS = 2.2


def draw_series(canvas: Canvas, plot: Plot, chart: Chart, aligned: Aligned, vertical: Scale) -> float:
    """Draw series whose points stand at named places, and return how far they reach below the plot."""
    depth = 0.0
    if chart.type == "bar":
        depth = _bars(canvas, plot, chart, aligned, vertical)
    elif chart.type == "scatter":
        _named_cloud(canvas, plot, chart, aligned, vertical)
    else:
        _lines(canvas, plot, chart, aligned, vertical)
    _base(canvas, plot, vertical)
    return depth


def draw_cloud(canvas: Canvas, plot: Plot, chart: Chart, across: Scale, vertical: Scale) -> None:
    """Draw points that have a number on both axes."""
    spots = [
        [
            (plot.x(across.share(number(point.label) or 0.0)), plot.y(vertical.share(point.value)))
            for point in series.data
        ]
        for series in chart.series
    ]
    _base(canvas, plot, vertical)
    _cloud(canvas, chart, spots)


def draw_swatch(canvas: Canvas, type: ChartType, index: int, x: float, y: float) -> None:
    """Draw what a series looks like, for the legend: twenty wide, at the height of a line of text."""
    if type == "bar" or type == "pie":
        canvas.add(f'<rect {canvas.surface(index)} x="{short(x)}" y="{short(y - 6)}" width="18" height="12"/>')
        return
    if type != "scatter":
        canvas.add(_stroke(canvas, index, f"M{short(x)} {short(y)}h20"))
    canvas.symbol(index, x + 10, y, _RADIUS)


def _base(canvas: Canvas, plot: Plot, vertical: Scale) -> None:
    """Draw the line that values rise from: zero where it is on the axis, else the edge."""
    y = plot.y(vertical.share(0.0) if vertical.ticks[-1] >= 0 else 0.0)
    canvas.add(f'<path class="axis" d="M{short(plot.left)} {short(y)}h{short(plot.width)}"/>')


def _bars(canvas: Canvas, plot: Plot, chart: Chart, aligned: Aligned, vertical: Scale) -> float:
    count = len(chart.series)
    groups = stretches(aligned.slots, max(1, canvas.size.max_vertices // 2 // count))
    band = plot.width / len(groups)
    wide = min(band * 0.8 / count, _MAX_BAR_WIDTH_PX)
    is_each_drawn = len(groups) == len(aligned.slots) and len(groups) * count <= canvas.size.max_marks
    for index, (series, column) in enumerate(zip(chart.series, aligned.columns, strict=True)):
        surface = canvas.surface(index)
        bars: list[str] = []
        for place, group in enumerate(groups):
            values = [column[slot] for slot in group if slot in column]
            if not values:
                continue
            # Of several in one place, from the lowest to the highest, so that neither is hidden.
            top, bottom = plot.y(vertical.share(max(0.0, *values))), plot.y(vertical.share(min(0.0, *values)))
            x = plot.left + (place + 0.5) * band + (index - count / 2) * wide
            if is_each_drawn:
                title = canvas.title(_told(series.name, group[0], values[0]))
                box = f'x="{short(x)}" y="{short(top)}" width="{wide * 0.96:.2f}" height="{short(bottom - top)}"'
                canvas.add(f"<rect {surface} {box}>{title}</rect>")
            else:
                bars.append(f"M{x:.2f} {short(bottom)}V{short(top)}h{wide:.2f}V{short(bottom)}")
        if bars:
            canvas.add(f'<path {surface} d="{"".join(bars)}"/>')
    if is_each_drawn and count == 1 and len(groups) <= _MAX_LABELLED_BARS:
        return _bar_values(canvas, plot, [aligned.columns[0][slot] for slot in aligned.slots], vertical)
    return 0.0


def _bar_values(canvas: Canvas, plot: Plot, values: Sequence[float], vertical: Scale) -> float:
    band, font = plot.width / len(values), canvas.size.font
    texts = [compact(value) for value in values]
    if max(width(text, font) for text in texts) > band:
        return 0.0
    lowest = 0.0
    for place, (value, text) in enumerate(zip(values, texts, strict=True)):
        y = plot.y(vertical.share(value)) + (font if value < 0 else -4)
        canvas.text(text, plot.left + (place + 0.5) * band, y, room=band + 1, anchor="middle")
        lowest = max(lowest, y)
    return max(0.0, lowest - plot.bottom)


def _lines(canvas: Canvas, plot: Plot, chart: Chart, aligned: Aligned, vertical: Scale) -> None:
    places = {slot: plot.x((place + 0.5) / len(aligned.slots)) for place, slot in enumerate(aligned.slots)}
    most = canvas.size.max_vertices // len(chart.series)
    has_marks = chart.count <= canvas.size.max_marks and len(aligned.slots) * 14 <= plot.width
    base = plot.y(vertical.share(0.0))
    for index, (series, column) in enumerate(zip(chart.series, aligned.columns, strict=True)):
        points = [(slot, column[slot]) for slot in aligned.slots if slot in column]
        kept = thinned_line([(places[slot], value) for slot, value in points], most)
        spots = [(x, plot.y(vertical.share(value))) for x, value in kept]
        if chart.type == "area" and len(spots) > 1:
            outline = path([(spots[0][0], base), *spots, (spots[-1][0], base)])
            canvas.add(f'<path class="area {look.fill(index)}" d="{outline}z"/>')
        if len(spots) > 1:
            canvas.add(_stroke(canvas, index, path(spots)))
        if has_marks or len(spots) == 1:
            for (slot, value), (x, y) in zip(points, spots, strict=True):
                canvas.symbol(index, x, y, _RADIUS, canvas.title(_told(series.name, slot, value)))


def _stroke(canvas: Canvas, index: int, d: str) -> str:
    canvas.used.add(index)
    return f'<path class="line {look.stroke(index)}"{look.dash(index)} d="{d}"/>'


def _named_cloud(canvas: Canvas, plot: Plot, chart: Chart, aligned: Aligned, vertical: Scale) -> None:
    places = {slot: plot.x((place + 0.5) / len(aligned.slots)) for place, slot in enumerate(aligned.slots)}
    spots = [
        [(places[slot], plot.y(vertical.share(value))) for slot, value in column.items()] for column in aligned.columns
    ]
    _cloud(canvas, chart, spots)


def _cloud(canvas: Canvas, chart: Chart, spots: Sequence[Sequence[Spot]]) -> None:
    if chart.count <= canvas.size.max_marks:
        for index, (series, places) in enumerate(zip(chart.series, spots, strict=True)):
            for point, (x, y) in zip(series.data, places, strict=True):
                title = canvas.title(_told(series.name, (point.label, 0), point.value))
                canvas.symbol(index, x, y, _RADIUS, title)
        return
    for index, places in enumerate(spots):
        kept = thinned_cloud(places, 2 * canvas.size.max_vertices // len(spots))
        canvas.add(f'<path {canvas.symbols(index, _SMALL_RADIUS)} d="{path(kept)}"/>')


def _told(name: str, slot: Slot, value: float) -> str:
    return f"{name}, {slot[0]}: {plain(value)}" if name else f"{slot[0]}: {plain(value)}"
