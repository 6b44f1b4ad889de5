"""Every table of the product and its keys, as each database has them in its own catalogue."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal

import apsw
import asyncpg

import madang
from madang.database.port import Database, MigrationSet, Row, Transaction

KeyKind = Literal["primary", "unique", "foreign", "index"]


@dataclass(frozen=True, slots=True)
class Key:
    """A key or an index of a table. A foreign key also has what it refers to."""

    table: str
    kind: KeyKind
    columns: tuple[str, ...]
    target: str = ""
    target_columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        target = f" to {self.target} ({', '.join(self.target_columns)})" if self.target else ""
        return f"{self.table}: {self.kind} ({', '.join(self.columns)}){target}"


def all_migration_sets() -> list[MigrationSet]:
    """Return every set that any module of the package has."""
    sets: dict[str, MigrationSet] = {}
    for module in pkgutil.walk_packages(madang.__path__, "madang."):
        if not module.name.endswith("__main__"):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, MigrationSet):
                    assert sets.setdefault(value.name, value) is value, f"two sets are called {value.name}"
    return list(sets.values())


async def prepare_all(database: Database) -> None:
    """Make every table. A set that needs the tables of another is tried again after the others."""
    missing = [one for one in all_migration_sets() if database.dialect == "sqlite" or one.postgresql]
    while missing:
        later = []
        for migrations in missing:
            try:
                await database.prepare(migrations)
            except (apsw.SQLError, asyncpg.UndefinedTableError) as error:
                later.append(migrations)
                reason = error
        if len(later) == len(missing):
            raise reason
        missing = later


async def tables(database: Database) -> dict[str, list[str]]:
    """Return the tables with their columns."""

    async def work(tx: Transaction) -> list[Row]:
        if database.dialect == "sqlite":
            return await tx.all(
                # Not the tables of a full-text index: its rows belong to those of a table that is here.
                "SELECT t.name, c.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c "
                "WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
                "ORDER BY t.name, c.cid"
            )
        return await tx.all(
            "SELECT r.relname::text, a.attname::text FROM pg_class r JOIN pg_attribute a ON a.attrelid = r.oid "
            "WHERE r.relkind IN ('r', 'p') AND NOT r.relispartition AND r.relnamespace = 'public'::regnamespace "
            "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1, a.attnum"
        )

    rows = await database.read(work)
    return {table: [column for _, column in columns] for table, columns in groupby(rows, itemgetter(0))}


async def keys(database: Database) -> list[Key]:
    """Return all keys and indexes."""
    reader = _sqlite_keys if database.dialect == "sqlite" else _postgresql_keys
    found = [key for table in await tables(database) for key in await reader(database, table)]
    return sorted(set(found), key=str)


async def _sqlite_keys(database: Database, table: str) -> list[Key]:
    async def work(tx: Transaction) -> list[Key]:
        indexes = await tx.all('SELECT name, "unique", origin FROM pragma_index_list(?1)', table)
        found: list[Key] = []
        for name, is_unique, origin in indexes:
            columns = await tx.all("SELECT coalesce(name, '<expression>') FROM pragma_index_info(?1)", name)
            kind: KeyKind = "primary" if origin == "pk" else "unique" if is_unique else "index"
            found.append(Key(table, kind, tuple(column for (column,) in columns)))
        if not any(key.kind == "primary" for key in found):  # a number of rows has no index of its own
            columns = await tx.all("SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk", table)
            found.append(Key(table, "primary", tuple(column for (column,) in columns)))
        references = await tx.all(
            'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?1) ORDER BY id, seq', table
        )
        for _, parts in groupby(references, itemgetter(0)):
            columns = list(parts)
            found.append(
                Key(table, "foreign", tuple(c[2] for c in columns), columns[0][1], tuple(c[3] for c in columns))
            )
        return found

    return await database.read(work)


_COLUMNS = """
(SELECT array_agg(coalesce(a.attname::text, '<expression>') ORDER BY k.n)
 FROM unnest({numbers}) WITH ORDINALITY AS k (number, n)
 LEFT JOIN pg_attribute a ON a.attrelid = {table} AND a.attnum = k.number)
"""


async def _postgresql_keys(database: Database, table: str) -> list[Key]:
    async def work(tx: Transaction) -> list[Key]:
        return [
            *_references(table, await tx.all(references, table)),
            *(Key(table, kind, tuple(columns)) for kind, columns in await tx.all(indexes, table)),
        ]

    # What an index only includes is no part of its key.
    numbers = "(string_to_array(i.indkey::text, ' ')::int[])[:i.indnkeyatts]"
    indexes = (
        "SELECT CASE WHEN i.indisprimary THEN 'primary' WHEN i.indisunique THEN 'unique' ELSE 'index' END, "
        + _COLUMNS.format(numbers=numbers, table="i.indrelid")
        + "FROM pg_index i WHERE i.indrelid = CAST(CAST(?1 AS text) AS regclass)"
    )
    references = (
        "SELECT c.confrelid::regclass::text, "
        + _COLUMNS.format(numbers="c.conkey", table="c.conrelid")
        + ", "
        + _COLUMNS.format(numbers="c.confkey", table="c.confrelid")
        + "FROM pg_constraint c WHERE c.contype = 'f' AND c.conrelid = CAST(CAST(?1 AS text) AS regclass)"
    )
    return await database.read(work)


def _references(table: str, rows: list[Row]) -> Iterator[Key]:
    for target, columns, target_columns in rows:
        yield Key(table, "foreign", tuple(columns), target, tuple(target_columns))
