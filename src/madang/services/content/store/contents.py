"""Stores and contents in the database. The id of another session or user is answered like one that does not exist."""

from __future__ import annotations

from collections.abc import Sequence

from madang.core.calls import Call
from madang.core.ids import new_id
from madang.core.operations import Operation
from madang.database.port import Database, Row, Transaction
from madang.records.operations import (
    OPERATION_MIGRATIONS,
    find_operation,
    mark_undone,
    not_undone,
    record_operation,
)
from madang.services.content.domain.contents import (
    AddedContent,
    Chunk,
    Content,
    ContentChange,
    Limits,
    NewContent,
    Store,
    StoreKey,
    no_content,
    split_chunk_id,
)
from madang.services.content.domain.search import Passage, RankedChunk
from madang.services.content.store.deletions import (
    SERVICE,
    Deletions,
    check_store_room,
    content_change,
    mark_deletion_undone,
)
from madang.services.content.store.insertions import NEW_STORE, Insertions
from madang.services.content.store.rows import (
    CONTENT_BY_HASH,
    CONTENT_BY_ID,
    CONTENT_FIELDS,
    COUNT_OF_CONTENTS,
    IN_SESSION,
    IS_STORE,
    STORE_BY_ID,
    STORE_FIELDS,
    WHOLE_STORE_BY_ID,
    content_topic,
    owner_of,
    parse_content,
    parse_store,
    store_key,
)
from madang.services.content.store.tables import MIGRATIONS
from madang.system.clock import timestamp

_STORE_INDEX_LAGS = "EXISTS (SELECT 1 FROM content_change d WHERE d.user_id = s.user_id AND d.store_no = s.no)"
_INDEX_LAGS = "(SELECT EXISTS (SELECT 1 FROM content_change WHERE user_id = ?1 AND store_no = ?2))"


class ContentStore:
    """Every store of every session, with its contents; one store of a session is a `Store` or its `StoreKey`.

    Every write is one transaction, with the change for the search index in it. No method sees the rows of another
    session than the call's.
    """

    def __init__(self, database: Database, limits: Limits) -> None:
        self._database = database
        self._limits = limits
        self._insertions = Insertions(database, limits)
        self._deletions = Deletions(database, limits)

    async def open(self) -> None:
        await self._database.prepare(MIGRATIONS)
        await self._database.prepare(OPERATION_MIGRATIONS)

    async def create_store(self, call: Call, name: str, description: str) -> Store:
        """Create an empty store.

        Raises:
            LimitExceeded: the session has as many as are allowed.
        """
        id, now = new_id(), timestamp()

        async def work(tx: Transaction) -> ContentChange:
            done = await _find_change(tx, call)
            if done is not None:
                return done
            await check_store_room(tx, call, self._limits)
            await tx.run(NEW_STORE, id, *owner_of(call), name, description, 0, now)
            row = await tx.one(WHOLE_STORE_BY_ID, *owner_of(call), id)
            assert row is not None
            store = parse_store(call, row)
            await tx.notify(content_topic(call))
            return await _record(tx, call, ContentChange(kind="added", key=store.key, store=store))

        return _store(await self._database.write(work, user_id=call.user_id))

    async def list_stores(self, call: Call) -> list[Store]:
        """Return the session's stores, oldest first."""
        rows = await self._database.find(
            f"SELECT {STORE_FIELDS} FROM content_store s "
            "WHERE s.user_id = ?1 AND s.session_id = ?2 AND s.deleted_at IS NULL ORDER BY s.no",
            *owner_of(call),
            user_id=call.user_id,
        )
        return [parse_store(call, row) for row in rows]

    async def find_store(self, call: Call, id: str) -> StoreKey | None:
        """Return a store; None for the session's own before the first content was added.

        Raises:
            NotFound: the session has no such store.
        """
        rows = await self._database.find(STORE_BY_ID, *owner_of(call), id, user_id=call.user_id)
        return store_key(call, id, rows[0] if rows else None)

    async def find_store_and_lag(self, call: Call, id: str) -> tuple[StoreKey | None, bool]:
        """Return a store as `find_store` does, and whether its index lacks changes."""
        if self._database.ranks_text:
            return await self.find_store(call, id), False
        rows = await self._database.find(
            f"SELECT s.no, s.id, {_STORE_INDEX_LAGS} FROM content_store s WHERE {IS_STORE}", *owner_of(call), id
        )
        return store_key(call, id, rows[0] if rows else None), bool(rows and rows[0][2])

    async def find_duplicate(self, store: StoreKey, sha256: str) -> Content | None:
        """Return the content of the store with this hash."""
        rows = await self._database.find(CONTENT_BY_HASH, store.user_id, store.no, sha256, user_id=store.user_id)
        return parse_content(rows[0]) if rows else None

    async def find_added(self, call: Call) -> AddedContent | None:
        """Return what the same call added before, if it did."""
        if not call.operation_id:
            return None

        async def work(tx: Transaction) -> AddedContent | None:
            return await _find_added(tx, call)

        return await self._database.read(work, user_id=call.user_id, brief=True)

    async def add(self, call: Call, store_id: str, new: NewContent) -> AddedContent:
        """Store a content, unless the store has one with the same hash.

        Raises:
            NotFound: the session has no such store.
            LimitExceeded: the session has as many contents as are allowed.
        """

        async def work(tx: Transaction) -> AddedContent:
            done = await _find_added(tx, call)
            if done is not None:
                return done
            added = await self._insertions.insert(tx, call, store_id, new)
            if not added.is_duplicate:
                await _record(tx, call, content_change("added", added.store, added.content))
            return added

        return await self._database.write(work, user_id=call.user_id)

    async def put(self, call: Call, store_id: str, new: NewContent) -> AddedContent:
        """Store a content of a new session, in which nothing is to be taken back. Raises as `add` does."""
        return await self._database.write(
            lambda tx: self._insertions.insert(tx, call, store_id, new), user_id=call.user_id
        )

    async def list_contents(self, store: StoreKey, offset: int, limit: int) -> tuple[list[Content], int]:
        """Return a part of a store's contents, oldest first, and their total number."""

        async def work(tx: Transaction) -> tuple[list[Row], int]:
            rows = await tx.all(
                f"SELECT {CONTENT_FIELDS} FROM content c WHERE c.user_id = ?1 AND c.store_no = ?2 "
                "ORDER BY c.no LIMIT ?3 OFFSET ?4",
                store.user_id,
                store.no,
                limit,
                offset,
            )
            count = "SELECT count(*) FROM content WHERE user_id = ?1 AND store_no = ?2"
            return rows, await _count(tx, count, store.user_id, store.no)

        rows, total = await self._database.read(work, user_id=store.user_id)
        return [parse_content(row) for row in rows], total

    async def newest(self, call: Call, limit: int, offset: int = 0) -> tuple[list[Content], int]:
        """Return a part of the contents of all stores of a session, newest first, and their total number."""

        async def work(tx: Transaction) -> tuple[list[Row], int]:
            rows = await tx.all(
                f"SELECT {CONTENT_FIELDS} FROM content c WHERE {IN_SESSION} ORDER BY c.no DESC LIMIT ?3 OFFSET ?4",
                *owner_of(call),
                limit,
                offset,
            )
            return rows, await _count(tx, COUNT_OF_CONTENTS, *owner_of(call))

        rows, total = await self._database.read(work, user_id=call.user_id)
        return [parse_content(row) for row in rows], total

    async def get(self, call: Call, store_id: str, id: str) -> Content:
        """Return a content without its text; an empty store id is any store of the session.

        Raises:
            NotFound: there is no such store, or no such content in it.
        """
        rows = await self._database.find(CONTENT_BY_ID, *owner_of(call), store_id, id, user_id=call.user_id)
        if not rows:
            if store_id:
                await self.find_store(call, store_id)  # raises NotFound for the store, if that is what is missing
            raise no_content(id)
        return parse_content(rows[0][:-2])

    async def id_kind(self, call: Call, id: str) -> str:
        """Return what an id of the call's session is the id of; a chunk is read in the place of its content."""
        if await self._database.find(STORE_BY_ID, *owner_of(call), id, user_id=call.user_id):
            return "storeId"
        content_id, _ = split_chunk_id(id)
        rows = await self._database.find(CONTENT_BY_ID, *owner_of(call), "", content_id, user_id=call.user_id)
        return "contentId" if rows else ""

    async def chunks_of_lines(
        self, call: Call, content: Content, from_line: int, to_line: int, limit: int
    ) -> list[Chunk]:
        """Return the first chunks with any of these lines, at most `limit`; no other rows are read."""
        rows = await self._database.find(
            f"SELECT number, from_line, to_line, text FROM content_chunk WHERE {_IN_CONTENT} AND to_line >= ?3 "
            f"AND to_line <= (SELECT min(to_line) FROM content_chunk WHERE {_IN_CONTENT} AND to_line >= ?4) "
            "ORDER BY to_line, number LIMIT ?5",
            call.user_id,
            content.no,
            from_line,
            to_line,
            limit,
            user_id=call.user_id,
        )
        return [Chunk(*row) for row in rows]

    async def chunk(self, call: Call, content: Content, number: int) -> Chunk | None:
        rows = await self._database.find(
            f"SELECT number, from_line, to_line, text FROM content_chunk WHERE {_IN_CONTENT} AND number = ?3",
            call.user_id,
            content.no,
            number,
            user_id=call.user_id,
        )
        return Chunk(*rows[0]) if rows else None

    async def passages(self, store: StoreKey, ranked: Sequence[RankedChunk]) -> tuple[list[Passage], bool]:
        """Return those of the ranked chunks that are rows of this store, and whether its index lacks changes."""
        places = ", ".join(f"?{number}" for number in range(3, len(ranked) + 3)) or "-1"
        lags = "0" if self._database.ranks_text else _INDEX_LAGS
        # The plus keeps SQLite from walking all chunks of the user: it takes a list of numbers for the dearer way.
        hidden = "+" if self._database.dialect == "sqlite" else ""
        sql = (
            f"SELECT {lags}, k.no, c.id, c.filename, k.number, k.from_line, k.to_line, k.text FROM content_chunk k "
            "JOIN content c ON c.user_id = k.user_id AND c.no = k.content_no "
            f"WHERE {hidden}k.user_id = ?1 AND {hidden}k.store_no = ?2 AND k.no IN ({places})"
        )
        key = store.user_id, store.no
        rows = await self._database.find(sql, *key, *(chunk.chunk_no for chunk in ranked), user_id=store.user_id)
        if not rows and not self._database.ranks_text:
            return [], bool((await self._database.find(f"SELECT {lags}", *key))[0][0])
        by_no = {row[1]: row[2:] for row in rows}
        passages = [
            Passage(by_no[no][0], by_no[no][1], Chunk(*by_no[no][2:]), relevance)
            for no, relevance in ranked
            if no in by_no
        ]
        return passages, bool(rows and rows[0][0])

    async def delete_content(
        self, call: Call, store_id: str, id: str, *, for_good: bool = False
    ) -> tuple[StoreKey, Content]:
        """Delete a content with its text; it can be restored unless this is `for_good`.

        An empty store id is any store of the session.

        Raises:
            NotFound: there is no such store, or no such content in it.
        """

        async def work(tx: Transaction) -> ContentChange:
            if for_good:
                return await self._deletions.delete_content(tx, call, store_id, id, for_good=True)
            done = await _find_change(tx, call)
            return done or await _record(tx, call, await self._deletions.delete_content(tx, call, store_id, id))

        return _content(await self._database.write(work, user_id=call.user_id))

    async def restore_content(self, call: Call, id: str) -> AddedContent:
        """Take a deletion back and return the content; one that is there stays as it is.

        Raises:
            NotFound: it is not there, was deleted too long ago, or its store was deleted.
            Conflict: its store has got the same file again.
            LimitExceeded: the session has as many contents as are allowed.
        """

        async def work(tx: Transaction) -> AddedContent:
            change = await _find_change(tx, call)
            if change is None:
                change = await self._deletions.restore_content(tx, call, id)
                if change is None:
                    row = await tx.one(CONTENT_BY_ID, *owner_of(call), "", id)
                    if row is None:
                        raise no_content(id)
                    return AddedContent(StoreKey(row[-2], row[-1], call.user_id), parse_content(row[:-2]), True)
                await mark_deletion_undone(tx, call, id)
                await _record(tx, call, change)
            return AddedContent(*_content(change), is_duplicate=False)

        return await self._database.write(work, user_id=call.user_id)

    async def delete_store(self, call: Call, id: str) -> Store:
        """Delete a store with everything in it, so that it can be restored, and return it as it was.

        Raises:
            NotFound: the session has no such store.
        """

        async def work(tx: Transaction) -> ContentChange:
            done = await _find_change(tx, call)
            return done or await _record(tx, call, await self._deletions.delete_store(tx, call, id))

        return _store(await self._database.write(work, user_id=call.user_id))

    async def undo(self, call: Call, operation: Operation) -> tuple[Operation, ContentChange]:
        """Take back what an operation changed, as an operation of its own.

        Raises:
            Conflict: it was taken back already, or its time is over.
            ToolError: what it changed was changed since, so that it cannot be taken back.
        """

        async def work(tx: Transaction) -> tuple[Operation, ContentChange]:
            if not await mark_undone(tx, operation):
                raise not_undone()
            change = ContentChange.model_validate_json(operation.change)
            taken_back = await self._deletions.take_back(tx, call, change)
            return await record_operation(tx, call, SERVICE, taken_back), taken_back

        return await self._database.write(work, user_id=call.user_id)


_IN_CONTENT = "user_id = ?1 AND content_no = ?2"


async def _find_change(tx: Transaction, call: Call) -> ContentChange | None:
    """Return what the same call changed before, if it did."""
    done = await find_operation(tx, call)
    return ContentChange.model_validate_json(done.change) if done else None


async def _find_added(tx: Transaction, call: Call) -> AddedContent | None:
    change = await _find_change(tx, call)
    return AddedContent(*_content(change), is_duplicate=False) if change else None


async def _record(tx: Transaction, call: Call, change: ContentChange) -> ContentChange:
    await record_operation(tx, call, SERVICE, change)
    return change


def _content(change: ContentChange) -> tuple[StoreKey, Content]:
    assert change.content is not None
    return change.key, change.content


def _store(change: ContentChange) -> Store:
    assert change.store is not None
    return change.store


async def _count(tx: Transaction, sql: str, *parameters: object) -> int:
    row = await tx.one(sql, *parameters)
    return int(row[0]) if row else 0
