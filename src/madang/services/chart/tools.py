"""What an agent can do with charts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from madang.core.calls import Call
from madang.core.results import ToolResult
from madang.core.tools import tool
from madang.services.chart import views
from madang.services.chart.domain.charts import MAX_SERIES, Caption, Chart, ChartType, Points, Series, check_chart
from madang.services.chart.domain.summaries import summarize


class ChartTools:
    """The tools of the chart service."""

    @tool(effect="read", page=views.CHART_PAGE, either=("data", "series"), trusted=True)
    async def visualize_data(
        self,
        call: Call,
        type: ChartType,
        data: Points | None = None,
        series: Annotated[list[Series], Field(min_length=1, max_length=MAX_SERIES)] | None = None,
        title: Caption = "",
        x_label: Caption = "",
        y_label: Caption = "",
    ) -> ToolResult[views.ChartShown]:
        """Make a chart of data ([{label, value}]) or of several series ([{name, data}]). Does not pause."""
        if (data is None) == (series is None):
            raise views.wrong_data()
        # Constructed without validation: the provider has validated every part of it already.
        chart = Chart.model_construct(
            type=type,
            series=series or [Series.model_construct(name="", data=data or [])],
            title=title,
            x_label=x_label,
            y_label=y_label,
        )
        problem = check_chart(chart)
        if problem:
            raise views.chart_refused(chart, problem)
        from madang.services.chart.engine.drawing import draw_chart  # on first use: drawing is no part of a start

        return views.chart_shown(chart, summarize(chart), draw_chart)
