"""The users of a database, and by which name of which issuer each is known.

The table is not private: it has to be searched before it is known who asks, and by what concerns all users. It holds no
content and nothing that a user can change.
"""

from __future__ import annotations

from madang.core.ids import UserId
from madang.database.port import Database, MigrationSet, Transaction
from madang.system.clock import POSTGRESQL_NOW, SQLITE_NOW

SETTINGS_ISSUER = ""
"""The issuer of users that the settings name (`--user`); each is known by its own id."""

ACCOUNT_MIGRATIONS = MigrationSet(
    "accounts",
    sqlite=(
        f"""
        CREATE TABLE account (
          user_id TEXT NOT NULL, issuer TEXT NOT NULL, subject TEXT NOT NULL,
          created_at TEXT NOT NULL DEFAULT ({SQLITE_NOW}), disabled_at TEXT, swept_at TEXT,
          PRIMARY KEY (user_id, issuer, subject), UNIQUE (issuer, subject)
        ) WITHOUT ROWID
        """,
    ),
    postgresql=(
        f"""
        CREATE TABLE account (
          user_id TEXT NOT NULL, issuer TEXT NOT NULL, subject TEXT NOT NULL,
          created_at TIMESTAMPTZ NOT NULL DEFAULT {POSTGRESQL_NOW}, disabled_at TIMESTAMPTZ, swept_at TIMESTAMPTZ,
          PRIMARY KEY (user_id, issuer, subject), UNIQUE (issuer, subject)
        )
        """,
    ),
)


async def remember_user(tx: Transaction, user_id: UserId) -> None:
    """Keep that there is a user, in the unit that writes the user's first row."""
    key = (user_id, SETTINGS_ISSUER, user_id)
    if await tx.one("SELECT 1 FROM account WHERE user_id = ?1 AND issuer = ?2 AND subject = ?3", *key) is None:
        await tx.run("INSERT INTO account (user_id, issuer, subject) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING", *key)


class AccountStore:
    """Accounts in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._now = POSTGRESQL_NOW if database.dialect == "postgresql" else SQLITE_NOW
        self._yesterday = (
            f"{POSTGRESQL_NOW} - INTERVAL '1 day'"
            if database.dialect == "postgresql"
            else SQLITE_NOW.replace("'now'", "'now', '-1 day'")
        )

    async def open(self) -> None:
        await self._database.prepare(ACCOUNT_MIGRATIONS)

    async def claim_unswept(self, limit: int) -> list[UserId]:
        """Return users to whose rows retention was not applied for a day. They are no other process's for the next."""

        async def work(tx: Transaction) -> list[UserId]:
            rows = await tx.all(
                f"UPDATE account SET swept_at = {self._now} WHERE issuer = ?1 AND subject IN (SELECT subject "
                f"FROM account WHERE issuer = ?1 AND (swept_at IS NULL OR swept_at < {self._yesterday}) LIMIT ?2) "
                "RETURNING user_id",
                SETTINGS_ISSUER,
                limit,
            )
            return [UserId(row[0]) for row in rows]

        return await self._database.write(work)
