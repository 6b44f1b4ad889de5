"""Sessions as rows: what a door named, who used it first, and the counter from which its events are numbered.

What services keep of a session does not depend on its row: that is made by the first call that changes something.
"""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from madang.core.calls import Call, Locale
from madang.core.errors import Conflict, InvalidArguments, InvalidCursor, NotFound, Unavailable
from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.paging import parse_cursor
from madang.core.phrases import say
from madang.core.texts import visible_name
from madang.core.trust import Origin, dump_origins, parse_origins
from madang.database.port import Database, Transaction
from madang.database.subscriptions import topic
from madang.records.accounts import ACCOUNT_MIGRATIONS, remember_user
from madang.records.session_rows import (
    SESSION_BY_ID,
    SESSION_COLUMNS,
    SessionRecord,
    SessionState,
    parse_session,
    sessions_by_id,
)
from madang.records.session_tables import SESSION_MIGRATIONS
from madang.system.clock import format_timestamp, now, parse_timestamp

MAX_TITLE_CHARS = 200
MAX_SESSIONS_LISTED = 200
MAX_CLIENT_CHARS = 100
TOUCH_EVERY = timedelta(minutes=1)
"""How old `last_at` may be while a session is in use: it costs a write, and only orders a list."""

MAX_ORIGINS = 8
"""Of a session: so many are enough to say why something is asked."""


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Some sessions of a user, newest first."""

    items: list[SessionRecord]
    next: str
    """Where the next page begins; empty after the last one."""


async def ensure_session(tx: Transaction, call: Call) -> int:
    """Return the number of the call's session, inside a unit of work; the row is made if there is none."""
    row = await tx.one("SELECT no FROM session WHERE user_id = ?1 AND id = ?2", call.user_id, call.session)
    number: int = row[0] if row else await _insert(tx, call)
    return number


async def ensure_ready_session(tx: Transaction, call: Call) -> int:
    """Do the same for what is to go on for long.

    Raises:
        Conflict: the session is being deleted or filled.
    """
    number = await ensure_session(tx, call)
    row = await tx.one("SELECT state FROM session WHERE user_id = ?1 AND no = ?2", call.user_id, number)
    if row is not None and row[0] != "ready":
        raise _not_ready(call.session, row[0])
    return number


async def taint_session(tx: Transaction, call: Call, origins: Iterable[Origin]) -> None:
    """Keep that the model of the call's session was shown something untrusted, in the unit that keeps what it was.

    It is for good: what was shown stays in the history.
    """
    newest = tuple(dict.fromkeys(origins))
    row = await tx.one("SELECT origins FROM session WHERE user_id = ?1 AND id = ?2", call.user_id, call.session)
    if not newest or row is None:
        return
    known = parse_origins(row[0])
    if set(newest) <= set(known):
        return
    await tx.run(
        "UPDATE session SET tainted = 1, origins = ?3 WHERE user_id = ?1 AND id = ?2",
        call.user_id,
        call.session,
        dump_origins(tuple(dict.fromkeys((*newest, *known)))[:MAX_ORIGINS]),
    )


async def delete_session(tx: Transaction, call: Call) -> bool:
    """Delete the row of the call's session and what hangs on it, as its events do; False if there was none."""
    count = await tx.run("DELETE FROM session WHERE user_id = ?1 AND id = ?2", call.user_id, call.session)
    if count:
        await tx.notify(session_topic(call))
    return bool(count)


class SessionStore:
    """Sessions in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_open = False

    async def open(self) -> None:
        if not self._is_open:
            await self._database.prepare(ACCOUNT_MIGRATIONS)
            await self._database.prepare(SESSION_MIGRATIONS)
            self._is_open = True

    async def ensure(self, call: Call) -> None:
        """Keep that the call's session is in use, if it names one. Mostly a brief read; it opens the tables itself.

        The write is best effort: where the database is locked, the call goes on without, and the next one tries again.
        What needs the row, as an event does, makes it in its own unit.

        Raises:
            Conflict: it is being deleted, or filled by a copy or an import.
        """
        if call.session_id is None:
            return
        await self.open()
        key = (call.user_id, call.session)
        rows = await self._database.find(
            "SELECT last_at, state FROM session WHERE user_id = ?1 AND id = ?2", *key, user_id=call.user_id
        )
        if rows and rows[0][1] != "ready":
            raise _not_ready(call.session, rows[0][1])
        if rows and now() - parse_timestamp(rows[0][0]) < TOUCH_EVERY:
            return

        async def work(tx: Transaction) -> None:
            await ensure_session(tx, call)
            if await tx.run(
                "UPDATE session SET last_at = ?3 WHERE user_id = ?1 AND id = ?2 AND last_at < ?4",
                *key,
                *touch_times(),
            ):
                await tx.notify(session_topic(call))

        with suppress(Unavailable):
            await self._database.write(work, user_id=call.user_id, is_optional=True)

    async def get(self, call: Call) -> SessionRecord | None:
        """Return the call's session, or None if it was never used."""
        rows = await self._database.find(SESSION_BY_ID, call.user_id, call.session, user_id=call.user_id)
        return parse_session(rows[0]) if rows else None

    async def list_page(
        self,
        user_id: UserId,
        after: str = "",
        limit: int = 50,
        *,
        archived: bool | None = False,
        assistant_id: str | None = None,
    ) -> SessionPage:
        """Return up to `limit` sessions of a user, newest first, beginning `after` an earlier page's `next`.

        One that is being filled is not there yet. `archived` are those alone; None is both.
        `assistant_id` leaves only sessions of this assistant.

        Raises:
            InvalidCursor: `after` is none.
        """
        last_at, id = parse_cursor(after)
        limit = max(1, min(limit, MAX_SESSIONS_LISTED))
        rows = await self._database.find(
            f"SELECT {SESSION_COLUMNS} FROM session WHERE user_id = ?1 AND (last_at, id) < (?2, ?3) "
            "AND state <> 'filling' AND (?5 < 0 OR archived = ?5) AND (?6 < 1 OR assistant_id = ?7) "
            "ORDER BY last_at DESC, id DESC LIMIT ?4",
            user_id,
            last_at,
            id,
            limit + 1,
            -1 if archived is None else int(archived),
            int(assistant_id is not None),
            assistant_id or "",
            user_id=user_id,
        )
        items = [parse_session(row) for row in rows[:limit]]
        return SessionPage(items, f"{items[-1].last_at} {items[-1].id}" if len(rows) > limit else "")

    async def find_by_title(self, user_id: UserId, words: str, *, archived: bool, limit: int) -> list[SessionRecord]:
        """Return sessions of a user whose title has these words, in any case and spelling of Unicode, newest first."""
        wanted = _folded(words)
        rows = await self._database.find(
            "SELECT id, title FROM session WHERE user_id = ?1 AND state <> 'filling' AND archived = ?2 AND title <> '' "
            "ORDER BY last_at DESC, id DESC",
            user_id,
            int(archived),
            user_id=user_id,
        )
        # Here, not in SQL: SQLite knows the case of ASCII alone, and no database that 가 is also written in parts.
        return await self.find(user_id, [id for id, title in rows if wanted in _folded(title)][:limit])

    async def find(self, user_id: UserId, ids: Sequence[str]) -> list[SessionRecord]:
        """Return those of these sessions that there are, newest first."""
        if not ids:
            return []
        rows = await self._database.find(sessions_by_id(len(ids)), user_id, *ids, user_id=user_id)
        return [parse_session(row) for row in rows]

    async def count_by_assistant(self, user_id: UserId) -> dict[AssistantId, int]:
        """Return how many sessions of the user's each assistant has."""
        rows = await self._database.find(
            "SELECT assistant_id, count(*) AS count FROM session WHERE user_id = ?1 AND state <> 'filling' "
            "GROUP BY assistant_id",
            user_id,
            user_id=user_id,
        )
        return {AssistantId(id): count for id, count in rows}

    async def create(
        self,
        call: Call,
        *,
        title: str = "",
        parent_id: SessionId | None = None,
        parent_seq: int = 0,
        state: SessionState = "ready",
    ) -> SessionRecord:
        """Make the call's session, a copy or a fork if it has a parent.

        Raises:
            Conflict: it is there already.
            NotFound: the user has no such parent.
        """
        _check_title(title)

        async def work(tx: Transaction) -> SessionRecord:
            if await tx.one(SESSION_BY_ID, call.user_id, call.session) is not None:
                raise Conflict(say("There is a session '{id}' already.", id=call.session))
            if parent_id is not None and await tx.one(SESSION_BY_ID, call.user_id, parent_id) is None:
                raise NotFound(say("There is no session '{id}'.", id=parent_id))
            await _insert(tx, call, title, parent_id or "", parent_seq, state)
            return await find_session(tx, call)

        return await self._database.write(work, user_id=call.user_id)

    async def rename(self, call: Call, title: str) -> SessionRecord:
        """Give the call's session a title; an empty one takes it away.

        Raises:
            InvalidArguments: it is too long.
        """
        _check_title(title)
        return await self._set(call, "title", title)

    async def set_archived(self, call: Call, archived: bool) -> SessionRecord:
        """Take the call's session out of lists, or back into them."""
        return await self._set(call, "archived", int(archived))

    async def set_pinned(self, call: Call, pinned: bool) -> SessionRecord:
        """Have the call's session stand before others, or no longer."""
        return await self._set(call, "pinned", int(pinned))

    async def set_locale(self, call: Call, locale: Locale | None) -> SessionRecord:
        """Choose the language of the call's session, or none."""
        return await self._set(call, "locale", locale or "")

    async def delete(self, call: Call) -> bool:
        """Delete the call's session and its events; False if there was none."""
        return await self._database.write(lambda tx: delete_session(tx, call), user_id=call.user_id)

    def changes(self, user_id: UserId) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set once watching has begun, then the topics of the user's sessions that changed."""
        return self._database.changes(topic("session", user_id))

    async def _set(self, call: Call, column: str, value: str | int) -> SessionRecord:
        async def work(tx: Transaction) -> SessionRecord:
            await ensure_session(tx, call)
            await tx.run(
                f"UPDATE session SET {column} = ?3 WHERE user_id = ?1 AND id = ?2", call.user_id, call.session, value
            )
            await tx.notify(session_topic(call))
            return await find_session(tx, call)

        return await self._database.write(work, user_id=call.user_id)


def session_topic(call: Call) -> str:
    return topic("session", call.user_id, call.session)


def touch_times() -> tuple[str, str]:
    """Return this moment, and before which moment a `last_at` is moved to it."""
    moment = now()
    return format_timestamp(moment), format_timestamp(moment - TOUCH_EVERY)


async def _insert(
    tx: Transaction,
    call: Call,
    title: str = "",
    parent_id: str = "",
    parent_seq: int = 0,
    state: SessionState = "ready",
) -> int:
    await remember_user(tx, call.user_id)
    row = await tx.one(
        "INSERT INTO session (user_id, id, assistant_id, title, parent_id, parent_seq, last_seq, state, client) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8) RETURNING no",
        call.user_id,
        call.session,
        call.assistant_id or "",
        title,
        parent_id,
        parent_seq,
        state,
        visible_name(call.client_name)[:MAX_CLIENT_CHARS] if call.actor == "foreign" else "",
    )
    assert row is not None
    await tx.notify(session_topic(call))
    number: int = row[0]
    return number


async def find_session(tx: Transaction, call: Call) -> SessionRecord:
    """Return the call's session, which is there, inside a unit of work."""
    row = await tx.one(SESSION_BY_ID, call.user_id, call.session)
    assert row is not None
    return parse_session(row)


async def find_sessions(tx: Transaction, user_id: UserId, ids: Sequence[str]) -> list[SessionRecord]:
    """Do as `SessionStore.find`, inside a unit of work."""
    if not ids:
        return []
    return [parse_session(row) for row in await tx.all(sessions_by_id(len(ids)), user_id, *ids)]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _place(cursor: str) -> tuple[str, str]:
    last_at, _, id = cursor.partition(" ")
    try:
        is_one = parse_timestamp(last_at).tzinfo is not None and bool(id)
    except ValueError:
        is_one = False
    if not is_one:
        raise InvalidCursor(say("The cursor is not one of ours."))
    return last_at, id


def _check_title(title: str) -> None:
    if len(title) > MAX_TITLE_CHARS:
        raise InvalidArguments(say("A title has at most {max} characters.", max=MAX_TITLE_CHARS))


def _not_ready(id: SessionId, state: SessionState) -> Conflict:
    if state == "filling":
        return Conflict(
            say("The session '{id}' is not there yet: a copy or an import into it is under way.", id=id),
            hint=say("Call again when it is done."),
        )
    return Conflict(
        say("The session '{id}' is being deleted.", id=id),
        hint=say("Use another session. If it stays so, the person has to delete it again: that finishes it."),
    )
