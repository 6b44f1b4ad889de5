"""Pixels as a PNG file, which browsers show."""

from __future__ import annotations

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TRUE_COLOUR = 2
_NO_FILTER = b"\0"
_LEVEL = 6


def encode_png(width: int, height: int, pixels: bytes) -> bytes:
    """Return a picture of rows of red, green and blue bytes."""
    row_bytes = width * 3
    if len(pixels) != row_bytes * height:
        raise ValueError("more or fewer pixels than the picture has")
    # Rows as they are: filters make photographs smaller, and cost more here than they save on paper with words.
    rows = b"".join(_NO_FILTER + pixels[at : at + row_bytes] for at in range(0, len(pixels), row_bytes))
    header = struct.pack(">IIBBBBB", width, height, 8, _TRUE_COLOUR, 0, 0, 0)
    body = zlib.compress(rows, _LEVEL)
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
