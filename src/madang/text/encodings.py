"""Which encoding a text is in, and the way to characters and back without losing a byte.

One answer for every service. What a document declares about itself (HTML, XML) is not looked at here.
"""

from __future__ import annotations

import codecs
import re
from typing import Literal

EncodingName = Literal["utf-8", "utf-8-bom", "utf-16-le", "utf-16-be", "cp949", "cp1252", "utf-8-invalid", "binary"]
"""Two of these mean that the encoding is unknown: `utf-8-invalid` is mostly ASCII, with some bytes that are kept as
they are and shown as replacement characters; `binary` is everything else."""

_BYTE_ORDER_MARKS: dict[EncodingName, bytes] = {
    "utf-8-bom": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}
# What Python calls the encoding, and how what cannot be decoded is kept.
_CODECS: dict[EncodingName, tuple[str, str]] = {
    "utf-8": ("utf-8", "strict"),
    "utf-8-bom": ("utf-8", "surrogateescape"),
    # Half of a surrogate pair is no character, but programs that cut texts write it; it survives both ways.
    "utf-16-le": ("utf-16-le", "surrogatepass"),
    "utf-16-be": ("utf-16-be", "surrogatepass"),
    "cp949": ("cp949", "strict"),
    "cp1252": ("cp1252", "strict"),
    "utf-8-invalid": ("utf-8", "surrogateescape"),
    "binary": ("latin-1", "strict"),
}
# Controls that no text has. Escape, form feed and the like do occur.
_NOT_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_HEAD_BYTES = 4096


def detect_encoding(data: bytes, *, is_whole: bool) -> EncodingName:
    """Return the encoding of a file from its first bytes, or from all of them."""
    if data.startswith(codecs.BOM_UTF32_LE):
        return "binary"
    for encoding, mark in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            is_cut = encoding.startswith("utf-16") and is_whole and len(data) % 2
            return "binary" if is_cut else encoding
    if b"\x00" in data:
        return "binary"
    if _decodes(data, "utf-8", is_whole):
        return "utf-8"
    if has_controls(data):
        return "binary"
    if _is_korean(data, is_whole) and (not is_whole or data.decode("cp949").encode("cp949") == data):
        return "cp949"
    if _is_western(data, is_whole):
        return "cp1252"
    head = data[:_HEAD_BYTES]
    high = sum(byte >= 0x80 for byte in head)
    return "binary" if high > len(head) // 3 else "utf-8-invalid"


def has_controls(data: bytes) -> bool:
    """Tell whether a file begins with more control characters than a text has."""
    head = data[:_HEAD_BYTES]
    return len(_NOT_TEXT.findall(head)) > len(head) // 50


def byte_order_mark(encoding: EncodingName) -> bytes:
    """Return the bytes that a file of this encoding begins with."""
    return _BYTE_ORDER_MARKS.get(encoding, b"")


def decode(data: bytes, encoding: EncodingName) -> str:
    """Return the text of a whole file; `encode` gives back the same bytes."""
    codec, errors = _CODECS[encoding]
    return data.removeprefix(byte_order_mark(encoding)).decode(codec, errors)


def encode(text: str, encoding: EncodingName, *, with_mark: bool = True) -> bytes:
    """Return the bytes of a text.

    Raises:
        UnicodeEncodeError: the encoding has no place for one of its characters.
    """
    codec, errors = _CODECS[encoding]
    return (byte_order_mark(encoding) if with_mark else b"") + text.encode(codec, errors)


def replace_surrogates(text: str) -> str:
    """Return a decoded text as it can be sent: what was no character in the file is a replacement character."""
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def decode_piece(data: bytes, encoding: EncodingName) -> str:
    """Return a piece of a file for reading; it may begin or end inside of a character."""
    codec = _CODECS[encoding][0]
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        pass
    if encoding == "utf-8" and not _decodes(data, "utf-8", is_whole=False) and _is_korean(data, is_whole=False):
        # The beginning of the file, from which its encoding was detected, was plain ASCII.
        codec = "cp949"
    return codecs.getincrementaldecoder(codec)("replace").decode(data)


def piece_decoder(encoding: EncodingName) -> codecs.IncrementalDecoder:
    """Return what decodes a text for reading, piece by piece."""
    return codecs.getincrementaldecoder(_CODECS[encoding][0])("replace")


def _is_korean(data: bytes, is_whole: bool) -> bool:
    from madang.text.cp949 import reads_as_korean  # on first use: most texts are UTF-8

    return _decodes(data, "cp949", is_whole) and reads_as_korean(data, is_whole=is_whole)


def _is_western(data: bytes, is_whole: bool) -> bool:
    from madang.text.western import reads_as_western

    return _decodes(data, "cp1252", is_whole) and reads_as_western(data)


def _decodes(data: bytes, codec: str, is_whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(codec)().decode(data, is_whole)
    except UnicodeDecodeError:
        return False
    return True
