"""What happened in a session: an append-only log, numbered without a gap in the order of commits.

The number is drawn from the session's row in the unit that writes the event, so of two writers the second waits, and
nothing with a lower number can appear after a higher one was read. Kinds and payloads mean nothing here.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from madang.core.calls import Call
from madang.core.errors import Conflict, LimitExceeded
from madang.core.ids import UserId
from madang.core.phrases import say
from madang.database.port import Database, MigrationSet, Row, Transaction, private_rows
from madang.database.postgresql.event_months import EVENT_MONTH_FUNCTION, make_coming_months
from madang.database.subscriptions import topic
from madang.records.sessions import SessionStore, ensure_session, touch_times
from madang.system.clock import POSTGRESQL_NOW, SQLITE_NOW

MAX_KIND_CHARS = 64
MAX_PAYLOAD_BYTES = 256 * 1024
MAX_EVENTS_READ = 500
# Of a page's payloads together, so that a slow reader of large events holds little. One event always fits.
MAX_PAGE_CHARS = 4 * 1024 * 1024
BEGINNING = "0001-01-01T00:00:00.000Z"
"""Older than any event."""
EXPIRY_BATCH_EVENTS = 1000
EXPIRY_BATCH_SESSIONS = 50

EVENT_MIGRATIONS = MigrationSet(
    "events",
    sqlite=(
        f"""
        CREATE TABLE event (
          user_id TEXT NOT NULL, session_no INTEGER NOT NULL, seq INTEGER NOT NULL, run_id TEXT NOT NULL,
          at TEXT NOT NULL DEFAULT ({SQLITE_NOW}), kind TEXT NOT NULL, payload TEXT NOT NULL,
          PRIMARY KEY (user_id, session_no, seq),
          FOREIGN KEY (user_id, session_no) REFERENCES session (user_id, no) ON DELETE CASCADE
        ) WITHOUT ROWID
        """,
    ),
    postgresql=(
        f"""
        CREATE TABLE event (
          user_id TEXT NOT NULL, session_no BIGINT NOT NULL, seq BIGINT NOT NULL, run_id TEXT NOT NULL,
          at TIMESTAMPTZ NOT NULL DEFAULT {POSTGRESQL_NOW}, kind TEXT NOT NULL, payload TEXT NOT NULL,
          PRIMARY KEY (user_id, session_no, seq, at),
          FOREIGN KEY (user_id, session_no) REFERENCES session (user_id, no) ON DELETE CASCADE
        ) PARTITION BY RANGE (at);
        {private_rows("event")}
        {EVENT_MONTH_FUNCTION}
        """,
    ),
)


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that is to be written."""

    kind: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. `run_id` is empty if no run did it."""

    seq: int
    run_id: str
    at: str
    kind: str
    payload: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """Return it as it leaves the process, for a browser and for a pipe, whichever build wrote it."""
        return {"type": self.kind, "seq": self.seq, "at": self.at, **self.payload}


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events after a number, oldest first, and how far the log goes."""

    events: tuple[Event, ...]
    after: int
    """The number that was asked for."""
    first_seq: int
    """The oldest event that is still there; `last_seq + 1` if none is."""
    last_seq: int
    is_beyond: bool = False
    """The number was never given here, or to another session of this name: whoever holds it has to begin anew."""

    @property
    def has_gap(self) -> bool:
        """Whether events after the number were dropped for their age before they could be read."""
        return self.after + 1 < self.first_seq

    @property
    def next_after(self) -> int:
        """The number to go on after. A page without events tells that there are none up to its last number."""
        return self.events[-1].seq if self.events else self.last_seq

    @property
    def has_more(self) -> bool:
        return self.next_after < self.last_seq


async def append_events(tx: Transaction, call: Call, events: Sequence[NewEvent]) -> int:
    """Write events of the call's session inside a unit of work, and return the number of the last one.

    The run is the call's. The session's row is made if there is none.

    Raises:
        LimitExceeded: a payload is too large. The unit must not be committed then.
    """
    if not events:
        raise ValueError("no events to append")
    payloads = [_encoded(event) for event in events]
    draw = (
        "UPDATE session SET last_seq = last_seq + ?3, last_at = CASE WHEN last_at < ?5 THEN ?4 ELSE last_at END "
        "WHERE user_id = ?1 AND id = ?2 RETURNING no, last_seq"
    )
    parameters = (call.user_id, call.session, len(events), *touch_times())
    row = await tx.one(draw, *parameters)
    if row is None:
        await ensure_session(tx, call)
        row = await tx.one(draw, *parameters)
    assert row is not None
    session_no, last_seq = row
    first_seq = last_seq - len(events) + 1
    await tx.run_many(
        "INSERT INTO event (user_id, session_no, seq, run_id, kind, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        [
            (call.user_id, session_no, seq, call.run_id, event.kind, payload)
            for seq, event, payload in zip(range(first_seq, last_seq + 1), events, payloads, strict=True)
        ],
    )
    await tx.notify(_topic(call))
    number: int = last_seq
    return number


async def restore_events(tx: Transaction, call: Call, events: Sequence[Event]) -> None:
    """Write events of another place, as they were there, after those of the call's session; numbers may be missing.

    The session counts as old as the oldest of them: where it lies is first looked for from there on.

    Raises:
        Conflict: the session has events of these numbers.
    """
    await ensure_session(tx, call)
    row = await tx.one("SELECT no, last_seq FROM session WHERE user_id = ?1 AND id = ?2", call.user_id, call.session)
    assert row is not None
    session_no, last_seq = row
    if any(event.seq <= before for before, event in zip((last_seq, *(e.seq for e in events)), events, strict=False)):
        raise Conflict(say("The session '{id}' has these events already.", id=call.session))
    await tx.run_many(
        "INSERT INTO event (user_id, session_no, seq, run_id, at, kind, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        [
            (call.user_id, session_no, event.seq, event.run_id, event.at, event.kind, _encoded(event))
            for event in events
        ],
    )
    if events:
        await tx.run(
            "UPDATE session SET last_seq = ?3, created_at = CASE WHEN created_at > ?4 THEN ?4 ELSE created_at END "
            "WHERE user_id = ?1 AND no = ?2",
            call.user_id,
            session_no,
            events[-1].seq,
            min(event.at for event in events),
        )
        await tx.notify(_topic(call))


class EventLog:
    """The logs of all sessions, in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await SessionStore(self._database).open()
        await self._database.prepare(EVENT_MIGRATIONS)
        await make_coming_months(self._database)

    async def append(self, call: Call, *events: NewEvent) -> int:
        """Write events of the call's session in a unit of their own, and return the number of the last one."""
        return await self._database.write(lambda tx: append_events(tx, call, events), user_id=call.user_id)

    async def read(self, call: Call, after: int = 0, limit: int = MAX_EVENTS_READ) -> EventPage:
        """Return events of the call's session after a number: at most `limit`, fewer if they are large."""
        _, page = await self._read(call, after, limit)
        return page

    async def watch(
        self, call: Call, after: int = 0, limit: int = MAX_EVENTS_READ, max_chars: int = MAX_PAGE_CHARS
    ) -> AsyncGenerator[EventPage, None]:
        """Yield events after a number, then those that are added, by whatever process, in pages up to `max_chars`.

        A page is read when the consumer comes for it, so a slow one holds one page. A page without events comes only to
        tell that `after` is beyond the end; what follows then begins at the start of the log.
        """
        session_no = 0
        async for _ in self._database.changes(_topic(call)):
            has_more = True
            while has_more:
                number, page = await self._read(call, after, limit, max_chars)
                if session_no and number != session_no and not page.is_beyond:
                    page = EventPage((), after, page.first_seq, page.last_seq, is_beyond=True)
                session_no = number
                if page.events or page.is_beyond:
                    yield page
                after = 0 if page.is_beyond else page.next_after
                has_more = after < page.last_seq

    async def expire(self, user_id: UserId, before: str) -> int:
        """Drop the user's events before a moment, a batch at a time, and return how many.

        Only ever the oldest of a session, whatever the clock said when they were written: what is left has no gap.
        """
        total = session_no = 0
        while rows := await self._expired(user_id, session_no, before):
            for session_no, first_seq in rows:
                count = EXPIRY_BATCH_EVENTS
                while count == EXPIRY_BATCH_EVENTS:
                    count = await self._drop(user_id, session_no, first_seq, before)
                    first_seq += count
                    total += count
        return total

    async def _expired(self, user_id: UserId, after_no: int, before: str) -> list[Row]:
        """Return sessions whose oldest event is too old, and its number."""
        return await self._database.read(
            lambda tx: tx.all(_EXPIRED, user_id, after_no, before, EXPIRY_BATCH_SESSIONS), user_id=user_id
        )

    async def _drop(self, user_id: UserId, session_no: int, first_seq: int, before: str) -> int:
        end = first_seq + EXPIRY_BATCH_EVENTS

        async def work(tx: Transaction) -> int:
            row = await tx.one(
                "SELECT min(seq) FROM event WHERE user_id = ?1 AND session_no = ?2 AND seq < ?3 AND at >= ?4",
                user_id,
                session_no,
                end,
                before,
            )
            return await tx.run(
                "DELETE FROM event WHERE user_id = ?1 AND session_no = ?2 AND seq < ?3",
                user_id,
                session_no,
                (row and row[0]) or end,
            )

        return await self._database.write(work, user_id=user_id)

    async def _read(self, call: Call, after: int, limit: int, max_chars: int = MAX_PAGE_CHARS) -> tuple[int, EventPage]:
        after = max(after, 0)

        async def work(tx: Transaction) -> tuple[int, EventPage]:
            row = await tx.one(
                "SELECT no, last_seq, created_at FROM session WHERE user_id = ?1 AND id = ?2",
                call.user_id,
                call.session,
            )
            if row is None:
                return 0, EventPage((), after, 1, 0, is_beyond=after > 0)
            session_no, last_seq, created_at = row
            stream = (call.user_id, session_no)
            # Months before the session are left out on a server, unless the numbers show that something is missing:
            # a clock that was set back has written events that are older than their session.
            since = created_at if self._database.dialect == "postgresql" else BEGINNING
            first_seq = await _first_seq(tx, *stream, since)
            if first_seq != 1 and since != BEGINNING:
                first_seq = await _first_seq(tx, *stream, BEGINNING)
            first_seq = first_seq or last_seq + 1
            if after > last_seq:
                return session_no, EventPage((), after, first_seq, last_seq, is_beyond=True)
            count = max(1, min(limit, MAX_EVENTS_READ))
            rows = await tx.all(_AFTER, *stream, since, after, count, max_chars)
            if since != BEGINNING and not _has_next(rows, after, min(count, last_seq - after)):
                rows = await tx.all(_AFTER, *stream, BEGINNING, after, count, max_chars)
            return session_no, EventPage(tuple(_event(row) for row in rows), after, first_seq, last_seq)

        return await self._database.read(work, user_id=call.user_id)


_FIRST_SEQ = "SELECT min(seq) FROM event WHERE user_id = ?1 AND session_no = ?2 AND at >= ?3"
_AFTER = """
SELECT seq, run_id, at, kind, payload FROM (
  SELECT seq, run_id, at, kind, payload, sum(length(payload)) OVER (ORDER BY seq) - length(payload) AS before
  FROM (
    SELECT seq, run_id, at, kind, payload FROM event
    WHERE user_id = ?1 AND session_no = ?2 AND at >= ?3 AND seq > ?4 ORDER BY seq LIMIT ?5
  ) AS wanted
) AS page WHERE before < ?6 ORDER BY seq
"""

_EXPIRED = """
SELECT s.no, e.seq FROM session s JOIN event e ON e.user_id = s.user_id AND e.session_no = s.no AND e.seq =
  (SELECT min(seq) FROM event WHERE user_id = s.user_id AND session_no = s.no)
WHERE s.user_id = ?1 AND s.no > ?2 AND s.created_at < ?3 AND e.at < ?3 ORDER BY s.no LIMIT ?4
"""


async def _first_seq(tx: Transaction, user_id: UserId, session_no: int, since: str) -> int:
    row = await tx.one(_FIRST_SEQ, user_id, session_no, since)
    return (row and row[0]) or 0


def _has_next(rows: Sequence[Row], after: int, count: int) -> bool:
    """Tell whether the events are the next ones after a number, so many and without a gap."""
    return len(rows) == count and (not rows or rows[-1][0] == after + count)


def _event(row: Row) -> Event:
    seq, run_id, at, kind, payload = row
    return Event(seq, run_id, at, kind, json.loads(payload))


def _encoded(event: NewEvent | Event) -> str:
    if not 0 < len(event.kind) <= MAX_KIND_CHARS:
        raise ValueError(f"the kind of an event has 1 to {MAX_KIND_CHARS} characters: {event.kind[:100]!r}")
    text = json.dumps(event.payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # half a surrogate pair, as models write it: JSON can say it, UTF-8 cannot
        text = json.dumps(event.payload, separators=(",", ":"), allow_nan=False)
        size = len(text)
    if size > MAX_PAYLOAD_BYTES:
        raise LimitExceeded(
            say("An event of {size} bytes is larger than {max}.", size=size, max=MAX_PAYLOAD_BYTES),
        )
    return text


def _topic(call: Call) -> str:
    return topic("event", call.user_id, call.session)
