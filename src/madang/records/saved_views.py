"""Views of a session that is copied, exported or imported. In a copy each is over: nobody there has asked anything.

A view that comes from an archive calls nothing: whoever wrote the archive chose what its buttons would do.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import InvalidArguments
from madang.core.pauses import PauseStatus, status_at
from madang.core.phrases import say
from madang.database.port import Database, Row, Transaction
from madang.records.runs.message_calls import operation_id
from madang.records.runs.saved import RunRestorer
from madang.records.sessions import ensure_session
from madang.records.views import COPIED, MAX_VIEW_BYTES, view_id
from madang.system.clock import Timestamp, timestamp

ROWS_PER_BATCH = 20

Name = Annotated[str, Field(max_length=500)]
Number = Annotated[int, Field(ge=0, le=2**53)]


EndedStatus = Literal["answered", "cancelled", "expired", "withdrawn", "superseded"]


class SavedLink(Document):
    uri: str
    name: str
    title: str
    mime_type: str
    size: int | None


class SavedView(Document):
    """The page of a call, with how the question that it asked ended."""

    run_id: Annotated[str, Field(min_length=1, max_length=100)]
    turn: Number
    number: Number
    call_id: Name
    assistant_id: Name
    service: Name
    tool: Name
    page: Name
    pause_status: EndedStatus | Literal[""] = ""
    arguments: dict[str, Any]
    text: str
    data: dict[str, Any]
    fragment: str
    links: list[SavedLink]
    created_at: Timestamp


_VIEWS = """
SELECT r.id AS run_id, c.turn, c.number, v.call_id, v.assistant_id, v.service, v.tool, v.page, v.arguments, v.result,
  v.created_at, v.pause_id, v.pause_status, p.status AS now_status, p.expires_at, c.run_no
FROM run r JOIN run_call c ON c.user_id = r.user_id AND c.run_no = r.no
JOIN page_view v ON v.user_id = c.user_id AND v.id = c.view_id
LEFT JOIN pause p ON p.user_id = v.user_id AND p.id = v.pause_id
WHERE r.user_id = ?1 AND r.session_no = ?2 AND c.view_id <> '' AND (c.run_no, c.turn, c.number) > (?3, ?4, ?5)
ORDER BY c.run_no, c.turn, c.number LIMIT ?6
"""
_NEW_VIEW = """
INSERT INTO page_view (user_id, id, session_no, assistant_id, run_id, call_id, service, tool, page, pause_id, arguments,
  result, created_at, pause_status, inert)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
"""
_MARK_CALL = (
    "UPDATE run_call SET view_id = ?5 WHERE user_id = ?1 AND turn = ?3 AND number = ?4 "
    "AND run_no = (SELECT no FROM run WHERE user_id = ?1 AND id = ?2)"
)


async def read_views(database: Database, call: Call) -> AsyncIterator[SavedView]:
    """Yield the views of the runs of the call's session, in the order of their calls."""
    sql = "SELECT no FROM session WHERE user_id = ?1 AND id = ?2"
    sessions = await database.find(sql, call.user_id, call.session, user_id=call.user_id)
    after = (0, 0, 0)
    rows: list[Row] = [()] * ROWS_PER_BATCH
    while sessions and len(rows) == ROWS_PER_BATCH:
        key = (call.user_id, sessions[0][0], *after, ROWS_PER_BATCH)
        rows = await database.find(_VIEWS, *key, user_id=call.user_id)
        for row in rows:
            after = row[-1], row[1], row[2]
            yield _saved(row)


class ViewRestorer:
    """Writes views of another place into the call's session, whose runs and calls are there already."""

    def __init__(self, database: Database, call: Call, runs: RunRestorer, *, inert: bool) -> None:
        self._database = database
        self._call = call
        self._runs = runs
        self._inert = inert
        self._keys: set[str] = set()

    async def add(self, views: Sequence[SavedView]) -> None:
        """Write views.

        Raises:
            InvalidArguments: one is there twice, is of no run, or is too large.
        """
        for view in views:
            key = operation_id(view.run_id, view.turn, view.number)
            if key in self._keys or not self._runs.has(view.run_id) or not view.created_at:
                raise _inconsistent()
            self._keys.add(key)
        results = [_result(view) for view in views]

        async def work(tx: Transaction) -> None:
            session_no = await ensure_session(tx, self._call)
            for view, (arguments, result) in zip(views, results, strict=True):
                run_id = self._runs.new_run_id(view.run_id)
                id = view_id(operation_id(run_id, view.turn, view.number))
                await tx.run(
                    _NEW_VIEW,
                    self._call.user_id,
                    id,
                    session_no,
                    view.assistant_id,
                    run_id,
                    view.call_id,
                    view.service,
                    view.tool,
                    view.page,
                    COPIED if view.pause_status else "",
                    arguments,
                    result,
                    view.created_at,
                    view.pause_status,
                    int(self._inert),
                )
                await tx.run(_MARK_CALL, self._call.user_id, run_id, view.turn, view.number, id)

        await self._database.write(work, user_id=self._call.user_id)


def _saved(row: Row) -> SavedView:
    run_id, turn, number, call_id, assistant_id, service, tool, page, arguments, result, created_at, *rest = row
    pause_id, pause_status, now_status, expires_at, _ = rest
    parsed = json.loads(result)
    links = [{**link, "mimeType": link.pop("mime_type")} for link in parsed["links"]]
    return SavedView(
        run_id=run_id,
        turn=turn,
        number=number,
        call_id=call_id,
        assistant_id=assistant_id,
        service=service,
        tool=tool,
        page=page,
        pause_status=pause_status or _ended(now_status, expires_at) if pause_id else "",
        arguments=json.loads(arguments),
        text=parsed["text"],
        data=parsed["data"],
        fragment=parsed["fragment"],
        links=[SavedLink.model_validate(link) for link in links],
        created_at=created_at,
    )


def _ended(status: PauseStatus | None, expires_at: str | None) -> EndedStatus:
    """Return how a pause ends for a copy: what is open is withdrawn."""
    now = status_at(timestamp(), status, expires_at) if status is not None else "open"
    return "withdrawn" if now == "open" else now


def _result(view: SavedView) -> tuple[str, str]:
    links = [link.model_dump(by_alias=False) for link in view.links]
    result = json.dumps({"text": view.text, "data": view.data, "fragment": view.fragment, "links": links})
    arguments = json.dumps(view.arguments)
    if len(arguments) + len(result) > MAX_VIEW_BYTES:
        raise _inconsistent()
    return arguments, result


def _inconsistent() -> InvalidArguments:
    return InvalidArguments(say("The archive has pages that contradict its runs, or are too large."))
