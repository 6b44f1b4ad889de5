"""PDF, page by page."""

from __future__ import annotations

import codecs

import pypdfium2  # type: ignore[import-untyped]  # it has no types
from pypdfium2 import raw

from .document import MAX_DOCUMENT_PAGES, DocumentText
from .refused import Refused

# Texts come out of PDFium in it, and a confined process can import nothing.
codecs.lookup("utf-16-le")

# How PDFium marks a word that was divided at the end of its line.
_DIVISIONS = ("\x02", "\ufffe")


def open_pdf(data: bytes) -> pypdfium2.PdfDocument:
    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Refused("password" if error.err_code == raw.FPDF_ERR_PASSWORD else "broken") from error
    if len(pdf) > MAX_DOCUMENT_PAGES:
        raise Refused("pages", MAX_DOCUMENT_PAGES)
    return pdf


def read_pdf(data: bytes) -> DocumentText:
    document = DocumentText("application/pdf")
    pdf = open_pdf(data)
    count = len(pdf)
    broken = 0
    for number in range(count):
        document.start_page()
        try:
            document.add_text(_page(pdf, number))
        except pypdfium2.PdfiumError:
            # An empty page, as in every viewer; the others can still be read.
            document.add_text("")
            broken += 1
    if broken == count:
        raise Refused("broken")
    return document


def _page(pdf: pypdfium2.PdfDocument, number: int) -> str:
    page = pdf[number]
    words = page.get_textpage()
    text: str = words.get_text_range()
    words.close()
    page.close()
    for mark in _DIVISIONS:
        text = text.replace(mark, "-")
    return text
