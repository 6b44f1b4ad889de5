"""What the person has allowed for more than one call: a tool, in a session or to an assistant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from madang.core.calls import Call
from madang.core.ids import AssistantId, UserId
from madang.database.port import Database, MigrationSet, Transaction, private_rows
from madang.system.clock import POSTGRESQL_NOW, SQLITE_NOW

DecisionScope = Literal["session", "assistant"]
MAX_DECISIONS = 1000


def _table(time: str, now: str, end: str = "") -> str:
    return f"""
        CREATE TABLE decision (
          user_id TEXT NOT NULL, scope TEXT NOT NULL, scope_id TEXT NOT NULL, tool TEXT NOT NULL,
          decided_at {time} NOT NULL DEFAULT {now},
          PRIMARY KEY (user_id, scope, scope_id, tool)
        ){end};
        """


DECISION_MIGRATIONS = MigrationSet(
    "decisions",
    sqlite=(_table("TEXT", f"({SQLITE_NOW})", " WITHOUT ROWID"),),
    postgresql=(_table("TIMESTAMPTZ", POSTGRESQL_NOW) + private_rows("decision"),),
)


@dataclass(frozen=True, slots=True)
class Decision:
    """A tool that the person has allowed, in a session or to an assistant."""

    scope: DecisionScope
    scope_id: str
    tool: str
    decided_at: str


class DecisionStore:
    """Decisions in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await self._database.prepare(DECISION_MIGRATIONS)

    async def is_allowed(self, call: Call, tool: str) -> bool:
        """Tell whether the person has allowed the tool in the call's session, or to its assistant."""
        rows = await self._database.find(
            "SELECT 1 AS one FROM decision WHERE user_id = ?1 AND tool = ?2 "
            "AND ((scope = 'session' AND scope_id = ?3) OR (scope = 'assistant' AND scope_id = ?4))",
            call.user_id,
            tool,
            call.session_id or "",
            call.assistant_id or "",
            user_id=call.user_id,
        )
        return bool(rows)

    async def list_all(self, user_id: UserId) -> list[Decision]:
        """Return what the user has allowed, newest first."""
        rows = await self._database.find(
            "SELECT scope, scope_id, tool, decided_at FROM decision WHERE user_id = ?1 "
            "ORDER BY decided_at DESC, scope, scope_id, tool LIMIT ?2",
            user_id,
            MAX_DECISIONS,
            user_id=user_id,
        )
        return [Decision(*row) for row in rows]

    async def forget(self, call: Call, scope: DecisionScope, tool: str) -> bool:
        """Take a decision back; False if there was none."""

        async def work(tx: Transaction) -> bool:
            sql = "DELETE FROM decision WHERE user_id = ?1 AND scope = ?2 AND scope_id = ?3 AND tool = ?4"
            return bool(await tx.run(sql, call.user_id, scope, _scope_id(call, scope), tool))

        return await self._database.write(work, user_id=call.user_id)


async def remember_decision(tx: Transaction, call: Call, scope: DecisionScope, tool: str) -> None:
    """Keep that a tool may be used, in the unit that settles its approval."""
    await tx.run(
        "INSERT INTO decision (user_id, scope, scope_id, tool) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
        call.user_id,
        scope,
        _scope_id(call, scope),
        tool,
    )


async def forget_session_decisions(tx: Transaction, call: Call) -> None:
    """Take back what was allowed in the call's session, which is deleted: another may get its name."""
    await tx.run(
        "DELETE FROM decision WHERE user_id = ?1 AND scope = 'session' AND scope_id = ?2", call.user_id, call.session
    )


async def forget_assistant_decisions(tx: Transaction, user_id: UserId, assistant_id: AssistantId) -> None:
    """Take back what was allowed to an assistant that is deleted: another may get its name."""
    await tx.run(
        "DELETE FROM decision WHERE user_id = ?1 AND scope = 'assistant' AND scope_id = ?2", user_id, assistant_id
    )


def _scope_id(call: Call, scope: DecisionScope) -> str:
    return call.session if scope == "session" else call.assistant
