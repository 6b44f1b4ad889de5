"""One rule for the pages of every listing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from madang.core.errors import OutOfRange
from madang.core.paging import ALL, MAX_PAGE_ITEMS, Page, Span, check_page, span
from madang.core.phrases import say


@pytest.mark.parametrize(
    ("page", "page_size", "total", "expected"),
    [
        (1, 10, 0, Span(1, 10, 0, 0)),
        (1, ALL, 0, Span(1, ALL, 0, 1)),
        (1, ALL, 1000, Span(1, ALL, 1000, 1)),
        (1, ALL, 1001, Span(1, 1000, 1001, 2)),
        (2, ALL, 1001, Span(2, 1000, 1001, 2)),
        (1, 10, 10, Span(1, 10, 10, 1)),
        (2, 10, 11, Span(2, 10, 11, 2)),
        (4, 3, 10, Span(4, 3, 10, 4)),
        (25, 1, 25, Span(25, 1, 25, 25)),
    ],
)
def test_where_a_page_lies(page: int, page_size: int, total: int, expected: Span) -> None:
    assert span(page, page_size, total) == expected


@pytest.mark.parametrize(
    ("asked", "page_size", "total", "message"),
    [
        (9, 10, 25, "Page 9 does not exist: there are 3 pages (25 things)."),
        (2, ALL, 25, "Page 2 does not exist: there is only page 1 (things: 25)."),
        (3, ALL, 1001, "Page 3 does not exist: there are 2 pages (1001 things)."),
    ],
)
def test_past_the_end_is_the_last_page_which_a_check_refuses(
    asked: int, page_size: int, total: int, message: str
) -> None:
    last: Page[str] = span(asked, page_size, total).fill([])

    assert last.page == max(last.total_pages, 1)
    check_page(last.page, last, say("things"), "list_things")
    with pytest.raises(OutOfRange) as raised:
        check_page(asked, last, say("things"), "list_things")
    assert str(raised.value) == message


@pytest.mark.parametrize("page_size", [10, ALL])
def test_an_empty_listing_has_one_page_whatever_its_number(page_size: int) -> None:
    nothing: Page[str] = span(2, page_size, 0).fill([])

    check_page(2, nothing, say("things"), "list_things")
    assert nothing.page == 1


def test_a_filled_page_knows_its_neighbours() -> None:
    assert span(2, 3, 10).fill(["d", "e", "f"]) == Page[str](
        page=2,
        page_size=3,
        total_items=10,
        total_pages=4,
        has_next_page=True,
        has_previous_page=True,
        items=["d", "e", "f"],
    )


@settings(deadline=None)
@given(st.integers(0, 3000), st.one_of(st.just(ALL), st.integers(1, MAX_PAGE_ITEMS)))
def test_the_pages_of_a_listing_are_its_slices_in_order(total: int, page_size: int) -> None:
    everything = range(total)
    first = span(1, page_size, total)

    pages = [span(number, page_size, total) for number in range(1, first.total_pages + 1)]
    joined = [number for page in pages for number in everything[page.offset : page.offset + page.limit]]

    assert joined == list(everything)
    assert all(page.limit <= MAX_PAGE_ITEMS for page in pages)
    assert [page.fill([]).has_next_page for page in pages] == [True] * (len(pages) - 1) + [False] * bool(pages)
