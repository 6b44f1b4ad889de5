"""What waits for the person, as rows: the one truth of whether something is open.

A store opens and settles a pause inside its own unit of work, with the functions here; what was asked and answered it
keeps itself. A pause is settled by compare-and-set, so that of two answers at once exactly one wins. That one has
expired is computed at each look, and written only when its run is told so: a clock that was wrong ends nothing for
good. That rule is in `pause_rows` in SQL and `core.pauses.status_at` in Python; nobody else compares times.
"""

from __future__ import annotations

import json
import operator
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from madang.core.calls import Call
from madang.core.errors import Conflict, Denied
from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.pauses import STEP_KINDS, PauseRecord, SettledBy, no_longer_open
from madang.core.phrases import say
from madang.core.results import PauseKind
from madang.database.port import Database, Transaction
from madang.database.subscriptions import topic
from madang.records.live_runs import check_run, tell_run
from madang.records.pause_rows import PAUSE_COLUMNS, PAUSE_MIGRATIONS, has_expired, is_open, parse_pause, pause_topic
from madang.records.run_journal_tables import JOURNAL_MIGRATIONS
from madang.records.run_tables import RUN_MIGRATIONS
from madang.records.sessions import SessionStore
from madang.system.clock import format_timestamp, parse_timestamp, timestamp

RETENTION_DAYS = 30
MAX_DELETED_PAUSES = 50


_SELECT = f"SELECT {PAUSE_COLUMNS} FROM pause"
_IS_OPEN = is_open("?2")
_FIND_OPEN = f"{_SELECT} WHERE user_id = ?1 AND {_IS_OPEN} AND (?3 = '' OR id < ?3) ORDER BY id DESC LIMIT ?4"
_SETTLE = "UPDATE pause SET settled_at = ?2, status = ?3, settled_by = ?4, settled_with = ?5 WHERE user_id = ?1"

SettledStatus = Literal["answered", "cancelled"]


async def open_pause(
    tx: Transaction,
    call: Call,
    *,
    id: str,
    kind: PauseKind,
    service: str,
    tool: str,
    title: str,
    expires_at: str,
    opened_at: str = "",
) -> tuple[PauseRecord, bool]:
    """Add a pause and return it with True; for an operation that has opened one already, that one with False.

    `expires_at` is empty for one that never expires, and `opened_at` is now unless it is given.

    Raises:
        Conflict: the operation has opened one with another tool, or the run that asks is over.
    """
    if earlier := await _find_by_operation(tx, call):
        if (earlier.service, earlier.tool) != (service, tool):
            raise _operation_reused(call, earlier)
        return earlier, False
    await check_run(tx, call)
    await _delete_old_pauses(tx, call.user_id)
    pause = PauseRecord(
        id=id,
        kind=kind,
        service=service,
        tool=tool,
        title=title,
        session_id=_session(call),
        assistant_id=call.assistant_id or AssistantId(""),
        asker=call.asker,
        opened_at=opened_at or timestamp(),
        expires_at=expires_at,
        run_id=call.run_id,
        call_id=call.call_id,
    )
    await _insert(tx, call, pause)
    await tx.notify(pause_topic(call.user_id, pause.session_id, id))
    return pause, True


async def settle_pause(
    tx: Transaction, call: Call, id: str, *, status: SettledStatus, tool: str, arguments: Mapping[str, Any]
) -> PauseRecord | None:
    """Settle a pause of the call's session and return it as it then is; None if it was not open."""
    settled = await _settle(
        tx,
        f"{_IS_OPEN} AND session_id = ?6 AND id = ?7",
        call.user_id,
        timestamp(),
        status,
        settled_by(call),
        _settled_with(call, tool, arguments),
        _session(call),
        id,
    )
    return settled[0] if settled else None


async def supersede(tx: Transaction, call: Call, kind: PauseKind, *, tool: str, keep: str = "") -> list[PauseRecord]:
    """Settle what the call's asker has open of this kind in its session, but `keep`: it asks anew."""
    return await _settle(
        tx,
        f"{_IS_OPEN} AND session_id = ?6 AND asker = ?7 AND kind = ?8 AND id <> ?9",
        call.user_id,
        timestamp(),
        "superseded",
        settled_by(call),
        _settled_with(call, tool, {}),
        _session(call),
        call.asker,
        kind,
        keep,
    )


async def withdraw_run(tx: Transaction, user_id: UserId, run_id: str) -> list[PauseRecord]:
    """Settle all that a run has open: the person stopped it."""
    return await _withdraw(tx, user_id, "run_id = ?6 AND run_id <> ''", run_id)


async def withdraw_steps(tx: Transaction, user_id: UserId, run_id: str) -> list[PauseRecord]:
    """Settle what a run has open that only its next step could take: it has ended. Its questions stay."""
    kinds = ", ".join(f"'{kind}'" for kind in STEP_KINDS)
    return await _withdraw(tx, user_id, f"run_id = ?6 AND run_id <> '' AND kind IN ({kinds})", run_id)


async def withdraw_pauses(tx: Transaction, user_id: UserId, ids: Sequence[str]) -> list[PauseRecord]:
    """Settle pauses whose run goes on as if they had been declined."""
    if not ids:
        return []
    marks = ", ".join(f"?{number}" for number in range(6, len(ids) + 6))
    return await _withdraw(tx, user_id, f"id IN ({marks})", *ids)


async def write_expired(tx: Transaction, user_id: UserId, id: str, now: str) -> PauseRecord | None:
    """Write that a pause has expired, because its run is told so now; None if it is open or settled."""
    row = await tx.one(
        "UPDATE pause SET settled_at = expires_at, status = 'expired', settled_by = 'run' "
        f"WHERE user_id = ?1 AND id = ?2 AND {has_expired('?3')} RETURNING {PAUSE_COLUMNS}",
        user_id,
        id,
        now,
    )
    if row is None:
        return None
    pause = parse_pause(row, now)
    await tx.notify(pause_topic(user_id, pause.session_id, id))
    return pause


async def await_pauses(tx: Transaction, user_id: UserId, ids: Sequence[str]) -> list[PauseRecord]:
    """Mark pauses as awaited by their run, and return them as they are: some may have been settled already.

    What is awaited is not deleted, however long ago it was settled.
    """
    return await _set_awaited(tx, user_id, ids, 1)


async def clear_awaited(tx: Transaction, user_id: UserId, ids: Sequence[str]) -> list[PauseRecord]:
    """Take the mark off again: the run has been told, or goes on without them."""
    return await _set_awaited(tx, user_id, ids, 0)


async def find_pause(tx: Transaction, user_id: UserId, id: str) -> PauseRecord | None:
    """Return a pause of the user as it is now, of whatever session."""
    row = await tx.one(f"{_SELECT} WHERE user_id = ?1 AND id = ?2", user_id, id)
    return None if row is None else parse_pause(row, timestamp())


async def find_own_open(tx: Transaction, call: Call, kind: PauseKind) -> PauseRecord | None:
    """Return the newest open pause of this kind that the call's asker has in its session."""
    row = await tx.one(
        f"{_SELECT} WHERE user_id = ?1 AND {_IS_OPEN} AND session_id = ?3 AND asker = ?4 AND kind = ?5 "
        "ORDER BY id DESC LIMIT 1",
        call.user_id,
        timestamp(),
        _session(call),
        call.asker,
        kind,
    )
    return None if row is None else parse_pause(row, timestamp())


class PauseStore:
    """The pauses of all services and sessions, to be read; they are written in the units of those that ask."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        """Make the tables, those of runs among them: settling a pause tells its run."""
        await SessionStore(self._database).open()
        for migrations in (RUN_MIGRATIONS, JOURNAL_MIGRATIONS, PAUSE_MIGRATIONS):
            await self._database.prepare(migrations)

    async def get(self, call: Call, id: str) -> PauseRecord | None:
        """Return a pause of the call's user as it is now, of whatever session."""
        sql = f"{_SELECT} WHERE user_id = ?1 AND id = ?2"
        rows = await self._database.find(sql, call.user_id, id, user_id=call.user_id)
        return parse_pause(rows[0], timestamp()) if rows else None

    async def settle(
        self, call: Call, id: str, *, status: SettledStatus, tool: str, arguments: Mapping[str, Any]
    ) -> PauseRecord:
        """Settle a pause of the call's session in a unit of its own, for who keeps nothing else of the answer.

        Raises:
            Conflict, Expired: it is not open.
        """

        async def work(tx: Transaction) -> PauseRecord:
            settled = await settle_pause(tx, call, id, status=status, tool=tool, arguments=arguments)
            if settled is None:
                raise no_longer_open(await find_pause(tx, call.user_id, id))
            return settled

        return await self._database.write(work, user_id=call.user_id)

    async def wait_settled(self, call: Call, id: str) -> PauseRecord | None:
        """Wait until somebody settles a pause, in whatever process, and return it; None if there is none."""
        async for _ in self.changes(call.user_id):
            pause = await self.get(call, id)
            if pause is None or pause.status != "open":
                return pause
        return None

    async def list_open(self, user_id: UserId, limit: int, after: str = "") -> list[PauseRecord]:
        """Return what waits for the user in all sessions, newest first: up to `limit`, older than the id `after`."""
        now = timestamp()
        rows = await self._database.find(_FIND_OPEN, user_id, now, after, limit, user_id=user_id)
        return [parse_pause(row, now) for row in rows]

    async def list_by_run(self, user_id: UserId, run_id: str) -> list[PauseRecord]:
        """Return all that a run has asked, oldest first."""
        sql = f"{_SELECT} WHERE user_id = ?1 AND run_id = ?2 AND run_id <> '' ORDER BY id"
        rows = await self._database.find(sql, user_id, run_id, user_id=user_id)
        now = timestamp()
        return [parse_pause(row, now) for row in rows]

    def changes(self, user_id: UserId) -> AsyncGenerator[frozenset[str], None]:
        """Yield whenever one of the user's pauses is opened or settled; that one expires is nobody's deed."""
        return self._database.changes(topic("pause", user_id))


async def find_open_pauses(tx: Transaction, user_id: UserId, limit: int, after: str = "") -> list[PauseRecord]:
    """Do as `PauseStore.list_open`, inside a unit of work."""
    now = timestamp()
    return [parse_pause(row, now) for row in await tx.all(_FIND_OPEN, user_id, now, after, limit)]


def check_relayed(call: Call, pause: PauseRecord) -> None:
    """Check that an answer which a model relays is one to what its own client has asked.

    Who asked what is there from before is not known: that may be answered.

    Raises:
        Denied: a run or another client has asked.
    """
    if call.relays and pause.asker and not call.is_client(pause.asker):
        raise Denied(
            say("{id} was not asked by this client.", id=pause.id),
            hint=say(
                "Ask the person to answer it in the inbox; a client without pages answers only what it asked itself."
            ),
        )


def settled_by(call: Call) -> SettledBy:
    """Return who settles what this call settles."""
    match call.actor:
        case "person" | "program":
            return call.actor
        case "model":
            return "run"
        case "foreign":
            return "relayed" if call.relays else "client"


def _session(call: Call) -> SessionId:
    return call.session_id or SessionId("")


def _settled_with(call: Call, tool: str, arguments: Mapping[str, Any]) -> str:
    client = {"client": call.client_name} if call.client_name else {}
    return json.dumps({"tool": tool, "arguments": dict(arguments), **client}, ensure_ascii=False)


async def _find_by_operation(tx: Transaction, call: Call) -> PauseRecord | None:
    """Return the pause that the call's operation has opened, if it has one."""
    if not call.operation_id:
        return None
    row = await tx.one(
        f"{_SELECT} WHERE user_id = ?1 AND session_id = ?2 AND operation_id = ?3 AND operation_id <> ''",
        call.user_id,
        _session(call),
        call.operation_id,
    )
    return None if row is None else parse_pause(row, timestamp())


async def _insert(tx: Transaction, call: Call, pause: PauseRecord) -> None:
    await tx.run(
        "INSERT INTO pause (user_id, id, session_id, assistant_id, kind, service, tool, title, asker, run_id, call_id, "
        "operation_id, opened_at, expires_at, status, settled_by, settled_with, awaited) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 'open', '', '{}', 0)",
        call.user_id,
        pause.id,
        pause.session_id,
        pause.assistant_id,
        pause.kind,
        pause.service,
        pause.tool,
        pause.title,
        pause.asker,
        pause.run_id,
        pause.call_id,
        call.operation_id,
        pause.opened_at,
        pause.expires_at or None,
    )


async def _settle(tx: Transaction, condition: str, *parameters: object) -> list[PauseRecord]:
    """Settle the pauses that meet the condition, which requires them to be open, and tell their subscribers and runs.

    The first parameters are the user, the time, the status, who settles, and with what.
    """
    rows = await tx.all(f"{_SETTLE} AND {condition} RETURNING {PAUSE_COLUMNS}", *parameters)
    user_id, now = UserId(str(parameters[0])), str(parameters[1])
    settled = sorted((parse_pause(row, now) for row in rows), key=operator.attrgetter("id"))
    for pause in settled:
        await tx.notify(pause_topic(user_id, pause.session_id, pause.id))
        await tell_run(tx, user_id, pause)  # here alone: every way to settle a pause comes through
    return settled


async def _withdraw(tx: Transaction, user_id: UserId, condition: str, *values: object) -> list[PauseRecord]:
    fixed = (user_id, timestamp(), "withdrawn", "run", "{}")
    return await _settle(tx, f"{_IS_OPEN} AND {condition}", *fixed, *values)


async def _set_awaited(
    tx: Transaction, user_id: UserId, ids: Sequence[str], awaited: Literal[0, 1]
) -> list[PauseRecord]:
    if not ids:
        return []
    numbers = ", ".join(f"?{number}" for number in range(2, len(ids) + 2))
    rows = await tx.all(
        f"UPDATE pause SET awaited = {awaited} WHERE user_id = ?1 AND id IN ({numbers}) RETURNING {PAUSE_COLUMNS}",
        user_id,
        *ids,
    )
    now = timestamp()
    return sorted((parse_pause(row, now) for row in rows), key=operator.attrgetter("id"))


async def _delete_old_pauses(tx: Transaction, user_id: UserId) -> None:
    """Delete some of what the user settled long ago, with what hangs on it; what is open, awaited or not told stays.

    Up to `MAX_DELETED_PAUSES` of each kind: more than one new row, so that they never pile up, and too few to be
    noticed. What expired counts from its expiry.
    """
    before = format_timestamp(parse_timestamp(timestamp()) - timedelta(days=RETENTION_DAYS))
    for is_old in ("settled_at < ?2", has_expired("?2")):
        untold = "SELECT id FROM queued_message WHERE user_id = ?1"
        is_done_with = f"{is_old} AND awaited = 0 AND id NOT IN ({untold})"
        old_ids = f"SELECT id FROM pause WHERE user_id = ?1 AND {is_done_with} LIMIT {MAX_DELETED_PAUSES}"
        await tx.run(f"DELETE FROM pause WHERE user_id = ?1 AND id IN ({old_ids})", user_id, before)


def _operation_reused(call: Call, earlier: PauseRecord) -> Conflict:
    return Conflict(
        say("Operation {id} has called '{tool}' already.", id=call.operation_id, tool=earlier.tool),
        hint=say("Give each call an operation id of its own; only a repetition of the same call has the same."),
    )
