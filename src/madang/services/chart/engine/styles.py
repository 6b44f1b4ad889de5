"""Colours, dashes, shapes and hatchings that distinguish series, with and without colour."""

from __future__ import annotations

from collections.abc import Iterable

# After Okabe and Ito, moved until each has 3:1 against the page, (light, dark), and the first five differ for
# people who do not see red or green.
COLOURS = (
    ("#2d5fb4", "#7fa8f5"),
    ("#c4570a", "#f2a65e"),
    ("#1d8a68", "#4cc79b"),
    ("#7a2a68", "#e78ac3"),
    ("#2f2f2d", "#f5ee9a"),
    ("#9180e0", "#8f7cf0"),
    ("#7a6a00", "#d6d4cc"),
    ("#2b91ab", "#b8e6f2"),
)
BACKGROUND = ("#ffffff", "#232120")
_INK = ("#1d1b18", "#f1eee8")
_SOFT = ("#6b665d", "#a19b90")
_LINE = ("#e8e4db", "#38342f")
_EDGE = ("#938e81", "#7d776d")

# Five dashes, seven shapes, seven hatchings and eight colours: no two of twenty series have the same pair.
DASHES = ("", "7 3", "2 3", "11 3 2 3", "4 2 1 2")
_SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),  # a circle, which has no corners to list
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
    ((0, -1.3), (1.1, 0), (0, 1.3), (-1.1, 0)),
    ((0, 1.2), (1.1, -0.9), (-1.1, -0.9)),
    ((-1.2, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4), (0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4)),
    ((-1.1, -1.1), (1.1, -1.1), (-1.1, 1.1), (1.1, 1.1)),
)
_HATCHINGS = (
    "",
    "M-2 2 2-2M0 8 8 0M6 10 10 6",
    "M0 4h8",
    "M2 2h.01M6 6h.01",
    "M-2 6 2 10M0 0 8 8M6-2 10 2",
    "M4 0v8",
    "M0 0 8 8M8 0 0 8",
)


def style(used: Iterable[int], *, is_themed: bool) -> str:
    """Return the CSS of a picture: for a page, with the host's theme first; for a file, with plain colours."""

    def colour(name: str, pair: tuple[str, str]) -> str:
        return f"var(--{name},light-dark({pair[0]},{pair[1]}))" if is_themed else pair[0]

    background, line, edge = colour("bg", BACKGROUND), colour("line", _LINE), colour("edge", _EDGE)
    rules = [
        f"text{{fill:{colour('ink', _INK)}}}",
        f".soft{{fill:{colour('soft', _SOFT)}}}",
        f".paper{{fill:{background}}}",
        f".grid{{stroke:{line};fill:none}}",
        f".axis{{stroke:{edge};fill:none}}",
        ".cut{stroke-width:1.2;stroke-linecap:round;fill:none}",
        f".gap{{stroke:{background};stroke-width:2;fill:none}}",
        ".hit{fill:transparent}",
        f".hit:hover{{fill:{colour('ink', _INK)};fill-opacity:.05}}",
        ".end{font-weight:600}",
        ".total{font-size:1.7em;font-weight:650}",
        f".mark{{stroke:{background};stroke-width:.8}}",
        ".line{fill:none;stroke-width:2.2;stroke-linejoin:round}",
        ".area{fill-opacity:.18}",
    ]
    for number in sorted({index % len(COLOURS) for index in used}):
        series_colour = colour(f"chart-{number + 1}", COLOURS[number])
        rules.append(f".f{number}{{fill:{series_colour}}}")
        rules.append(f"text.f{number}{{fill:{series_colour}}}")
        rules.append(f".l{number}{{stroke:{series_colour}}}")
    css = "".join(f".chart {rule}" for rule in rules)
    # Hatchings are for those who ask for contrast: to all others they are noise over the colours.
    return f"{css}@media (prefers-contrast:more),(forced-colors:active){{.chart .cut{{stroke:{background}}}}}"


def fill(index: int) -> str:
    return f"f{index % len(COLOURS)}"


def stroke(index: int) -> str:
    return f"l{index % len(COLOURS)}"


def dash(index: int) -> str:
    pattern = DASHES[index % len(DASHES)]
    return f' stroke-dasharray="{pattern}"' if pattern else ""


def symbol(index: int, x: float, y: float, radius: float) -> str:
    """Return the outline of a series' symbol around a point."""
    corners = _SHAPES[index % len(_SHAPES)]
    if corners:
        return "M" + " ".join(f"{x + radius * dx:.1f} {y + radius * dy:.1f}" for dx, dy in corners) + "z"
    arc = f"a{radius} {radius} 0 1 0"
    return f"M{x - radius:.1f} {y:.1f}{arc} {2 * radius:.1f} 0{arc}-{2 * radius:.1f} 0z"


def hatching(index: int) -> str:
    """Return the lines that are cut out of a series' surface, on a tile of eight by eight; the first has none."""
    return _HATCHINGS[index % len(_HATCHINGS)]
