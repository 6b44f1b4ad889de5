"""What every picture of a chart promises, whatever the data."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from itertools import combinations
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from madang.rendering.catalogue import translator
from madang.services.chart.domain.charts import (
    CHART_TYPES,
    MAX_POINTS,
    MAX_SERIES,
    Chart,
    ChartType,
    Point,
    Series,
    check_chart,
)
from madang.services.chart.engine.canvas import NARROW, WIDE, PictureSize
from madang.services.chart.engine.downsampling import downsample_cloud, downsample_line
from madang.services.chart.engine.lettering import text_width, truncate_to_width
from madang.services.chart.engine.scales import compact_number, fit_scale, format_percent, parse_units
from madang.services.chart.engine.styles import BACKGROUND, COLOURS, dash, fill, hatching, stroke, symbol
from madang.services.chart.views import MAX_PAGE_BYTES, chart_phrases
from tests.services.chart.charts import GALLERY, HOSTILE, chart, draw, draw_file, fragment, labelled, lists, months

SVG = "{http://www.w3.org/2000/svg}"
VALUES = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-1000, 1000).map(float)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60)
TEXTS |= st.sampled_from(HOSTILE) | st.sampled_from(["1", "2.5", "-3e9", "한국어 이름표입니다", "x" * 200])
POINTS = st.lists(st.builds(Point, label=TEXTS, value=VALUES), min_size=1, max_size=40)


@st.composite
def charts(pick: st.DrawFn) -> Chart:
    type = pick(st.sampled_from(CHART_TYPES))
    captions = {name: pick(st.just("") | TEXTS) for name in ("title", "x_label", "y_label")}
    if type == "pie":
        points = [Point(label=point.label, value=abs(point.value)) for point in pick(POINTS)]
        points[0] = Point(label=points[0].label, value=points[0].value or 1.0)
        return Chart(type=type, series=[Series(name="", data=points)], **captions)
    names = pick(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=MAX_SERIES, unique=True))
    return Chart(
        type=type,
        series=[Series(name=name, data=pick(POINTS)) for name in names[: pick(st.integers(1, 20))]],
        **captions,
    )


def parsed(svg: str) -> Element:
    return ElementTree.fromstring(svg.encode())


def corners(element: Element) -> list[tuple[float, float]]:
    """Return every place that an element names, following relative steps too."""
    attributes = element.attrib
    if element.tag == f"{SVG}path":
        return path_corners(attributes["d"])
    x, y = float(attributes["x"]), float(attributes["y"])
    if element.tag == f"{SVG}rect":
        assert float(attributes["width"]) >= 0
        assert float(attributes["height"]) >= 0
        return [(x, y), (x + float(attributes["width"]), y + float(attributes["height"]))]
    return [(x, y)]


def path_corners(d: str) -> list[tuple[float, float]]:
    vertices, x, y, command, tokens = [], 0.0, 0.0, "", re.findall(r"[a-zA-Z]|-?\d*\.?\d+", d)
    take = iter(tokens)
    for token in take:
        if token.isalpha():
            command = token
            if command in "zZ":
                continue
            token = next(take)
        first = float(token)
        if command in "ML":
            x, y = first, float(next(take))
        elif command in "Hh":
            x = first if command == "H" else x + first
        elif command in "Vv":
            y = first if command == "V" else y + first
        else:
            assert command in "Aa", command
            skipped = [next(take) for _ in range(4)]
            assert len(skipped) == 4
            dx, dy = float(next(take)), float(next(take))
            x, y = (dx, dy) if command == "A" else (x + dx, y + dy)
        vertices.append((x, y))
    return vertices


def check_picture(svg: str, size: PictureSize) -> None:
    root = parsed(svg)
    left, top, wide, high = (float(part) for part in root.attrib["viewBox"].split())
    assert root.attrib["role"] == "img"
    assert [child.tag for child in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
    drawn = [element for element in root if element.tag in (f"{SVG}path", f"{SVG}rect", f"{SVG}text")]
    for element in drawn:
        for x, y in corners(element):
            assert math.isfinite(x)
            assert math.isfinite(y)
            assert left - 0.2 <= x <= left + wide + 0.2, ElementTree.tostring(element)
            assert top - 0.2 <= y <= top + high + 0.2, ElementTree.tostring(element)
        if element.tag == f"{SVG}text" and "transform" not in element.attrib and "font-size" not in element.attrib:
            x, long = float(element.attrib["x"]), text_width(element.text or "", size.font)
            start = {"start": x, "middle": x - long / 2, "end": x - long}[element.attrib.get("text-anchor", "start")]
            assert start >= left - 0.2, element.text
            assert start + long <= left + wide + 0.2, element.text


@given(charts())
@example(chart("line", months(1.7976931348623157e308, -1.7976931348623157e308)))
@example(chart("area", months(5e-324, 0)))
@example(chart("pie", months(1.7976931348623157e308, 1.7976931348623157e308)))
@example(chart("bar", months(-5e-324)))
@example(chart("scatter", [("1e308", 1e308), ("-1e308", -1e308), ("5e-324", 0)]))
@example(chart("scatter", [("0.1", 1.0000000000000002), ("0.10000000000000002", 1)]))
@example(chart("bar", [("0\x1f", 0.0)]))
@settings(deadline=None, max_examples=60)
def test_every_picture_is_valid_and_everything_on_it_is_inside(chart: Chart) -> None:
    assert check_chart(chart) is None

    for size in (WIDE, NARROW):
        check_picture(draw(chart, size), size)
    check_picture(draw_file(chart), WIDE)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=lambda size: size.name)
@pytest.mark.parametrize("name", GALLERY)
def test_the_gallery_is_inside_too(name: str, size: PictureSize) -> None:
    check_picture(draw(GALLERY[name], size), size)


@given(st.lists(VALUES, min_size=1), st.integers(2, 9), st.booleans())
def test_ticks_cover_the_data_in_steps_that_people_count_in(values: list[float], most: int, from_zero: bool) -> None:
    axis = fit_scale(values, max_steps=most, from_zero=from_zero)

    assert axis.ticks[0] <= Decimal(repr(min(values)))
    assert Decimal(repr(max(values))) <= axis.ticks[-1]
    assert 2 <= len(axis.ticks) <= most + 3
    assert len(set(axis.labels())) == len(axis.labels())
    step = axis.ticks[1] - axis.ticks[0]
    assert step.normalize().as_tuple().digits in ((1,), (2,), (5,), (2, 5))
    assert step < 10 or step == int(step)
    assert not from_zero or 0 in axis.ticks
    assert all(0 <= axis.share(value) <= 1 for value in values)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0, 100], ["0", "20", "40", "60", "80", "100"]),
        ([-3, 8], ["−4", "−2", "0", "2", "4", "6", "8"]),
        ([0.1], ["0.00", "0.02", "0.04", "0.06", "0.08", "0.10"]),
        ([0, 25_000], ["0", "5,000", "10,000", "15,000", "20,000", "25,000"]),
        ([0, 100_000], ["0", "20K", "40K", "60K", "80K", "100K"]),
        ([0, 1_500_000], ["0.0M", "0.5M", "1.0M", "1.5M"]),
        ([1e18, 5e18], ["0", "1e18", "2e18", "3e18", "4e18", "5e18"]),
        ([2e-9, 5e-9], ["0", "1e−9", "2e−9", "3e−9", "4e−9", "5e−9"]),
        ([2015, 2025], ["2014", "2016", "2018", "2020", "2022", "2024", "2026"]),
        ([0], ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
    ],
)
def test_the_labels_of_an_axis(values: list[float], labels: list[str]) -> None:
    tick_labels = fit_scale(values, max_steps=6, from_zero=False).labels()

    assert [label if label.strip("0.KM") else "0" for label in tick_labels] == [
        label if label.strip("0.KM") else "0" for label in labels
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1234, "1,234"),
        (9999.96, "10,000"),
        (12_345, "12,345"),
        (123_456, "123.5K"),
        (-1_500_000, "−1.5M"),
        (2e9, "2B"),
        (7.25e12, "7.25T"),
        (1.5e300, "1.5e300"),
        (0.123456, "0.1235"),
        (0.0000123, "1.23e−5"),
    ],
)
def test_a_number_at_a_mark_is_short(value: float, text: str) -> None:
    assert compact_number(value) == text


def test_shares_in_percent() -> None:
    assert [format_percent(share) for share in (0, 0.0001, 0.1234, 0.5, 1)] == ["0%", "<0.1%", "12.3%", "50%", "100%"]


@pytest.mark.parametrize("type", CHART_TYPES)
@pytest.mark.parametrize(("series", "points"), [(1, MAX_POINTS), (MAX_SERIES, MAX_POINTS // MAX_SERIES)])
@pytest.mark.parametrize("label", ["", "&" * 190, "한" * 190], ids=["short", "signs", "korean"])
def test_the_largest_chart_stays_small(type: ChartType, series: int, points: int, label: str) -> None:
    if type == "pie":
        series, points = 1, MAX_POINTS
    values = [abs(math.sin(place) * 1e-5) for place in range(points)]
    large = Chart(
        type=type,
        title=label,
        x_label=label,
        y_label=label,
        series=[labelled(f"{label}{n}", *((f"{label}{p}", v) for p, v in enumerate(values))) for n in range(series)],
    )
    assert check_chart(large) is None

    page = fragment(large)

    assert len(page.encode()) < MAX_PAGE_BYTES == 300_000
    assert 'data-download="svg"' in page


def test_a_chart_of_ten_thousand_short_rows_still_has_its_csv_file() -> None:
    page = fragment(chart("line", [(f"t{place}", place % 977 / 4) for place in range(MAX_POINTS)]))

    assert 'data-file="csv"' in page


def test_of_thousands_of_points_the_lowest_and_highest_are_kept() -> None:
    points = [(float(x), math.sin(x / 100)) for x in range(MAX_POINTS)]
    points[7777] = (7777.0, 55.0)
    points[1234] = (1234.0, -55.0)

    sample = downsample_line(points, 600)

    assert len(sample) <= 600
    assert {points[7777], points[1234], points[0], points[-1]} <= set(sample)
    assert sample == sorted(sample)


@given(st.lists(st.tuples(st.floats(0, 700), st.floats(0, 300)), min_size=1, max_size=300), st.integers(4, 100))
def test_a_downsampled_cloud_is_part_of_it_and_as_large(spots: list[tuple[float, float]], most: int) -> None:
    sample = downsample_cloud(spots, most)

    assert set(sample) <= set(spots)
    assert len(sample) <= max(most + 4, len(spots) if len(spots) <= most else 0)
    for axis in (0, 1):
        assert {min(s[axis] for s in spots), max(s[axis] for s in spots)} <= {s[axis] for s in sample}


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=2000), st.integers(4, 400))
def test_a_downsampled_line_keeps_its_ends_and_its_height(values: list[float], most: int) -> None:
    points = [(float(place), value) for place, value in enumerate(values)]

    sample = downsample_line(points, most)

    assert len(sample) <= most
    assert (sample[0], sample[-1]) == (points[0], points[-1])
    assert {min(values), max(values)} <= {value for _, value in sample}


def test_bars_of_thousands_of_points_reach_as_high_as_the_highest() -> None:
    values = [1.0] * MAX_POINTS
    values[4321], values[8765] = 100.0, -100.0
    root = parsed(draw(chart("bar", [(str(place), value) for place, value in enumerate(values)])))
    (bars,) = [one for one in root.iter(f"{SVG}path") if one.attrib.get("class") == "f0"]
    grid = path_corners(next(one for one in root.iter(f"{SVG}path") if one.attrib.get("class") == "grid").attrib["d"])

    heights = {y for _, y in path_corners(bars.attrib["d"])}

    assert (min(heights), max(heights)) == (min(y for _, y in grid), max(y for _, y in grid))


@pytest.mark.parametrize("type", CHART_TYPES)
def test_hostile_texts_are_text_and_whole(type: ChartType) -> None:
    hostile = chart(type, [(text, 1.0) for text in HOSTILE], title=HOSTILE[1])
    allowed = {"svg", "title", "desc", "style", "defs", "pattern", "path", "rect", "text"}

    for svg in (draw(hostile), draw(hostile, NARROW), draw_file(hostile)):
        root = parsed(svg)
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= allowed
        assert not [name for element in root.iter() for name in element.attrib if name.startswith("on")]
        assert root.findtext(f"{SVG}title") == HOSTILE[1]
        assert HOSTILE[0] in "".join(root.itertext())


def test_a_label_that_is_cut_is_whole_where_the_pointer_rests() -> None:
    root = parsed(draw(GALLERY["bar-long"]))
    cut = [element for element in root.iter(f"{SVG}text") if (element.text or "").endswith("…")]

    assert len(cut) == 18
    assert {element.findtext(f"{SVG}title") for element in cut} == {
        point.label for point in GALLERY["bar-long"].series[0].data
    }


@given(TEXTS, st.floats(20, 300))
def test_a_fitted_text_fits(text: str, room: float) -> None:
    label = truncate_to_width(text, room, 13)

    assert text_width(label, 13) <= room
    assert "\n" not in label


def test_a_text_is_not_cut_between_a_letter_and_its_accent() -> None:
    assert truncate_to_width("e\u0301" * 20, 40, 13) == "e\u0301e\u0301e\u0301…"


def test_twenty_series_differ_with_and_without_colour() -> None:
    def without_colour(index: int) -> tuple[str, str, str]:
        return dash(index), symbol(index, 0, 0, 1), hatching(index)

    numbers = range(MAX_SERIES)
    assert len({without_colour(index) for index in numbers}) == MAX_SERIES
    for styles in ((stroke, dash), (fill, hatching)):
        assert len({tuple(style(index) for style in styles) for index in numbers}) == MAX_SERIES


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_stand_out_from_the_page_and_from_each_other(theme: int) -> None:
    colours = [pair[theme] for pair in COLOURS]

    assert all(contrast(colour, BACKGROUND[theme]) >= 3 for colour in colours)
    for kind in (PROTANOPIA, DEUTERANOPIA):
        for one, other in combinations(colours[:5], 2):
            assert math.dist(seen(one, kind), seen(other, kind)) > 0.12, (one, other)


# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
PROTANOPIA = ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998))
DEUTERANOPIA = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))


def linear(colour: str) -> list[float]:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(one: str, other: str) -> float:
    light, dark = sorted(
        (
            sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))
            for colour in (one, other)
        ),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)


def seen(colour: str, kind: tuple[tuple[float, ...], ...]) -> list[float]:
    parts = [sum(weight * part for weight, part in zip(row, linear(colour), strict=True)) for row in kind]
    return [max(0.0, part) ** (1 / 2.4) for part in parts]


def test_labels_that_are_numbers_are_places_of_a_scatter_plot() -> None:
    root = parsed(draw(chart("scatter", [("0", 1), ("1", 1), ("10", 1)])))
    xs = [
        path_corners(one.attrib["d"])[0][0] for one in root.iter(f"{SVG}path") if "mark" in one.attrib.get("class", "")
    ]

    assert (xs[1] - xs[0]) * 9 == pytest.approx(xs[2] - xs[1], abs=1)


@pytest.mark.parametrize("label", ["1_000", "nan", "inf", "1e999", "٣", "0x10", "one"])
def test_one_label_that_is_no_number_makes_all_of_them_names(label: str) -> None:
    root = parsed(draw(chart("scatter", [("0", 1), ("1", 1), (label, 1)])))
    xs = [
        path_corners(one.attrib["d"])[0][0] for one in root.iter(f"{SVG}path") if "mark" in one.attrib.get("class", "")
    ]

    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2)


@pytest.mark.parametrize(("values", "share"), [((2, 3), 0), ((-9, -10), 0), ((-5, 5), 0.5), ((-10, -1), 1)])
def test_the_base_is_at_zero_or_at_the_lower_edge(values: tuple[float, float], share: float) -> None:
    root = parsed(draw(chart("line", months(*values))))
    lines = {one.attrib["class"]: path_corners(one.attrib["d"]) for one in root.iter(f"{SVG}path")}
    top, bottom = min(y for _, y in lines["grid"]), max(y for _, y in lines["grid"])

    assert lines["axis"][0][1] == pytest.approx(bottom - share * (bottom - top), abs=0.2)


def test_a_series_of_one_point_is_seen_among_lines() -> None:
    crowd = Chart(type="line", series=[*chart("line", lists(1, 400)).series, labelled("One", ("7", 3))])

    assert draw(crowd).count('class="mark') == 1


def test_lines_are_named_where_they_end() -> None:
    root = parsed(draw(chart("line", {"Low": [1, 1], "High": [1, 9], "Same": [1, 9]})))
    names = {one.text: float(one.attrib["y"]) for one in root.iter(f"{SVG}text") if "end" in one.get("class", "")}

    assert sorted(names, key=names.__getitem__) in (["High", "Same", "Low"], ["Same", "High", "Low"])
    assert abs(names["High"] - names["Same"]) >= WIDE.font
    assert ' end"' not in draw(chart("line", lists(20, 3)))


def test_what_the_pointer_rests_on_says_all_that_is_there() -> None:
    root = parsed(draw(chart("bar", {"North": [1234567, 2], "South": [3]})))
    bands = [one for one in root.iter(f"{SVG}rect") if one.get("class") == "hit"]

    assert [band.findtext(f"{SVG}title") for band in bands] == ["1\nNorth: 1,234,567\nSouth: 3", "2\nNorth: 2"]


def test_a_pie_is_a_ring_with_its_total_in_the_middle() -> None:
    texts = [one.text for one in parsed(draw(chart("pie", [("A", 300_000), ("B", 100_000)]))).iter(f"{SVG}text")]

    assert texts == ["400K", "Total", "A", "300K", "75%", "B", "100K", "25%"]


def test_parts_that_are_percentages_are_told_once() -> None:
    texts = [one.text for one in parsed(draw(chart("pie", [("A", 58), ("B", 42)]))).iter(f"{SVG}text")]

    assert texts == ["100", "Total", "A", "58%", "B", "42%"]


def test_korean_counts_in_its_own_units() -> None:
    units = parse_units(translator("ko")(chart_phrases(GALLERY["bar"], []).units.template))

    assert [compact_number(value, units) for value in (9_500, 17_650, 120_500, 420_000_000, 3e12)] == [
        "9,500",
        "17,650",
        "12.05만",
        "4.2억",
        "3조",
    ]
    assert fit_scale([0, 4e8], max_steps=4, from_zero=True).labels(units) == ["0", "1억", "2억", "3억", "4억"]


def test_hatchings_are_seen_only_where_contrast_is_asked_for() -> None:
    style = draw(GALLERY["pie"]).partition("<style>")[2].partition("</style>")[0]
    plain, _, contrast = style.partition("@media (prefers-contrast:more),(forced-colors:active)")

    assert ".cut{stroke-width" in plain
    assert ".cut{stroke:" in contrast


def test_a_small_chart_as_it_is_written() -> None:
    svg = draw(chart("bar", [("A", 1), ("B & C", -2)], title="T"), NARROW)

    assert re.sub("<svg .*</style>", "", svg).replace("><", ">\n<").splitlines() == snapshot(
        [
            '<path class="grid" d="M30.7 240.8h317.3M30.7 167.5h317.3M30.7 94.1h317.3M30.7 20.8h317.3"/>',
            '<text x="24.7" y="245.7" text-anchor="end" class="soft">−2</text>',
            '<text x="24.7" y="172.4" text-anchor="end" class="soft">−1</text>',
            '<text x="24.7" y="99" text-anchor="end" class="soft">0</text>',
            '<text x="24.7" y="25.7" text-anchor="end" class="soft">1</text>',
            '<path class="f0" d="M78.04 94.1V24.8a4 4 0 0 1 4 -4h52.16a4 4 0 0 1 4 4V94.1z"/>',
            '<path class="f0" d="M236.68 94.1V236.8a4 4 0 0 0 4 4h52.16a4 4 0 0 0 4 -4V94.1z"/>',
            '<text x="110" y="16.8" text-anchor="middle">1</text>',
            '<text x="268.7" y="254.8" text-anchor="middle">−2</text>',
            '<path class="axis" d="M30.7 94.1h317.3"/>',
            '<rect class="hit" x="30.7" y="20.8" width="158.6" height="220">',
            "<title>A",
            "1</title>",
            "</rect>",
            '<rect class="hit" x="189.4" y="20.8" width="158.6" height="220">',
            "<title>B &amp; C",
            "-2</title>",
            "</rect>",
            '<text x="110" y="278.8" text-anchor="middle" class="soft">A</text>',
            '<text x="268.7" y="278.8" text-anchor="middle" class="soft">B &amp; C</text>',
            "</svg>",
        ]
    )


def test_a_file_has_its_title_a_background_and_plain_colours() -> None:
    svg = draw_file(chart("line", [("A", 1), ("B", 2)], title="T <1>"))

    assert svg.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg"')
    assert "var(" not in svg
    assert "light-dark" not in svg
    assert ">T &lt;1&gt;</text>" in svg
    assert ' width="720" height="' in svg
