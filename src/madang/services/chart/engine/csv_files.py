"""The data of a chart as a CSV file."""

from __future__ import annotations

import csv
import io

from madang.services.chart.domain.charts import Chart
from madang.services.chart.domain.numbers import parse_number
from madang.services.chart.domain.tables import tabulate

_FORMULA_SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_file(chart: Chart) -> str:
    """Return all data as RFC 4180, ready for spreadsheets. Columns without a name are called as in the arguments."""
    table = tabulate(chart, chart.count)
    file = io.StringIO()
    # Without a byte order mark, Excel reads Korean as Latin letters.
    file.write("\ufeff")
    writer = csv.writer(file, lineterminator="\r\n")
    for row in [[column.name or column.kind for column in table.columns], *table.rows]:
        writer.writerow([_escape_formula(cell) for cell in row])
    return file.getvalue()


def _escape_formula(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula (CSV injection).

    A label such as `=HYPERLINK(…)` or `@SUM(…)` would be executed when the file is opened, with the person's rights.
    Spreadsheets skip leading blanks and know the full-width signs too; only a number may begin with a sign.
    """
    is_formula = cell.lstrip()[:1] in _FORMULA_SIGNS or cell[:1] in ("\t", "\r", "\n")
    return f"'{cell}" if is_formula and cell.strip() and parse_number(cell) is None else cell
