"""What views and engine hand each other: the phrases of a picture, and the picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from madang.core.phrases import Phrase, Translate
from madang.services.chart.domain.charts import Chart

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class ChartPhrases:
    """The phrases that a picture contains. `others`, the label of merged slices, has the placeholder {count}.

    `units` names what large numbers are counted in, each with its size, and `total` the sum of a pie.
    """

    name: Phrase
    description: Sequence[Phrase]
    others: Phrase
    total: Phrase
    units: Phrase


@dataclass(frozen=True, slots=True)
class DrawnChart:
    """A chart in one language: SVG elements for a page, and two files, escaped for the inside of an element."""

    pictures: Markup
    svg_file: Markup
    csv_file: Markup


DrawChart = Callable[[Chart, ChartPhrases, Translate], DrawnChart]
