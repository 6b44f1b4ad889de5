"""Which files are documents for the child, and which hold no text at all."""

from __future__ import annotations

from typing import Literal

from madang.core.errors import InvalidArguments
from madang.core.phrases import Phrase, say
from madang.services.content.engine.parsing.refusals import quoted_name
from madang.text.kinds import FileFamily, file_kind

DocumentKind = Literal["pdf", "archive", "html"]
"""What the child knows how to read."""


def document_kind(data: bytes, filename: str) -> DocumentKind | None:
    """Return which document it is, or None for what may be text.

    Raises:
        InvalidArguments: it holds no text that could be read.
    """
    kind = file_kind(data)
    if kind is None:
        return None
    match kind.family:
        case "pdf":
            return "pdf"
        case "zip":
            return "archive"
        case "ole":
            raise _old_office(data, filename)
        case family:
            raise _without_text(family, filename)


def _without_text(family: FileFamily, filename: str) -> InvalidArguments:
    names: dict[FileFamily, Phrase] = {
        "picture": say("a picture"),
        "packed": say("a packed archive"),
        "program": say("a program"),
        "media": say("sound or video"),
        "database": say("a database"),
    }
    return InvalidArguments(
        say(
            "{filename} is {what}, and holds no text that can be read here.",
            filename=quoted_name(filename),
            what=names[family],
        ),
        hint=say("Text, Markdown, HTML, code, CSV, PDF, DOCX, XLSX and PPTX can be read: add one of these."),
    )


def _old_office(data: bytes, filename: str) -> InvalidArguments:
    """Word, Excel and PowerPoint up to 2003 share a container with Hangul, and with newer files under a password."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        return InvalidArguments(
            say("{filename} is protected by a password.", filename=quoted_name(filename)),
            hint=say("Ask for a copy without a password and add that."),
        )
    if b"HWP Document File" in data or "HwpSummaryInformation".encode("utf-16-le") in data:
        return InvalidArguments(
            say("{filename} is a Hangul (HWP) document, which cannot be read here.", filename=quoted_name(filename)),
            hint=say("Save it as PDF or DOCX and add that."),
        )
    return InvalidArguments(
        say(
            "{filename} is in an office format from before 2007, which cannot be read here.",
            filename=quoted_name(filename),
        ),
        hint=say("Save it as DOCX, XLSX or PPTX and add that."),
    )
