"""Hostile files (T11 to T15): archives that lie, XML that reaches out, documents that never end, names that deceive.

Each is refused with its reason, or read for its text and nothing else. Nothing is unpacked, so there is nothing to
clean up: the process that reads can write no file.
"""

from __future__ import annotations

import os
import signal
import socket
import stat
import struct
import tracemalloc
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from anyio import create_task_group, fail_after
from anyio.lowlevel import checkpoint

from madang.core.errors import InvalidArguments, LimitExceeded, ToolError
from madang.files.folders import Folders
from madang.services.content.domain.contents import MAX_CONTENT_BYTES
from madang.services.content.engine.parsing import Parsed, Parser
from madang.services.content.engine.sources import SourceReader
from tests.asking import CALL
from tests.documents import docx, part, parts, pdf, pdf_of_pages, pptx, with_declared_size, with_parts, xlsx, zipped
from tests.services.content.parsing.processes import children

OFFICE = "application/vnd.openxmlformats-officedocument."
DOCX = docx(["본문"])
XLSX = xlsx({"시트": [["본문"]]})
MEGABYTE = 1 << 20


@pytest.fixture
async def parser() -> AsyncIterator[Parser]:
    parser = Parser()
    yield parser
    await parser.close()
    assert children() == set()


@pytest.fixture
def canary() -> Iterator[socket.socket]:
    """A server that nobody may call."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server
        with pytest.raises(BlockingIOError):
            server.accept()


def address(canary: socket.socket) -> str:
    return f"http://127.0.0.1:{canary.getsockname()[1]}/canary"


async def refusal(parser: Parser, data: bytes) -> str:
    """Return why a file is refused; what else could be read goes on being read."""
    with fail_after(60), pytest.raises((InvalidArguments, LimitExceeded)) as refused:
        await parser.parse(data, filename="a.docx")
    assert (await parser.parse(DOCX, filename="a.docx")).text == "본문\n"
    return f"{refused.value.code}: {refused.value}"


def link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "word/../../x",
        "/etc/passwd",
        "..\\x",
        "word\\document.xml",
        "C:/x",
        "a" * 300,
        link("word/x"),
    ],
    ids=["up", "up from within", "absolute", "backslash up", "backslash", "drive", "300 characters", "link"],
)
async def test_t11_names_that_lead_out_of_an_archive_are_refused(parser: Parser, name: str | zipfile.ZipInfo) -> None:
    data = zipped([*parts(DOCX).items(), (name, b"/etc/passwd")])

    assert "invalid_arguments: 'a.docx' was refused: it holds parts whose names" in await refusal(parser, data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
async def test_t11_two_parts_of_one_name_are_refused(parser: Parser) -> None:
    data = zipped([*parts(DOCX).items(), ("word/document.xml", part(docx(["다른 것"]), "word/document.xml"))])

    assert "are there twice" in await refusal(parser, data)


async def test_t11_a_name_that_turns_the_text_around_is_shown_nowhere(parser: Parser) -> None:
    data = with_parts(DOCX, {"word/media/\u202egnp.exe": b"x"})

    assert await parser.parse(data, filename="a.docx") == Parsed("본문\n", f"{OFFICE}wordprocessingml.document", "")


@pytest.mark.parametrize("document", [DOCX, XLSX], ids=["docx", "xlsx"])
async def test_t12_a_bomb_is_refused_before_it_expands(parser: Parser, document: bytes) -> None:
    data = with_parts(document, {"word/media/zeros.bin": bytes(100 * MEGABYTE)})
    assert len(data) < MEGABYTE

    assert "limit_exceeded: 'a.docx' expands to more than 100 times its size" in await refusal(parser, data)


async def test_t12_more_than_256_megabytes_are_refused_whatever_the_ratio(parser: Parser) -> None:
    noise = os.urandom(3 * MEGABYTE)
    data = with_parts(DOCX, {"noise.bin": noise, "zeros.bin": bytes(257 * MEGABYTE)})

    assert "expands to more than 256 MB" in await refusal(parser, data)


@pytest.mark.parametrize(
    ("document", "name"), [(DOCX, "word/document.xml"), (XLSX, "xl/worksheets/sheet1.xml")], ids=["docx", "xlsx"]
)
async def test_t12_a_part_larger_than_it_says_is_read_no_further(parser: Parser, document: bytes, name: str) -> None:
    body = part(document, name)
    bomb = with_parts(document, {name: body + b" " * (200 * MEGABYTE)})

    assert "is broken" in await refusal(parser, with_declared_size(bomb, name, len(body)))


async def test_t12_an_archive_inside_is_not_followed(parser: Parser) -> None:
    bomb = zipped([("zeros.bin", bytes(100 * MEGABYTE))])
    data = with_parts(DOCX, {"word/embeddings/bomb.zip": bomb, "word/embeddings/bomb.docx": bomb})

    assert (await parser.parse(data, filename="a.docx")).text == "본문\n"


async def test_t12_parts_that_share_their_bytes_are_refused(parser: Parser) -> None:
    """The bomb without a ratio: a thousand entries of the directory, one body."""
    plain = zipped([*parts(DOCX).items(), ("x0", os.urandom(1000))])
    entry_at = plain.rindex(b"PK\x01\x02")
    end_at = plain.rindex(b"PK\x05\x06")
    entry = plain[entry_at:end_at]
    copies = b"".join(entry.replace(b"x0", b"x%d" % number) for number in range(1, 9))
    end = bytearray(plain[end_at:])
    count, size = struct.unpack_from("<HI", end, 10)
    struct.pack_into("<HHI", end, 8, count + 8, count + 8, size + len(copies))

    assert "lie over one another" in await refusal(parser, plain[:end_at] + copies + bytes(end))


@pytest.mark.parametrize("count", [10_001, 400_000])
async def test_t12_too_many_parts_are_refused_before_they_are_listed(parser: Parser, count: int) -> None:
    entry = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    directory = entry * count
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count & 0xFFFF, count & 0xFFFF, len(directory), 4, 0)

    assert "consists of more than 10,000 parts" in await refusal(parser, b"PK\x03\x04" + directory + end)


async def test_t12_a_million_parts_are_too_large_to_begin_with(tmp_path: Path) -> None:
    """The file is refused before a parser gets it, after one byte more than is allowed was read of it."""
    folders = Folders(tmp_path / "workspaces", [])
    with folders.of(CALL) as session:
        session.files.write("a.docx", [b"PK\x03\x04", bytes(47 * 1_000_000)])

    with pytest.raises(LimitExceeded, match="larger than 25 MiB"):
        await SourceReader(folders, MAX_CONTENT_BYTES).from_url(CALL, "a.docx")


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
REACHES = {
    "a file": '<!DOCTYPE x [<!ENTITY i SYSTEM "file:///etc/passwd">]>',
    "the network": '<!DOCTYPE x [<!ENTITY i SYSTEM "CANARY">]>',
    "a DTD of the network": '<!DOCTYPE x SYSTEM "CANARY">',
    "a parameter": '<!DOCTYPE x [<!ENTITY % p SYSTEM "CANARY"> %p;]>',
    "laughs": f"{LAUGHS}]>",
}


@pytest.mark.parametrize("dtd", REACHES.values(), ids=list(REACHES))
@pytest.mark.parametrize(
    ("document", "name"),
    [
        (DOCX, "word/document.xml"),
        (DOCX, "[Content_Types].xml"),
        (DOCX, "_rels/.rels"),
        (XLSX, "xl/worksheets/sheet1.xml"),
        (XLSX, "xl/workbook.xml"),
        (pptx([("제목", "본문")]), "ppt/slides/slide1.xml"),
    ],
    ids=["docx", "types", "relations", "xlsx", "workbook", "pptx"],
)
async def test_t13_xml_that_declares_entities_is_refused(
    parser: Parser, canary: socket.socket, document: bytes, name: str, dtd: str
) -> None:
    body = part(document, name)
    # After the declaration, where there is one.
    at = body.index(b"?>") + 2 if body.startswith(b"<?xml") else 0
    hostile = body[:at] + dtd.replace("CANARY", address(canary)).encode() + body[at:].replace("본문".encode(), b"&i;")

    data = with_parts(document, {name: hostile})

    assert "its XML declares entities" in await refusal(parser, data)


async def test_t13_another_encoding_hides_no_entities(parser: Parser) -> None:
    body = part(DOCX, "word/document.xml").decode().partition("?>")[2]
    text = '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x [<!ENTITY i "숨은 것">]>' + body.replace("본문", "&i;")
    for hidden in (text.encode("utf-16"), text.replace("UTF-16", "UTF-7").replace("<!D", "+ADwAIQ-D").encode()):
        assert "is broken" in await refusal(parser, with_parts(DOCX, {"word/document.xml": hidden}))


@pytest.mark.parametrize("name", ["a.svg", "a.xml"])
async def test_t13_svg_and_xml_are_text_in_which_nothing_is_expanded(
    parser: Parser, canary: socket.socket, name: str
) -> None:
    for dtd in REACHES.values():
        text = f'<?xml version="1.0"?>{dtd.replace("CANARY", address(canary))}<svg><script>x</script>&i;</svg>'

        assert (await parser.parse(text.encode(), filename=name)).text == text


async def test_t13_templates_and_pictures_of_the_network_are_not_asked_for(
    parser: Parser, canary: socket.socket
) -> None:
    kinds = ("attachedTemplate", "image", "officeDocument", "footnotes")
    outside = "".join(
        f'<Relationship Id="x{kind}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}"'
        f' Target="{address(canary)}" TargetMode="External"/>'
        for kind in kinds
    )
    names = ("word/_rels/document.xml.rels", "_rels/.rels")
    # Before those of the document itself.
    changed = {
        name: part(DOCX, name).replace(b"<Relationship ", outside.encode() + b"<Relationship ", 1) for name in names
    }

    assert (await parser.parse(with_parts(DOCX, changed), filename="a.docx")).text == "본문\n"


async def test_t13_a_web_page_loads_nothing(parser: Parser, canary: socket.socket) -> None:
    url = address(canary)
    page = f"<html><link rel=stylesheet href={url}><img src={url}><iframe src={url}></iframe><base href={url}>본문"

    assert (await parser.parse(page.encode(), filename="a.html")).text == "본문\n"


async def test_t14_a_pdf_of_a_hundred_thousand_pages_is_refused(parser: Parser) -> None:
    assert "limit_exceeded: 'a.docx' has more than 20,000 pages" in await refusal(parser, pdf_of_pages(100_000))


CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
ROUND = pdf([CATALOGUE, b"<< /Type /Pages /Count 1 /Kids [2 0 R] >>"])
TABLE_AT = ROUND.index(b"xref\n0")
REMARKABLE = {
    "pages within themselves": ROUND,
    "a table that goes on with itself": ROUND.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev %d" % TABLE_AT),
    "a table that says it is long": ROUND.replace(b"xref\n0 3", b"xref\n0 2000000000"),
    "a size that is a lie": ROUND.replace(b"/Size 3", b"/Size 2147483647"),
    "pages that are a lie": ROUND.replace(b"/Count 1", b"/Count 2147483647"),
    "arrays in arrays": pdf([CATALOGUE, b"[" * 500_000]),
    "a table that points at itself": ROUND.replace(b"startxref\n%d" % TABLE_AT, b"startxref\n%d" % (TABLE_AT + 4)),
}


@pytest.mark.parametrize("data", REMARKABLE.values(), ids=list(REMARKABLE))
async def test_t14_a_pdf_that_runs_in_circles_is_refused(parser: Parser, data: bytes) -> None:
    assert "invalid_arguments" in await refusal(parser, data)


def pdf_bomb() -> bytes:
    """A page that is drawn with 600 MB. Made on use: every worker would make it while it collects its tests."""
    return pdf_of_pages(1, b"q " * (300 * MEGABYTE))


def far_cells() -> bytes:
    """A sheet of two cells, so far apart that a table of all between them is half a terabyte."""
    sheet = part(XLSX, "xl/worksheets/sheet1.xml")
    far = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    return with_parts(XLSX, {"xl/worksheets/sheet1.xml": sheet.replace(b"</sheetData>", far)})


@pytest.mark.parametrize("make", [pdf_bomb, far_cells], ids=["pdf", "xlsx"])
async def test_t14_a_document_that_eats_memory_is_stopped_and_the_next_is_read(
    parser: Parser, make: Callable[[], bytes]
) -> None:
    assert "limit_exceeded: 'a.docx' needs more than 512 MB of memory" in await refusal(parser, make())


async def test_t14_a_huge_picture_is_not_even_looked_at(parser: Parser) -> None:
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II5B", 65_535, 65_535, 8, 6, 0, 0, 0)

    assert "is a picture" in await refusal(parser, header)


async def test_t14_at_the_deadline_the_reader_is_killed_and_others_go_on_meanwhile() -> None:
    parser = Parser(deadline_s=1)
    errors: list[ToolError] = []

    async def read_forever() -> None:
        try:
            await parser.parse(DOCX, filename="느린 것.docx")
        except LimitExceeded as error:
            errors.append(error)

    with fail_after(60):
        async with create_task_group() as tasks:
            tasks.start_soon(read_forever)
            tasks.start_soon(read_forever)
            while len(pids := children()) < 2:
                await checkpoint()
            # Neither will ever answer.
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            assert (await parser.parse("글".encode(), filename="a.txt")).text == "글"
            assert errors == []
        assert [str(error) for error in errors] == ["'느린 것.docx' could not be read within 1 second."] * 2
        assert not pids & children()
        assert (await parser.parse(DOCX, filename="a.docx")).text == "본문\n"
    await parser.close()


@pytest.mark.parametrize("name", ["cat.png", "a.docx", "a.pdf", "a.txt"])
async def test_t15_a_web_page_is_one_under_every_name(parser: Parser, name: str) -> None:
    page = b"\n <!-- x --><!DOCTYPE html><script>alert(1)</script><p>text"

    assert await parser.parse(page, filename=name, mime_type="image/png") == Parsed("text\n", "text/html", "utf-8")


@pytest.mark.parametrize("name", ["a.pdf", "a.html", "a.png", "a.xlsx", "a"])
async def test_t15_a_document_is_one_under_every_name(parser: Parser, name: str) -> None:
    assert await parser.parse(DOCX, filename=name, mime_type="text/html") == Parsed(
        "본문\n", f"{OFFICE}wordprocessingml.document", ""
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ('a"; x="b\r\nSet-Cookie: c', "'a\"; x=\"b\ufffd\ufffdSet-Cookie: c' is a picture"),
        ("한글 이름.png", "'한글 이름.png' is a picture"),
        ("\u202egnp.exe\0\x1b[31m", "'\ufffdgnp.exe\ufffd\ufffd[31m' is a picture"),
        ("가" * 300 + ".png", f"'{'가' * 60}…{'가' * 15}.png' is a picture"),
        ("\ud800.png", "'\ufffd.png' is a picture"),
        ("{filename}", "'{filename}' is a picture"),
        ("", "'' is a picture"),
    ],
)
async def test_t15_a_name_cannot_break_the_sentence_it_is_in(parser: Parser, name: str, shown: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        await parser.parse(b"\x89PNG\r\n\x1a\n", filename=name)

    assert str(refused.value).startswith(shown)


async def test_t12_a_data_url_does_not_grow_while_it_is_decoded() -> None:
    """Python's own way makes a list of all percent signs; escapes that lie across two parts are still one."""
    text = "%41b%" * 200_000
    tracemalloc.start()
    try:
        source = await SourceReader(None, 25 * MEGABYTE).from_url(CALL, f"data:,{text}")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert source.data == b"Ab%" * 200_000
    assert peak < 10 * MEGABYTE
