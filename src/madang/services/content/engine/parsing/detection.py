"""What a file is, from its first bytes. Names are not asked: they lie."""

from __future__ import annotations

from typing import Literal

from madang.core.errors import InvalidArguments
from madang.core.phrases import Phrase, say
from madang.services.content.engine.parsing.refusals import shown

Kind = Literal["pdf", "archive", "html"]
"""What the child knows how to read."""

_PDF_EDGE = 1024
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def document_kind(data: bytes, filename: str) -> Kind | None:
    """Return which document it is, or None for what may be text.

    Raises:
        InvalidArguments: when it is something that holds no text we could read.
    """
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "archive"
    # Some programs write a line or a mark of their own before it, and every viewer takes that. A text about PDF may
    # name the mark as well, so there it must also end like one.
    if data.startswith(b"%PDF-") or (b"%PDF-" in data[:_PDF_EDGE] and b"%%EOF" in data[-_PDF_EDGE:]):
        return "pdf"
    if data.startswith(_OLD_OFFICE):
        raise _old_office(data, filename)
    for start, what in _signatures():
        if data.startswith(start):
            raise InvalidArguments(
                say(
                    "{filename} is {what}, and holds no text that can be read here.",
                    filename=shown(filename),
                    what=what,
                ),
                hint=say("Text, Markdown, HTML, code, CSV, PDF, DOCX, XLSX and PPTX can be read: add one of these."),
            )
    return None


def _signatures() -> tuple[tuple[tuple[bytes, ...], Phrase], ...]:
    return (
        (
            (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"BM\0", b"\0\0\1\0", b"8BPS"),
            say("a picture"),
        ),
        ((b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"\xfd7zXZ", b"BZh9", b"\x28\xb5\x2f\xfd"), say("a packed archive")),
        ((b"\x7fELF", b"MZ\x90", b"\xca\xfe\xba\xbe", b"\0asm", b"\xcf\xfa\xed\xfe"), say("a program")),
        (
            (b"ID3", b"OggS", b"fLaC", b"RIFF", b"\x1aE\xdf\xa3", b"\0\0\0\x18ftyp", b"\0\0\0 ftyp"),
            say("sound or video"),
        ),
        ((b"SQLite format 3\0",), say("a database")),
    )


def _old_office(data: bytes, filename: str) -> InvalidArguments:
    """Word, Excel and PowerPoint up to 2003 share a container with Hangul, and with newer files under a password."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        return InvalidArguments(
            say("{filename} is protected by a password.", filename=shown(filename)),
            hint=say("Ask for a copy without a password and add that."),
        )
    if b"HWP Document File" in data or "HwpSummaryInformation".encode("utf-16-le") in data:
        return InvalidArguments(
            say("{filename} is a Hangul (HWP) document, which cannot be read here.", filename=shown(filename)),
            hint=say("Save it as PDF or DOCX and add that."),
        )
    return InvalidArguments(
        say("{filename} is in an office format from before 2007, which cannot be read here.", filename=shown(filename)),
        hint=say("Save it as DOCX, XLSX or PPTX and add that."),
    )
