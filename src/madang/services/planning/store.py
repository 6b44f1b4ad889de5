"""What the planning service keeps: one plan per session, as one row that is replaced as a whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from madang.core.calls import Call
from madang.core.operations import Operation
from madang.database.port import Database, MigrationSet, Row, Transaction, private_rows
from madang.database.subscriptions import topic
from madang.records.declarations import Session, SessionDeclaration, SessionFile, SessionTable, User, Whole
from madang.records.operations import (
    OPERATION_MIGRATIONS,
    find_operation,
    mark_undone,
    not_undone,
    record_operation,
)
from madang.services.planning.domain import Plan, PlanChange

SERVICE = "planning"

MIGRATIONS = MigrationSet(
    SERVICE,
    sqlite=(
        """
        CREATE TABLE plan (
          user_id TEXT, session_id TEXT, thread_id TEXT, document TEXT NOT NULL,
          PRIMARY KEY (user_id, session_id, thread_id)
        ) WITHOUT ROWID
        """,
        # Threads are gone. No door ever named one but 'main'; plans of others are not copied, because nothing could
        # read or delete them any more.
        """
        CREATE TABLE plan_new (
          user_id TEXT, session_id TEXT, document TEXT NOT NULL,
          PRIMARY KEY (user_id, session_id)
        ) WITHOUT ROWID;
        INSERT INTO plan_new SELECT user_id, session_id, document FROM plan WHERE thread_id = 'main';
        DROP TABLE plan;
        ALTER TABLE plan_new RENAME TO plan;
        """,
    ),
    postgresql=(
        f"""
        CREATE TABLE plan (
          user_id TEXT, session_id TEXT, thread_id TEXT, document TEXT NOT NULL,
          PRIMARY KEY (user_id, session_id, thread_id)
        );
        {private_rows("plan")}
        """,
        # As in the other dialect. FORCE is lifted for the DELETE: a migration has no user, so it would see no rows.
        """
        ALTER TABLE plan NO FORCE ROW LEVEL SECURITY;
        DELETE FROM plan WHERE thread_id <> 'main';
        ALTER TABLE plan FORCE ROW LEVEL SECURITY;
        ALTER TABLE plan DROP CONSTRAINT plan_pkey, DROP thread_id, ADD PRIMARY KEY (user_id, session_id);
        """,
    ),
)

DetailT = TypeVar("DetailT")

_EMPTY = Plan()
_BY_KEY = "SELECT document FROM plan WHERE user_id = ?1 AND session_id = ?2"


class PlanStore:
    """Plans in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await self._database.prepare(MIGRATIONS)
        await self._database.prepare(OPERATION_MIGRATIONS)

    async def get(self, call: Call) -> Plan:
        """Return the plan of the call's session; without a row it is empty."""
        rows = await self._database.find(_BY_KEY, *_key(call), user_id=call.user_id)
        return _plan(rows[0] if rows else None)

    async def change(self, call: Call, change: Callable[[Plan], tuple[Plan, DetailT]]) -> tuple[Plan, DetailT]:
        """Replace the plan by what `change` makes of it, in one transaction, so that no update is lost.

        Returns the plan, and what `change` returned beside it. A call that is repeated under its operation's id changes
        nothing more, and gets what it got before.
        """

        async def work(tx: Transaction) -> tuple[Plan, DetailT]:
            before = _plan(await tx.one(_BY_KEY, *_key(call)))
            done = await find_operation(tx, call)
            if done is not None:
                return change(before.without(PlanChange.model_validate_json(done.change), is_repeated=True))
            plan, outcome = change(before)
            await _write(tx, call, plan)
            await record_operation(tx, call, SERVICE, plan.changed_since(before))
            return plan, outcome

        return await self._database.write(work, user_id=call.user_id)

    async def undo(self, call: Call, operation: Operation) -> Operation:
        """Take back what an operation changed, as an operation of its own.

        Raises:
            Conflict: it was taken back already, or its time is over.
        """

        async def work(tx: Transaction) -> Operation:
            if not await mark_undone(tx, operation):
                raise not_undone()
            before = _plan(await tx.one(_BY_KEY, *_key(call)))
            plan = before.without(PlanChange.model_validate_json(operation.change))
            await _write(tx, call, plan)
            return await record_operation(tx, call, SERVICE, plan.changed_since(before))

        return await self._database.write(work, user_id=call.user_id)

    def changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        """Yield the topic at each change of this plan; the first value is empty."""
        return self._database.changes(_topic(_key(call)))


async def _write(tx: Transaction, call: Call, plan: Plan) -> None:
    key = _key(call)
    await tx.run(
        "INSERT INTO plan VALUES (?1, ?2, ?3) "
        "ON CONFLICT (user_id, session_id) DO UPDATE SET document = excluded.document",
        *key,
        plan.model_dump_json(),
    )
    await tx.notify(_topic(key))


def _key(call: Call) -> tuple[str, str]:
    return call.user_id, call.session


def _topic(key: tuple[str, str]) -> str:
    return topic("planning", *key)


def _plan(row: Row | None) -> Plan:
    return Plan.model_validate_json(row[0]) if row else _EMPTY


PLANS = SessionTable(
    "plan",
    Plan,
    {"user_id": User(), "session_id": Session(), "document": Whole()},
    order="session_id",
    topic=lambda call, _: _topic(_key(call)),
)
SESSIONS = SessionDeclaration(
    [SessionFile("plan.json", Plan, {"": PLANS}, admits=lambda plan: plan != _EMPTY, is_single=True)]
)
