"""Charts, drawn on the server. Pure: a `Chart` goes in, texts come out; nothing is kept and nothing is loaded.

`check` it first, then `draw`, `text`, `table`, `csv` and the rest take it as it is.
"""

from madang.services.ui.engine.canvas import NARROW, WIDE, Size
from madang.services.ui.engine.chart import (
    CHART_TYPES,
    MAX_POINTS,
    MAX_SERIES,
    Chart,
    ChartType,
    Point,
    Points,
    Series,
    check,
)
from madang.services.ui.engine.drawing import draw, standalone_svg
from madang.services.ui.engine.facts import ChartSummary, SeriesSummary, Table, csv, describe, summary, table, text
from madang.services.ui.engine.page import ChartPage

__all__ = [
    "CHART_TYPES",
    "MAX_POINTS",
    "MAX_SERIES",
    "NARROW",
    "WIDE",
    "Chart",
    "ChartPage",
    "ChartSummary",
    "ChartType",
    "Point",
    "Points",
    "Series",
    "SeriesSummary",
    "Size",
    "Table",
    "check",
    "csv",
    "describe",
    "draw",
    "standalone_svg",
    "summary",
    "table",
    "text",
]
