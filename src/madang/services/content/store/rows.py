"""Stores and contents in the database. Another session's or user's id is answered like one that never was."""

from __future__ import annotations

import json
from collections.abc import Sequence

from madang.core.calls import Call
from madang.core.errors import LimitExceeded
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.services.content.domain import (
    OWN_STORE,
    Change,
    Chunk,
    Content,
    Hit,
    Limits,
    NewContent,
    Passage,
    Store,
    StoreKey,
    no_content,
    no_store,
    searched_text,
)
from madang.services.content.store.ranking import words_of
from madang.services.content.store.tables import MIGRATIONS
from madang.storage.clock import timestamp
from madang.storage.database import Database, Row, Transaction
from madang.storage.subscriptions import topic

# An empty id is the session's own store.
_IS_STORE = "s.user_id = ?1 AND s.session_id = ?2 AND (s.id = ?3 OR (CAST(?3 AS TEXT) = '' AND s.is_own = 1))"
_HAS_CHANGES = "EXISTS (SELECT 1 FROM content_change d WHERE d.store_no = s.no)"
_IS_BEHIND = "(SELECT EXISTS (SELECT 1 FROM content_change WHERE store_no = ?1))"
_FIELDS = (
    "c.no, c.id, c.filename, c.mime_type, c.size, c.line_count, c.chunk_count, c.preview, c.uploaded_at, c.page_lines"
)
_STORE_FIELDS = (
    "s.no, s.id, s.name, s.description, s.is_own, "
    "(SELECT count(*) FROM content c WHERE c.store_no = s.no), s.created_at"
)


class ContentRows:
    """The rows. Every method is one transaction, about the call's session alone, but for those an index asks."""

    def __init__(self, database: Database, limits: Limits) -> None:
        self._database = database
        self._limits = limits

    async def open(self) -> None:
        await self._database.prepare(MIGRATIONS)

    async def create_store(self, call: Call, name: str, description: str) -> Store:
        """Keep a new, empty store.

        Raises:
            LimitExceeded: the session has as many as it may.
        """
        owner, id, now = _owner(call), new_id(), timestamp()

        async def work(tx: Transaction) -> int:
            counted = await tx.one("SELECT count(*) FROM content_store WHERE user_id = ?1 AND session_id = ?2", *owner)
            if counted and counted[0] >= self._limits.stores:
                raise LimitExceeded(
                    say("The session has {limit} stores, and may have no more.", limit=self._limits.stores),
                    hint=say("Use 'delete_store' to remove one that is not needed."),
                )
            await tx.run(_NEW_STORE, id, *owner, name, description, 0, now)
            row = await tx.one("SELECT no FROM content_store WHERE id = ?1", id)
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
        return [_store(call, row) for row in rows]

    async def find_store(self, call: Call, id: str) -> StoreKey | None:
        """Return a store; None when it is the session's own and nothing was ever put into it.

        Raises:
            NotFound: the session has no such store.
        """
        rows = await self._database.find(
            f"SELECT s.no, s.id FROM content_store s WHERE {_IS_STORE}", *_owner(call), id, user_id=call.user_id
        )
        return _key(call, id, rows[0] if rows else None)

    async def find_searched(self, call: Call, id: str) -> tuple[StoreKey | None, bool]:
        """As `find_store`; also tell whether an index outside of the database has to be brought up first."""
        if self._database.ranks_text:
            return await self.find_store(call, id), False
        rows = await self._database.find(
            f"SELECT s.no, s.id, {_HAS_CHANGES} FROM content_store s WHERE {_IS_STORE}", *_owner(call), id
        )
        return _key(call, id, rows[0] if rows else None), bool(rows and rows[0][2])

    async def find_duplicate(self, store: StoreKey, sha256: str) -> Content | None:
        """Return the content of the store that is the same file."""
        rows = await self._database.find(_SAME, store.no, sha256, user_id=store.user_id)
        return _content(rows[0]) if rows else None

    async def add(self, call: Call, store_id: str, new: NewContent) -> tuple[StoreKey, Content, bool]:
        """Keep a content; the same file again is the one that is there. Returns the third: whether it was there.

        Raises:
            NotFound, LimitExceeded: nothing is kept.
        """
        owner, id, now, embedded = _owner(call), new_id(), timestamp(), not self._database.ranks_text

        async def work(tx: Transaction) -> tuple[StoreKey, Row, bool]:
            if not store_id:
                await tx.run(f"{_NEW_STORE} ON CONFLICT DO NOTHING", new_id(), *owner, OWN_STORE, "", 1, now)
            found = await tx.one(f"SELECT s.no, s.id FROM content_store s WHERE {_IS_STORE}", *owner, store_id)
            key = _key(call, store_id, found)
            assert key is not None
            there = await tx.one(_SAME, key.no, new.sha256)
            if there is not None:
                return key, there, True
            counted = await tx.one(_COUNT_OF_SESSION, *owner)
            if counted and counted[0] >= self._limits.contents:
                raise LimitExceeded(
                    say("The session has {limit} contents, and may have no more.", limit=self._limits.contents),
                    hint=say("Use 'delete_content' to remove one that is not needed."),
                )
            inserted = await tx.run(
                "INSERT INTO content (id, store_no, sha256, filename, mime_type, size, line_count, chunk_count, "
                "preview, page_lines, uploaded_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) "
                "ON CONFLICT DO NOTHING",
                id,
                key.no,
                new.sha256,
                new.filename,
                new.mime_type,
                new.size,
                new.line_count,
                len(new.chunks),
                new.preview,
                json.dumps(list(new.page_lines)),
                now,
            )
            row = await tx.one(_SAME, key.no, new.sha256)
            assert row is not None
            if not inserted:
                return key, row, True
            if embedded:
                await tx.run_many(_NEW_CHUNK, [(row[0], *chunk) for chunk in new.chunks])
                await tx.run("INSERT INTO content_change (store_no, content_no) VALUES (?1, ?2)", key.no, row[0])
            else:
                words = map(words_of, new.tokens)
                await tx.run_many(
                    _NEW_CHUNK_WITH_WORDS,
                    [(row[0], *chunk, key.no, said) for chunk, said in zip(new.chunks, words, strict=True)],
                )
            await tx.notify(content_topic(call))
            return key, row, False

        key, row, is_duplicate = await self._database.write(work, user_id=call.user_id)
        return key, _content(row), is_duplicate

    async def list_contents(self, store: StoreKey, offset: int, limit: int) -> tuple[list[Content], int]:
        """Return some of a store's contents, oldest first, and how many there are in all."""

        async def work(tx: Transaction) -> tuple[list[Row], int]:
            rows = await tx.all(
                f"SELECT {_FIELDS} FROM content c WHERE c.store_no = ?1 ORDER BY c.no LIMIT ?2 OFFSET ?3",
                store.no,
                limit,
                offset,
            )
            counted = await tx.one("SELECT count(*) FROM content WHERE store_no = ?1", store.no)
            return rows, counted[0] if counted else 0

        rows, total = await self._database.read(work, user_id=store.user_id)
        return [_content(row) for row in rows], total

    async def newest(self, call: Call, limit: int) -> tuple[list[Content], int]:
        """Return the newest contents of all stores of a session, newest first, and how many there are in all."""

        async def work(tx: Transaction) -> tuple[list[Row], int]:
            rows = await tx.all(
                f"SELECT {_FIELDS} FROM content c JOIN content_store s ON s.no = c.store_no "
                "WHERE s.user_id = ?1 AND s.session_id = ?2 ORDER BY c.no DESC LIMIT ?3",
                *_owner(call),
                limit,
            )
            counted = await tx.one(_COUNT_OF_SESSION, *_owner(call))
            return rows, counted[0] if counted else 0

        rows, total = await self._database.read(work, user_id=call.user_id)
        return [_content(row) for row in rows], total

    async def get(self, call: Call, store_id: str, id: str) -> Content:
        """Return a content without its text; an empty store id is any store of the session.

        Raises:
            NotFound: there is no such store, or no such content in it.
        """
        rows = await self._database.find(
            f"SELECT {_FIELDS} FROM content c JOIN content_store s ON s.no = c.store_no WHERE c.id = ?4 "
            "AND s.user_id = ?1 AND s.session_id = ?2 AND (s.id = ?3 OR CAST(?3 AS TEXT) = '')",
            *_owner(call),
            store_id,
            id,
            user_id=call.user_id,
        )
        if not rows:
            if store_id:
                await self.find_store(call, store_id)
            raise no_content(id)
        return _content(rows[0])

    async def chunks_of_lines(
        self, call: Call, content: Content, from_line: int, to_line: int, most: int
    ) -> list[Chunk]:
        """Return the first `most` chunks that hold any of these lines: only those are read, however long the text."""
        rows = await self._database.find(
            "SELECT number, from_line, to_line, text FROM content_chunk WHERE content_no = ?1 AND to_line >= ?2 "
            "AND to_line <= (SELECT min(to_line) FROM content_chunk WHERE content_no = ?1 AND to_line >= ?3) "
            "ORDER BY to_line, number LIMIT ?4",
            content.no,
            from_line,
            to_line,
            most,
            user_id=call.user_id,
        )
        return [Chunk(*row) for row in rows]

    async def chunk(self, call: Call, content: Content, number: int) -> Chunk | None:
        rows = await self._database.find(
            "SELECT number, from_line, to_line, text FROM content_chunk WHERE content_no = ?1 AND number = ?2",
            content.no,
            number,
            user_id=call.user_id,
        )
        return Chunk(*rows[0]) if rows else None

    async def passages(self, store: StoreKey, hits: Sequence[Hit]) -> tuple[list[Passage], bool]:
        """Return the hits that are rows of this store, and whether an index did not know everything."""
        places = ", ".join(f"?{number}" for number in range(2, len(hits) + 2)) or "-1"
        behind = "0" if self._database.ranks_text else _IS_BEHIND
        sql = (
            f"SELECT {behind}, k.no, c.id, c.filename, k.number, k.from_line, k.to_line, k.text FROM content_chunk k "
            f"JOIN content c ON c.no = k.content_no WHERE c.store_no = ?1 AND k.no IN ({places})"
        )
        rows = await self._database.find(sql, store.no, *(hit.chunk_no for hit in hits), user_id=store.user_id)
        if not rows and not self._database.ranks_text:
            return [], bool((await self._database.find(f"SELECT {behind}", store.no))[0][0])
        by_no = {row[1]: row[2:] for row in rows}
        found = [
            Passage(by_no[no][0], by_no[no][1], Chunk(*by_no[no][2:]), relevance)
            for no, relevance in hits
            if no in by_no
        ]
        return found, bool(rows and rows[0][0])

    async def delete_content(self, call: Call, store_id: str, id: str) -> tuple[StoreKey, Content]:
        """Remove a content with its text.

        Raises:
            NotFound: there is no such store, or no such content in it.
        """
        content = await self.get(call, store_id, id)

        async def work(tx: Transaction) -> StoreKey:
            found = await tx.one(
                "SELECT s.no, s.id FROM content c JOIN content_store s ON s.no = c.store_no WHERE c.no = ?1", content.no
            )
            if found is None:
                raise no_content(id)
            if not self._database.ranks_text:
                await tx.run("INSERT INTO content_change (store_no, content_no) VALUES (?1, ?2)", found[0], content.no)
            await tx.run("DELETE FROM content WHERE no = ?1", content.no)
            await tx.notify(content_topic(call))
            return StoreKey(found[0], found[1], call.user_id)

        return await self._database.write(work, user_id=call.user_id), content

    async def delete_store(self, call: Call, id: str) -> Store:
        """Remove a store with everything in it, and return it as it was.

        Raises:
            NotFound: the session has no such store.
        """

        async def work(tx: Transaction) -> Store:
            row = await tx.one(f"SELECT {_STORE_FIELDS} FROM content_store s WHERE {_IS_STORE}", *_owner(call), id)
            if row is None:
                raise no_store(id)
            await tx.run("DELETE FROM content_store WHERE no = ?1", row[0])
            await tx.notify(content_topic(call))
            return _store(call, row)

        return await self._database.write(work, user_id=call.user_id)

    async def changes(self, store: StoreKey) -> list[Change]:
        rows = await self._database.find(
            "SELECT seq, content_no FROM content_change WHERE store_no = ?1 ORDER BY seq", store.no
        )
        return [Change(*row) for row in rows]

    async def change_all(self, store: StoreKey) -> None:
        async def work(tx: Transaction) -> None:
            await tx.run(
                "INSERT INTO content_change (store_no, content_no) "
                "SELECT store_no, no FROM content WHERE store_no = ?1 ORDER BY no",
                store.no,
            )

        await self._database.write(work)

    async def forget(self, changes: Sequence[Change]) -> None:
        async def work(tx: Transaction) -> None:
            await tx.run_many("DELETE FROM content_change WHERE seq = ?1", [(change.seq,) for change in changes])

        await self._database.write(work)

    async def indexed_chunks(self, content_no: int, after: int, limit: int) -> list[tuple[int, int, str]]:
        async def work(tx: Transaction) -> list[tuple[int, int, str]]:
            rows = await tx.all(
                "SELECT k.number, k.no, k.text, c.filename FROM content_chunk k JOIN content c ON c.no = k.content_no "
                "WHERE k.content_no = ?1 AND k.number > ?2 ORDER BY k.number LIMIT ?3",
                content_no,
                after,
                limit,
            )
            return [(number, no, searched_text(name, number, text)) for number, no, text, name in rows]

        return await self._database.read(work)

    async def all_stores(self) -> list[str]:
        async def work(tx: Transaction) -> list[Row]:
            return await tx.all("SELECT id FROM content_store")

        return [id for (id,) in await self._database.read(work)]


_NEW_STORE = (
    "INSERT INTO content_store (id, user_id, session_id, name, description, is_own, created_at) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
)
_NEW_CHUNK = "INSERT INTO content_chunk (content_no, number, from_line, to_line, text) VALUES (?1, ?2, ?3, ?4, ?5)"
_NEW_CHUNK_WITH_WORDS = (
    "INSERT INTO content_chunk (content_no, number, from_line, to_line, text, store_no, words) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, CAST(CAST(?7 AS text) AS tsvector))"
)
_SAME = f"SELECT {_FIELDS} FROM content c WHERE c.store_no = ?1 AND c.sha256 = ?2"
_COUNT_OF_SESSION = (
    "SELECT count(*) FROM content c JOIN content_store s ON s.no = c.store_no "
    "WHERE s.user_id = ?1 AND s.session_id = ?2"
)


def content_topic(call: Call) -> str:
    """The name under which changes of a session's contents are told."""
    return topic("content", *_owner(call))


def _owner(call: Call) -> tuple[str, str]:
    return call.user_id, call.session


def _key(call: Call, id: str, row: Row | None) -> StoreKey | None:
    if row is None:
        if id:
            raise no_store(id)
        return None
    return StoreKey(row[0], row[1], call.user_id)


def _store(call: Call, row: Row) -> Store:
    no, id, name, description, is_own, contents, created_at = row
    return Store(StoreKey(no, id, call.user_id), name, description, bool(is_own), contents, created_at)


def _content(row: Row) -> Content:
    no, id, filename, mime_type, size, lines, chunks, preview, uploaded_at, page_lines = row
    pages = tuple(json.loads(page_lines))
    return Content(no, id, filename, mime_type, size, lines, chunks, preview, uploaded_at, pages)
