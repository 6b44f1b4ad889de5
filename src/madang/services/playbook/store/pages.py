"""One page of an owner's playbooks: found through an index or the bucket counts, or searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from madang.core.calls import Call
from madang.core.paging import Span, span
from madang.core.phrases import say
from madang.services.playbook.domain import PlaybookSummary, fold
from madang.services.playbook.store.tables import COARSE, FINE
from madang.storage.database import Database, Row, Transaction

SortBy = Literal["createdAt", "updatedAt", "goal"]
SortOrder = Literal["asc", "desc"]

_THINGS = say("playbooks")
_SUMMARY = "id, goal, initial_command, steps, created_at, updated_at, version"


@dataclass(frozen=True, slots=True)
class Listing:
    """What to list and in which order."""

    page: int
    page_size: int
    query: str = ""
    sort_by: SortBy = "createdAt"
    sort_order: SortOrder = "asc"
    clamp: bool = False

    @property
    def is_brief(self) -> bool:
        """Whether only the rows of a small page are touched, whatever the number of playbooks."""
        return not self.query and self.sort_by == "createdAt" and 0 < self.page_size <= 100

    @property
    def is_near(self) -> bool:
        """Whether the page is also so near to where the listing begins that walking there is the shortest way."""
        return self.is_brief and self.page * self.page_size <= 1 << FINE


async def find_near_page(database: Database, call: Call, listing: Listing) -> tuple[Span, list[Row]] | None:
    """Return a near page with a single statement, or None when nothing is there: why is for the longer way to say."""
    owner = "FROM playbook_owner WHERE user_id = ?1 AND assistant_id = ?2"
    rows = await database.find(
        f"SELECT (SELECT total {owner}), {_SUMMARY} FROM playbook WHERE owner_no = (SELECT no {owner}) "
        f"ORDER BY seq {listing.sort_order.upper()} LIMIT ?3 OFFSET ?4",
        call.user_id,
        call.assistant,
        listing.page_size,
        (listing.page - 1) * listing.page_size,
        user_id=call.user_id,
    )
    if not rows:
        return None
    where = span(listing.page, listing.page_size, rows[0][0], things=_THINGS)
    return where, [row[1:] for row in rows]


async def find_page(tx: Transaction, owner_no: int, total: int, listing: Listing) -> tuple[Span, list[Row]]:
    """Return where the page lies and its rows: filtered first, then cut.

    Raises:
        OutOfRange: there is no such page.
    """
    if listing.query:
        return await _search(tx, owner_no, listing)
    where = span(listing.page, listing.page_size, total, things=_THINGS, clamp=listing.clamp)
    return where, await _slice(tx, owner_no, where, listing)


def summaries(agent_id: str, rows: Sequence[Row]) -> list[PlaybookSummary]:
    return [PlaybookSummary(row[0], agent_id, *row[1:]) for row in rows]


async def _slice(tx: Transaction, owner_no: int, where: Span, listing: Listing) -> list[Row]:
    """Return the rows of one page, starting from whichever end of the listing is nearer."""
    length = max(0, min(where.limit, where.total - where.offset))
    from_end = where.total - where.offset - length
    reverse = from_end < where.offset
    offset = from_end if reverse else where.offset
    descending = (listing.sort_order == "desc") != reverse
    direction, after = ("DESC", "<=") if descending else ("ASC", ">=")
    if listing.sort_by != "createdAt":
        column = "updated_at" if listing.sort_by == "updatedAt" else "sort_key"
        # The inner select walks the index alone; rows are read only for the page itself.
        rows = await tx.all(
            f"SELECT {_SUMMARY} FROM playbook WHERE owner_no = ?1 AND seq IN (SELECT seq FROM playbook "
            f"WHERE owner_no = ?1 ORDER BY {column} {direction}, seq {direction} LIMIT ?2 OFFSET ?3) "
            f"ORDER BY {column} {direction}, seq {direction}",
            owner_no,
            length,
            offset,
        )
    else:
        start, offset = await _bucket_start(tx, owner_no, offset, descending)
        rows = await tx.all(
            f"SELECT {_SUMMARY} FROM playbook WHERE owner_no = ?1 AND seq {after} ?4 "
            f"ORDER BY seq {direction} LIMIT ?2 OFFSET ?3",
            owner_no,
            length,
            offset,
            start,
        )
    return rows[::-1] if reverse else rows


async def _bucket_start(tx: Transaction, owner_no: int, offset: int, descending: bool) -> tuple[int, int]:
    """Return the `seq` at which the bucket with the wanted row begins, and the offset that remains inside it."""
    direction = "DESC" if descending else "ASC"
    first, last = 0, 2**62
    if offset < 1 << FINE:
        return (last if descending else first), offset
    for bits in (COARSE, FINE):
        rows = await tx.all(
            "SELECT bucket, total FROM playbook_bucket WHERE owner_no = ?1 AND bits = ?2 AND bucket BETWEEN ?3 AND ?4 "
            f"ORDER BY bucket {direction}",
            owner_no,
            bits,
            first >> bits,
            last >> bits,
        )
        for bucket, total in rows:
            if offset < total:
                first, last = bucket << bits, ((bucket + 1) << bits) - 1
                break
            offset -= total
    return (last if descending else first), offset


async def _search(tx: Transaction, owner_no: int, listing: Listing) -> tuple[Span, list[Row]]:
    """Return the page of those that hold every word of the query in their goal or first command."""
    words = fold(listing.query).split()
    patterns = [f"%{_escaped(word)}%" for word in words]
    condition = "owner_no = ?1" + "".join(
        rf" AND search_text LIKE ?{number} ESCAPE '\'" for number in range(2, len(words) + 2)
    )
    row = await tx.one(f"SELECT count(*) FROM playbook WHERE {condition}", owner_no, *patterns)
    total = row[0] if row else 0
    where = span(listing.page, listing.page_size, total, things=_THINGS, clamp=listing.clamp)
    column = {"createdAt": "seq", "updatedAt": "updated_at", "goal": "sort_key"}[listing.sort_by]
    direction = listing.sort_order.upper()
    rows = await tx.all(
        f"SELECT {_SUMMARY} FROM playbook WHERE {condition} "
        f"ORDER BY {column} {direction}, seq {direction} LIMIT {where.limit} OFFSET {where.offset}",
        owner_no,
        *patterns,
    )
    return where, rows


def _escaped(word: str) -> str:
    return word.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
