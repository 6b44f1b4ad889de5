"""Pages of a listing: one rule for every store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, Generic, TypeVar

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from madang.core.documents import DOCUMENT_CONFIG
from madang.core.errors import InvalidCursor, OutOfRange
from madang.core.phrases import Phrase, say

ALL = -1
"""The page size that asks for everything, as far as one answer may go."""

MAX_PAGE_ITEMS = 1000
"""How many items one answer holds at most, also when everything is asked for."""

T = TypeVar("T")


def _not_zero(size: int) -> int:
    if size == 0:
        raise PydanticCustomError("page_size", "must be -1 (all) or 1…1000")
    return size


PageNumber = Annotated[int, Field(ge=1, le=10**9)]
PageSize = Annotated[int, Field(ge=ALL, le=MAX_PAGE_ITEMS, description="-1 for all"), AfterValidator(_not_zero)]


@dataclass(slots=True)
class Page(Generic[T]):
    """One page of a listing, with the size of the whole."""

    __pydantic_config__: ClassVar[ConfigDict] = DOCUMENT_CONFIG

    page: int
    page_size: int
    total_items: int
    total_pages: int
    has_next_page: bool
    has_previous_page: bool
    items: list[T]


@dataclass(frozen=True, slots=True)
class Span:
    """Where the asked-for page lies in a listing of `total` items."""

    page: int
    page_size: int
    total: int
    total_pages: int

    @property
    def limit(self) -> int:
        return MAX_PAGE_ITEMS if self.page_size == ALL else self.page_size

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.limit

    def fill(self, items: Sequence[T]) -> Page[T]:
        """Return the page with its items."""
        return Page(
            page=self.page,
            page_size=self.page_size,
            total_items=self.total,
            total_pages=self.total_pages,
            has_next_page=self.page < self.total_pages,
            has_previous_page=self.page > 1,
            items=list(items),
        )


def span(page: int, page_size: int, total: int) -> Span:
    """Find the page among `total` items; a page past the end means the last one.

    Everything (`ALL`) is one page, unless it is more than one answer holds: then it is cut into pages of that size.
    """
    if page_size == ALL and total > MAX_PAGE_ITEMS:
        page_size = MAX_PAGE_ITEMS
    pages = 1 if page_size == ALL else -(-total // page_size)
    return Span(min(page, max(pages, 1)), page_size, total, pages)


def check_page(asked: int, page: Page[T], things: Phrase, tool: str) -> None:
    """Refuse the last page where a later one was asked for. An empty listing has one page, whatever its number.

    Raises:
        OutOfRange: with the number of pages, and of `things` in them; the hint calls `tool` for the last page.
    """
    if page.page != asked and page.total_items and page.total_pages == 1:
        raise OutOfRange(
            say(
                "Page {page} does not exist: there is only page 1 ({things}: {total}).",
                page=asked,
                total=page.total_items,
                things=things,
            ),
            hint=say("Use page 1: '{tool}' with page 1, pageSize {size}.", tool=tool, size=page.page_size),
        )
    if page.page != asked and page.total_items:
        raise OutOfRange(
            say(
                "Page {page} does not exist: there are {pages} pages ({total} {things}).",
                page=asked,
                pages=page.total_pages,
                total=page.total_items,
                things=things,
            ),
            hint=say(
                "Use a page from 1 to {pages}: '{tool}' with page {pages}, pageSize {size} is the last.",
                pages=page.total_pages,
                tool=tool,
                size=page.page_size,
            ),
        )


def parse_cursor(cursor: str) -> tuple[str, str]:
    """Return the time and the id at which a page of a listing, newest first, begins; without a cursor it is the first.

    Raises:
        InvalidCursor: no page gave it.
    """
    if not cursor:
        return "9999-12-31T23:59:59.999Z", ""
    at, _, id = cursor.partition(" ")
    try:
        is_ours = datetime.fromisoformat(at).tzinfo is not None and bool(id)
    except ValueError:
        is_ours = False
    if not is_ours:
        raise InvalidCursor(say("The cursor is not one of ours."))
    return at, id
