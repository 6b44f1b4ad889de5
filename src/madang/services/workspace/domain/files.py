"""What the workspace is about: files and their texts, edits, listings and matches, with their limits. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field

from madang.core.documents import Document
from madang.files.folders.entries import Entry, EntryKind
from madang.system.clock import format_timestamp
from madang.text.encodings import EncodingName

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

MAX_SEARCHED_BYTES = 64 << 20
"""Of the files of one search together; the last one may be larger."""

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
    column: int = 1
    """Where in its line the text begins, counted in characters."""


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
    total_lines: int | None = None
    """How many lines it has now, where it was appended to and that is known."""


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file after its edits, with the difference."""

    path: str
    size: int
    format: TextFormat
    replacements: tuple[tuple[int, int], ...]
    """For each edit the line of its first replacement, and how many it made."""
    diff: str
    taken_as_equal: tuple[str, ...] = ()
    """Names of signs of the file that look like others, which an edit has in their place."""


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
    left_out: int = 0
    """How many files and folders are under a rule, and not here."""


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
    left_out: int = 0
    """How many files and folders were left out because Git ignores them."""
    hidden: int = 0
    """How many are under a rule, and were not looked at."""


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A line that matches a pattern, with the lines around it; of a long one, the part around the match.

    `column` is that of the match, counted in characters from 1.
    """

    path: str
    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    column: int = 1
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class MatchCount:
    """A file with lines that match a pattern, and how many."""

    path: str
    count: int


GrepMode = Literal["lines", "files", "count"]
StopReason = Literal["", "limit", "time", "memory", "size"]


@dataclass(frozen=True, slots=True)
class GrepQuery:
    """The arguments of one search. `limit` and `offset` count lines, or files where the mode is not `lines`."""

    pattern: str
    path: str = ""
    glob: str = ""
    ignore_case: bool = False
    context: int = 0
    limit: int = 50
    offset: int = 0
    mode: GrepMode = "lines"
    ignored: bool = False


@dataclass(frozen=True, slots=True)
class LineMatches:
    """The lines that match a pattern, in the order of paths: those that were asked for, and how many there are.

    `stopped` is why the search ended before it had seen everything, if it did; `unsearched` then is the first file that
    there was no room for.
    """

    query: GrepQuery
    top: str
    matches: tuple[LineMatch, ...]
    counts: tuple[MatchCount, ...]
    """Each file with such lines, in order; of all of them, not only of those that were asked for."""
    stopped: StopReason
    left_out: int = 0
    """How many files and folders were left out because Git ignores them."""
    unsearched: str = ""
    hidden: int = 0
    """How many are under a rule, and were not searched."""

    @property
    def total(self) -> int:
        return sum(count.count for count in self.counts)
