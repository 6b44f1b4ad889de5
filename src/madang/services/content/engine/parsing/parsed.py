"""What comes out of a file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parsed:
    """The text of a file, and what the file really is."""

    text: str
    """As it is in the file, not normalised; only the line ends are all `\\n`."""
    mime_type: str
    encoding: str
    """Of a text file; empty for documents."""
    page_lines: tuple[int, ...] = ()
    """The line, counted from 1, at which each page, slide or sheet starts; empty where there are none."""


@dataclass(frozen=True, slots=True)
class PageImage:
    """A page of a document as it looks: rows of pixels, each red, green and blue."""

    width: int
    height: int
    pages: int
    """How many the document has."""
    pixels: bytes
