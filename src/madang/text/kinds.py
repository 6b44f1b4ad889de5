"""What a file is, from its first bytes. Names are not asked: they lie.

A signature is long enough that no text begins like it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

FileFamily = Literal["pdf", "zip", "ole", "picture", "packed", "program", "media", "database"]


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file: the family by which it is treated, and its own name, which begins in the middle of a sentence."""

    family: FileFamily
    name: str


IMAGE_TYPES = {
    "PNG image": "image/png",
    "JPEG image": "image/jpeg",
    "GIF image": "image/gif",
    "WebP image": "image/webp",
}
"""The MIME types of images that models take, by the name of their kind."""
MAX_IMAGE_BYTES = 4 * 1024 * 1024
"""Of all images of a message: a message is stored whole, in base64."""

_PDF = FileKind("pdf", "PDF document")
_PDF_EDGE_BYTES = 1024
_SIGNATURES: tuple[tuple[bytes, FileKind], ...] = (
    (rb"PK(\x03\x04|\x05\x06)", FileKind("zip", "ZIP archive (also DOCX, XLSX, PPTX, HWPX)")),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileKind("ole", "OLE document (DOC, XLS, PPT, HWP)")),
    (rb"\x89PNG\r\n\x1a\n", FileKind("picture", "PNG image")),
    (rb"\xff\xd8\xff", FileKind("picture", "JPEG image")),
    (rb"GIF8[79]a", FileKind("picture", "GIF image")),
    (rb"II\*\0|MM\0\*", FileKind("picture", "TIFF image")),
    (rb"BM....\0\0\0\0", FileKind("picture", "BMP image")),
    (rb"\0\0\x01\0", FileKind("picture", "ICO image")),
    (rb"8BPS\0", FileKind("picture", "Photoshop image")),
    (rb"RIFF....WEBP", FileKind("picture", "WebP image")),
    (rb"\x1f\x8b", FileKind("packed", "gzip archive")),
    (rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", FileKind("packed", "bzip2 archive")),
    (rb"\xfd7zXZ\0", FileKind("packed", "xz archive")),
    (rb"7z\xbc\xaf\x27\x1c", FileKind("packed", "7z archive")),
    (rb"Rar!\x1a\x07", FileKind("packed", "RAR archive")),
    (rb"\x28\xb5\x2f\xfd", FileKind("packed", "Zstandard archive")),
    (rb"\x7fELF", FileKind("program", "ELF program")),
    (rb"MZ[^\n]\0", FileKind("program", "Windows program")),
    (rb"\xca\xfe\xba\xbe", FileKind("program", "Java class or macOS program")),
    (rb"[\xce\xcf]\xfa\xed\xfe", FileKind("program", "macOS program")),
    (rb"\0asm", FileKind("program", "WebAssembly program")),
    (rb"ID3[\x02-\x04]", FileKind("media", "MP3 audio")),
    (rb"OggS\0", FileKind("media", "Ogg media")),
    (rb"fLaC\0", FileKind("media", "FLAC audio")),
    (rb"RIFF....(WAVE|AVI )", FileKind("media", "RIFF media (WAV, AVI)")),
    (rb"\x1aE\xdf\xa3", FileKind("media", "Matroska media")),
    (rb"\0\0\0.ftyp", FileKind("media", "MP4 media")),
    (rb"SQLite format 3\0", FileKind("database", "SQLite database")),
)
_PATTERNS = tuple((re.compile(pattern, re.DOTALL), kind) for pattern, kind in _SIGNATURES)


def image_type(data: bytes) -> str:
    """Return the MIME type of an image that models take; empty for any other file."""
    kind = file_kind(data)
    return IMAGE_TYPES.get(kind.name, "") if kind is not None else ""


def file_kind(data: bytes) -> FileKind | None:
    """Return what a file is from all of its bytes or the first ones; None for what may be text, or is not known."""
    # Some programs write a line or a mark of their own before it, and every viewer takes that. A text about PDF may
    # name the mark as well, so there it must also end like one.
    if data.startswith(b"%PDF-") or (b"%PDF-" in data[:_PDF_EDGE_BYTES] and b"%%EOF" in data[-_PDF_EDGE_BYTES:]):
        return _PDF
    return next((kind for pattern, kind in _PATTERNS if pattern.match(data)), None)
