"""What a search ranks and finds, and what an index beside the database is made from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

from madang.services.content.domain.contents import Chunk, StoreKey
from madang.text.search.queries import Query


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
        """Return the ids of all stores of all users that are not deleted."""


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
