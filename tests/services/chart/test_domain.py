"""What charts refuse, their statistics and their tables."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from madang.services.chart.domain.charts import Chart, Point, Series, check_chart
from madang.services.chart.domain.numbers import plain_number
from madang.services.chart.domain.summaries import summarize
from madang.services.chart.domain.tables import Column, tabulate
from tests.services.chart.charts import GALLERY, chart, labelled

VALUES = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("name", GALLERY)
def test_a_good_chart_is_taken(name: str) -> None:
    assert check_chart(GALLERY[name]) is None


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


def test_outliers_are_the_farthest_first_and_at_most_five() -> None:
    values = [10.0, 11, 12, 11, 10, 12, 11] * 6 + [90.0, -50, 70, 60, 65, 1000]
    (summary,) = summarize(chart("line", [(str(place), value) for place, value in enumerate(values)]))

    assert [point.value for point in summary.outliers] == [1000, 90, -50, 70, 65]
    assert summary.outlier_count == 6


@given(st.lists(VALUES, min_size=1, max_size=50))
def test_the_numbers_of_a_summary_are_those_of_the_data(values: list[float]) -> None:
    (summary,) = summarize(chart("line", [(str(place), value) for place, value in enumerate(values)]))

    assert (summary.count, summary.min.value, summary.max.value) == (len(values), min(values), max(values))
    assert values[int(summary.min.label)] == summary.min.value
    assert min(values) <= summary.mean <= max(values)
    assert len(summary.outliers) <= summary.outlier_count
    assert all(point.value in values for point in summary.outliers)


def test_equal_labels_of_several_series_stand_in_one_row_in_the_order_of_each() -> None:
    several = Chart(
        type="bar",
        series=[
            labelled("A", ("Mon", 1), ("Wed", 3), ("Wed", 4)),
            labelled("B", ("Mon", 10), ("Tue", 20), ("Wed", 30)),
        ],
    )

    assert tabulate(several, 200).rows == [["Mon", "1", "10"], ["Tue", "", "20"], ["Wed", "3", "30"], ["Wed", "4", ""]]


def test_series_with_few_labels_in_common_are_a_long_table() -> None:
    several = Chart(type="scatter", series=[labelled(n, *((f"{n}{p}", p) for p in range(3))) for n in ("A", "B", "C")])

    table = tabulate(several, 200)

    assert table.columns == [Column("label"), Column("series"), Column("value")]
    assert table.rows[0] == ["A0", "A", "0"]
    assert len(table.rows) == 9


def test_a_table_counts_the_rows_it_leaves_out() -> None:
    table = tabulate(chart("line", [(str(place), place) for place in range(1234)]), 200)

    assert (len(table.rows), table.left_out) == (200, 1034)


def test_a_plain_number_has_all_its_digits() -> None:
    assert [plain_number(value) for value in (3.0, -0.0, 0.1, 1e15, 123456789012345.0)] == [
        "3",
        "0",
        "0.1",
        "1000000000000000.0",
        "123456789012345",
    ]


def test_a_series_may_have_no_name_if_it_is_alone() -> None:
    assert check_chart(Chart(type="pie", series=[Series(name="", data=[Point(label="a", value=1)])])) is None
