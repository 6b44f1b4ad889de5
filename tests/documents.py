"""Makers of documents: honest ones by the libraries and the browser that people use, hostile ones byte by byte."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

from docx import Document
from openpyxl import Workbook
from playwright.async_api import Browser
from pptx import Presentation
from pptx.util import Inches

_SUBJECTS = [
    "회의록이",
    "보고서가",
    "담당자가",
    "고객사가",
    "연구팀이",
    "예산안이",
    "시스템이",
    "사용자가",
    "도서관이",
    "대학교가",
]
_PLACES = ["서울에서", "부산에서", "회의실에서", "현장에서", "온라인으로", "본사에서", "연구소에서", "도서관에서"]
_OBJECTS = ["계획을", "결과를", "자료를", "문서를", "일정을", "예산을", "품질을", "색인을", "목록을", "평가를"]
_VERBS = ["검토했다.", "발표했다.", "수정했다.", "승인했다.", "정리했다.", "공유했다.", "측정했다.", "기록했다."]
_EXTRAS = [
    "2024년",
    "3월",
    "15일에",
    "API",
    "v2.1을",
    "통해",
    "(주)한빛의",
    "약",
    "1,234건을",
    "99.5%",
    "Korean",
    "search",
    "훈민정음",
    "뷁",
]


def sentences(count: int, seed: int = 1) -> list[str]:
    """Return Korean sentences with the numbers, signs and English that real ones have."""
    random = Random(seed)
    words = (_SUBJECTS, _PLACES, _EXTRAS, _OBJECTS, _VERBS)
    return [" ".join(random.choice(kind) for kind in words) for _ in range(count)]


def word_f1(expected: str, found: str) -> float:
    """Return how well the words agree, wherever they stand: 1 is all of them and no other."""
    wanted, got = Counter(expected.split()), Counter(found.split())
    shared = (wanted & got).total()
    return 2 * shared / (wanted.total() + got.total())


def html_page(body: str, title: str = "문서") -> str:
    head = f'<meta charset="utf-8"><title>{title}</title><style>body {{ font-family: sans-serif }}</style>'
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"


def paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{text}</p>" for text in texts)


async def printed(browser: Browser, html: str) -> bytes:
    """Return what Chromium prints of a page: a PDF with subset fonts and compressed streams."""
    page = await browser.new_page()
    try:
        await page.set_content(html)
        return await page.pdf(format="A4")
    finally:
        await page.close()


def docx(texts: Sequence[str], table: Sequence[Sequence[str]] = ()) -> bytes:
    document = Document()
    for text in texts:
        document.add_paragraph(text)
    if table:
        grid = document.add_table(len(table), len(table[0]))
        for row, cells in zip(grid.rows, table, strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
    return _saved(document)


def xlsx(sheets: Mapping[str, Iterable[Sequence[Any]]]) -> bytes:
    workbook = Workbook()
    assert workbook.active is not None
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return _saved(workbook)


def pptx(slides: Iterable[tuple[str, str]], *, notes: str = "", table: Sequence[Sequence[str]] = ()) -> bytes:
    """Return slides of a title and a text box each; the last one has the notes and the table."""
    presentation = Presentation()
    for title, text in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        slide.shapes.title.text = title
        box = slide.shapes.add_textbox(Inches(1), Inches(2), Inches(6), Inches(3))
        box.text_frame.text = text
    if notes:
        slide.notes_slide.notes_text_frame.text = notes
    if table:
        size = (len(table), len(table[0]))
        grid = slide.shapes.add_table(*size, Inches(1), Inches(5), Inches(6), Inches(1)).table
        for row, cells in enumerate(table):
            for column, cell in enumerate(cells):
                grid.cell(row, column).text = cell
    return _saved(presentation)


def _saved(document: Any) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def zipped(entries: Iterable[tuple[str | zipfile.ZipInfo, bytes]]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return file.getvalue()


def parts(document: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def part(document: bytes, name: str) -> bytes:
    return parts(document)[name]


def with_parts(document: bytes, changed: Mapping[str, bytes]) -> bytes:
    """Return an office document with parts replaced or added."""
    return zipped({**parts(document), **changed}.items())


def with_declared_size(archive: bytes, name: str, size: int) -> bytes:
    """Return the archive with another expanded size of one entry, in its directory and at the entry itself."""
    changed = bytearray(archive)
    for mark, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        names_at = 46 if mark == b"PK\x01\x02" else 30
        start = 0
        while (start := changed.find(mark, start)) >= 0:
            if changed[start + names_at : start + names_at + len(name)] == name.encode():
                struct.pack_into("<I", changed, start + at, size)
            start += 4
    return bytes(changed)


def pdf(objects: Sequence[bytes], trailer: bytes = b"/Root 1 0 R") -> bytes:
    """Return a PDF of these objects, numbered from 1, with a table of where they are."""
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, table)
    return bytes(out)


def pdf_of_pages(count: int, content: bytes = b"BT /F1 12 Tf 72 720 Td (page) Tj ET") -> bytes:
    """Return a PDF whose pages all show the same content."""
    kids = b" ".join(b"%d 0 R" % number for number in range(5, 5 + count))
    page = b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>"
    return pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count %d /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Kids [%s] >>"
            % (count, kids),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            stream(content),
            *[page] * count,
        ]
    )


def stream(content: bytes, entries: bytes = b"") -> bytes:
    packed = zlib.compress(content, 9)
    return b"<< /Length %d /Filter /FlateDecode %s >>\nstream\n%s\nendstream" % (len(packed), entries, packed)


def typeset(pages: Sequence[Sequence[str]]) -> bytes:
    """Return a PDF with a line for each text, in a font of two-byte codes, as word processors write Korean.

    Chromium prints Noto's Korean glyphs as Type 3 fonts, which some programs are slow to read: whoever measures needs
    this kind too.
    """
    signs = sorted({sign for page in pages for line in page for sign in line})
    codes = {sign: number for number, sign in enumerate(signs, 1)}
    # No more than a hundred in one table.
    blocks = [signs[start : start + 100] for start in range(0, len(signs), 100)]
    mapped = ""
    for block in blocks:
        rows = "\n".join(f"<{codes[sign]:04x}> <{sign.encode('utf-16-be').hex()}>" for sign in block)
        mapped += f"{len(block)} beginbfchar\n{rows}\nendbfchar\n"
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n"
        f"1 begincodespacerange <0000> <ffff> endcodespacerange\n{mapped}endcmap end end"
    )
    first = 7
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Kids [%s] >>"
        % (len(pages), b" ".join(b"%d 0 R" % (first + 2 * number) for number in range(len(pages)))),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Batang /Encoding /Identity-H"
        b" /DescendantFonts [4 0 R] /ToUnicode 6 0 R >>",
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Batang /FontDescriptor 5 0 R /DW 1000 /W [%s]"
        b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>"
        % b" ".join(b"%d [500]" % code for sign, code in codes.items() if sign.isascii()),
        b"<< /Type /FontDescriptor /FontName /Batang /Flags 4 /FontBBox [0 -200 1000 900] /Ascent 900 /Descent -200"
        b" /ItalicAngle 0 /CapHeight 700 /StemV 80 >>",
        stream(cmap.encode()),
    ]
    for number, page in enumerate(pages):
        lines = ("".join(f"{codes[sign]:04x}" for sign in line) for line in page)
        shown = "".join(f"<{line}> Tj T*\n" for line in lines)
        objects.append(b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R >>" % (first + 2 * number + 1))
        objects.append(stream(f"BT /F1 10 Tf 14 TL 40 800 Td\n{shown}ET".encode()))
    return pdf(objects)
