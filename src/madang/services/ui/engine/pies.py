"""A pie and the list of its slices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from madang.core.phrases import Translate, say
from madang.services.ui.engine.canvas import Canvas, short
from madang.services.ui.engine.chart import Point
from madang.services.ui.engine.numbers import compact, percent, plain
from madang.services.ui.engine.words import width

MAX_SLICES = 12
_MIN_LABELLED_SHARE = 0.03


@dataclass(frozen=True, slots=True)
class Slice:
    label: str
    told: str
    value: str
    share: float


def draw_pie(canvas: Canvas, points: Sequence[Point], translate: Translate) -> float:
    """Draw the slices clockwise from the top with their percentages and a list; return the height of it all."""
    size, font = canvas.size, canvas.size.font
    slices = _slices(points, translate)
    row = font * 1.75
    is_wide = size.width > 500
    radius = size.plot_height / 2 - 4
    middle_x = radius + 56 if is_wide else size.width / 2
    listed = row * len(slices)
    margin = font * 1.6
    height = max(2 * (radius + margin), listed if is_wide else 0)
    middle_y = height / 2

    turned = 0.0
    for index, slice in enumerate(slices):
        if slice.share > 0:
            shape = _shape(middle_x, middle_y, radius, turned, turned + slice.share)
            canvas.add(f'<path {canvas.surface(index)} d="{shape}">{canvas.title(slice.told)}</path>')
        turned += slice.share
    _borders(canvas, slices, middle_x, middle_y, radius)
    turned = 0.0
    for slice in slices:
        if slice.share >= _MIN_LABELLED_SHARE:
            x, y = _around(middle_x, middle_y, radius + font * 0.45, turned + slice.share / 2)
            anchor = "start" if x > middle_x + 8 else "end" if x < middle_x - 8 else "middle"
            lift = (y - middle_y) / radius
            canvas.text(percent(slice.share), x, y + font * (0.35 + 0.35 * lift), room=math.inf, anchor=anchor)
        turned += slice.share

    left = middle_x + radius + 84 if is_wide else 2.0
    top = (height - listed) / 2 if is_wide else height + 8
    for index, slice in enumerate(slices):
        y = top + row * index + font * 1.2
        box = f'x="{short(left)}" y="{short(y - font * 0.35 - 7)}" width="14" height="14"'
        canvas.add(f"<rect {canvas.surface(index)} {box}/>")
        numbers = f"{percent(slice.share)} ({slice.value})"
        right = size.width - 4
        canvas.text(slice.label, left + 22, y, room=right - left - 32 - width(numbers, font))
        canvas.text(numbers, right, y, room=math.inf, anchor="end", soft=True)
    return height if is_wide else top + listed + 8


def _slices(points: Sequence[Point], translate: Translate) -> list[Slice]:
    """Return the slices as given; of too many, the largest, and one for all others."""
    # Measured by the largest: the sum of the largest numbers there are is not one of them.
    largest = max(point.value for point in points)
    parts = [point.value / largest for point in points]
    whole = math.fsum(parts)
    order = sorted(range(len(points)), key=lambda place: -parts[place])
    kept = order if len(points) <= MAX_SLICES else order[: MAX_SLICES - 1]
    slices = [
        Slice(
            points[place].label,
            f"{points[place].label}: {plain(points[place].value)} ({percent(parts[place] / whole)})",
            compact(points[place].value),
            parts[place] / whole,
        )
        for place in sorted(kept)
    ]
    others = order[len(kept) :]
    if others:
        rest = math.fsum(parts[place] for place in others)
        label = say("Others ({count})", count=len(others)).render(translate)
        value = compact(min(rest * largest, 1.7976931348623157e308))
        slices.append(Slice(label, f"{label}: {value} ({percent(rest / whole)})", value, rest / whole))
    return slices


def _shape(x: float, y: float, radius: float, start: float, end: float) -> str:
    r = short(radius)
    if end - start > 0.9999:
        return f"M{short(x)} {short(y - radius)}a{r} {r} 0 1 1-.1 0z"
    (from_x, from_y), (to_x, to_y) = _around(x, y, radius, start), _around(x, y, radius, end)
    large = int(end - start > 0.5)
    return f"M{short(x)} {short(y)}L{from_x:.2f} {from_y:.2f}A{r} {r} 0 {large} 1 {to_x:.2f} {to_y:.2f}z"


def _borders(canvas: Canvas, slices: Sequence[Slice], x: float, y: float, radius: float) -> None:
    """Part the slices by lines of the background's colour, so that two of one colour are still two."""
    shares = [slice.share for slice in slices if slice.share > 0]
    if len(shares) < 2:
        return
    lines, turned = "", 0.0
    for share in shares:
        to_x, to_y = _around(x, y, radius, turned)
        lines += f"M{short(x)} {short(y)}L{to_x:.2f} {to_y:.2f}"
        turned += share
    canvas.add(f'<path class="cut" d="{lines}"/>')


def _around(x: float, y: float, radius: float, share: float) -> tuple[float, float]:
    angle = share * math.tau
    return x + radius * math.sin(angle), y - radius * math.cos(angle)
