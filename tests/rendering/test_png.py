"""Pixels become a picture that a decoder reads as the same pixels."""

from __future__ import annotations

import struct
import zlib

import pytest

from madang.rendering.png import SIGNATURE, encode_png


def test_pixels_come_out_of_a_png_as_they_went_in() -> None:
    pixels = bytes(range(2 * 3 * 3))

    data = encode_png(3, 2, pixels)

    chunks, at = [], len(SIGNATURE)
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size) == (zlib.crc32(name + body),)
        chunks.append((name, body))
        at += 12 + size
    assert data.startswith(SIGNATURE)
    assert [name for name, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", chunks[0][1]) == (3, 2, 8, 2, 0, 0, 0)
    assert zlib.decompress(chunks[1][1]) == b"\0" + pixels[:9] + b"\0" + pixels[9:]


def test_a_picture_of_another_size_than_its_pixels_is_refused() -> None:
    with pytest.raises(ValueError, match="pixels"):
        encode_png(3, 2, bytes(17))
