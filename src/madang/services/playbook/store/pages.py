"""One page of an owner's playbooks, walked to through an index from the nearer end, or searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from madang.core.calls import Call
from madang.core.ids import UserId
from madang.core.paging import Span, span
from madang.database.port import Row, Transaction
from madang.services.playbook.domain import PlaybookSummary, fold

SortBy = Literal["createdAt", "updatedAt", "goal"]
SortOrder = Literal["asc", "desc"]

_Owner = tuple[UserId, int]

MAX_INLINE_ROWS = 100
"""Rows of a page that is read on the event loop."""

_COLUMNS: dict[SortBy, str] = {"createdAt": "seq", "updatedAt": "updated_at", "goal": "sort_key"}
_OWNED = "user_id = ?1 AND owner_no = ?2"
_SUMMARY = "id, goal, initial_command, steps, created_at, updated_at, version"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page of a listing, filtered and ordered how. A page past the end stands for the last one."""

    page: int
    page_size: int
    query: str = ""
    sort_by: SortBy = "createdAt"
    sort_order: SortOrder = "asc"

    @property
    def is_brief(self) -> bool:
        """Whether it takes less time than a thread hop: a few rows, which an index leads to."""
        return not self.query and 0 < self.page_size <= MAX_INLINE_ROWS


async def find_page(
    tx: Transaction, call: Call, owner_no: int, total: int, request: PageRequest
) -> tuple[Span, list[Row]]:
    """Return where the page lies and its rows: filtered first, then cut."""
    owner = call.user_id, owner_no
    if request.query:
        return await _search(tx, owner, request)
    place = span(request.page, request.page_size, total)
    return place, await _slice(tx, owner, place, request)


def summaries(agent_id: str, rows: Sequence[Row]) -> list[PlaybookSummary]:
    return [PlaybookSummary(row[0], agent_id, *row[1:]) for row in rows]


async def _slice(tx: Transaction, owner: _Owner, place: Span, request: PageRequest) -> list[Row]:
    """Return the rows of one page, walking from whichever end of the listing is nearer."""
    length = max(0, min(place.limit, place.total - place.offset))
    from_end = place.total - place.offset - length
    is_reversed = from_end < place.offset
    order = _order(request.sort_by, (request.sort_order == "desc") != is_reversed)
    offset = from_end if is_reversed else place.offset
    rows = await tx.all(
        f"SELECT {_SUMMARY} FROM playbook WHERE {_OWNED} ORDER BY {order} LIMIT ?3 OFFSET ?4", *owner, length, offset
    )
    return rows[::-1] if is_reversed else rows


async def _search(tx: Transaction, owner: _Owner, request: PageRequest) -> tuple[Span, list[Row]]:
    """Return the page of those that hold every word of the query in their goal or first command."""
    words = fold(request.query).split()
    patterns = [f"%{_escape_like(word)}%" for word in words]
    condition = _OWNED + "".join(rf" AND search_text LIKE ?{number} ESCAPE '\'" for number in range(3, len(words) + 3))
    row = await tx.one(f"SELECT count(*) FROM playbook WHERE {condition}", *owner, *patterns)
    place = span(request.page, request.page_size, row[0] if row else 0)
    rows = await tx.all(
        f"SELECT {_SUMMARY} FROM playbook WHERE {condition} "
        f"ORDER BY {_order(request.sort_by, request.sort_order == 'desc')} LIMIT {place.limit} OFFSET {place.offset}",
        *owner,
        *patterns,
    )
    return place, rows


def _order(sort_by: SortBy, descending: bool) -> str:
    direction = "DESC" if descending else "ASC"
    columns = dict.fromkeys((_COLUMNS[sort_by], "seq"))
    return ", ".join(f"{column} {direction}" for column in columns)


def _escape_like(word: str) -> str:
    return word.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
