"""A chart as SVG: the sheet, its legend and axes. What stands between the axes is in `marks`, a pie in `pies`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from madang.core.phrases import Translate
from madang.services.ui.engine import look, marks
from madang.services.ui.engine.canvas import TURN, WIDE, Canvas, Plot, Size, short
from madang.services.ui.engine.chart import CHART_NAMES, Chart
from madang.services.ui.engine.facts import describe
from madang.services.ui.engine.numbers import Scale, number, scale
from madang.services.ui.engine.pies import draw_pie
from madang.services.ui.engine.words import fitted, one_line, safe, width

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_DESCRIPTION_CHARS = 1500
_MAX_TURNED_PX = 120
# The first name of the axis below often reaches under the last number of the axis on the left.
_BELOW = 10
_MAX_THINNED_PX = 110
_MAX_MEASURED_LABELS = 60
_MAX_COURSE_POINTS = 12
_TURN = math.radians(TURN)
_EDGE = 12


def draw(chart: Chart, translate: Translate, size: Size = WIDE) -> Markup:
    """Return the chart as an element of a page: it takes the width there is and the theme of its host."""
    return lay_out(chart, translate, size).inline()


def standalone_svg(chart: Chart, translate: Translate) -> str:
    """Return the chart as a file: with its title in the picture, a background, and colours that need no page."""
    return lay_out(chart, translate, WIDE).file()


@dataclass(frozen=True, slots=True)
class Drawing:
    """A sheet with everything on it, to be handed out for a page or as a file."""

    name: str
    title: str
    description: str
    canvas: Canvas
    height: float

    def inline(self) -> Markup:
        # Imported on first use, as everything that only pages need.
        from markupsafe import Markup

        size = self.canvas.size
        return Markup(self._svg(f'viewBox="0 0 {size.width} {short(self.height)}"', "", is_themed=True))

    def file(self) -> str:
        size = self.canvas.size
        top = 2 * size.font if self.title else 0
        height = short(self.height + top)
        head = f'<path class="paper" d="M0-{top}h{size.width}v{height}H0z"/>'
        if self.title:
            shown = fitted(self.title, size.width - 2 * _EDGE, 16)
            head += f'<text x="{_EDGE}" y="-6" font-size="16" font-weight="600">{safe(shown)}</text>'
        box = f'viewBox="0 -{top} {size.width} {height}" width="{size.width}" height="{height}"'
        svg = self._svg(f'{box} font-family="sans-serif"', head, is_themed=False)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{svg}\n'

    def _svg(self, attributes: str, head: str, *, is_themed: bool) -> str:
        canvas = self.canvas
        id = f"chart-{canvas.size.name}-description"
        definitions = f"<defs>{''.join(canvas.definitions)}</defs>" if canvas.definitions else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart {canvas.size.name}" role="img" '
            f'aria-describedby="{id}" {attributes} font-size="{canvas.size.font}"><title>{safe(self.name)}</title>'
            f'<desc id="{id}">{safe(self.description)}</desc>'
            f"<style>{look.style(canvas.used, is_themed=is_themed)}</style>"
            f"{definitions}{head}{''.join(canvas.parts)}</svg>"
        )


def lay_out(chart: Chart, translate: Translate, size: Size) -> Drawing:
    """Draw the chart on a sheet of this size."""
    canvas = Canvas(size)
    height = draw_pie(canvas, chart.series[0].data, translate) if chart.type == "pie" else _draw_axes(canvas, chart)
    title = one_line(chart.title)
    description = " ".join(message.render(translate) for message in describe(chart))
    return Drawing(
        name=title or CHART_NAMES[chart.type].render(translate),
        title=title,
        description=description[:MAX_DESCRIPTION_CHARS],
        canvas=canvas,
        height=height,
    )


def _draw_axes(canvas: Canvas, chart: Chart) -> float:
    """Draw legend, axes and what stands between them; return the height of it all."""
    size = canvas.size
    aligned = chart.aligned
    values = [value for column in aligned.columns for value in column.values()]
    vertical = scale(values, most_steps=size.steps, from_zero=chart.type in ("bar", "area"))
    places = _numeric_places(chart)
    across = scale(places, most_steps=size.steps + 3, from_zero=False) if places else None

    top = _legend(canvas, chart) if len(chart.series) > 1 else 4.0
    if chart.y_label:
        top += size.font * 1.5
        canvas.text(chart.y_label, 2, top - 4, room=size.width - 4, soft=True)
    left = 10 + max(width(label, size.font) for label in vertical.labels)
    labels = [slot[0] for slot in aligned.slots]
    is_turned = not across and _are_turned(chart, labels, size.width - _EDGE - left, size.font)
    if is_turned:
        left += _room_for_first(labels, left, size)
    plot = Plot(left, top + size.font * 1.2, size.width - _EDGE - left, size.plot_height)

    _grid(canvas, plot, vertical)
    if across:
        marks.draw_cloud(canvas, plot, chart, across, vertical)
        bottom = _number_labels(canvas, plot, across)
    else:
        depth = marks.draw_series(canvas, plot, chart, aligned, vertical)
        below = replace(plot, height=plot.height + depth)
        bottom = (_turned_labels if is_turned else _level_labels)(canvas, below, labels)
    if chart.x_label:
        bottom += size.font * 1.6
        canvas.text(chart.x_label, plot.x(0.5), bottom, room=size.width - 4, anchor="middle", soft=True)
    return bottom + 8


def _numeric_places(chart: Chart) -> list[float]:
    """Return where the points of a scatter plot stand, if all their labels are numbers."""
    if chart.type != "scatter":
        return []
    places = [number(point.label) for series in chart.series for point in series.data]
    known = [place for place in places if place is not None]
    return known if len(known) == len(places) else []


def _legend(canvas: Canvas, chart: Chart) -> float:
    """Write what each series is called, in as many rows as it takes, and return where they end."""
    size, swatch, gap = canvas.size, 26, 18
    x, y = 2.0, size.font + 2.0
    for index, series in enumerate(chart.series):
        room = size.width / 2 - swatch - gap
        needed = swatch + width(fitted(series.name, room, size.font), size.font)
        if x > 2 and x + needed > size.width - 2:
            x, y = 2.0, y + size.font * 1.6
        middle = y - size.font * 0.35
        marks.draw_swatch(canvas, chart.type, index, x, middle)
        canvas.text(series.name, x + swatch, y, room=room)
        x += needed + gap
    return y + 8


def _grid(canvas: Canvas, plot: Plot, vertical: Scale) -> None:
    size = canvas.size
    lines = "".join(
        f"M{short(plot.left)} {short(plot.y(vertical.share(tick)))}h{short(plot.width)}" for tick in vertical.ticks
    )
    canvas.add(f'<path class="grid" d="{lines}"/>')
    for tick, label in zip(vertical.ticks, vertical.labels, strict=True):
        y = plot.y(vertical.share(tick)) + size.font * 0.35
        canvas.text(label, plot.left - 6, y, room=math.inf, anchor="end", soft=True)


def _number_labels(canvas: Canvas, plot: Plot, across: Scale) -> float:
    widest = max(width(label, canvas.size.font) for label in across.labels)
    every = math.ceil((widest + 10) * (len(across.ticks) - 1) / plot.width)
    for tick, label in list(zip(across.ticks, across.labels, strict=True))[::every]:
        x, y = plot.x(across.share(tick)), plot.bottom + canvas.size.font + _BELOW
        canvas.add(f'<path class="axis" d="M{short(x)} {short(plot.bottom)}v4"/>')
        canvas.text(label, x, y, room=math.inf, anchor="middle", soft=True)
    return plot.bottom + canvas.size.font + _BELOW


def _are_turned(chart: Chart, labels: Sequence[str], room: float, font: int) -> bool:
    """Whether the labels have to be turned, so that each has its place."""
    # Labels that follow from each other are better left level: every n-th says where the others are.
    is_course = chart.type in ("line", "area") or all(number(label) is not None for label in labels)
    if is_course and len(labels) > _MAX_COURSE_POINTS:
        return False
    return _widest(labels, font) > room / len(labels) - 6 and room / len(labels) >= font * 1.35


def _room_for_first(labels: Sequence[str], left: float, size: Size) -> float:
    """Return how much further right the plot begins, so that its first turned labels are not cut short."""
    band = (size.width - _EDGE - left) / len(labels)
    needed = min(width(one_line(labels[0]), size.font), _MAX_TURNED_PX) * math.cos(_TURN) + size.font
    return min(max(0.0, needed - left - band / 2), size.width * 0.12)


def _level_labels(canvas: Canvas, plot: Plot, labels: Sequence[str]) -> float:
    """Name the places, or every n-th of them if they are too many, and return where the names end."""
    font, band = canvas.size.font, plot.width / len(labels)
    widest = _widest(labels, font)
    every, room = 1, band
    if widest > band - 6:
        every = math.ceil((min(widest, _MAX_THINNED_PX) + 14) / band)
        room = every * band - 10
    y = plot.bottom + font + _BELOW
    for place in range(0, len(labels), every):
        canvas.text(labels[place], plot.x((place + 0.5) / len(labels)), y, room=room, anchor="middle", soft=True)
    return y


def _turned_labels(canvas: Canvas, plot: Plot, labels: Sequence[str]) -> float:
    font = canvas.size.font
    tallest = 0.0
    for place, label in enumerate(labels):
        x = plot.x((place + 0.5) / len(labels)) + font * 0.3
        room = min(_MAX_TURNED_PX, (x - font) / math.cos(_TURN))
        tallest = max(tallest, width(fitted(label, room, font), font) * math.sin(_TURN))
        canvas.text(label, x, plot.bottom + font, room=room, anchor="end", soft=True, turned=True)
    return plot.bottom + font + tallest + 4


def _widest(labels: Sequence[str], font: int) -> float:
    # Ten thousand long labels need not be measured to their ends to be found too long.
    return max(width(one_line(label[:_MAX_MEASURED_LABELS]), font) for label in labels)
