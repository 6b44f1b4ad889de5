"""What the workspace is about: files and their texts, edits, listings and matches, with their limits. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field

from madang.core.documents import Document
from madang.storage.clock import format_timestamp
from madang.storage.files.encodings import EncodingName
from madang.storage.folders.entries import Entry, EntryKind

MAX_CONTENT_CHARS = 4_000_000
"""Characters of one `write_file`, within what a request may hold."""

MAX_EDITED_BYTES = 16 * 1024 * 1024
"""Bytes of a file that can be edited: it is decoded as a whole."""

MAX_COPIED_FILE_BYTES = 256 * 1024 * 1024
"""Bytes of a file that can be imported, uploaded or appended to: it is copied as a whole."""

MAX_EDITS = 100
MAX_LISTED_ENTRIES = 1_000
MAX_MATCHES = 500
MAX_FOUND_FILES = 1_000
MAX_LINE_CHARS = 1_000
"""Characters of a line that is read together with others."""

MAX_MATCH_CHARS = 500
"""Characters of a matching line, and of each line around it."""

UNKNOWN_ENCODING = "text in an unknown encoding"
"""The kind of a file that is not binary, and cannot be read."""

PathText = Annotated[str, Field(max_length=20_000)]
"""Length only; `parse_path` decides what a valid path is, so that every bad one gets the same error."""
LineNumber = Annotated[int, Field(ge=1, le=10**12)]

LineEnding = Literal["lf", "crlf", "mixed", "none"]


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How a text is stored in its file."""

    encoding: EncodingName
    line_ending: LineEnding


class Edit(Document):
    """One replacement: of a text that occurs exactly once, or of each occurrence."""

    old_text: Annotated[str, Field(min_length=1, max_length=200_000)]
    new_text: Annotated[str, Field(max_length=200_000)]
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line as it is shown; `left_out` counts the bytes that were truncated."""

    number: int
    text: str
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class FileExcerpt:
    """What was read of a file: some of its lines, or of a binary file its first bytes.

    `total` is None when there was no time to count all lines; then `counted` of them are known.
    """

    path: str
    size: int
    format: TextFormat
    lines: tuple[TextLine, ...] = ()
    requested: tuple[int, int | None] = (1, None)
    total: int | None = 0
    counted: int = 0
    first_bytes: bytes = b""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file after it was written."""

    path: str
    size: int
    format: TextFormat
    lines: int
    created: bool
    fell_back_from: EncodingName | None = None
    """The encoding that lacked a character of the new text, which is UTF-8 therefore."""


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file after its edits, with the difference."""

    path: str
    size: int
    format: TextFormat
    replacements: tuple[tuple[int, int], ...]
    """For each edit the line of its first replacement, and how many it made."""
    diff: str


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """A file, folder or link as a listing has it."""

    path: str
    kind: EntryKind
    size: int
    modified: str


def directory_entry(entry: Entry) -> DirectoryEntry:
    """Return what the disk says of a path as a listing has it."""
    modified = datetime.fromtimestamp(entry.modified_ns / 10**9, UTC)
    return DirectoryEntry(entry.path, entry.kind, entry.size, format_timestamp(modified))


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """A page of what is in a folder. `total` is None when there was no time to count; then `counted` are known."""

    path: str
    depth: int
    offset: int
    entries: tuple[DirectoryEntry, ...]
    total: int | None
    counted: int


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """The files directly in one folder: how many, and the names of those that changed last, newest first."""

    path: str
    count: int
    newest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecentFiles:
    """The files of a session: how many, those that changed last, and their folders, both newest first."""

    files: int = 0
    newest: tuple[DirectoryEntry, ...] = ()
    folders: tuple[FolderFiles, ...] = ()
    is_complete: bool = True
    """Whether there was time to count all of them."""


@dataclass(frozen=True, slots=True)
class FileTree:
    """The first entries of a session's files, and by the path of each folder that is among them how many it has.

    A folder that is not in `totals` has entries that are not here.
    """

    entries: tuple[DirectoryEntry, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FolderRows:
    """A part of what is in a folder, and how much that is in all."""

    entries: tuple[DirectoryEntry, ...]
    total: int


@dataclass(frozen=True, slots=True)
class FileMatches:
    """The files whose paths match a pattern, in order: those from `offset` on, of `total`."""

    pattern: str
    path: str
    offset: int
    files: tuple[DirectoryEntry, ...]
    total: int
    searched: int
    is_complete: bool
    too_deep: int
    """How many folders were too deep to be entered."""


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A line that matches a pattern, with the lines around it."""

    path: str
    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


StopReason = Literal["", "limit", "time", "memory"]


@dataclass(frozen=True, slots=True)
class LineMatches:
    """The lines that match a pattern, at most `limit`, and why the search stopped before its end, if it did."""

    pattern: str
    path: str
    limit: int
    matches: tuple[LineMatch, ...]
    stopped: StopReason
