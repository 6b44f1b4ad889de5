"""The CSV file of a chart."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from madang.services.chart.domain.charts import Chart
from madang.services.chart.engine.csv_files import csv_file
from tests.services.chart.charts import chart, labelled

VALUES = st.floats(allow_nan=False, allow_infinity=False)
LABELS = st.text(min_size=1, max_size=20)


def test_a_csv_file_is_read_by_others_as_it_was_meant() -> None:
    two_series = Chart(
        type="bar",
        series=[labelled('Say "hi", all', ("a,b", 1.5), ("한\n국", -2), ("-3", 1e20)), labelled("B", ("a,b", 7))],
    )

    assert csv_file(two_series) == snapshot("""\
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
    file = csv_file(Chart(type="bar", series=[labelled(label, (label, 1)), labelled("B", (label, -1))], x_label=label))
    cells = [cell for row in csv.reader(io.StringIO(file.removeprefix("\ufeff"), newline="")) for cell in row]

    assert cells == [f"'{label}", f"'{label}", "B", f"'{label}", "1", "-1"]


@given(st.lists(st.tuples(LABELS, VALUES), min_size=1, max_size=20))
def test_every_number_survives_the_way_through_a_csv_file(points: list[tuple[str, float]]) -> None:
    file = csv_file(chart("bar", points)).removeprefix("\ufeff")
    rows = list(csv.reader(io.StringIO(file, newline="")))[1:]

    assert [(row[0].removeprefix("'"), float(row[1])) for row in rows] == [
        (label.removeprefix("'"), value) for label, value in points
    ]
