"""The sheet a chart is drawn on: its size, its elements, and the room that texts on it may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from madang.services.ui.engine import look
from madang.services.ui.engine.words import fitted, safe, width


@dataclass(frozen=True, slots=True)
class Size:
    """How large a picture is drawn, in units that are about pixels; it is then scaled to the width there is.

    A wide picture on a telephone would have letters of four pixels, so that a page has one of each.
    """

    name: str
    width: int
    plot_height: int
    font: int
    steps: int
    max_vertices: int
    max_marks: int
    title_bytes: int


WIDE = Size("wide", 720, 280, font=13, steps=6, max_vertices=1200, max_marks=150, title_bytes=14_000)
NARROW = Size("narrow", 360, 220, font=14, steps=5, max_vertices=600, max_marks=80, title_bytes=8_000)


@dataclass(frozen=True, slots=True)
class Plot:
    """The rectangle between the axes."""

    left: float
    top: float
    width: float
    height: float

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def x(self, share: float) -> float:
        return self.left + share * self.width

    def y(self, share: float) -> float:
        return self.bottom - share * self.height


@dataclass(slots=True)
class Canvas:
    """Elements in the order in which they cover each other."""

    size: Size
    parts: list[str] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    _titles_left: int = 0

    def __post_init__(self) -> None:
        self._titles_left = self.size.title_bytes

    def add(self, part: str) -> None:
        self.parts.append(part)

    def text(
        self,
        text: str,
        x: float,
        y: float,
        *,
        room: float,
        anchor: str = "start",
        soft: bool = False,
        turned: bool = False,
    ) -> None:
        """Write a text that is cut where its room ends, and whole where the pointer rests on it.

        One that stands in the middle of its place is moved if it would leave the sheet.
        """
        shown = fitted(text, room, self.size.font)
        if anchor == "middle":
            half = min(width(shown, self.size.font), self.size.width) / 2
            x = min(max(x, half), self.size.width - half)
        extra = f' text-anchor="{anchor}"' if anchor != "start" else ""
        extra += ' class="soft"' if soft else ""
        extra += f' transform="rotate(-{TURN} {short(x)} {short(y)})"' if turned else ""
        whole = self.title(text) if shown.endswith("…") else ""
        self.add(f'<text x="{short(x)}" y="{short(y)}"{extra}>{safe(shown)}{whole}</text>')

    def title(self, text: str) -> str:
        """Return what the pointer shows, as long as there is room: a thousand long labels belong into the table."""
        title = f"<title>{safe(text)}</title>"
        self._titles_left -= len(title.encode())
        return title if self._titles_left >= 0 else ""

    def surface(self, index: int) -> str:
        """Return the attribute that fills a surface of a series."""
        self.used.add(index)
        cut = look.hatching(index)
        if not cut:
            return f'class="{look.fill(index)}"'
        id = f"chart-{self.size.name}-{index}"
        definition = (
            f'<pattern id="{id}" width="8" height="8" patternUnits="userSpaceOnUse">'
            f'<path class="{look.fill(index)}" d="M0 0h8v8h-8z"/><path class="cut" d="{cut}"/></pattern>'
        )
        if definition not in self.definitions:
            self.definitions.append(definition)
        return f'fill="url(#{id})"'

    def symbols(self, index: int, radius: float) -> str:
        """Return the attributes that put a series' symbol at each corner of a path."""
        self.used.add(index)
        id = f"chart-{self.size.name}-m{index}"
        self.definitions.append(
            f'<marker id="{id}" viewBox="-2 -2 4 4" markerWidth="{short(4 * radius)}" '
            f'markerHeight="{short(4 * radius)}" markerUnits="userSpaceOnUse">'
            f'<path class="{look.fill(index)}" d="{look.symbol(index, 0, 0, 1)}"/></marker>'
        )
        return f'fill="none" marker-start="url(#{id})" marker-mid="url(#{id})" marker-end="url(#{id})"'

    def symbol(self, index: int, x: float, y: float, radius: float, title: str = "") -> None:
        self.used.add(index)
        shape = f'class="mark {look.fill(index)}" d="{look.symbol(index, x, y, radius)}"'
        self.add(f"<path {shape}>{title}</path>" if title else f"<path {shape}/>")


TURN = 40
"""Degrees by which crowded labels are turned."""


def short(value: float) -> str:
    """Return a coordinate to a tenth."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " ".join(f"{short(x)} {short(y)}" for x, y in points)
