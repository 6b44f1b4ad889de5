"""Text files: encodings, line ends, and what they are."""

from __future__ import annotations

import codecs

import pytest

from madang.core.errors import InvalidArguments
from madang.services.content.domain.contents import MAX_CONTENT_BYTES
from madang.services.content.engine.parsing import Parsed, Parser
from tests.documents import sentences

TEXT = "\n".join(sentences(20)) + "\n"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (TEXT.encode("utf-8-sig"), "utf-8-bom"),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("cp949"), "cp949"),
    ],
    ids=["utf-8", "utf-8 with a mark", "utf-16 little", "utf-16 big", "cp949"],
)
async def test_korean_text_is_read_exactly_in_every_encoding(parser: Parser, data: bytes, encoding: str) -> None:
    assert await parser.parse(data, filename="글.txt") == Parsed(TEXT, "text/plain", encoding)


async def test_euc_kr_is_read_as_what_extends_it(parser: Parser) -> None:
    assert await parser.parse("가나다".encode("euc-kr"), filename="a") == Parsed("가나다", "text/plain", "cp949")


async def test_half_a_surrogate_pair_is_a_replacement_character(parser: Parser) -> None:
    data = codecs.BOM_UTF16_LE + "가\ud83d나".encode("utf-16-le", "surrogatepass")

    assert (await parser.parse(data, filename="a.txt")).text == "가\N{REPLACEMENT CHARACTER}나"


@pytest.mark.parametrize("text", ["ID3 tags", "RIFF files", "MZ", "BMW"])
async def test_a_text_may_begin_with_the_letters_of_a_signature(parser: Parser, text: str) -> None:
    assert (await parser.parse(text.encode(), filename="a.txt")).text == text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_lines_keep_their_numbers_whatever_ends_them(parser: Parser, end: str) -> None:
    text = end.join(["하나", "", " 셋\t", "\x0c넷\u2028다시 넷\x85"])

    parsed = await parser.parse(text.encode(), filename="a.txt")

    assert parsed.text.split("\n") == ["하나", "", " 셋\t", "\x0c넷\u2028다시 넷\x85"]


async def test_text_is_not_normalised(parser: Parser) -> None:
    decomposed = "\u1112\u1161\u11ab\u1100\u1173\u11af"

    assert (await parser.parse(decomposed.encode(), filename="a.txt")).text == decomposed


async def test_a_csv_stays_as_it_is(parser: Parser) -> None:
    text = '이름,값\n"여러\n줄",1\n,,\n'

    assert await parser.parse(text.encode("cp949"), filename="표.CSV") == Parsed(text, "text/csv", "cp949")


@pytest.mark.parametrize(
    ("text", "filename", "said", "mime_type"),
    [
        ("# 제목", "a.md", "", "text/markdown"),
        ("print(1)", "a.py", "text/html", "text/x-python"),
        ("<html><?php echo 1 ?>", "a.php", "", "text/x-php"),
        ("<html> tags in prose", "a.md", "", "text/markdown"),
        ("a,b", "data", "text/csv; charset=utf-8", "text/csv"),
        ("a,b", "data", "image/png", "text/plain"),
        ("plain", "a.pdf", "application/pdf", "text/plain"),
        ("plain", "a.png", "", "text/plain"),
        ("'%PDF-1.7' begins a PDF", "a.txt", "", "text/plain"),
        ('<?xml version="1.0"?><a/>', "a", "", "application/xml"),
        ('<?xml version="1.0"?>\n<!-- x --><svg xmlns="a"/>', "a.txt", "", "image/svg+xml"),
        ("{}", "a.json", "", "application/json"),
        ("", "empty.txt", "", "text/plain"),
    ],
)
async def test_what_a_text_is(parser: Parser, text: str, filename: str, said: str, mime_type: str) -> None:
    assert await parser.parse(text.encode(), filename=filename, mime_type=said) == Parsed(text, mime_type, "utf-8")


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"text\0more", "binary data"),
        (bytes(range(256)) * 4, "binary data"),
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        (b"\x1f\x8b\x08", "a packed archive"),
        (b"\x7fELF\x02", "a program"),
        (b"SQLite format 3\0", "a database"),
        ("가".encode() + b"\xed\xa0\x80", "UTF-8 text, and damaged at byte 4"),
        ("créée".encode("latin-1"), "in no encoding that can be read here"),
        ("中文文本测试".encode("gb2312"), "in no encoding that can be read here"),
        ("日本語の文章です。".encode("euc-jp"), "in no encoding that can be read here"),
        (codecs.BOM_UTF8 + b"abc\xff", "UTF-8 text, and damaged at byte 7"),
        ("naïve café".encode("latin-1"), "in no encoding that can be read here"),
        ("text\0".encode("utf-16"), "binary data"),
    ],
)
async def test_what_is_no_text_is_refused_with_what_it_is(parser: Parser, data: bytes, part: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        await parser.parse(data, filename="a.txt")

    assert part in str(refused.value)
    assert refused.value.hint is not None


async def test_the_largest_file_is_read(parser: Parser) -> None:
    assert len((await parser.parse(b"a" * MAX_CONTENT_BYTES, filename="a.txt")).text) == MAX_CONTENT_BYTES
