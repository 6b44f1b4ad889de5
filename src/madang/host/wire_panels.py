"""The shapes of panels: states of services, their rows, and files."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from madang.core.documents import Document
from madang.host.wire import MAX_ID_CHARS

MAX_PATH_CHARS = 4_000
MAX_STATE_ROWS = 200


class ServiceStateAnswer(Document):
    name: str
    title: str
    description: str
    state_schema: dict[str, Any]
    """Of what a stream tells of it, as JSON Schema."""


class ServiceStatesAnswer(Document):
    services: list[ServiceStateAnswer]


class StateRowsQuery(Document):
    under: str = Field(default="", max_length=MAX_PATH_CHARS)
    """What the rows belong to: a folder, a playbook."""
    page: int = Field(default=1, ge=1, le=1_000_000)
    page_size: int = Field(default=100, ge=1, le=MAX_STATE_ROWS)


class StateRowsAnswer(Document):
    rows: list[dict[str, Any]]
    """As the list in the state has them."""
    total: int


class FileQuery(Document):
    path: str = Field(min_length=1, max_length=MAX_PATH_CHARS)


class FilePageQuery(FileQuery):
    page: int = Field(default=1, ge=1, le=1_000_000)


class ExportQuery(Document):
    id: str = Field(min_length=1, max_length=MAX_ID_CHARS)
    name: str = Field(min_length=1, max_length=MAX_PATH_CHARS)


class FileAnswer(Document):
    path: str
    size: int


class FileTextAnswer(Document):
    """What a document says."""

    text: str
    size: int
    is_cut: bool
    page_lines: list[int]
    """The line, counted from 1, at which each page, slide or sheet in the text starts; none where there are none."""
