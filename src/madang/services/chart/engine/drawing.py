"""A chart as SVG: the canvas, its legend and axes. The marks between the axes are in `marks`, a pie in `pies`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from madang.core.phrases import Translate
from madang.core.texts import one_line
from madang.services.chart.domain.charts import Chart
from madang.services.chart.domain.drawings import ChartPhrases, DrawnChart
from madang.services.chart.domain.numbers import parse_number
from madang.services.chart.engine import marks, styles
from madang.services.chart.engine.canvas import LABEL_ANGLE_DEG, NARROW, WIDE, Canvas, PictureSize, Plot, tenths
from madang.services.chart.engine.csv_files import csv_file
from madang.services.chart.engine.lettering import escape_xml, text_width, truncate_to_width
from madang.services.chart.engine.pies import draw_pie
from madang.services.chart.engine.scales import Scale, fit_scale, parse_units

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_DESCRIPTION_CHARS = 1500
_MAX_ROTATED_LABEL_PX = 120
# The first label of the horizontal axis often reaches below the last number of the vertical one.
_LABEL_GAP = 10
_MAX_THINNED_LABEL_PX = 110
_MAX_MEASURED_CHARS = 60
_MAX_UNORDERED_NUMBERS = 12
_MAX_SHORT_LABEL_EM = 2.5
_LABEL_ANGLE = math.radians(LABEL_ANGLE_DEG)
_MARGIN = 12
_FILE_FONTS = "Pretendard, Apple SD Gothic Neo, Malgun Gothic, Noto Sans KR, Noto Sans CJK KR, sans-serif"


def draw_chart(chart: Chart, phrases: ChartPhrases, translate: Translate) -> DrawnChart:
    """Return the chart as a wide and a narrow element of a page, as an SVG file and as a CSV file."""
    # Imported on first use, as everything that only pages need.
    from markupsafe import Markup

    wide, narrow = (lay_out(chart, phrases, translate, size) for size in (WIDE, NARROW))
    return DrawnChart(
        pictures=wide.inline() + narrow.inline(),
        # Inside an element only `&` and `<` have a meaning; escaping quotes too would make the files much larger.
        svg_file=Markup(escape_xml(wide.file())),
        csv_file=Markup(escape_xml(csv_file(chart))),
    )


@dataclass(frozen=True, slots=True)
class Drawing:
    """A finished canvas, for a page or as a file."""

    name: str
    title: str
    description: str
    canvas: Canvas
    height: float

    def inline(self) -> Markup:
        """Return an element of a page: it takes the available width and the theme of its host."""
        from markupsafe import Markup

        size = self.canvas.size
        return Markup(self._svg(f'viewBox="0 0 {size.width} {tenths(self.height)}"', "", is_themed=True))

    def file(self) -> str:
        """Return a file: with its title in the picture, a background, and colours that need no page."""
        size = self.canvas.size
        top = 2 * size.font if self.title else 0
        height = tenths(self.height + top)
        head = f'<path class="paper" d="M0-{top}h{size.width}v{height}H0z"/>'
        if self.title:
            title = truncate_to_width(self.title, size.width - 2 * _MARGIN, 16)
            head += f'<text x="{_MARGIN}" y="-6" font-size="16" font-weight="600">{escape_xml(title)}</text>'
        box = f'viewBox="0 -{top} {size.width} {height}" width="{size.width}" height="{height}"'
        svg = self._svg(f'{box} font-family="{_FILE_FONTS}"', head, is_themed=False)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{svg}\n'

    def _svg(self, attributes: str, head: str, *, is_themed: bool) -> str:
        canvas = self.canvas
        id = f"chart-{canvas.size.name}-description"
        definitions = f"<defs>{''.join(canvas.definitions)}</defs>" if canvas.definitions else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart {canvas.size.name}" role="img" '
            f'aria-describedby="{id}" {attributes} font-size="{canvas.size.font}">'
            f"<title>{escape_xml(self.name)}</title>"
            f'<desc id="{id}">{escape_xml(self.description)}</desc>'
            f"<style>{styles.style(canvas.used_series, is_themed=is_themed)}</style>"
            f"{definitions}{head}{''.join(canvas.parts)}</svg>"
        )


def lay_out(chart: Chart, phrases: ChartPhrases, translate: Translate, size: PictureSize) -> Drawing:
    """Draw the chart on a canvas of this size."""
    canvas = Canvas(size, parse_units(phrases.units.render(translate)))
    if chart.type == "pie":
        height = draw_pie(canvas, chart.series[0].data, phrases, translate)
    else:
        height = _draw_axes(canvas, chart)
    title = one_line(chart.title.strip())
    description = " ".join(phrase.render(translate) for phrase in phrases.description)
    return Drawing(
        name=title or phrases.name.render(translate),
        title=title,
        description=description[:MAX_DESCRIPTION_CHARS],
        canvas=canvas,
        height=height,
    )


def _draw_axes(canvas: Canvas, chart: Chart) -> float:
    """Draw legend, axes and marks; return the total height."""
    size = canvas.size
    alignment = chart.alignment
    values = [value for column in alignment.columns for value in column.values()]
    vertical = fit_scale(values, max_steps=size.max_steps, from_zero=chart.type in ("bar", "area"))
    numbers = _numeric_labels(chart)
    across = fit_scale(numbers, max_steps=size.max_steps + 3, from_zero=False) if numbers else None

    end_room = marks.end_label_room(canvas, chart)
    top = _legend(canvas, chart) if len(chart.series) > 1 and not end_room else 4.0
    right = size.width - max(_MARGIN, end_room)
    if chart.y_label:
        top += size.font * 1.5
        canvas.text(chart.y_label, 2, top - 4, max_width=size.width - 4, soft=True)
    left = 10 + max(text_width(label, size.font) for label in vertical.labels(canvas.units))
    labels = [position[0] for position in alignment.positions]
    is_rotated = not across and _need_rotation(chart, labels, right - left, size.font)
    if is_rotated:
        left += _indent_for_first(labels, left, size)
    plot = Plot(left, top + size.font * 1.2, right - left, size.plot_height)

    _grid(canvas, plot, vertical)
    if across:
        marks.draw_cloud(canvas, plot, chart, across, vertical)
        bottom = _number_labels(canvas, plot.inset, across)
    else:
        depth = marks.draw_series(canvas, plot, chart, alignment, vertical)
        below = replace(plot, height=plot.height + depth)
        bottom = (_rotated_labels if is_rotated else _level_labels)(canvas, below, labels)
    if chart.x_label:
        bottom += size.font * 1.6
        canvas.text(chart.x_label, plot.x(0.5), bottom, max_width=size.width - 4, anchor="middle", soft=True)
    return bottom + 8


def _numeric_labels(chart: Chart) -> list[float]:
    """Return the labels of a scatter plot as numbers if all of them are numbers, else nothing."""
    if chart.type != "scatter":
        return []
    values = [parse_number(point.label) for series in chart.series for point in series.data]
    numbers = [value for value in values if value is not None]
    return numbers if len(numbers) == len(values) else []


def _legend(canvas: Canvas, chart: Chart) -> float:
    """Draw the legend in as many rows as it takes, and return where it ends."""
    size, swatch, gap = canvas.size, 26, 18
    x, y = 2.0, size.font + 2.0
    for index, series in enumerate(chart.series):
        max_width = size.width / 2 - swatch - gap
        needed = swatch + text_width(truncate_to_width(series.name, max_width, size.font), size.font)
        if x > 2 and x + needed > size.width - 2:
            x, y = 2.0, y + size.font * 1.6
        middle = y - size.font * 0.35
        marks.draw_swatch(canvas, chart.type, index, x, middle)
        canvas.text(series.name, x + swatch, y, max_width=max_width)
        x += needed + gap
    return y + 8


def _grid(canvas: Canvas, plot: Plot, vertical: Scale) -> None:
    size = canvas.size
    lines = "".join(
        f"M{tenths(plot.left)} {tenths(plot.y(vertical.share(tick)))}h{tenths(plot.width)}" for tick in vertical.ticks
    )
    canvas.add(f'<path class="grid" d="{lines}"/>')
    for tick, label in zip(vertical.ticks, vertical.labels(canvas.units), strict=True):
        y = plot.y(vertical.share(tick)) + size.font * 0.35
        canvas.text(label, plot.left - 6, y, max_width=math.inf, anchor="end", soft=True)


def _number_labels(canvas: Canvas, plot: Plot, across: Scale) -> float:
    labels = across.labels(canvas.units)
    widest = max(text_width(label, canvas.size.font) for label in labels)
    every = math.ceil((widest + 10) * (len(across.ticks) - 1) / plot.width)
    for tick, label in list(zip(across.ticks, labels, strict=True))[::every]:
        x, y = plot.x(across.share(tick)), plot.bottom + canvas.size.font + _LABEL_GAP
        canvas.add(f'<path class="axis" d="M{tenths(x)} {tenths(plot.bottom)}v4"/>')
        canvas.text(label, x, y, max_width=math.inf, anchor="middle", soft=True)
    return plot.bottom + canvas.size.font + _LABEL_GAP


def _need_rotation(chart: Chart, labels: Sequence[str], room: float, font: int) -> bool:
    """Tell whether the labels fit only when they are rotated."""
    # Ordered labels are better left level: every n-th of them tells where the others are. Of short ones (Jan, Q1, 42주)
    # that holds too, and so do numbers.
    widest = _widest(labels, font)
    is_ordered = (
        chart.type in ("line", "area")
        or widest <= _MAX_SHORT_LABEL_EM * font
        or (len(labels) > _MAX_UNORDERED_NUMBERS and all(parse_number(label) is not None for label in labels))
    )
    return not is_ordered and widest > room / len(labels) - 6 and room / len(labels) >= font * 1.35


def _indent_for_first(labels: Sequence[str], left: float, size: PictureSize) -> float:
    """Return how much further right the plot begins, so that its first rotated labels are not truncated."""
    band = (size.width - _MARGIN - left) / len(labels)
    needed = min(text_width(one_line(labels[0]), size.font), _MAX_ROTATED_LABEL_PX) * math.cos(_LABEL_ANGLE) + size.font
    return min(max(0.0, needed - left - band / 2), size.width * 0.12)


def _level_labels(canvas: Canvas, plot: Plot, labels: Sequence[str]) -> float:
    """Draw the labels, or every n-th if they are too many, and return where they end."""
    font, band = canvas.size.font, plot.width / len(labels)
    widest = _widest(labels, font)
    every, max_width = 1, band
    if widest > band - 6:
        every = math.ceil((min(widest, _MAX_THINNED_LABEL_PX) + 14) / band)
        max_width = every * band - 10
    y = plot.bottom + font + _LABEL_GAP
    for index in range(0, len(labels), every):
        canvas.text(
            labels[index], plot.x((index + 0.5) / len(labels)), y, max_width=max_width, anchor="middle", soft=True
        )
    return y


def _rotated_labels(canvas: Canvas, plot: Plot, labels: Sequence[str]) -> float:
    font = canvas.size.font
    tallest = 0.0
    for index, label in enumerate(labels):
        x = plot.x((index + 0.5) / len(labels)) + font * 0.3
        max_width = min(_MAX_ROTATED_LABEL_PX, (x - font) / math.cos(_LABEL_ANGLE))
        tallest = max(tallest, text_width(truncate_to_width(label, max_width, font), font) * math.sin(_LABEL_ANGLE))
        canvas.text(label, x, plot.bottom + font, max_width=max_width, anchor="end", soft=True, rotated=True)
    return plot.bottom + font + tallest + 4


def _widest(labels: Sequence[str], font: int) -> float:
    # Labels longer than this are too wide in any case; measuring ten thousand of them whole would take long.
    return max(text_width(one_line(label[:_MAX_MEASURED_CHARS]), font) for label in labels)
