"""Views: pages that were shown in our own chat, with the input and the result that they were made of.

A view is drawn again from its row after a reload or a restart. What it may do is decided from the row alone: the frame
that shows it has no say in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from madang.core.calls import Call
from madang.core.ids import SessionId, UserId
from madang.core.results import ForeignPage, Link, Reply, ShownPage
from madang.database.port import Database, MigrationSet, Row, Transaction, private_rows
from madang.records.sessions import SessionStore, ensure_session
from madang.system.clock import POSTGRESQL_NOW, SQLITE_NOW

MAX_VIEW_BYTES = 2 * 1024 * 1024
"""Of input and result together. A larger page is shown in no chat: its text says what there is."""
MAX_VIEWS_FOUND = 500


def _table(time: str, now: str, number: str) -> str:
    return f"""
        CREATE TABLE page_view (
          user_id TEXT NOT NULL, id TEXT NOT NULL, session_no {number} NOT NULL, assistant_id TEXT NOT NULL,
          run_id TEXT NOT NULL, call_id TEXT NOT NULL, service TEXT NOT NULL, tool TEXT NOT NULL, page TEXT NOT NULL,
          pause_id TEXT NOT NULL, arguments TEXT NOT NULL, result TEXT NOT NULL,
          created_at {time} NOT NULL DEFAULT {now},
          PRIMARY KEY (user_id, id),
          FOREIGN KEY (user_id, session_no) REFERENCES session (user_id, no) ON DELETE CASCADE
        );
        CREATE INDEX page_view_by_session ON page_view (user_id, session_no);
        """


_COPIES = """
        ALTER TABLE page_view ADD pause_status TEXT NOT NULL DEFAULT '';
        ALTER TABLE page_view ADD inert SMALLINT NOT NULL DEFAULT 0;
        """

_SCRIPTS = "ALTER TABLE page_view ADD runs_scripts SMALLINT NOT NULL DEFAULT 0;"
"""Whether the person let a page run its scripts that is not known to be fixed."""

VIEW_MIGRATIONS = MigrationSet(
    "views",
    sqlite=(_table("TEXT", f"({SQLITE_NOW})", "INTEGER"), _COPIES, _SCRIPTS),
    postgresql=(_table("TIMESTAMPTZ", POSTGRESQL_NOW, "BIGINT") + private_rows("page_view"), _COPIES, _SCRIPTS),
)

_COLUMNS = (
    "v.id, s.id, v.assistant_id, v.run_id, v.call_id, v.service, v.tool, v.page, v.pause_id, v.arguments, v.result, "
    "v.created_at, v.pause_status, v.inert, v.runs_scripts"
)

COPIED = "copied"
"""The pause of a view in a copy, which has asked nobody there: no pause has this id."""


@dataclass(frozen=True, slots=True)
class View:
    """A page that was shown, and what it was made of."""

    id: str
    session_id: SessionId
    assistant_id: str
    run_id: str
    """Empty if the person made the call."""
    call_id: str
    service: str
    tool: str
    page: str
    pause_id: str
    """What the page settles, if its call has opened a pause."""
    arguments: Mapping[str, Any]
    text: str
    data: dict[str, Any]
    fragment: str
    links: tuple[Link, ...]
    created_at: str
    pause_status: str = ""
    """Of a copy: how its question ended. Otherwise its pause says that."""
    is_inert: bool = False
    """It comes from an archive, and calls nothing."""
    foreign: ForeignPage | None = None
    """The page itself, if it is not ours."""
    raw: Mapping[str, Any] | None = None
    """The result as another server gave it."""
    may_run_scripts: bool = True
    """Whether it is our page or a fixed one of another server, or the person let it. One from an archive may not."""


def view_id(operation_id: str) -> str:
    """Return the id of the view of a call: the same however often the call is repeated after a crash.

    It is no capability; and an operation of a run, or of the person, cannot be guessed.
    """
    return hashlib.sha256(operation_id.encode()).hexdigest()[:40]


def find_view_id(call: Call, arguments: Mapping[str, Any], reply: Reply) -> str:
    """Return the id under which `ViewStore` keeps the page of a call; empty if there is none, or it is too large."""
    if reply.page is None or not call.operation_id:
        return ""
    is_kept = sum(map(len, _dump(arguments, reply, reply.page))) <= MAX_VIEW_BYTES
    return view_id(call.operation_id) if is_kept else ""


class ViewStore:
    """Views in the database. They go with their session."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_open = False

    async def open(self) -> None:
        if not self._is_open:
            await SessionStore(self._database).open()
            await self._database.prepare(VIEW_MIGRATIONS)
            self._is_open = True

    async def keep(self, call: Call, arguments: Mapping[str, Any], reply: Reply) -> None:
        """Keep the page of a call, if the call has an operation by which it is found again."""
        page = reply.page
        if page is None or not call.operation_id or call.session_id is None:
            return
        dumped, result = _dump(arguments, reply, page)
        if len(result) + len(dumped) > MAX_VIEW_BYTES:
            return
        await self.open()

        async def work(tx: Transaction) -> None:
            await tx.run(
                "INSERT INTO page_view (user_id, id, session_no, assistant_id, run_id, call_id, service, tool, page, "
                "pause_id, arguments, result) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) "
                "ON CONFLICT (user_id, id) DO UPDATE SET arguments = excluded.arguments, result = excluded.result, "
                "pause_id = excluded.pause_id, runs_scripts = 0",
                call.user_id,
                view_id(call.operation_id),
                await ensure_session(tx, call),
                call.assistant_id or "",
                call.run_id,
                call.call_id,
                reply.service,
                reply.tool,
                page.name,
                reply.pause_id,
                dumped,
                result,
            )

        await self._database.write(work, user_id=call.user_id)

    async def get(self, user_id: UserId, id: str) -> View | None:
        """Return a view of the user's; None if there is none, or it is another user's."""
        rows = await self._database.find(
            f"SELECT {_COLUMNS} FROM page_view v JOIN session s ON s.user_id = v.user_id AND s.no = v.session_no "
            "WHERE v.user_id = ?1 AND v.id = ?2",
            user_id,
            id,
            user_id=user_id,
        )
        return _view(rows[0]) if rows else None

    async def let_run_scripts(self, user_id: UserId, id: str) -> None:
        """Let a page run its scripts from now on."""

        async def work(tx: Transaction) -> None:
            await tx.run("UPDATE page_view SET runs_scripts = 1 WHERE user_id = ?1 AND id = ?2", user_id, id)

        await self._database.write(work, user_id=user_id)

    async def find_pages(self, user_id: UserId, ids: Sequence[str]) -> dict[str, str]:
        """Return which of these views there are, each with the name of its page."""
        ids = list(ids)[:MAX_VIEWS_FOUND]
        if not ids:
            return {}
        marks = ", ".join(f"?{number}" for number in range(2, len(ids) + 2))
        rows = await self._database.find(
            f"SELECT id, page FROM page_view WHERE user_id = ?1 AND id IN ({marks})", user_id, *ids, user_id=user_id
        )
        return dict(rows)


def _dump(arguments: Mapping[str, Any], reply: Reply, page: ShownPage) -> tuple[str, str]:
    links = [asdict(link) for link in reply.links]
    result: dict[str, Any] = {"text": reply.text, "data": reply.data, "fragment": page.fragment, "links": links}
    if page.foreign is not None:
        result |= {"foreign": asdict(page.foreign), "raw": None if reply.raw is None else dict(reply.raw)}
    return json.dumps(dict(arguments)), json.dumps(result)


def _view(row: Row) -> View:
    id, session_id, assistant_id, run_id, call_id, service, tool, page, pause_id, arguments, result, *rest = row
    created_at, pause_status, inert, runs_scripts = rest
    parsed = json.loads(result)
    foreign = _foreign(parsed.get("foreign"))
    return View(
        id,
        session_id,
        assistant_id,
        run_id,
        call_id,
        service,
        tool,
        page,
        pause_id,
        json.loads(arguments),
        parsed["text"],
        parsed["data"],
        parsed["fragment"],
        tuple(Link(**link) for link in parsed["links"]),
        created_at,
        pause_status,
        bool(inert),
        foreign,
        parsed.get("raw"),
        foreign is None or (not inert and (foreign.is_fixed or bool(runs_scripts))),
    )


def _foreign(fields: dict[str, Any] | None) -> ForeignPage | None:
    if fields is None:
        return None
    domains = {name: tuple(fields[name]) for name in ("connect_domains", "resource_domains")}
    return ForeignPage(**{**fields, **domains})
