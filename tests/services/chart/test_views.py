"""Charts in words, and what a page of a chart has room for."""

from __future__ import annotations

from inline_snapshot import snapshot

from madang.core.calls import Locale
from madang.rendering.catalogue import translator
from madang.rendering.replies import render_text
from madang.services.chart.domain.charts import MAX_POINTS, Chart, check_chart
from madang.services.chart.domain.summaries import summarize
from madang.services.chart.engine.drawing import draw_chart
from madang.services.chart.views import ChartPage, chart_refused, chart_shown
from tests.services.chart.charts import chart, chart_page, english, labelled, lists, months


def words(chart: Chart, locale: Locale = "en") -> str:
    """Return the text for the model, without its first line."""
    text = render_text(chart_shown(chart, summarize(chart), draw_chart).text, translator(locale))
    return "\n".join(text.splitlines()[1:])


def refused(chart: Chart) -> tuple[str, str]:
    problem = check_chart(chart)
    assert problem is not None
    error = chart_refused(chart, problem)
    return str(error.message), str(error.hint or "")


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
    several = Chart(
        type="line",
        x_label="Month",
        series=[
            labelled("Sales", *months(3, 4, 5, 4, 3, 99, 4, 5)),
            labelled("Costs, all of them", *months(2, 2.5, 1e-7, -4)),
        ],
    )

    assert words(several) == snapshot("""\
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
    assert words(several, "ko") == snapshot("""\
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


def test_the_table_in_the_text_names_its_columns_in_the_readers_language() -> None:
    scattered = Chart(
        type="scatter", series=[labelled("a", ("1", 2)), labelled("b", ("3", 4)), labelled("c", ("5", 6))]
    )

    assert words(chart("bar", months(1, 2))).splitlines()[-3] == "label | value"
    assert words(chart("bar", months(1, 2)), "ko").splitlines()[-3] == "이름 | 값"
    assert words(scattered, "ko").splitlines()[-4] == "이름 | 계열 | 값"


def test_a_long_table_in_the_text_says_what_was_left_out() -> None:
    lines = words(chart("bar", [(f"Day {day}", day) for day in range(50)])).splitlines()

    assert lines[-2:] == snapshot(["Day 19 | 19", "… 30 more rows are left out here."])
    assert len(lines) < 26


def test_a_page_shows_two_hundred_rows_and_counts_the_others() -> None:
    page = chart_page(chart("line", [(str(place), place) for place in range(1234)])).parts(english)

    assert (len(page.rows), page.left_out) == (200, 1034)


def test_a_table_names_its_columns_in_the_readers_language() -> None:
    page = chart_page(chart("line", months(1, 2)))

    assert page.parts(english).header == ["Name", "Value"]
    assert page.parts(translator("ko")).header == ["이름", "값"]


def test_the_same_chart_is_the_same_result() -> None:
    results = [chart_shown(several, summarize(several), draw_chart) for several in (chart("bar", months(1, 2)),) * 2]

    assert results[0] == results[1]
    assert results[0].page is not None
    assert isinstance(results[0].page.context["chart"], ChartPage)


def test_a_pie_is_read_for_its_shares() -> None:
    pie = chart("pie", [("가", 1), ("나", 2)])
    large = chart("pie", [("a", 1.7e308), ("b", 1.7e308)])
    many = chart("pie", [(str(number), 1) for number in range(15)])

    assert "Shares of the whole: 나 66.7 %, 가 33.3 %." in words(pie)
    assert "전체에서 차지하는 비율: 나 66.7 %, 가 33.3 %." in words(pie, "ko")
    assert "Shares of the whole: a 50 %, b 50 %." in words(large)
    assert "11 6.67 % and 3 more." in words(many)
