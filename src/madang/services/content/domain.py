"""What stores and contents are, and the rules they keep. Pure: no I/O.

A store belongs to one session of one user and holds contents. A content is a text, kept once, as consecutive chunks
that together are exactly the text; a chunk knows its lines, counted from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Protocol

from pydantic import Field

from madang.core.documents import NOT_BLANK, Document
from madang.core.errors import InvalidArguments, LimitExceeded, NotFound, OutOfRange
from madang.core.ids import UserId
from madang.core.phrases import say

MAX_RESULTS = 50
MAX_QUERY_CHARS = 4_000
MAX_CONTENT_BYTES = 25 * 1024 * 1024
MAX_PREVIEW_CHARS = 150
MAX_FILENAME_CHARS = 255
UNTITLED_STORE = "Untitled store"
UNTITLED_CONTENT = "untitled.txt"
OWN_STORE = "Session store"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one session may keep."""

    file_bytes: int = MAX_CONTENT_BYTES
    contents: int = 100_000
    stores: int = 50


# Base64 needs four characters for three bytes, and a data: URL has a head.
MAX_URL_CHARS = MAX_CONTENT_BYTES // 3 * 4 + 1_024

StoreId = Annotated[str, Field(max_length=100)]
"""A store; empty, or left out, it is the session's own."""

ContentId = Annotated[str, Field(min_length=1, max_length=120)]
ContentText = Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_BYTES), NOT_BLANK]
FileUrl = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_URL_CHARS,
        description="a path in the workspace, file:// or data:; never http",
    ),
]
Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS), NOT_BLANK]


class StoreMetadata(Document):
    """What a caller says about a new store."""

    name: Annotated[str, Field(max_length=200)] = ""
    description: Annotated[str, Field(max_length=2_000)] = ""


class ContentMetadata(Document):
    """What a caller says about a new content; what is left out comes from the file."""

    filename: Annotated[str, Field(max_length=MAX_FILENAME_CHARS)] = ""
    mime_type: Annotated[str, Field(max_length=200)] = ""


class Pagination(Document):
    """Which part of a listing."""

    offset: Annotated[int, Field(ge=0, le=10**9)] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 20


class LineRange(Document):
    """Which lines, counted from 1, both ends included."""

    from_line: Annotated[int, Field(ge=1, le=10**9)] = 1
    to_line: Annotated[int, Field(ge=1, le=10**9)] | None = None


class SearchOptions(Document):
    """How many passages, and how relevant they have to be."""

    top_n: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 5
    threshold: Annotated[float, Field(ge=0, le=1, description="least relevance, 0 to 1")] = 0.0


class StoreKey(NamedTuple):
    """How a store is named inside: by its row, by its id, and by whose rows it is among."""

    no: int
    id: str
    user_id: UserId


@dataclass(frozen=True, slots=True)
class Store:
    """A store as a listing shows it."""

    key: StoreKey
    name: str
    description: str
    is_own: bool
    contents: int
    created_at: str


@dataclass(frozen=True, slots=True)
class Content:
    """A kept content without its text."""

    no: int
    id: str
    filename: str
    mime_type: str
    size: int
    line_count: int
    chunk_count: int
    preview: str
    uploaded_at: str
    page_lines: tuple[int, ...] = ()
    """The line on which each page of a paged document begins; empty for others."""

    def pages(self, from_line: int, to_line: int) -> tuple[int, int] | None:
        """Return the first and the last page of these lines, if the document has pages."""
        if not self.page_lines:
            return None
        first = sum(line <= from_line for line in self.page_lines)
        last = sum(line <= to_line for line in self.page_lines)
        return max(first, 1), max(last, 1)


class Chunk(NamedTuple):
    """A consecutive piece of a text, and the lines on which it begins and ends."""

    number: int
    from_line: int
    to_line: int
    text: str


class NewContent(NamedTuple):
    """A content on its way into a store."""

    sha256: str
    filename: str
    mime_type: str
    size: int
    line_count: int
    preview: str
    page_lines: Sequence[int]
    chunks: Sequence[Chunk]
    tokens: Sequence[Sequence[str]] = ()
    """The words of each chunk, where the database ranks by itself."""


class Hit(NamedTuple):
    """A chunk that an engine found, by the number of its row, and how relevant it is: 0 to 1."""

    chunk_no: int
    relevance: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A found chunk, read from the rows."""

    content_id: str
    filename: str
    chunk: Chunk
    relevance: float


class Change(NamedTuple):
    """A content that an index outside of the database has to add or drop; `seq` is this change alone."""

    seq: int
    content_no: int


class IndexedRows(Protocol):
    """What an index outside of the database asks of the rows it is made from."""

    async def changes(self, store: StoreKey) -> list[Change]:
        """Return what the index does not know yet, oldest first."""

    async def change_all(self, store: StoreKey) -> None:
        """Note every content of the store as one that the index does not know."""

    async def forget(self, changes: Sequence[Change]) -> None:
        """Drop changes that the index now knows."""

    async def indexed_chunks(self, content_no: int, after: int, limit: int) -> list[tuple[int, int, str]]:
        """Return number, row and searched text of the chunks after number `after`; none of a content that is gone."""

    async def all_stores(self) -> list[str]:
        """Return the ids of all stores, whoever they belong to."""


class Ranking(Protocol):
    """Ranks the chunks of one store. Filtered first, ranked second: other stores neither show nor weigh."""

    async def update(self, store: StoreKey) -> None:
        """Return when everything that was committed before can be found, and nothing that was deleted."""

    async def rank(self, store: StoreKey, terms: Sequence[str], limit: int) -> list[Hit]:
        """Return the best chunks, best first."""

    async def drop(self, store: StoreKey) -> None:
        """Forget a store that was deleted."""

    async def open(self) -> None:
        """Clear what a killed process left behind."""

    async def close(self) -> None:
        """Finish what was begun."""


def chunk_id(content_id: str, number: int) -> str:
    return f"{content_id}-{number}"


def split_chunk_id(id: str) -> tuple[str, int | None]:
    """Return the content and, if `id` names a chunk, its number."""
    content_id, dash, number = id.rpartition("-")
    # A content's id has four dashes of its own.
    if dash and content_id.count("-") == 4 and number.isascii() and number.isdecimal() and len(number) < 10:
        return content_id, int(number)
    return id, None


def searched_text(filename: str, chunk_number: int, text: str) -> str:
    """Return what a chunk is found by: its text, and the first one also by the name of the file, without its ending."""
    if chunk_number > 1 or filename == UNTITLED_CONTENT:
        return text
    return f"{filename.rpartition('.')[0] or filename}\n{text}"


def line_count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))


def preview(text: str) -> str:
    return " ".join(text[: 4 * MAX_PREVIEW_CHARS].split())[:MAX_PREVIEW_CHARS]


def shown_name(name: str, otherwise: str) -> str:
    """Return a name for one line: what does not print would let it pretend to be more than a name."""
    return "".join(c for c in " ".join(name.split()) if c.isprintable())[:MAX_FILENAME_CHARS] or otherwise


def check_text(text: str) -> None:
    """Refuse a text that cannot be kept or found.

    Raises:
        InvalidArguments: with the reason.
    """
    if "\x00" in text:
        raise InvalidArguments(
            say("The file is not text: it holds NUL characters."),
            hint=say("Add a text, or a document such as PDF, DOCX, XLSX or PPTX, with 'add_content'."),
        )
    if not text.strip():
        raise InvalidArguments(
            say("There is no text in the file."),
            hint=say("A scanned document holds only pictures: add its text as 'content' with 'add_content'."),
        )


def check_lines(range: LineRange, content: Content) -> tuple[int, int]:
    """Return the first and the last line that are asked for.

    Raises:
        InvalidArguments, OutOfRange: with the number of lines there are.
    """
    from_line, to_line = range.from_line, range.to_line or content.line_count
    if range.to_line is not None and range.to_line < from_line:
        raise InvalidArguments(
            say("lineRange: toLine {to} is before fromLine {line}.", to=range.to_line, line=from_line),
            hint=say("Use lines from 1 to {lines}.", lines=content.line_count),
        )
    if from_line > content.line_count:
        raise OutOfRange(
            say(
                "Line {line} does not exist: the content has {lines} line(s).", line=from_line, lines=content.line_count
            ),
            hint=say("Use lines from 1 to {lines}.", lines=content.line_count),
        )
    return from_line, min(to_line, content.line_count)


def no_store(id: str) -> NotFound:
    return NotFound(
        say("Store {id} not found.", id=id[:100]),
        hint=say("Use 'list_stores' to see the stores of this session."),
    )


def no_content(id: str) -> NotFound:
    return NotFound(
        say("Content {id} not found.", id=id[:120]),
        hint=say("Use 'list_content' to see the contents of a store."),
    )


def too_large(limit: int) -> LimitExceeded:
    return LimitExceeded(
        say("The file is larger than {limit} MiB.", limit=limit // (1024 * 1024)),
        hint=say("Split it, and add the parts with 'add_content'."),
    )
