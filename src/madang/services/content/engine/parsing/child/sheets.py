"""XLSX: each sheet under its name, one row a line, cells set off by tabs."""

from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta

from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum

from .document import DocumentText
from .refused import Refused

Cell = int | float | str | bool | time | date | datetime | timedelta


def read_sheets(data: bytes, mime_type: str) -> DocumentText:
    document = DocumentText(mime_type)
    has_text = False
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        for sheet in workbook.sheets_metadata:
            if sheet.typ != SheetTypeEnum.WorkSheet:
                continue
            document.start_page()
            document.add_text(f"# {sheet.name}")
            for row in workbook.get_sheet_by_name(sheet.name).iter_rows():
                if line := "\t".join(_shown(cell) for cell in row).rstrip():
                    document.add_text(line)
                    has_text = True
    except PasswordError as error:
        raise Refused("password") from error
    except CalamineError as error:
        raise Refused("broken") from error
    if not has_text:
        raise Refused("no_text")
    return document


def _shown(cell: Cell) -> str:
    if isinstance(cell, str):
        return " ".join(cell.split()) if "\n" in cell or "\t" in cell or "\r" in cell else cell
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        # Excel knows no whole numbers: 3 is kept as 3.0.
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat()
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)
