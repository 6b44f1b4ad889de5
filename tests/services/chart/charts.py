"""Charts to test with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from madang.core.calls import Locale
from madang.core.phrases import Phrase
from madang.rendering.catalogue import translator
from madang.rendering.pages import render_fragment
from madang.services.chart.domain.charts import Chart, ChartType, Point, Series
from madang.services.chart.domain.summaries import summarize
from madang.services.chart.engine.canvas import WIDE, PictureSize
from madang.services.chart.engine.drawing import Drawing, draw_chart, lay_out
from madang.services.chart.views import ChartPage, chart_phrases, describe

HOSTILE = [
    '<img src=x onerror="window.__pwned=1">',
    "</title></svg></script><script>window.__pwned=1</script><!--",
    "]]><![CDATA[",
    "{{ 7 * 7 }}{% raw %}{braces}",
    "&amp;&lt;script&gt;&#0;",
    "javascript:alert(1)",
    '" onload="window.__pwned=1',
    "\u202eروس\u2066 한국어 \x01\x08\x1b\ufffe",
    "</style></template><img src=http://canary.example/x>",
]


def english(template: str) -> str:
    return template


def chart(type: ChartType, data: Mapping[str, Sequence[float]] | Sequence[tuple[str, float]], **texts: str) -> Chart:
    """Return a chart of one series of pairs, or of several series whose points are called 1, 2, 3."""
    if isinstance(data, Mapping):
        series = [
            Series(
                name=name, data=[Point(label=str(place), value=value) for place, value in enumerate(values, start=1)]
            )
            for name, values in data.items()
        ]
    else:
        series = [Series(name="", data=[Point(label=label, value=value) for label, value in data])]
    return Chart(type=type, series=series, **texts)


def fragment(chart: Chart, locale: Locale = "en") -> str:
    """Return the page's content as the product makes it."""

    def fill(template: str, **values: object) -> str:
        return Phrase(template, values).render(translator(locale))

    return render_fragment("chart/chart.html", {"chart": chart_page(chart)}, fill)


def chart_page(chart: Chart) -> ChartPage:
    return ChartPage(chart, chart_phrases(chart, describe(chart, summarize(chart))), draw_chart)


def draw(chart: Chart, size: PictureSize = WIDE) -> str:
    """Return the chart in English as an element of a page."""
    return _drawing(chart, size).inline()


def draw_file(chart: Chart) -> str:
    """Return the chart in English as an SVG file."""
    return _drawing(chart, WIDE).file()


def _drawing(chart: Chart, size: PictureSize) -> Drawing:
    return lay_out(chart, chart_phrases(chart, describe(chart, summarize(chart))), english, size)


def months(*values: float) -> list[tuple[str, float]]:
    names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    return [(names[place % 12], value) for place, value in enumerate(values)]


def lists(count: int, points: int) -> dict[str, list[float]]:
    return {
        f"Series {number + 1}": [math.sin(place / 3 + number) * 40 + 60 + 12 * number for place in range(points)]
        for number in range(count)
    }


def labelled(name: str, *points: tuple[str, float]) -> Series:
    return Series(name=name, data=[Point(label=label, value=value) for label, value in points])


GALLERY: dict[str, Chart] = {
    "bar": chart(
        "bar", months(12, 19, 3, 5, 2, 23), title="Orders per month", x_label="Month", y_label="Orders (thousands)"
    ),
    "bar-negative": chart("bar", months(1200, -450, 3100, -2210, 0, 890, 12), title="Profit and loss", y_label="EUR"),
    "bar-series": Chart(
        type="bar",
        title="Quarters",
        y_label="Visitors",
        series=[
            labelled(name, *((f"Q{number}", base * number + 300) for number in range(1, 5)))
            for name, base in (("North", 900), ("South", 1400), ("East", 400), ("West", 2000))
        ],
    ),
    "bar-long": chart(
        "bar",
        [(f"A very long name of the category number {number}, longer than its bar", number**2) for number in range(18)],
        title="A title that is much longer than one line on a narrow screen would ever be able to hold",
        x_label="Categories whose names do not fit",
        y_label="Squares",
    ),
    "bar-many": chart("bar", [(f"Day {day}", math.sin(day / 40) * 50 + day % 7) for day in range(1500)], title="Days"),
    "line": chart("line", months(3.2, 4.1, 7.9, 12.4, 16.8, 20.1, 22.3, 21.9, 17.6, 12.2, 7.1, 4.0), title="Warmth"),
    "line-series": chart("line", lists(6, 24), title="Six series", x_label="Hour", y_label="Load"),
    "line-twenty": chart("line", lists(20, 30), title="Twenty series"),
    "line-huge": chart("line", months(1.2e18, 3.4e18, -2.2e18, 9e17), title="Huge numbers"),
    "line-tiny": chart("line", months(1.2e-9, 3.4e-9, 2.2e-9, 9e-10), title="Tiny numbers"),
    "line-close": chart("line", months(1_000_000_001, 1_000_000_003, 1_000_000_002), title="Close to each other"),
    "line-one": chart("line", months(42), title="One point"),
    "line-equal": chart("line", months(7, 7, 7, 7), title="All equal"),
    "line-thousands": chart(
        "line",
        [(f"t{n}", math.sin(n / 200) * 100 + (n * 7919 % 101) / 4 + 400 * (n == 6000)) for n in range(10_000)],
        title="Ten thousand points",
    ),
    "area": chart("area", months(5, 9, 14, 11, 18, 26, 24, 30), title="Growth", y_label="Users (thousands)"),
    "area-series": chart("area", {"Mobile": [5, 9, 14, 18, 26], "Desktop": [20, 18, 17, 12, 9]}, title="Devices"),
    "area-negative": chart("area", months(5, -9, 14, -11, 8), title="Around zero"),
    "scatter": Chart(
        type="scatter",
        title="Height and weight",
        x_label="Height (cm)",
        y_label="Weight (kg)",
        series=[
            labelled("Women", *((f"{150 + n * 1.7:.1f}", 48 + n * 1.1 + n * 37 % 11) for n in range(18))),
            labelled("Men", *((f"{160 + n * 1.9:.1f}", 55 + n * 1.3 + n * 53 % 13) for n in range(18))),
        ],
    ),
    "scatter-named": chart("scatter", [("Seoul", 9.4), ("Busan", 3.3), ("Daegu", 2.4)], title="Cities"),
    "scatter-thousands": chart(
        "scatter", [(str(n * 7919 % 10_007), (n * 104_729 % 1009) * math.sin(n)) for n in range(5000)], title="A cloud"
    ),
    "pie": chart("pie", [("Rent", 900), ("Food", 420), ("Travel", 160), ("Books", 75), ("Other", 45)], title="Budget"),
    "pie-many": chart("pie", [(f"Part {n} of a large whole", 100 / (n + 1)) for n in range(30)], title="Many slices"),
    "pie-one": chart("pie", [("Everything", 5)], title="One slice"),
    "korean": chart(
        "bar",
        [("서울특별시 강남구", 54), ("부산광역시 해운대구", 38), ("대전", 15), ("인천광역시 연수구", 29), ("제주", 7)],
        title="지역별 주문 건수",
        x_label="지역",
        y_label="주문 (건)",
    ),
    "korean-pie": chart("pie", [("주거비와 관리비", 90), ("식비", 42), ("교통", 16), ("도서", 7)], title="한 달 지출"),
}
