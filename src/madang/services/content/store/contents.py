"""Stores and contents in the database. The id of another session or user is answered like one that does not exist."""

from __future__ import annotations

from collections.abc import Sequence

from madang.core.calls import Call
from madang.core.errors import LimitExceeded
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.services.content.domain.contents import (
    OWN_STORE,
    AddedContent,
    Chunk,
    Content,
    Limits,
    NewContent,
    Store,
    StoreKey,
    added_again,
    no_content,
    no_store,
)
from madang.services.content.domain.search import Passage, RankedChunk
from madang.services.content.store.deletions import find_deleted, remove_content, restore_content
from madang.services.content.store.rows import content_values, parse_content, parse_store
from madang.services.content.store.tables import MIGRATIONS
from madang.services.content.store.vectors import tsvector_text, word_count
from madang.storage.clock import timestamp
from madang.storage.database import Database, Row, Transaction
from madang.storage.subscriptions import topic

# An empty id is the session's own store.
_IS_STORE = "s.user_id = ?1 AND s.session_id = ?2 AND (s.id = ?3 OR (CAST(?3 AS TEXT) = '' AND s.is_own = 1))"
_STORE_INDEX_LAGS = "EXISTS (SELECT 1 FROM content_change d WHERE d.user_id = s.user_id AND d.store_no = s.no)"
_INDEX_LAGS = "(SELECT EXISTS (SELECT 1 FROM content_change WHERE user_id = ?1 AND store_no = ?2))"
_STORE_BY_ID = f"SELECT s.no, s.id FROM content_store s WHERE {_IS_STORE}"
_FIELDS = (
    "c.no, c.id, c.filename, c.mime_type, c.size, c.line_count, c.chunk_count, c.preview, c.uploaded_at, c.page_lines"
)
# Not a join: SQLite would carry the user over to the contents, and walk all that the user has in any session.
_IN_SESSION = "c.user_id = ?1 AND c.store_no IN (SELECT no FROM content_store WHERE user_id = ?1 AND session_id = ?2)"
_STORE_FIELDS = (
    "s.no, s.id, s.name, s.description, s.is_own, "
    "(SELECT count(*) FROM content c WHERE c.user_id = s.user_id AND c.store_no = s.no), s.created_at"
)


class ContentStore:
    """Every store of every session, with its contents; one store of a session is a `Store` or its `StoreKey`.

    Every write is one transaction, with the change for the search index in it. No method sees the rows of another
    session than the call's.
    """

    def __init__(self, database: Database, limits: Limits) -> None:
        self._database = database
        self._limits = limits

    async def open(self) -> None:
        await self._database.prepare(MIGRATIONS)

    async def create_store(self, call: Call, name: str, description: str) -> Store:
        """Create an empty store.

        Raises:
            LimitExceeded: the session has as many as are allowed.
        """
        owner, id, now = _owner(call), new_id(), timestamp()

        async def work(tx: Transaction) -> int:
            if await _count(tx, _COUNT_OF_STORES, *owner) >= self._limits.stores:
                raise LimitExceeded(
                    say("The session has {limit} stores, and may have no more.", limit=self._limits.stores),
                    hint=say("Use 'delete_store' to remove one that is not needed."),
                )
            await tx.run(_NEW_STORE, id, *owner, name, description, 0, now)
            row = await tx.one("SELECT no FROM content_store WHERE user_id = ?1 AND id = ?2", call.user_id, id)
            await tx.notify(content_topic(call))
            assert row is not None
            return int(row[0])

        no = await self._database.write(work, user_id=call.user_id)
        return Store(StoreKey(no, id, call.user_id), name, description, False, 0, now)

    async def list_stores(self, call: Call) -> list[Store]:
        """Return the session's stores, oldest first."""
        rows = await self._database.find(
            f"SELECT {_STORE_FIELDS} FROM content_store s WHERE s.user_id = ?1 AND s.session_id = ?2 ORDER BY s.no",
            *_owner(call),
            user_id=call.user_id,
        )
        return [parse_store(call, row) for row in rows]

    async def find_store(self, call: Call, id: str) -> StoreKey | None:
        """Return a store; None for the session's own before the first content was added.

        Raises:
            NotFound: the session has no such store.
        """
        rows = await self._database.find(_STORE_BY_ID, *_owner(call), id, user_id=call.user_id)
        return _key(call, id, rows[0] if rows else None)

    async def find_store_and_lag(self, call: Call, id: str) -> tuple[StoreKey | None, bool]:
        """Return a store as `find_store` does, and whether its index lacks changes."""
        if self._database.ranks_text:
            return await self.find_store(call, id), False
        rows = await self._database.find(
            f"SELECT s.no, s.id, {_STORE_INDEX_LAGS} FROM content_store s WHERE {_IS_STORE}", *_owner(call), id
        )
        return _key(call, id, rows[0] if rows else None), bool(rows and rows[0][2])

    async def find_duplicate(self, store: StoreKey, sha256: str) -> Content | None:
        """Return the content of the store with this hash."""
        rows = await self._database.find(_BY_HASH, store.user_id, store.no, sha256, user_id=store.user_id)
        return parse_content(rows[0]) if rows else None

    async def add(self, call: Call, store_id: str, new: NewContent) -> AddedContent:
        """Store a content, unless the store has one with the same hash.

        Raises:
            NotFound: the session has no such store.
            LimitExceeded: the session has as many contents as are allowed.
        """
        owner, id, now = _owner(call), new_id(), timestamp()

        async def work(tx: Transaction) -> tuple[StoreKey, Row, bool]:
            if not store_id:
                await tx.run(f"{_NEW_STORE} ON CONFLICT DO NOTHING", new_id(), *owner, OWN_STORE, "", 1, now)
            store = await tx.one(_STORE_BY_ID, *owner, store_id)
            key = _key(call, store_id, store)
            assert key is not None
            duplicate = await tx.one(_BY_HASH, call.user_id, key.no, new.sha256)
            if duplicate is not None:
                return key, duplicate, True
            await self._check_room(tx, call)
            values = id, call.user_id, key.no, *content_values(new), now
            # The name of the analysis is a column on a server only: an index beside the database has it as a whole.
            inserted = await (
                tx.run(_NEW_ANALYZED_CONTENT, *values, new.analysis)
                if self._database.ranks_text
                else tx.run(_NEW_CONTENT, *values)
            )
            row = await tx.one(_BY_HASH, call.user_id, key.no, new.sha256)
            assert row is not None
            if not inserted:
                return key, row, True
            await self._add_chunks(tx, key, row[0], new)
            await tx.notify(content_topic(call))
            return key, row, False

        key, row, is_duplicate = await self._database.write(work, user_id=call.user_id)
        return AddedContent(key, parse_content(row), is_duplicate)

    async def _add_chunks(self, tx: Transaction, store: StoreKey, content_no: int, new: NewContent) -> None:
        key = store.user_id, store.no, content_no
        if self._database.ranks_text:
            rows = [
                (*key, *chunk, tsvector_text(tokens), word_count(tokens))
                for chunk, tokens in zip(new.chunks, new.tokens, strict=True)
            ]
            await tx.run_many(_NEW_CHUNK_WITH_WORDS, rows)
            return
        await tx.run_many(_NEW_CHUNK, [(*key, *chunk) for chunk in new.chunks])
        await tx.run(_NEW_CHANGE, *key)

    async def list_contents(self, store: StoreKey, offset: int, limit: int) -> tuple[list[Content], int]:
        """Return a part of a store's contents, oldest first, and their total number."""

        async def work(tx: Transaction) -> tuple[list[Row], int]:
            rows = await tx.all(
                f"SELECT {_FIELDS} FROM content c WHERE c.user_id = ?1 AND c.store_no = ?2 "
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
                f"SELECT {_FIELDS} FROM content c WHERE {_IN_SESSION} ORDER BY c.no DESC LIMIT ?3 OFFSET ?4",
                *_owner(call),
                limit,
                offset,
            )
            return rows, await _count(tx, _COUNT_OF_CONTENTS, *_owner(call))

        rows, total = await self._database.read(work, user_id=call.user_id)
        return [parse_content(row) for row in rows], total

    async def get(self, call: Call, store_id: str, id: str) -> Content:
        """Return a content without its text; an empty store id is any store of the session.

        Raises:
            NotFound: there is no such store, or no such content in it.
        """
        rows = await self._database.find(_BY_ID, *_owner(call), store_id, id, user_id=call.user_id)
        if not rows:
            if store_id:
                await self.find_store(call, store_id)  # raises NotFound for the store, if that is what is missing
            raise no_content(id)
        return parse_content(rows[0][:-2])

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

        async def work(tx: Transaction) -> tuple[StoreKey, Content]:
            row = await tx.one(_BY_ID, *_owner(call), store_id, id)
            if row is None:
                if store_id:
                    store = await tx.one(_STORE_BY_ID, *_owner(call), store_id)
                    _key(call, store_id, store)  # raises NotFound for the store, if that is what is missing
                raise no_content(id)
            key, content = StoreKey(row[-2], row[-1], call.user_id), parse_content(row[:-2])
            if self._database.ranks_text:
                from madang.services.content.store.parts import count_deleted  # not at a start on a file

                await count_deleted(tx, key, content.no)
            if not await remove_content(tx, self._database, key, content.no, for_good=for_good):
                raise no_content(id)  # another call has just deleted it
            if not self._database.ranks_text:
                await tx.run(_NEW_CHANGE, call.user_id, key.no, content.no)
            await tx.notify(content_topic(call))
            return key, content

        return await self._database.write(work, user_id=call.user_id)

    async def restore_content(self, call: Call, id: str) -> AddedContent:
        """Take a deletion back and return the content; one that is there stays as it is.

        Raises:
            NotFound: it is not there, was deleted too long ago, or its store was deleted.
            Conflict: its store has got the same file again.
            LimitExceeded: the session has as many contents as are allowed.
        """

        async def work(tx: Transaction) -> AddedContent:
            deleted = await find_deleted(tx, *_owner(call), id)
            if deleted is not None:
                no, store_no, sha256 = deleted
                if await tx.one(_BY_HASH, call.user_id, store_no, sha256) is not None:
                    raise added_again(id)
                await self._check_room(tx, call)
                if await restore_content(tx, self._database, call.user_id, no) and not self._database.ranks_text:
                    await tx.run(_NEW_CHANGE, call.user_id, store_no, no)
                await tx.notify(content_topic(call))
            row = await tx.one(_BY_ID, *_owner(call), "", id)
            if row is None:
                raise no_content(id)
            return AddedContent(StoreKey(row[-2], row[-1], call.user_id), parse_content(row[:-2]), deleted is None)

        return await self._database.write(work, user_id=call.user_id)

    async def _check_room(self, tx: Transaction, call: Call) -> None:
        if await _count(tx, _COUNT_OF_CONTENTS, *_owner(call)) >= self._limits.contents:
            raise LimitExceeded(
                say("The session has {limit} contents, and may have no more.", limit=self._limits.contents),
                hint=say("Use 'delete_content' to remove one that is not needed."),
            )

    async def delete_store(self, call: Call, id: str) -> Store:
        """Delete a store with everything in it, and return it as it was.

        Raises:
            NotFound: the session has no such store.
        """

        async def work(tx: Transaction) -> Store:
            row = await tx.one(f"SELECT {_STORE_FIELDS} FROM content_store s WHERE {_IS_STORE}", *_owner(call), id)
            if row is None:
                raise no_store(id)
            await tx.run("DELETE FROM content_store WHERE user_id = ?1 AND no = ?2", call.user_id, row[0])
            await tx.notify(content_topic(call))
            return parse_store(call, row)

        return await self._database.write(work, user_id=call.user_id)


_NEW_STORE = (
    "INSERT INTO content_store (id, user_id, session_id, name, description, is_own, created_at) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
)
_NEW_CONTENT = (
    "INSERT INTO content (id, user_id, store_no, sha256, filename, mime_type, size, line_count, chunk_count, preview, "
    "page_lines, uploaded_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT DO NOTHING"
)
_NEW_ANALYZED_CONTENT = _NEW_CONTENT.replace("uploaded_at)", "uploaded_at, analysis)").replace("?12)", "?12, ?13)")
_NEW_CHANGE = "INSERT INTO content_change (user_id, store_no, content_no) VALUES (?1, ?2, ?3)"
_CHUNK_FIELDS = "user_id, store_no, content_no, number, from_line, to_line, text"
_NEW_CHUNK = f"INSERT INTO content_chunk ({_CHUNK_FIELDS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
_NEW_CHUNK_WITH_WORDS = (
    f"INSERT INTO content_chunk ({_CHUNK_FIELDS}, words, word_count) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, CAST(CAST(?8 AS text) AS tsvector), ?9)"
)
_IN_CONTENT = "user_id = ?1 AND content_no = ?2"
_BY_HASH = f"SELECT {_FIELDS} FROM content c WHERE c.user_id = ?1 AND c.store_no = ?2 AND c.sha256 = ?3"
_BY_ID = (
    f"SELECT {_FIELDS}, s.no, s.id FROM content c JOIN content_store s ON s.user_id = c.user_id AND s.no = c.store_no "
    "WHERE c.user_id = ?1 AND c.id = ?4 AND s.session_id = ?2 AND (s.id = ?3 OR CAST(?3 AS TEXT) = '')"
)
_COUNT_OF_STORES = "SELECT count(*) FROM content_store WHERE user_id = ?1 AND session_id = ?2"
_COUNT_OF_CONTENTS = f"SELECT count(*) FROM content c WHERE {_IN_SESSION}"


def content_topic(call: Call) -> str:
    """Return the topic of changes of a session's contents."""
    return topic("content", *_owner(call))


def _owner(call: Call) -> tuple[str, str]:
    return call.user_id, call.session


def _key(call: Call, id: str, row: Row | None) -> StoreKey | None:
    if row is None:
        if id:
            raise no_store(id)
        return None
    return StoreKey(row[0], row[1], call.user_id)


async def _count(tx: Transaction, sql: str, *parameters: object) -> int:
    row = await tx.one(sql, *parameters)
    return int(row[0]) if row else 0
