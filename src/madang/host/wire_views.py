"""Pages in the chat on the wire: what one is made from, and what it asks the host to do."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from madang.core.documents import Document
from madang.core.pauses import PauseStatus, SettledBy
from madang.host.wire import MAX_ID_CHARS

MAX_URI_CHARS = 2000


class ViewPause(Document):
    id: str
    status: PauseStatus
    settled_by: SettledBy
    settled_at: str
    settler: str
    """What the client that settled it calls itself, if one did."""
    answer: str
    """What was answered, as one short line; some answers have no words."""


class ViewAnswer(Document):
    id: str
    uri: str
    html: str
    tool: str
    service: str
    """The service that made it."""
    server: str
    """The server whose page it is; empty if it is ours."""
    may_run_scripts: bool
    """Whether its scripts run. Those of a page that may be what a model wrote do when the person lets them."""
    session_id: str
    tool_input: dict[str, Any]
    tool_result: dict[str, Any]
    """As MCP has it."""
    pause: ViewPause | None


class ViewCallBody(Document):
    name: str = Field(max_length=MAX_ID_CHARS)
    arguments: dict[str, Any] = Field(default_factory=dict)


class ViewCallAnswer(Document):
    result: dict[str, Any]
    """As MCP has it."""


class ViewReadBody(Document):
    uri: str = Field(max_length=MAX_URI_CHARS)


class ViewReadAnswer(Document):
    contents: list[dict[str, Any]]
    """As MCP has them."""
