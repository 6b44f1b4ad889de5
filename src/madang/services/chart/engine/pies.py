"""A pie and its legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from madang.core.phrases import Phrase, Translate
from madang.services.chart.domain.charts import Point
from madang.services.chart.domain.numbers import plain_number
from madang.services.chart.engine.canvas import Canvas, tenths
from madang.services.chart.engine.lettering import text_width
from madang.services.chart.engine.scales import compact_number, format_percent

MAX_SLICES = 12
_MIN_LABELLED_SHARE = 0.03


@dataclass(frozen=True, slots=True)
class Slice:
    label: str
    tooltip: str
    value: str
    share: float


def draw_pie(canvas: Canvas, points: Sequence[Point], others: Phrase, translate: Translate) -> float:
    """Draw the slices clockwise from the top with their percentages and a legend; return the total height.

    `others` is the label of merged slices.
    """
    size, font = canvas.size, canvas.size.font
    slices = _slices(points, others, translate)
    row = font * 1.75
    is_wide = size.width > 500
    radius = size.plot_height / 2 - 4
    middle_x = radius + 56 if is_wide else size.width / 2
    legend_height = row * len(slices)
    margin = font * 1.6
    height = max(2 * (radius + margin), legend_height if is_wide else 0)
    middle_y = height / 2

    start = 0.0
    for index, slice in enumerate(slices):
        if slice.share > 0:
            shape = _shape(middle_x, middle_y, radius, start, start + slice.share)
            canvas.add(f'<path {canvas.surface(index)} d="{shape}">{canvas.tooltip(slice.tooltip)}</path>')
        start += slice.share
    _borders(canvas, slices, middle_x, middle_y, radius)
    start = 0.0
    for slice in slices:
        if slice.share >= _MIN_LABELLED_SHARE:
            x, y = _around(middle_x, middle_y, radius + font * 0.45, start + slice.share / 2)
            anchor = "start" if x > middle_x + 8 else "end" if x < middle_x - 8 else "middle"
            lift = (y - middle_y) / radius
            canvas.text(
                format_percent(slice.share), x, y + font * (0.35 + 0.35 * lift), max_width=math.inf, anchor=anchor
            )
        start += slice.share

    left = middle_x + radius + 84 if is_wide else 2.0
    top = (height - legend_height) / 2 if is_wide else height + 8
    for index, slice in enumerate(slices):
        y = top + row * index + font * 1.2
        box = f'x="{tenths(left)}" y="{tenths(y - font * 0.35 - 7)}" width="14" height="14"'
        canvas.add(f"<rect {canvas.surface(index)} {box}/>")
        numbers = f"{format_percent(slice.share)} ({slice.value})"
        right = size.width - 4
        canvas.text(slice.label, left + 22, y, max_width=right - left - 32 - text_width(numbers, font))
        canvas.text(numbers, right, y, max_width=math.inf, anchor="end", soft=True)
    return height if is_wide else top + legend_height + 8


def _slices(points: Sequence[Point], others: Phrase, translate: Translate) -> list[Slice]:
    """Return the slices as given; of too many, the largest, and one that merges all others."""
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
            compact_number(points[index].value),
            parts[index] / whole,
        )
        for index in sorted(separate)
    ]
    merged = order[len(separate) :]
    if merged:
        rest = math.fsum(parts[index] for index in merged)
        label = Phrase(others.template, {**others.values, "count": len(merged)}).render(translate)
        value = compact_number(min(rest * largest, 1.7976931348623157e308))
        slices.append(Slice(label, f"{label}: {value} ({format_percent(rest / whole)})", value, rest / whole))
    return slices


def _shape(x: float, y: float, radius: float, start: float, end: float) -> str:
    r = tenths(radius)
    if end - start > 0.9999:
        return f"M{tenths(x)} {tenths(y - radius)}a{r} {r} 0 1 1-.1 0z"
    (from_x, from_y), (to_x, to_y) = _around(x, y, radius, start), _around(x, y, radius, end)
    large = int(end - start > 0.5)
    return f"M{tenths(x)} {tenths(y)}L{from_x:.2f} {from_y:.2f}A{r} {r} 0 {large} 1 {to_x:.2f} {to_y:.2f}z"


def _borders(canvas: Canvas, slices: Sequence[Slice], x: float, y: float, radius: float) -> None:
    """Separate the slices by lines of the background's colour, so that neighbours of one colour stay distinct."""
    shares = [slice.share for slice in slices if slice.share > 0]
    if len(shares) < 2:
        return
    lines, start = "", 0.0
    for share in shares:
        to_x, to_y = _around(x, y, radius, start)
        lines += f"M{tenths(x)} {tenths(y)}L{to_x:.2f} {to_y:.2f}"
        start += share
    canvas.add(f'<path class="cut" d="{lines}"/>')


def _around(x: float, y: float, radius: float, share: float) -> tuple[float, float]:
    angle = share * math.tau
    return x + radius * math.sin(angle), y - radius * math.cos(angle)
