"""What a file is, from its first bytes."""

from __future__ import annotations

import pytest

from madang.text.kinds import FileFamily, file_kind


@pytest.mark.parametrize(
    ("data", "family"),
    [
        (b"%PDF-1.7\n", "pdf"),
        (b"a line\n%PDF-1.7\n...\n%%EOF\n", "pdf"),
        (b"PK\x03\x04\x14\0", "zip"),
        (b"PK\x05\x06" + bytes(18), "zip"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
        (b"\x89PNG\r\n\x1a\n", "picture"),
        (b"\xff\xd8\xff\xe0", "picture"),
        (b"GIF89a", "picture"),
        (b"II*\0", "picture"),
        (b"BM\x36\x10\0\0\0\0\0\0", "picture"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "picture"),
        (b"\x1f\x8b\x08", "packed"),
        (b"BZh91AY&SY", "packed"),
        (b"Rar!\x1a\x07\x01\0", "packed"),
        (b"\x7fELF\x02", "program"),
        (b"MZ\x90\0\x03", "program"),
        (b"\0asm\x01", "program"),
        (b"ID3\x03\0", "media"),
        (b"OggS\0\x02", "media"),
        (b"RIFF\x10\0\0\0WAVEfmt ", "media"),
        (b"\0\0\0\x20ftypisom", "media"),
        (b"SQLite format 3\0", "database"),
    ],
)
def test_files_are_told_by_their_signatures(data: bytes, family: FileFamily) -> None:
    kind = file_kind(data)

    assert kind is not None
    assert kind.family == family


@pytest.mark.parametrize(
    "text",
    [
        "",
        "'%PDF-1.7' begins a PDF",
        "ID3 tags are in front of the sound.",
        "RIFF is a container format.",
        "OggS marks a page.",
        "MZ are the initials of an engineer.",
        "BMW builds cars",
        "BZh9 is the first word of a bzip2 file",
        "GIF8 is how a picture begins",
        "8BPS is the mark of Photoshop",
        "fLaC has no loss",
        "Rar! is a mark",
    ],
)
def test_a_text_that_begins_with_the_letters_of_a_signature_is_none(text: str) -> None:
    assert file_kind(text.encode()) is None
