"""Every column of a table that a store declares is declared, and every field of its documents comes from one.

The tables are read from the catalogues of both databases: a migration that adds a column fails here until it is said
what becomes of the column when its session is copied, exported or imported.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import madang
from madang.database.port import Database
from madang.records.declarations import Id, Number, Reference, Saved, SessionTable, Whole
from tests.backends import BACK_ENDS
from tests.stores.catalogue import prepare_all, tables

pytestmark = pytest.mark.anyio


def all_declared_tables() -> dict[str, SessionTable]:
    """Return every declaration that any module of the package has, by the module's name and its own."""
    return {
        f"{module.name}.{name}": value
        for module in pkgutil.walk_packages(madang.__path__, "madang.")
        if not module.name.endswith("__main__")
        for name, value in vars(importlib.import_module(module.name)).items()
        if isinstance(value, SessionTable)
    }


DECLARED = all_declared_tables()


@pytest.fixture(params=["disk", "server"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database = BACK_ENDS[request.param](tmp_path)
    try:
        await prepare_all(database)
        yield database
    finally:
        await database.close()


def undeclared(table: SessionTable, columns: list[str]) -> list[str]:
    """Return a sentence for each column that is in only one of the two, the table and its declaration."""
    return [
        f"{table.name}.{name} is not declared: say in its SessionTable what becomes of it in a copy and in an archive."
        for name in columns
        if name not in table.columns
    ] + [
        f"{table.name}.{name} is declared, and the table has no such column."
        for name in set(table.columns) - {*columns}
    ]


async def test_every_column_of_a_declared_table_is_declared(database: Database) -> None:
    schema = await tables(database)

    assert [line for table in DECLARED.values() for line in undeclared(table, schema.get(table.name, []))] == []


def test_a_new_column_is_named_in_one_sentence() -> None:
    (table, *_) = DECLARED.values()

    assert undeclared(table, [*table.columns, "mood"]) == [
        f"{table.name}.mood is not declared: say in its SessionTable what becomes of it in a copy and in an archive."
    ]


@pytest.mark.parametrize("name", DECLARED)
def test_the_fields_of_a_document_are_those_of_the_declared_columns(name: str) -> None:
    table = DECLARED[name]
    if any(isinstance(column, Whole) for column in table.columns.values()):
        return

    assert sorted(fields(table)) == sorted(table.kind.model_fields)


def fields(table: SessionTable) -> Iterator[str]:
    for name, column in table.columns.items():
        match column:
            case Saved(field) | Reference(field):
                yield field or name
            case Number(field=field):
                yield field
            case Id(is_saved=True):
                yield name
