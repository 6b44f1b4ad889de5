"""Rows of stores and contents: how they are looked up, and what they are. Pure."""

from __future__ import annotations

import json

from madang.core.calls import Call
from madang.database.port import Row
from madang.database.subscriptions import topic
from madang.services.content.domain.contents import Content, NewContent, Store, StoreKey, no_store

# A store that was deleted is a row until its time is over, and no statement but those of `deletions` sees it.
# An empty id is the session's own store.
IS_STORE = (
    "s.user_id = ?1 AND s.session_id = ?2 AND s.deleted_at IS NULL "
    "AND (s.id = ?3 OR (CAST(?3 AS TEXT) = '' AND s.is_own = 1))"
)
IN_SESSION = (
    "user_id = ?1 AND store_no IN "
    "(SELECT no FROM content_store WHERE user_id = ?1 AND session_id = ?2 AND deleted_at IS NULL)"
)
"""Of a content. Not a join: SQLite would carry the user over to the contents, and walk all that the user has."""

STORE_FIELDS = (
    "s.no, s.id, s.name, s.description, s.is_own, "
    "(SELECT count(*) FROM content c WHERE c.user_id = s.user_id AND c.store_no = s.no), s.created_at"
)
STORE_BY_ID = f"SELECT s.no, s.id FROM content_store s WHERE {IS_STORE}"
WHOLE_STORE_BY_ID = f"SELECT {STORE_FIELDS} FROM content_store s WHERE {IS_STORE}"
COUNT_OF_STORES = "SELECT count(*) FROM content_store WHERE user_id = ?1 AND session_id = ?2 AND deleted_at IS NULL"
CONTENT_FIELDS = (
    "c.no, c.id, c.filename, c.mime_type, c.size, c.line_count, c.chunk_count, c.preview, c.uploaded_at, c.page_lines"
)
CONTENT_BY_HASH = f"SELECT {CONTENT_FIELDS} FROM content c WHERE c.user_id = ?1 AND c.store_no = ?2 AND c.sha256 = ?3"
CONTENT_BY_ID = (
    f"SELECT {CONTENT_FIELDS}, s.no, s.id FROM content c "
    "JOIN content_store s ON s.user_id = c.user_id AND s.no = c.store_no "
    "WHERE c.user_id = ?1 AND c.id = ?4 AND s.session_id = ?2 AND s.deleted_at IS NULL "
    "AND (s.id = ?3 OR CAST(?3 AS TEXT) = '')"
)
COUNT_OF_CONTENTS = f"SELECT count(*) FROM content WHERE {IN_SESSION}"


def content_topic(call: Call) -> str:
    """Return the topic of changes of a session's contents."""
    return topic("content", *owner_of(call))


def owner_of(call: Call) -> tuple[str, str]:
    return call.user_id, call.session


def content_values(new: NewContent) -> tuple[object, ...]:
    """Return the columns of a new content from `sha256` to `page_lines`."""
    return (
        new.sha256,
        new.filename,
        new.mime_type,
        new.size,
        new.line_count,
        len(new.chunks),
        new.preview,
        json.dumps(list(new.page_lines)),
    )


def parse_store(call: Call, row: Row) -> Store:
    no, id, name, description, is_own, contents, created_at = row
    return Store(StoreKey(no, id, call.user_id), name, description, bool(is_own), contents, created_at)


def parse_content(row: Row) -> Content:
    no, id, filename, mime_type, size, lines, chunks, preview, uploaded_at, page_lines = row
    pages = tuple(json.loads(page_lines))
    return Content(no, id, filename, mime_type, size, lines, chunks, preview, uploaded_at, pages)


def store_key(call: Call, id: str, row: Row | None) -> StoreKey | None:
    """Return the store of a row of `STORE_BY_ID`; None for the session's own, if that is not there yet.

    Raises:
        NotFound: the session has no such store.
    """
    if row is None:
        if id:
            raise no_store(id)
        return None
    return StoreKey(row[0], row[1], call.user_id)
