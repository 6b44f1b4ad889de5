"""Stores, contents and chunks, and their rules. Pure: no I/O.

A store belongs to one session of one user and holds contents. A content is a text, stored once, as consecutive chunks
that together are exactly the text; a chunk knows its lines, counted from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple, Protocol

from pydantic import Field

from madang.core.documents import NOT_BLANK, Document
from madang.core.errors import InvalidArguments, LimitExceeded, NotFound, OutOfRange
from madang.core.ids import UserId
from madang.core.phrases import say
from madang.storage.clock import Timestamp
from madang.storage.search.queries import Query, Tokens

MAX_RESULTS = 50
MAX_QUERY_CHARS = 4_000
MAX_CONTENT_BYTES = 25 * 1024 * 1024
"""Of a text or file that is added, before it is parsed."""

MAX_PREVIEW_CHARS = 150
MAX_FILENAME_CHARS = 255
UNTITLED_STORE = "Untitled store"
UNTITLED_CONTENT = "untitled.txt"
OWN_STORE = "Session store"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one session may store."""

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
SearchQuery = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS), NOT_BLANK]


class StoreMetadata(Document):
    """Name and description of a new store."""

    name: Annotated[str, Field(max_length=200)] = ""
    description: Annotated[str, Field(max_length=2_000)] = ""


class ContentMetadata(Document):
    """Name and type of a new content; by default those of the file."""

    filename: Annotated[str, Field(max_length=MAX_FILENAME_CHARS)] = ""
    mime_type: Annotated[str, Field(max_length=200)] = ""


class Pagination(Document):
    """The part of a listing that is asked for."""

    offset: Annotated[int, Field(ge=0, le=10**9)] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 20


class LineRange(Document):
    """Lines, counted from 1, both ends included."""

    from_line: Annotated[int, Field(ge=1, le=10**9)] = 1
    to_line: Annotated[int, Field(ge=1, le=10**9)] | None = None


class SearchOptions(Document):
    """How many passages, and how relevant at least."""

    top_n: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 5
    threshold: Annotated[float, Field(ge=0, le=1, description="least relevance, 0 to 1")] = 0.0


class StoreKey(NamedTuple):
    """Identifies a store: its row number, its id, and the user whose row it is."""

    no: int
    id: str
    user_id: UserId


@dataclass(frozen=True, slots=True)
class Store:
    """A store with the number of its contents."""

    key: StoreKey
    name: str
    description: str
    is_own: bool
    contents: int
    created_at: str


@dataclass(frozen=True, slots=True)
class Content:
    """A stored content without its text."""

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
    """A content to be stored."""

    sha256: str
    filename: str
    mime_type: str
    size: int
    line_count: int
    preview: str
    page_lines: Sequence[int]
    chunks: Sequence[Chunk]
    tokens: Sequence[Tokens] = ()
    """The tokens of each chunk, if the ranking needs them in the rows."""
    analysis: str = ""
    """The name of the analysis that made them."""


class AddedContent(NamedTuple):
    """A content that was added, or its duplicate in the store."""

    store: StoreKey
    content: Content
    is_duplicate: bool


class RankedChunk(NamedTuple):
    """The row number of a chunk that matches a query, and its relevance: 0 to 1."""

    chunk_no: int
    relevance: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that matches a query, as the rows have it."""

    content_id: str
    filename: str
    chunk: Chunk
    relevance: float


class SearchMatch(NamedTuple):
    """A passage, and the part of it that shows best why it matches."""

    passage: Passage
    snippet: str


class SearchMatches(NamedTuple):
    """What a search found, best first; `is_current` is False where the last changes could not be looked at.

    `is_index_writable` says whether they will be by themselves.
    """

    items: list[SearchMatch]
    is_current: bool = True
    is_index_writable: bool = True


class Excerpt(NamedTuple):
    """As much of a text as one reply holds. `next_chunk` is where to read on after a part of a line, else 0."""

    text: str
    from_line: int
    to_line: int
    next_chunk: int = 0


class ContentExcerpt(NamedTuple):
    """An excerpt of a content, and the last line that was asked for; or one of its chunks, whatever its lines."""

    content: Content
    excerpt: Excerpt
    last_line: int
    is_chunk: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the content."""
        if self.is_chunk:
            return self.content.chunk_count == 1
        excerpt = self.excerpt
        return excerpt.from_line == 1 and excerpt.to_line == self.content.line_count and not excerpt.next_chunk


class SavedStore(Document):
    """A store as an archive has it; contents name it by its place in the list."""

    name: str
    description: str
    is_own: bool
    created_at: Timestamp


class SavedContent(Document):
    """A content as an archive has it. What follows from the text is not in it."""

    store: int = 0
    text: str = ""
    """The name of the file with the text."""
    sha256: str
    filename: str
    mime_type: str
    size: Annotated[int, Field(ge=0)]
    page_lines: list[int]
    uploaded_at: Timestamp


class IndexChange(NamedTuple):
    """A content that an index beside the database has to add or remove, and the number of this change in the queue.

    `chunk_count` is 0 for a deleted content.
    """

    seq: int
    content_no: int
    chunk_count: int


class IndexedChunk(NamedTuple):
    """A chunk for the index: its content, its number there, its row number, and the text it is searched by."""

    content_no: int
    number: int
    no: int
    text: str


class IndexedRows(Protocol):
    """The rows that an index beside the database is made from, and the queue of changes that it lacks."""

    async def lacks_changes(self, store: StoreKey) -> bool:
        """Tell whether the index lacks a change, or has a backlog."""

    async def pending_changes(self, store: StoreKey) -> list[IndexChange]:
        """Return the changes that the index lacks, oldest first, without the backlog."""

    async def backlog(self, store: StoreKey, limit: int) -> list[IndexChange]:
        """Return contents that an index which is made anew has yet to add, newest first."""

    async def queue_backlog(self, store: StoreKey) -> None:
        """Make every content of the store the backlog of an empty index."""

    async def remove_changes(self, changes: Sequence[IndexChange]) -> None:
        """Remove changes from the queue: the index has them."""

    async def indexed_chunks(
        self, store: StoreKey, content_nos: Sequence[int], after: int, limit: int
    ) -> list[IndexedChunk]:
        """Return the chunks after number `after` of contents of the store, in order; none of a deleted content."""

    async def all_store_ids(self) -> list[str]:
        """Return the ids of all stores of all users."""


MAX_UPDATE_S = 10.0
"""How long a search waits for its ranking."""


class Ranked(NamedTuple):
    """Chunks of a store, best first; `is_current` is False where the last changes could not be looked at."""

    chunks: list[RankedChunk]
    is_current: bool = True


class Ranking(Protocol):
    """Ranks the chunks of one store. Chunks of other stores are filtered out first, so they carry no weight."""

    needs_stored_tokens: ClassVar[bool]
    """Whether the tokens of a chunk have to be stored with its row."""

    def follow(self, store: StoreKey) -> None:
        """Have the ranking brought up to the rows in the background."""

    async def update(self, store: StoreKey, timeout_s: float) -> bool:
        """Bring the ranking up to everything that is committed in the store, and tell whether it is.

        It is not after `timeout_s`, or where another process keeps it locked: then a later call brings it up.

        Raises:
            Unavailable: it cannot be written.
        """

    async def rank(self, store: StoreKey, query: Query, limit: int, *, may_wait: bool = True) -> Ranked:
        """Return the best chunks, best first; not `may_wait` after an update that did not come to its end.

        Raises:
            Unavailable: there is no ranking, and none can be made; or it would have to be waited for.
        """

    async def drop(self, store: StoreKey) -> None:
        """Remove everything of a deleted store."""

    async def open(self) -> None:
        """Remove what a killed process left behind."""

    async def close(self) -> None:
        """End what runs in the background within seconds, and close."""


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
    """Return the text a chunk is searched by: its own; of the first chunk also the file's name, without extension."""
    if chunk_number > 1 or filename == UNTITLED_CONTENT:
        return text
    return f"{filename.rpartition('.')[0] or filename}\n{text}"


def line_count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))


def preview(text: str) -> str:
    """Return the beginning of a text on one line, with an ellipsis where it was cut."""
    head, rest = text[: 4 * MAX_PREVIEW_CHARS], text[4 * MAX_PREVIEW_CHARS :]
    line = " ".join(head.split())
    if len(line) <= MAX_PREVIEW_CHARS and not rest.strip():
        return line
    return line[: MAX_PREVIEW_CHARS - 1].rstrip() + "…"


def normalized_name(name: str, default: str) -> str:
    """Return a name as it is stored: printable, on one line, at most `MAX_FILENAME_CHARS` long; `default` if empty."""
    return "".join(c for c in " ".join(name.split()) if c.isprintable())[:MAX_FILENAME_CHARS] or default


def check_text(text: str) -> None:
    """Refuse a text that cannot be stored or searched.

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
    """Return the first and the last line of a range, within the content.

    Raises:
        InvalidArguments, OutOfRange: with the number of lines of the content.
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
        hint=say("Call 'list_stores' to see the stores of this session with their ids."),
    )


def no_content(id: str) -> NotFound:
    return NotFound(
        say("Content {id} not found.", id=id[:120]),
        hint=say("Call 'list_content' to see the contents of a store with their ids."),
    )


def content_too_large(max_bytes: int) -> LimitExceeded:
    return LimitExceeded(
        say("The file is larger than {limit} MiB.", limit=max_bytes // (1024 * 1024)),
        hint=say("Split it, and add the parts with 'add_content'."),
    )
