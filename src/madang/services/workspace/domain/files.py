"""What the workspace is about: texts and their encodings, entries, edits and hits, and the limits of each. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from madang.core.documents import Document
from madang.storage.files.encodings import EncodingName

MAX_CONTENT_CHARS = 4_000_000
"""Characters that one call writes: what a request may hold."""

MAX_EDITED_BYTES = 16 * 1024 * 1024
"""Bytes of a file that is edited: it is decoded as a whole."""

MAX_FILE_BYTES = 256 * 1024 * 1024
"""Bytes of a file that is imported or appended to: it is copied as a whole."""

MAX_EDITS = 100
MAX_LISTED_ENTRIES = 1_000
MAX_MATCHES = 500
MAX_FOUND_FILES = 1_000
MAX_LINE_CHARS = 1_000
"""Characters of one line that a model is shown among others."""

MAX_MATCH_CHARS = 500
"""Characters of one line of a search."""

CONTENT_BYTES = 7_000
"""Of a file, in one answer: with the words around it about 8 KB."""

GIT = ".git"
"""A folder of this name is told and not entered: what Git keeps in it is nobody's text."""

PathText = Annotated[str, Field(max_length=20_000)]
"""Which texts are paths is for the folder to say: one answer for all that are none."""
LineNumber = Annotated[int, Field(ge=1, le=10**12)]

LineEnding = Literal["lf", "crlf", "mixed", "none"]
Kind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, slots=True)
class Form:
    """How a text is written in its file."""

    encoding: EncodingName
    line_ending: LineEnding


class Edit(Document):
    """One replacement: a piece of text that is there exactly once, or every one of it."""

    old_text: Annotated[str, Field(min_length=1, max_length=200_000)]
    new_text: Annotated[str, Field(max_length=200_000)]
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line as it is shown; `left_out` counts the bytes that were cut from it."""

    number: int
    text: str
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a file: some of its lines, or of a binary file its first bytes.

    `total` is None when there was no time to count all lines; then `counted` of them are known.
    """

    path: str
    size: int
    form: Form
    lines: tuple[TextLine, ...] = ()
    wanted: tuple[int, int | None] = (1, None)
    total: int | None = 0
    counted: int = 0
    first_bytes: bytes = b""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """A file after it was written."""

    path: str
    size: int
    form: Form
    lines: int
    created: bool
    fell_back_from: EncodingName | None = None
    """The encoding that could not carry the new text, which is UTF-8 therefore."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A file after its edits, with what changed."""

    path: str
    size: int
    form: Form
    changed: tuple[tuple[int, int], ...]
    """For each edit the line of its first place, and the number of places."""
    diff: str


@dataclass(frozen=True, slots=True)
class Row:
    """One thing in a folder."""

    path: str
    kind: Kind
    size: int
    modified: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Some of what is in a folder. `total` is None when there was no time to count."""

    path: str
    depth: int
    offset: int
    rows: tuple[Row, ...]
    total: int | None
    counted: int


@dataclass(frozen=True, slots=True)
class Found:
    """The files whose paths fit a pattern, in order."""

    pattern: str
    path: str
    rows: tuple[Row, ...]
    total: int
    searched: int
    is_complete: bool
    too_deep: int
    """How many folders were so deep that they were not entered."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that a search found, with the lines around it."""

    path: str
    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


StopReason = Literal["", "limit", "time", "memory"]


@dataclass(frozen=True, slots=True)
class Search:
    """What a search in the files found, and why it stopped before its end, if it did."""

    pattern: str
    path: str
    hits: tuple[Hit, ...]
    stopped: StopReason
