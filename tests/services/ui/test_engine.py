"""What charts refuse, and what they say without being seen."""

from __future__ import annotations

import csv as csv_format
import io
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic import ValidationError

from madang.core.errors import InvalidArguments
from madang.rendering.catalogue import translator
from madang.rendering.replies import render_text
from madang.services.ui.engine import (
    MAX_POINTS,
    Chart,
    Point,
    Series,
    check,
    csv,
    summary,
    table,
    text,
)
from tests.services.ui.charts import GALLERY, chart, english, labelled, lists, months

VALUES = st.floats(allow_nan=False, allow_infinity=False)
LABELS = st.text(min_size=1, max_size=20)


def refused(chart: Chart) -> tuple[str, str]:
    with pytest.raises(InvalidArguments) as caught:
        check(chart)
    return str(caught.value.message), str(caught.value.hint or "")


@pytest.mark.parametrize("name", GALLERY)
def test_a_good_chart_is_taken(name: str) -> None:
    check(GALLERY[name])


@pytest.mark.parametrize(
    "point",
    [
        {"label": "", "value": 1},
        {"label": "x" * 201, "value": 1},
        {"label": "x", "value": math.nan},
        {"label": "x", "value": math.inf},
        {"label": "x", "value": True},
        {"label": "x", "value": "1"},
        {"label": "x", "value": None},
        {"label": "x", "value": 10**400},
        {"label": 1, "value": 1},
        {"label": "x"},
        {"label": "x", "value": 1, "colour": "red"},
    ],
)
def test_a_point_is_a_label_and_a_finite_number(point: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Point.model_validate(point)


def test_an_integer_is_a_number_too() -> None:
    assert Point.model_validate({"label": "x", "value": 3}).value == 3.0


@pytest.mark.parametrize(
    "series", [[], [{"name": "x", "data": []}], [{"name": "x", "data": [{"label": "a", "value": 1}]}] * 21]
)
def test_a_chart_has_one_to_twenty_series_with_points(series: list[Any]) -> None:
    with pytest.raises(ValidationError):
        Chart.model_validate({"type": "bar", "series": series})


def test_a_pie_refuses_negative_parts() -> None:
    assert refused(chart("pie", [("a", 1), ("b", -2)])) == snapshot(
        (
            "data.1.value: a pie shows parts of a whole, so it cannot be negative (-2).",
            "Use type 'bar' for negative values.",
        )
    )


def test_a_pie_refuses_several_series() -> None:
    assert refused(chart("pie", lists(2, 3))) == snapshot(
        (
            "series: a pie shows one series, and here are 2.",
            "Use type 'bar' to compare several series, or one pie for each.",
        )
    )


def test_a_pie_of_nothing_is_refused() -> None:
    assert refused(chart("pie", [("a", 0), ("b", -0.0)])) == snapshot(
        ("data: a pie needs a value above zero, and all of these are zero.", "Use type 'bar' to show zeros.")
    )


def test_too_many_points_over_all_series_are_refused() -> None:
    assert refused(chart("line", lists(2, MAX_POINTS // 2 + 1))) == snapshot(
        (
            "series: has 10002 points in all, and a chart takes 10000.",
            "Take every n-th point, or the mean of each group of points.",
        )
    )


def test_series_without_a_name_of_their_own_are_refused() -> None:
    same = labelled("Same", ("a", 1))

    assert refused(Chart(type="bar", series=[same, same])) == snapshot(
        (
            "series.1.name: is already the name of series.0.",
            "Give each series a name of its own: the legend tells them apart by it.",
        )
    )
    assert refused(Chart(type="bar", series=[same, labelled(" ", ("a", 1))])) == snapshot(
        ("series.1.name: must not be blank where there are several series.", "")
    )


def test_the_text_tells_the_numbers_and_a_small_table() -> None:
    shown = Chart(
        type="line",
        x_label="Month",
        series=[
            labelled("Sales", *months(3, 4, 5, 4, 3, 99, 4, 5)),
            labelled("Costs, all of them", *months(2, 2.5, 1e-7, -4)),
        ],
    )

    assert render_text(text(shown), english) == snapshot("""\
Line chart with 2 series and 12 point(s) in all.
Sales: 8 point(s), min 3 (Jan), max 99 (Jun), mean 15.875. Outliers: 99 (Jun).
Costs, all of them: 4 point(s), min -4 (Apr), max 2.5 (Feb), mean 0.125.

Month | Sales | Costs, all of them
Jan | 3 | 2
Feb | 4 | 2.5
Mar | 5 | 1e-07
Apr | 4 | -4
May | 3 | –
Jun | 99 | –
Jul | 4 | –
Aug | 5 | –\
""")
    assert render_text(text(shown), translator("ko")) == snapshot("""\
선 차트, 계열 2개, 점 모두 12개.
Sales: 점 8개, 최소 3 (Jan), 최대 99 (Jun), 평균 15.875. 이상치: 99 (Jun).
Costs, all of them: 점 4개, 최소 -4 (Apr), 최대 2.5 (Feb), 평균 0.125.

Month | Sales | Costs, all of them
Jan | 3 | 2
Feb | 4 | 2.5
Mar | 5 | 1e-07
Apr | 4 | -4
May | 3 | –
Jun | 99 | –
Jul | 4 | –
Aug | 5 | –\
""")


def test_a_long_table_in_the_text_says_what_was_left_out() -> None:
    lines = render_text(text(chart("bar", [(f"Day {day}", day) for day in range(50)])), english).splitlines()

    assert lines[-2:] == snapshot(["Day 19 | 19", "… 30 more row(s) are left out here."])
    assert len(lines) < 26


def test_outliers_are_the_farthest_first_and_at_most_five() -> None:
    values = [10.0, 11, 12, 11, 10, 12, 11] * 6 + [90.0, -50, 70, 60, 65, 1000]
    (found,) = summary(chart("line", [(str(place), value) for place, value in enumerate(values)])).series

    assert [point.value for point in found.outliers] == [1000, 90, -50, 70, 65]
    assert found.outlier_count == 6


@given(st.lists(VALUES, min_size=1, max_size=50))
def test_the_numbers_of_a_summary_are_those_of_the_data(values: list[float]) -> None:
    (found,) = summary(chart("line", [(str(place), value) for place, value in enumerate(values)])).series

    assert (found.count, found.min.value, found.max.value) == (len(values), min(values), max(values))
    assert values[int(found.min.label)] == found.min.value
    assert min(values) <= found.mean <= max(values)
    assert len(found.outliers) <= found.outlier_count
    assert all(point.value in values for point in found.outliers)


def test_equal_labels_of_several_series_stand_in_one_row_in_the_order_of_each() -> None:
    shown = Chart(
        type="bar",
        series=[
            labelled("A", ("Mon", 1), ("Wed", 3), ("Wed", 4)),
            labelled("B", ("Mon", 10), ("Tue", 20), ("Wed", 30)),
        ],
    )

    assert table(shown).rows == [["Mon", "1", "10"], ["Tue", "", "20"], ["Wed", "3", "30"], ["Wed", "4", ""]]


def test_series_with_few_labels_in_common_are_a_long_table() -> None:
    shown = Chart(type="scatter", series=[labelled(n, *((f"{n}{p}", p) for p in range(3))) for n in ("A", "B", "C")])

    assert table(shown).lines[:2] == [["label", "series", "value"], ["A0", "A", "0"]]
    assert len(table(shown).rows) == 9


def test_a_page_shows_two_hundred_rows_and_counts_the_others() -> None:
    shown = table(chart("line", [(str(place), place) for place in range(1234)]))

    assert (len(shown.rows), shown.left_out) == (200, 1034)


def test_a_csv_file_is_read_by_others_as_it_was_meant() -> None:
    shown = Chart(
        type="bar",
        series=[labelled('Say "hi", all', ("a,b", 1.5), ("한\n국", -2), ("-3", 1e20)), labelled("B", ("a,b", 7))],
    )

    assert csv(shown) == snapshot("""\
\ufefflabel,"Say ""hi"", all",B\r
"a,b",1.5,7\r
"한
국",-2,\r
-3,1e+20,\r
""")


@pytest.mark.parametrize(
    "label",
    ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1+1", "－1x", "=", "--1"],  # noqa: RUF001 full-width on purpose
)
def test_no_spreadsheet_takes_a_label_for_a_formula(label: str) -> None:
    written = csv(Chart(type="bar", series=[labelled(label, (label, 1)), labelled("B", (label, -1))], x_label=label))
    cells = [cell for row in csv_format.reader(io.StringIO(written.removeprefix("\ufeff"), newline="")) for cell in row]

    assert cells == [f"'{label}", f"'{label}", "B", f"'{label}", "1", "-1"]


@given(st.lists(st.tuples(LABELS, VALUES), min_size=1, max_size=20))
def test_every_number_survives_the_way_through_a_csv_file(points: list[tuple[str, float]]) -> None:
    written = csv(chart("bar", points)).removeprefix("\ufeff")
    rows = list(csv_format.reader(io.StringIO(written, newline="")))[1:]

    assert [(row[0].removeprefix("'"), float(row[1])) for row in rows] == [
        (label.removeprefix("'"), value) for label, value in points
    ]


def test_a_series_may_have_no_name_if_it_is_alone() -> None:
    check(Chart(type="pie", series=[Series(name="", data=[Point(label="a", value=1)])]))
