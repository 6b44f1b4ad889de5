"""What a binary file is, by its first bytes."""

from __future__ import annotations

_SIGNS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive (also DOCX, XLSX, PPTX, HWPX)"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "OLE document (DOC, XLS, PPT, HWP)"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"\x7fELF", "ELF program"),
    (b"MZ", "Windows program"),
    (b"RIFF", "RIFF media (WAV, AVI, WebP)"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
)


def kind_of(data: bytes) -> str:
    """Return what files that begin like this are, or nothing if it is not known."""
    return next((kind for sign, kind in _SIGNS if data.startswith(sign)), "")
