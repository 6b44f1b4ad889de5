"""Rows of stores and contents, there and back. Pure."""

from __future__ import annotations

import json

from madang.core.calls import Call
from madang.services.content.domain.contents import Content, NewContent, Store, StoreKey
from madang.storage.database import Row


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
