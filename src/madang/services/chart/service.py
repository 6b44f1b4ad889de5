"""The chart service, put together."""

from __future__ import annotations

from madang.core.phrases import say
from madang.core.service import Service, ServiceMetadata
from madang.core.tools import tools_of
from madang.services.chart.tools import ChartTools


class ChartService(Service):
    """Shows data as charts. It keeps nothing."""

    metadata = ServiceMetadata(
        name="chart",
        title=say("Charts"),
        description=say("Charts for the person, with their numbers in words for the model."),
        version="1",
        instructions="visualize_data makes a chart for the person and tells its numbers.",
        former_names=("ui",),
    )

    def __init__(self) -> None:
        self.tools = tools_of(ChartTools())
