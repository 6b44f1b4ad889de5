"""What an agent gives to the tools: limits of texts and queries, parts of listings, lines, options. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from madang.core.documents import NOT_BLANK, Document
from madang.core.errors import InvalidArguments, OutOfRange
from madang.core.limits import MAX_INLINE_BYTES
from madang.core.phrases import say
from madang.services.content.domain.contents import MAX_FILENAME_CHARS, Content, inline_too_large

MAX_RESULTS = 50
MAX_QUERY_CHARS = 4_000

# Base64 needs four characters for three bytes, and a data: URL has a head.
MAX_URL_CHARS = MAX_INLINE_BYTES // 3 * 4 + 1_024

StoreId = Annotated[str, Field(max_length=100)]
"""A store; empty, or left out, it is the session's own."""

ContentId = Annotated[str, Field(min_length=1, max_length=120)]
JobId = Annotated[str, Field(min_length=1, max_length=100)]

# The lengths are in the schemas and checked by hand, so that the answer can say how to hand a larger one over.
ContentText = Annotated[str, Field(min_length=1, json_schema_extra={"maxLength": MAX_INLINE_BYTES}), NOT_BLANK]
FileUrl = Annotated[
    str,
    Field(
        min_length=1,
        json_schema_extra={"maxLength": MAX_URL_CHARS},
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


def check_inline(content: str | None, file_url: str | None) -> None:
    """Check the length of what is inside a call.

    Raises:
        LimitExceeded: it is too long; how to hand it over is in its hint.
    """
    # A text has at least as many bytes as characters. It is encoded, and counted, where that holds up nobody.
    if len(content or "") > MAX_INLINE_BYTES or len(file_url or "") > MAX_URL_CHARS:
        raise inline_too_large()


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
