"""A chart as the page shows it: the picture for either width, the table, and the files to take away.

What a page may weigh is settled here, because it travels with each result.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from madang.core.phrases import Line, Phrase, Translate
from madang.services.ui.engine.canvas import NARROW, WIDE
from madang.services.ui.engine.chart import Chart
from madang.services.ui.engine.drawing import lay_out
from madang.services.ui.engine.facts import Table, csv, table
from madang.services.ui.engine.words import safe

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_PAGE_BYTES = 300_000
MAX_TABLE_BYTES = 50_000
_TEMPLATE_BYTES = 6_000


@dataclass(frozen=True, slots=True)
class PageParts:
    """A page's contents in one language; `csv` is empty where it would be too much for a page."""

    pictures: Markup
    table: Table
    svg: Markup
    csv: Markup


@dataclass(frozen=True, slots=True)
class ChartPage:
    """What `templates/chart.html` is filled with, as `chart`. Nothing is drawn before the template asks."""

    chart: Chart

    @property
    def title(self) -> str:
        return self.chart.title.strip()

    def parts(self, translate: Translate) -> PageParts:
        # Imported on first use, as everything that only pages need.
        from markupsafe import Markup

        wide, narrow = (lay_out(self.chart, translate, size) for size in (WIDE, NARROW))
        pictures = wide.inline() + narrow.inline()
        # Within an element only these two signs have a meaning, and a file has thousands of the others.
        svg, file = Markup(safe(wide.file())), Markup(safe(csv(self.chart)))
        shown, table_bytes = _fitting(table(self.chart), translate)
        room = MAX_PAGE_BYTES - _TEMPLATE_BYTES - _size(pictures) - _size(svg) - table_bytes
        return PageParts(pictures, shown, svg, file if _size(file) <= room else Markup())


def _fitting(whole: Table, translate: Translate) -> tuple[Table, int]:
    """Return the table in the reader's language as far as the page has room for it, and what it weighs."""
    header: list[Line] = [cell.render(translate) if isinstance(cell, Phrase) else cell for cell in whole.header]
    size = sum(_cell_size(str(cell)) for cell in header)
    rows: list[list[str]] = []
    for row in whole.rows:
        needed = sum(_cell_size(cell) for cell in row)
        if size + needed > MAX_TABLE_BYTES:
            break
        size += needed
        rows.append(row)
    return Table(header, rows, whole.left_out + len(whole.rows) - len(rows)), size


def _cell_size(text: str) -> int:
    return _size(escape(text)) + len('<th scope="row" dir="auto"></th>')


def _size(text: str) -> int:
    return len(text.encode())
