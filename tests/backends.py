"""The database back ends, and a small table to try them with. A new back end is one more entry of `BACK_ENDS`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from madang.database.port import Database, MigrationSet, Transaction
from madang.database.sqlite.database import SqliteDatabase
from tests.postgresql import database_in

BACK_ENDS: dict[str, Callable[[Path], Database]] = {
    "disk": lambda folder: SqliteDatabase(folder / "madang.db"),
    "memory": lambda _: SqliteDatabase(None),
    "server": database_in,
}
EMBEDDED = ("disk", "memory")
"""Those that run units one after the other, in the order in which they came."""

NUMBERS = MigrationSet(
    "numbers",
    sqlite=("CREATE TABLE number (value INTEGER PRIMARY KEY, note TEXT)",),
    postgresql=("CREATE TABLE number (value BIGINT PRIMARY KEY, note TEXT)",),
)


def same_steps(name: str, steps: Sequence[str]) -> MigrationSet:
    """Return a set whose SQL every back end understands."""
    return MigrationSet(name, sqlite=steps, postgresql=steps)


@asynccontextmanager
async def opened(database: Database) -> AsyncIterator[Database]:
    """Open `database` with the table of numbers, and close it at the end."""
    try:
        await database.prepare(NUMBERS)
        yield database
    finally:
        await database.close()


async def insert(database: Database, *values: int, topic: str = "") -> None:
    """Write numbers in one unit of work, and tell `topic` if there is one."""

    async def work(tx: Transaction) -> None:
        for value in values:
            await tx.run("INSERT INTO number (value) VALUES (?1)", value)
        if topic:
            await tx.notify(topic)

    await database.write(work)


async def numbers(database: Database) -> list[int]:
    """Read all numbers."""

    async def work(tx: Transaction) -> list[int]:
        return [row[0] for row in await tx.all("SELECT value FROM number ORDER BY value")]

    return await database.read(work)


@pytest.fixture(params=BACK_ENDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database of each back end, open and closed again."""
    async with opened(BACK_ENDS[request.param](tmp_path)) as database:
        yield database
