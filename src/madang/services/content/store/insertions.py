"""New contents: the row of one, its chunks, and the change for the search index, in the transaction of their caller."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.ids import new_id
from madang.database.port import Database, Transaction
from madang.services.content.domain.contents import OWN_STORE, AddedContent, Limits, NewContent, StoreKey
from madang.services.content.store.deletions import NEW_INDEX_CHANGE, check_room
from madang.services.content.store.rows import (
    CONTENT_BY_HASH,
    STORE_BY_ID,
    content_topic,
    content_values,
    owner_of,
    parse_content,
    store_key,
)
from madang.services.content.store.vectors import tsvector_text, word_count
from madang.system.clock import timestamp

NEW_STORE = (
    "INSERT INTO content_store (id, user_id, session_id, name, description, is_own, created_at) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
)
_NEW_CONTENT = (
    "INSERT INTO content (id, user_id, store_no, sha256, filename, mime_type, size, line_count, chunk_count, preview, "
    "page_lines, uploaded_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT DO NOTHING"
)
_NEW_ANALYZED_CONTENT = _NEW_CONTENT.replace("uploaded_at)", "uploaded_at, analysis)").replace("?12)", "?12, ?13)")
_CHUNK_FIELDS = "user_id, store_no, content_no, number, from_line, to_line, text"
_NEW_CHUNK = f"INSERT INTO content_chunk ({_CHUNK_FIELDS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
_NEW_CHUNK_WITH_WORDS = (
    f"INSERT INTO content_chunk ({_CHUNK_FIELDS}, words, word_count) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, CAST(CAST(?8 AS text) AS tsvector), ?9)"
)


class Insertions:
    """Adds contents to stores of a database."""

    def __init__(self, database: Database, limits: Limits) -> None:
        self._database = database
        self._limits = limits

    async def insert(self, tx: Transaction, call: Call, store_id: str, new: NewContent) -> AddedContent:
        """Add a content, unless the store has one with the same hash. An empty store id is the session's own.

        Raises:
            NotFound: the session has no such store.
            LimitExceeded: the session has as many contents as are allowed.
        """
        owner, now = owner_of(call), timestamp()
        if not store_id:
            await tx.run(f"{NEW_STORE} ON CONFLICT DO NOTHING", new_id(), *owner, OWN_STORE, "", 1, now)
        key = store_key(call, store_id, await tx.one(STORE_BY_ID, *owner, store_id))
        assert key is not None
        duplicate = await tx.one(CONTENT_BY_HASH, call.user_id, key.no, new.sha256)
        if duplicate is not None:
            return AddedContent(key, parse_content(duplicate), is_duplicate=True)
        await check_room(tx, call, self._limits)
        values = new_id(), call.user_id, key.no, *content_values(new), now
        # The name of the analysis is a column on a server only: an index beside the database has it as a whole.
        inserted = await (
            tx.run(_NEW_ANALYZED_CONTENT, *values, new.analysis)
            if self._database.ranks_text
            else tx.run(_NEW_CONTENT, *values)
        )
        row = await tx.one(CONTENT_BY_HASH, call.user_id, key.no, new.sha256)
        assert row is not None
        if inserted:
            await self._add_chunks(tx, key, row[0], new)
            await tx.notify(content_topic(call))
        return AddedContent(key, parse_content(row), is_duplicate=not inserted)

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
        await tx.run(NEW_INDEX_CHANGE, *key)
