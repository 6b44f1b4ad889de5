"""Documents made by the programs that people use come out as text, Korean above all."""

from __future__ import annotations

from datetime import date, datetime, time

import pytest
from inline_snapshot import snapshot
from playwright.async_api import Browser

from madang.core.errors import InvalidArguments, LimitExceeded, NotFound
from madang.services.content.engine.parsing import Parsed, Parser
from madang.services.content.engine.parsing.child.pixels import MAX_PIXELS
from tests.documents import (
    docx,
    html_page,
    paragraphs,
    part,
    pdf,
    pdf_of_pages,
    pptx,
    printed,
    sentences,
    stream,
    typeset,
    with_parts,
    word_f1,
    xlsx,
    zipped,
)

OFFICE = "application/vnd.openxmlformats-officedocument."
TEXTS = sentences(300)
TABLE = [["이름", "수량", "비고"], ["사과", "3", "빨간 것"], ["배", "12", "나주에서 온 것"]]
WORDS = "\n".join([*TEXTS, *(cell for row in TABLE for cell in row)])


async def test_every_word_of_a_korean_pdf_comes_out_page_by_page(parser: Parser, browser: Browser) -> None:
    data = await printed(browser, html_page(paragraphs(TEXTS)))

    parsed = await parser.parse(data, filename="보고서.pdf")

    lines = parsed.text.split("\n")
    assert word_f1("\n".join(TEXTS), parsed.text) >= 0.99
    assert (parsed.mime_type, parsed.encoding) == ("application/pdf", "")
    assert parsed.page_lines[0] == 1
    assert len(parsed.page_lines) > 5
    assert all(lines[line - 1] and not lines[line - 2] for line in parsed.page_lines[1:])


async def test_every_word_of_a_pdf_in_a_font_of_two_byte_codes_comes_out(parser: Parser) -> None:
    parsed = await parser.parse(typeset([TEXTS[:40], [], TEXTS[40:80]]), filename="a.pdf")

    assert parsed.text == "\n".join([*TEXTS[:40], "", "", "", *TEXTS[40:80], ""])
    assert parsed.page_lines == (1, 42, 44)


async def test_signs_beyond_sixteen_bits_and_at_the_edge_of_a_page_come_out(parser: Parser) -> None:
    parsed = await parser.parse(typeset([["가😀나 \U00020000끝"]]), filename="a.pdf")
    edge = await parser.parse(pdf_of_pages(1, b"BT /F1 12 Tf -4 720 Td (edge) Tj ET"), filename="a.pdf")

    assert (parsed.text, edge.text) == ("가😀나 \U00020000끝\n", "edge\n")


async def test_every_word_of_a_korean_docx_comes_out(parser: Parser) -> None:
    parsed = await parser.parse(docx(TEXTS, TABLE), filename="보고서.docx")

    assert word_f1(WORDS, parsed.text) >= 0.99
    assert parsed.text.split("\n")[-4:] == ["이름\t수량\t비고", "사과\t3\t빨간 것", "배\t12\t나주에서 온 것", ""]
    assert parsed.mime_type == f"{OFFICE}wordprocessingml.document"


async def test_every_word_of_a_korean_xlsx_comes_out(parser: Parser) -> None:
    data = xlsx({"문장": [text.split() for text in TEXTS], "표": TABLE})

    parsed = await parser.parse(data, filename="보고서.xlsx")

    assert word_f1(f"{WORDS} # 문장 # 표", parsed.text) >= 0.99
    assert parsed.mime_type == f"{OFFICE}spreadsheetml.sheet"


async def test_every_word_of_a_korean_pptx_comes_out(parser: Parser) -> None:
    slides = [
        (text, "\n".join(TEXTS[number + 1 : number + 10])) for number, text in enumerate(TEXTS) if number % 10 == 0
    ]

    parsed = await parser.parse(pptx(slides, table=TABLE), filename="보고서.pptx")

    assert word_f1(WORDS, parsed.text) >= 0.99
    assert parsed.mime_type == f"{OFFICE}presentationml.presentation"
    assert len(parsed.page_lines) == len(slides)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp949"])
async def test_every_word_of_a_korean_web_page_comes_out(parser: Parser, encoding: str) -> None:
    page = html_page(paragraphs(TEXTS)).replace("utf-8", encoding).encode(encoding)

    parsed = await parser.parse(page, filename="보고서.html")

    assert word_f1("\n".join(["문서", *TEXTS]), parsed.text) >= 0.99
    assert parsed.mime_type == "text/html"
    assert parsed.encoding == {"utf-16": "utf-16-le"}.get(encoding, encoding)


async def test_a_sheet_is_its_name_and_a_line_for_each_row(parser: Parser) -> None:
    moment = datetime(2024, 3, 15, 9, 30)
    rows: list[list[object]] = [
        ["날짜", "값", None, "여러\n줄", None, None],
        [date(2024, 3, 15), 3, 2.5, moment, time(9, 30), None],
        [],
        [None, True, 1e20, -0.1],
    ]

    parsed = await parser.parse(xlsx({"첫째": rows, "빈 것": [], "셋째": [["끝"]]}), filename="a.xlsx")

    assert parsed.text == snapshot("""\
# 첫째
날짜	값		여러 줄
2024-03-15	3	2.5	2024-03-15T09:30:00	09:30:00
	TRUE	1e+20	-0.1

# 빈 것

# 셋째
끝
""")
    assert parsed.page_lines == snapshot((1, 6, 8))


async def test_slides_come_in_the_order_of_the_presentation_with_tables_and_notes(parser: Parser) -> None:
    data = pptx(
        [("첫째", "가\n나"), ("둘째", "다"), ("셋째", "라")], notes="말할 것", table=[["왼쪽", "오른쪽"], ["1", "2"]]
    )
    # The last slide goes to the front, as when a person drags it there: names of parts stay.
    presentation = part(data, "ppt/presentation.xml")
    start, end = presentation.index(b"<p:sldIdLst>") + len(b"<p:sldIdLst>"), presentation.index(b"</p:sldIdLst>")
    ids = presentation[start:end].split(b"/>")[:-1]
    moved = b"".join(id + b"/>" for id in (ids[-1], *ids[:-1]))
    data = with_parts(data, {"ppt/presentation.xml": presentation[:start] + moved + presentation[end:]})

    parsed = await parser.parse(data, filename="a.pptx")

    assert parsed.text == snapshot("""\
셋째
라
왼쪽	오른쪽
1	2
말할 것

첫째
가
나

둘째
다
""")
    assert parsed.page_lines == snapshot((1, 7, 11))


async def test_a_docx_keeps_text_boxes_tabs_breaks_and_leaves_out_what_was_deleted(parser: Parser) -> None:
    data = docx(["자리"])
    body = """<w:p><w:pPr><w:tabs><w:tab w:pos="1"/></w:tabs></w:pPr><w:r><w:t>앞</w:t><w:tab/>
      <w:t xml:space="preserve">뒤 </w:t>
      <w:br/><w:t>다음 줄</w:t></w:r></w:p>
      <w:p><w:del><w:r><w:delText>지운 것</w:delText></w:r></w:del><w:ins><w:r><w:t>넣은 것</w:t></w:r></w:ins></w:p>
      <w:p><mc:AlternateContent xmlns:mc="mc"><mc:Choice>
      <w:txbxContent><w:p><w:r><w:t>상자</w:t></w:r></w:p></w:txbxContent></mc:Choice>
      <mc:Fallback><w:txbxContent><w:p><w:r><w:t>상자</w:t></w:r></w:p></w:txbxContent></mc:Fallback>
      </mc:AlternateContent></w:p>"""
    document = part(data, "word/document.xml").decode()
    start = document.index("<w:body>") + len("<w:body>")
    data = with_parts(data, {"word/document.xml": (document[:start] + body + document[start:]).encode()})

    parsed = await parser.parse(data, filename="a.docx")

    assert parsed.text == snapshot("""\
앞	뒤
다음 줄
넣은 것
상자
자리
""")


async def test_a_web_page_is_what_a_person_sees(parser: Parser) -> None:
    body = """<h1>머리 <small>작게</small></h1><p>한   문단이
      두 줄</p>text<br>after<!-- 주석 --><ul><li>하나<li>둘 <b>굵</b>게</ul><script>alert("x")</script>
      <table><caption>표</caption><tr><th>가<th>나<tr><td><p>1</p><p>2</p><td><table><tr><td>안<td>쪽</table></table>
      <div hidden>숨김</div><p style="color: red; display:none">숨김</p><template>숨김</template><pre>  들여
    쓰기</pre><img src=x alt="그림 설명"><td>떠돌이</td>"""

    parsed = await parser.parse(html_page(body, title="제목 & 이름").encode(), filename="a.html")

    assert parsed == snapshot(
        Parsed(
            text="""\
제목 & 이름
머리 작게
한 문단이 두 줄
text
after
- 하나
- 둘 굵게
표
가	나
1 2	안 쪽
  들여
    쓰기
그림 설명떠돌이
""",
            mime_type="text/html",
            encoding="utf-8",
        )
    )


async def test_a_fragment_is_a_web_page_by_its_name(parser: Parser) -> None:
    assert await parser.parse(b"<p>a<p>b &amp; c", filename="a.htm") == Parsed("a\nb & c\n", "text/html", "utf-8")


async def test_a_hundred_thousand_open_tags_are_read(parser: Parser) -> None:
    parsed = await parser.parse(b"<html><body>" + b"<div>" * 100_000 + "끝".encode(), filename="a.html")

    assert parsed.text == "끝\n"


async def test_a_page_that_is_broken_leaves_the_others(parser: Parser) -> None:
    data = pdf_of_pages(3).replace(b"6 0 obj\n<< /Type /Page", b"6 0 obj\n<< /Type /Nope")

    parsed = await parser.parse(data, filename="a.pdf")

    assert parsed.page_lines == (1, 3, 5)


SCANNED = pdf_of_pages(3, b"0 0 m 100 100 l S")
PROTECTED_PDF = pdf(
    [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 0 /Kids [] >>",
        b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % (b"11" * 32, b"22" * 32),
    ],
    b"/Root 1 0 R /Encrypt 3 0 R /ID [<00> <00>]",
)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (SCANNED, "holds no text: all it has on its 3 page(s) are pictures, as in a scan"),
        (docx([""]), "holds no text"),
        (xlsx({"빈 것": []}), "holds no text"),
        (b"<html><script>1</script>", "holds no text"),
        (PROTECTED_PDF, "protected by a password"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "protected by a password"),
        (OLE + b"HWP Document File", "Hangul (HWP)"),
        (OLE, "from before 2007"),
        (b"%PDF-1.7\nnothing", "is broken"),
        (b"PK\x03\x04nothing", "is broken"),
        (docx(["가"])[:-200], "is broken"),
        (zipped([("a.txt", b"a")]), "is a ZIP archive and no document"),
        (zipped([("mimetype", b"application/epub+zip")]), "of a kind that cannot be read here"),
        (with_parts(docx(["가"]), {"word/document.xml": b"<a><b></a>"}), "is broken"),
        (with_parts(docx(["가"]), {"[Content_Types].xml": b"<Types/>"}), "of a kind that cannot be read here"),
    ],
)
async def test_a_document_that_cannot_be_read_is_refused_with_the_reason(
    parser: Parser, data: bytes, part: str
) -> None:
    with pytest.raises(InvalidArguments) as refused:
        await parser.parse(data, filename="문서")

    assert part in str(refused.value)
    assert refused.value.hint is not None


async def test_a_page_of_a_pdf_is_drawn_with_what_stands_on_it(parser: Parser) -> None:
    red = await parser.render_page(
        pdf_of_pages(3, b"1 0 0 rg 0 396 612 396 re f"), filename="a.pdf", page=2
    )  # its upper half

    row = red.width * 3
    assert red.pages == 3
    assert abs(red.height / red.width - 792 / 612) < 0.01
    assert red.pixels[:3] == b"\xff\0\0"
    assert red.pixels[-row:] == b"\xff" * row


@pytest.mark.parametrize(("width", "height"), [(1, 10**6), (14_400, 1), (10**7, 10**7), (0.001, 0.001)])
async def test_a_page_of_any_size_is_drawn_within_bounds(parser: Parser, width: float, height: float) -> None:
    data = pdf_of_pages(1).replace(b"[0 0 612 792]", b"[0 0 %s %s]" % (str(width).encode(), str(height).encode()))

    page = await parser.render_page(data, filename="a.pdf", page=1)

    assert len(page.pixels) == page.width * page.height * 3 <= MAX_PIXELS * 3


async def test_what_cannot_be_drawn_is_refused_in_words(parser: Parser) -> None:
    with pytest.raises(NotFound, match="no such page: there are 2"):
        await parser.render_page(pdf_of_pages(2), filename="a.pdf", page=3)
    with pytest.raises(InvalidArguments, match="is broken"):
        await parser.render_page(b"%PDF-1.7\nnothing", filename="a.pdf", page=1)
    with pytest.raises(InvalidArguments, match=r"'a\.pdf' is no PDF"):
        await parser.render_page(b"Just words", filename="a.pdf", page=1)


async def test_a_page_that_takes_for_ever_to_draw_ends_at_the_limit() -> None:
    # A form that draws another one ten times, twelve deep.
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] "
    forms = [
        stream(b"/N Do " * 10, form + b"/Resources << /XObject << /N %d 0 R >> >>" % (5 + depth)) for depth in range(12)
    ]
    data = pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] /MediaBox [0 0 100 100] >>",
            b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /XObject << /N 4 0 R >> >> >>",
            *forms,
            stream(b"0 0 9 9 re f", form),
        ]
    )
    parser = Parser(deadline_s=1)
    try:
        with pytest.raises(LimitExceeded, match="could not be read within"):
            await parser.render_page(data, filename="a.pdf", page=1)
    finally:
        await parser.close()
