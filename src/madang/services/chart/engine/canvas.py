"""The canvas a chart is drawn on: its size, its SVG elements, and its texts, truncated to their room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from madang.services.chart.engine import styles
from madang.services.chart.engine.lettering import escape_xml, text_width, truncate_to_width
from madang.services.chart.engine.scales import Units


@dataclass(frozen=True, slots=True)
class PictureSize:
    """The size of a picture in units of about a pixel; a browser scales it to the available width.

    A page has a wide and a narrow one: on a telephone the letters of a wide one would be four pixels high.
    """

    name: str
    width: int
    plot_height: int
    font: int
    max_steps: int
    max_vertices: int
    max_marks: int
    title_bytes: int


WIDE = PictureSize("wide", 720, 280, font=13, max_steps=6, max_vertices=1200, max_marks=150, title_bytes=14_000)
NARROW = PictureSize("narrow", 360, 220, font=14, max_steps=5, max_vertices=600, max_marks=80, title_bytes=8_000)
_INSET = 8.0


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

    @property
    def inset(self) -> Plot:
        """The same, a little narrower: a point at its edge covers no label of the axis."""
        return Plot(self.left + _INSET, self.top, self.width - 2 * _INSET, self.height)

    def x(self, share: float) -> float:
        return self.left + share * self.width

    def y(self, share: float) -> float:
        return self.bottom - share * self.height


@dataclass(slots=True)
class Canvas:
    """SVG elements in drawing order, and the definitions they use."""

    size: PictureSize
    units: Units
    parts: list[str] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)
    used_series: set[int] = field(default_factory=set)
    _title_bytes_left: int = 0

    def __post_init__(self) -> None:
        self._title_bytes_left = self.size.title_bytes

    def add(self, part: str) -> None:
        self.parts.append(part)

    def text(
        self,
        text: str,
        x: float,
        y: float,
        *,
        max_width: float,
        anchor: str = "start",
        soft: bool = False,
        rotated: bool = False,
    ) -> None:
        """Write a text, truncated to `max_width`; its tooltip then has the whole.

        A centred one is moved if it would leave the canvas.
        """
        label = truncate_to_width(text, max_width, self.size.font)
        if anchor == "middle":
            half = min(text_width(label, self.size.font), self.size.width) / 2
            x = min(max(x, half), self.size.width - half)
        attributes = f' text-anchor="{anchor}"' if anchor != "start" else ""
        attributes += ' class="soft"' if soft else ""
        attributes += f' transform="rotate(-{LABEL_ANGLE_DEG} {tenths(x)} {tenths(y)})"' if rotated else ""
        tooltip = self.tooltip(text) if label.endswith("…") else ""
        self.add(f'<text x="{tenths(x)}" y="{tenths(y)}"{attributes}>{escape_xml(label)}{tooltip}</text>')

    def tooltip(self, text: str) -> str:
        """Return a `<title>` within the picture's budget, else nothing: a thousand long labels belong in the table."""
        title = f"<title>{escape_xml(text)}</title>"
        self._title_bytes_left -= len(title.encode())
        return title if self._title_bytes_left >= 0 else ""

    def surface(self, index: int) -> str:
        """Return the attribute that fills an area of a series with its colour and hatching."""
        self.used_series.add(index)
        hatching = styles.hatching(index)
        if not hatching:
            return f'class="{styles.fill(index)}"'
        id = f"chart-{self.size.name}-{index}"
        definition = (
            f'<pattern id="{id}" width="8" height="8" patternUnits="userSpaceOnUse">'
            f'<path class="{styles.fill(index)}" d="M0 0h8v8h-8z"/><path class="cut" d="{hatching}"/></pattern>'
        )
        if definition not in self.definitions:
            self.definitions.append(definition)
        return f'fill="url(#{id})"'

    def symbols(self, index: int, radius: float) -> str:
        """Return the attributes that put a series' symbol at each vertex of a path."""
        self.used_series.add(index)
        id = f"chart-{self.size.name}-m{index}"
        self.definitions.append(
            f'<marker id="{id}" viewBox="-2 -2 4 4" markerWidth="{tenths(4 * radius)}" '
            f'markerHeight="{tenths(4 * radius)}" markerUnits="userSpaceOnUse">'
            f'<path class="{styles.fill(index)}" d="{styles.symbol(index, 0, 0, 1)}"/></marker>'
        )
        return f'fill="none" marker-start="url(#{id})" marker-mid="url(#{id})" marker-end="url(#{id})"'

    def symbol(self, index: int, x: float, y: float, radius: float, tooltip: str = "") -> None:
        self.used_series.add(index)
        shape = f'class="mark {styles.fill(index)}" d="{styles.symbol(index, x, y, radius)}"'
        self.add(f"<path {shape}>{tooltip}</path>" if tooltip else f"<path {shape}/>")


LABEL_ANGLE_DEG = 40
"""The rotation of crowded labels."""


def tenths(value: float) -> str:
    """Return a coordinate rounded to a tenth."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " ".join(f"{tenths(x)} {tenths(y)}" for x, y in points)
