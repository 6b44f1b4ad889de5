"""The table of assistants, and what every change to its rows tells: its topic, and that somebody else was first."""

from __future__ import annotations

from madang.core.errors import Conflict
from madang.core.ids import AssistantId, UserId
from madang.core.phrases import say
from madang.database.port import MigrationSet, private_rows
from madang.database.subscriptions import topic
from madang.system.clock import POSTGRESQL_NOW, SQLITE_NOW

_OPTIONS = "ALTER TABLE assistant ADD options TEXT NOT NULL DEFAULT '{}'"

ASSISTANT_MIGRATIONS = MigrationSet(
    "assistants",
    sqlite=(
        f"""
        CREATE TABLE assistant (
          user_id TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, instructions TEXT NOT NULL, model TEXT NOT NULL,
          services TEXT, limits TEXT NOT NULL, policy TEXT NOT NULL, seed TEXT NOT NULL, version INTEGER NOT NULL,
          created_at TEXT NOT NULL DEFAULT ({SQLITE_NOW}), updated_at TEXT NOT NULL,
          PRIMARY KEY (user_id, id)
        ) WITHOUT ROWID
        """,
        _OPTIONS,
    ),
    postgresql=(
        f"""
        CREATE TABLE assistant (
          user_id TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, instructions TEXT NOT NULL, model TEXT NOT NULL,
          services TEXT, limits TEXT NOT NULL, policy TEXT NOT NULL, seed TEXT NOT NULL, version INTEGER NOT NULL,
          created_at TIMESTAMPTZ NOT NULL DEFAULT {POSTGRESQL_NOW}, updated_at TIMESTAMPTZ NOT NULL,
          PRIMARY KEY (user_id, id)
        );
        {private_rows("assistant")}
        """,
        _OPTIONS,
    ),
)


def assistant_changed(id: AssistantId) -> Conflict:
    """Return the error of a change to a version that is not the last one."""
    return Conflict(
        say("The assistant '{id}' has been changed meanwhile.", id=id), hint=say("Read it again, then save.")
    )


def assistant_topic(user_id: UserId, assistant_id: AssistantId) -> str:
    return topic("assistant", user_id, assistant_id)
