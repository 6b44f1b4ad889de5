"""Texts in files: which encoding they are in, and the way there and back without losing a byte."""

from __future__ import annotations

import codecs
import re

from madang.services.workspace.domain.files import EncodingName, Form, LineEnding

# The mark at the start of a file, what Python calls its encoding, and how what cannot be decoded is kept.
_MARKS: dict[EncodingName, bytes] = {
    "utf-8-bom": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}
_CODECS: dict[EncodingName, tuple[str, str]] = {
    "utf-8": ("utf-8", "strict"),
    "utf-8-bom": ("utf-8", "surrogateescape"),
    # Half of a pair is no character, but there are files that hold one; the pass lets it through both ways.
    "utf-16-le": ("utf-16-le", "surrogatepass"),
    "utf-16-be": ("utf-16-be", "surrogatepass"),
    "cp949": ("cp949", "strict"),
    "utf-8-invalid": ("utf-8", "surrogateescape"),
    "binary": ("latin-1", "strict"),
}
# Controls that no text has. Escape, form feed and the like do occur.
_NOT_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_MIN_KOREAN_SHARE = 0.3


def detect(data: bytes, *, is_whole: bool) -> EncodingName:
    """Return the encoding of a file from its first bytes, or from all of them."""
    if data.startswith(codecs.BOM_UTF32_LE):
        return "binary"
    for encoding, mark in _MARKS.items():
        if data.startswith(mark):
            if encoding.startswith("utf-16") and is_whole and len(data) % 2:
                return "binary"
            return encoding
    if b"\x00" in data:
        return "binary"
    if _decodes(data, "utf-8", is_whole):
        return "utf-8"
    strange = len(_NOT_TEXT.findall(data[:4096]))
    if strange > len(data[:4096]) // 50:
        return "binary"
    if _decodes(data, "cp949", is_whole) and _reads_as_korean(data) and (not is_whole or _comes_back(data)):
        return "cp949"
    high = sum(byte >= 0x80 for byte in data[:4096])
    return "binary" if high > len(data[:4096]) // 3 else "utf-8-invalid"


def line_ending(data: bytes, encoding: EncodingName) -> LineEnding:
    """Return how the lines of a text end, given its bytes."""
    if encoding == "binary":
        return "none"
    lf, crlf = b"\n", b"\r\n"
    if encoding.startswith("utf-16"):
        text = decode(data[: len(data) // 2 * 2], encoding)
        both, pairs = text.count("\n"), text.count("\r\n")
    else:
        both, pairs = data.count(lf), data.count(crlf)
    if not both:
        return "none"
    return "crlf" if pairs == both else "lf" if not pairs else "mixed"


def form_of(data: bytes) -> Form:
    """Return how a whole file is written."""
    encoding = detect(data, is_whole=True)
    return Form(encoding, line_ending(data, encoding))


def mark_of(encoding: EncodingName) -> bytes:
    return _MARKS.get(encoding, b"")


def decode(data: bytes, encoding: EncodingName) -> str:
    """Return the text of a whole file; `encode` gives back the same bytes."""
    codec, errors = _CODECS[encoding]
    return data.removeprefix(mark_of(encoding)).decode(codec, errors)


def encode(text: str, encoding: EncodingName, *, with_mark: bool = True) -> bytes:
    """Return the bytes of a text.

    Raises:
        UnicodeEncodeError: the encoding has no place for one of its characters.
    """
    codec, errors = _CODECS[encoding]
    return (mark_of(encoding) if with_mark else b"") + text.encode(codec, errors)


def readable(text: str) -> str:
    """Return a decoded text as it can be sent: what was no character in the file is a replacement character."""
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def decode_piece(data: bytes, encoding: EncodingName) -> str:
    """Return a piece of a file for reading; it may begin or end inside of a character."""
    codec = _CODECS[encoding][0]
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        pass
    if encoding == "utf-8" and not _decodes(data, "utf-8", is_whole=False) and _decodes(data, "cp949", is_whole=False):
        # The beginning of the file, by which its encoding was told, was plain ASCII.
        codec = "cp949"
    return codecs.getincrementaldecoder(codec)("replace").decode(data)


def with_line_ending(text: str, ending: LineEnding) -> str:
    """Return a text whose lines end as those of its file do."""
    return re.sub("\r?\n", "\r\n", text) if ending == "crlf" else text


def _decodes(data: bytes, codec: str, is_whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(codec)().decode(data, is_whole)
    except UnicodeDecodeError:
        return False
    return True


def _reads_as_korean(data: bytes) -> bool:
    """Tell whether what is beyond ASCII reads as Korean: many byte sequences are valid CP949 by chance."""
    text = codecs.getincrementaldecoder("cp949")("replace").decode(data[:65536])
    beyond = [char for char in text if char > "\x7f"]
    korean = sum("가" <= char <= "힣" or "ㄱ" <= char <= "ㆎ" for char in beyond)
    return korean >= len(beyond) * _MIN_KOREAN_SHARE


def _comes_back(data: bytes) -> bool:
    return data.decode("cp949").encode("cp949") == data
