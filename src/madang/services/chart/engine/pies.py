"""A pie as a ring, and its legend."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from madang.core.phrases import Phrase, Translate
from madang.services.chart.domain.charts import Point
from madang.services.chart.domain.drawings import ChartPhrases
from madang.services.chart.domain.numbers import plain_number
from madang.services.chart.engine.canvas import Canvas, tenths
from madang.services.chart.engine.lettering import text_width
from madang.services.chart.engine.scales import compact_number, format_percent

MAX_SLICES = 12
_HOLE_SHARE = 0.62
_MAX_FLOAT = sys.float_info.max


@dataclass(frozen=True, slots=True)
class Slice:
    label: str
    tooltip: str
    value: str
    share: float


def draw_pie(canvas: Canvas, points: Sequence[Point], phrases: ChartPhrases, translate: Translate) -> float:
    """Draw a ring clockwise from the top with the total in its middle, and a legend; return the total height."""
    size, font = canvas.size, canvas.size.font
    slices, total = _slices(canvas, points, phrases.others, translate)
    row = font * 2
    is_wide = size.width > 500
    radius = size.plot_height / 2 - 4
    middle_x = radius + 24 if is_wide else size.width / 2
    legend_height = row * len(slices)
    height = max(2 * (radius + 8), legend_height if is_wide else 0)
    middle_y = height / 2

    start = 0.0
    for index, slice in enumerate(slices):
        if slice.share > 0:
            shape = _shape(middle_x, middle_y, radius, start, start + slice.share)
            canvas.add(f'<path {canvas.surface(index)} d="{shape}">{canvas.tooltip(slice.tooltip)}</path>')
        start += slice.share
    _borders(canvas, slices, middle_x, middle_y, radius)
    _middle(canvas, middle_x, middle_y, radius, total, phrases.total.render(translate))

    left = middle_x + radius + 56 if is_wide else 2.0
    top = (height - legend_height) / 2 if is_wide else height + 8
    # Where the parts are percentages themselves, one number says both.
    percents = [format_percent(slice.share) for slice in slices]
    are_equal = all(f"{slice.value}%" == percent for slice, percent in zip(slices, percents, strict=True))
    values = [] if are_equal else [slice.value for slice in slices]
    right = size.width - 4
    percent_width = max(text_width(percent, font) for percent in percents)
    value_width = max((text_width(value, font) for value in values), default=0.0)
    for index, slice in enumerate(slices):
        y = top + row * index + font * 1.35
        box = f'x="{tenths(left)}" y="{tenths(y - font * 0.35 - 6)}" width="12" height="12" rx="3"'
        canvas.add(f"<rect {canvas.surface(index)} {box}/>")
        room = right - left - 22 - percent_width - value_width - (32 if values else 16)
        canvas.text(slice.label, left + 22, y, max_width=room)
        if values:
            canvas.text(values[index], right - percent_width - 16, y, max_width=math.inf, anchor="end", soft=True)
        canvas.text(percents[index], right, y, max_width=math.inf, anchor="end")
    return height if is_wide else top + legend_height + 8


def _middle(canvas: Canvas, x: float, y: float, radius: float, total: str, name: str) -> None:
    """Cut the hole of the ring, and write the total into it."""
    hole, font = radius * _HOLE_SHARE, canvas.size.font
    canvas.add(f'<path class="paper" d="{_shape(x, y, hole, 0, 1)}"/>')
    if text_width(total, font * 1.7) <= hole * 1.8:
        canvas.add(
            f'<text class="total" x="{tenths(x)}" y="{tenths(y + font * 0.4)}" text-anchor="middle">{total}</text>'
        )
        canvas.text(name, x, y + font * 1.9, max_width=hole * 1.4, anchor="middle", soft=True)


def _slices(canvas: Canvas, points: Sequence[Point], others: Phrase, translate: Translate) -> tuple[list[Slice], str]:
    """Return the slices as given, and their sum; of too many, the largest, and one that merges all others."""
    # Relative to the largest: the sum of very large numbers is larger than any float.
    largest = max(point.value for point in points)
    parts = [point.value / largest for point in points]
    whole = math.fsum(parts)
    order = sorted(range(len(points)), key=lambda index: -parts[index])
    separate = order if len(points) <= MAX_SLICES else order[: MAX_SLICES - 1]
    slices = [
        Slice(
            points[index].label,
            f"{points[index].label}: {plain_number(points[index].value)} ({format_percent(parts[index] / whole)})",
            compact_number(points[index].value, canvas.units),
            parts[index] / whole,
        )
        for index in sorted(separate)
    ]
    merged = order[len(separate) :]
    if merged:
        rest = math.fsum(parts[index] for index in merged)
        label = Phrase(others.template, {**others.values, "count": len(merged)}).render(translate)
        value = compact_number(min(rest * largest, _MAX_FLOAT), canvas.units)
        slices.append(Slice(label, f"{label}: {value} ({format_percent(rest / whole)})", value, rest / whole))
    return slices, compact_number(min(whole * largest, _MAX_FLOAT), canvas.units)


def _shape(x: float, y: float, radius: float, start: float, end: float) -> str:
    r = tenths(radius)
    if end - start > 0.9999:
        return f"M{tenths(x)} {tenths(y - radius)}a{r} {r} 0 1 1-.1 0z"
    (from_x, from_y), (to_x, to_y) = _around(x, y, radius, start), _around(x, y, radius, end)
    large = int(end - start > 0.5)
    return f"M{tenths(x)} {tenths(y)}L{from_x:.2f} {from_y:.2f}A{r} {r} 0 {large} 1 {to_x:.2f} {to_y:.2f}z"


def _borders(canvas: Canvas, slices: Sequence[Slice], x: float, y: float, radius: float) -> None:
    """Separate the slices by gaps, so that neighbours of one colour stay distinct."""
    shares = [slice.share for slice in slices if slice.share > 0]
    if len(shares) < 2:
        return
    lines, start = "", 0.0
    for share in shares:
        to_x, to_y = _around(x, y, radius, start)
        lines += f"M{tenths(x)} {tenths(y)}L{to_x:.2f} {to_y:.2f}"
        start += share
    canvas.add(f'<path class="gap" d="{lines}"/>')


def _around(x: float, y: float, radius: float, share: float) -> tuple[float, float]:
    angle = share * math.tau
    return x + radius * math.sin(angle), y - radius * math.cos(angle)
