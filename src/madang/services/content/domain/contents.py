"""Stores, contents and chunks, and their rules. Pure: no I/O.

A store belongs to one session of one user and holds contents. A content is a text, stored once, as consecutive chunks
that together are exactly the text; a chunk knows its lines, counted from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from madang.core.documents import Document
from madang.core.errors import Conflict, InvalidArguments, LimitExceeded, NotFound
from madang.core.ids import UserId
from madang.core.limits import MAX_INLINE_BYTES
from madang.core.phrases import say
from madang.system.clock import Timestamp
from madang.text.search.queries import Tokens

MAX_CONTENT_BYTES = 25 * 1024 * 1024
"""Of a file that is added, by its path or as an upload, before it is parsed."""

DELETED_DAYS = 30
"""How long a deleted content or store can be restored."""

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


class ContentChange(Document):
    """What an operation did to a content, or to a store with all that is in it: enough to say it again."""

    kind: Literal["added", "deleted", "restored"]
    key: StoreKey
    content: Content | None = None
    store: Store | None = None
    """One of the two."""

    @property
    def is_deletion(self) -> bool:
        return self.kind == "deleted"


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


def no_store(id: str) -> NotFound:
    return NotFound(
        say("Store {id} not found.", id=id[:100]),
        hint=say("Call 'list_stores' to see the stores of this session with their ids."),
    )


def added_again(id: str) -> Conflict:
    return Conflict(
        say("The store has got the same text as content {id} again.", id=id[:120]),
        hint=say("Call 'list_content' to see the contents of a store with their ids."),
    )


def no_content(id: str) -> NotFound:
    return NotFound(
        say("Content {id} not found.", id=id[:120]),
        hint=say("Call 'list_content' to see the contents of a store with their ids."),
    )


def inline_too_large() -> LimitExceeded:
    return LimitExceeded(
        say("A text or file inside a call is larger than {limit} MiB.", limit=MAX_INLINE_BYTES // 1024**2),
        hint=say(
            "Put it into the workspace, and call 'add_content' with its path as fileUrl; or have the person upload it."
        ),
    )


def content_too_large(max_bytes: int) -> LimitExceeded:
    return LimitExceeded(
        say("The file is larger than {limit} MiB.", limit=max_bytes // (1024 * 1024)),
        hint=say("Split it, and add the parts with 'add_content'."),
    )
