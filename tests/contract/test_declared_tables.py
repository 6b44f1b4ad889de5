"""Every column of a table that a store declares is declared, and every field of its documents comes from one.

The tables are read from the catalogues of both databases: a migration that adds a column fails here until it is said
what becomes of the column when its session is copied, exported or imported.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import madang
from madang.database.port import Database
from madang.records.declarations import Id, Number, Reference, Saved, SessionTable, Whole
from tests.backends import BACK_ENDS
from tests.stores.catalogue import prepare_all, tables

pytestmark = pytest.mark.anyio


def all_declared_tables() -> dict[str, SessionTable[Any]]:
    """Return every declaration that any module of the package has, by the module's name and its own."""
    return {
        f"{module.name}.{name}": value
        for module in pkgutil.walk_packages(madang.__path__, "madang.")
        if not module.name.endswith("__main__")
        for name, value in vars(importlib.import_module(module.name)).items()
        if isinstance(value, SessionTable)
    }


DECLARED = all_declared_tables()

# What is large or has a history of its own is copied by statements that a person wrote. Their columns are here, so that
# one that is added is noticed, too: look at these modules, then add it.
BY_HAND = {
    "session": (
        "provider/saved_sessions.py and records/session_filling.py",
        "no user_id id assistant_id title locale parent_id parent_seq tainted last_seq created_at last_at state "
        "archived pinned client origins",
    ),
    "event": (
        "provider/session_history.py, records/events.py and records/forgetting.py",
        "user_id session_no seq run_id at kind payload",
    ),
    "page_view": (
        "records/saved_views.py and records/forgetting.py",
        "user_id id session_no assistant_id run_id call_id service tool page pause_id arguments result created_at "
        "pause_status inert runs_scripts",
    ),
    "tool_offer": ("records/runs/offers.py", "user_id session_no offer"),
    "content_store": (
        "services/content/store/sessions.py",
        "no id user_id session_id name description is_own created_at deleted_at",
    ),
    "content": (
        "services/content/store/sessions.py and services/content/domain/contents.py",
        "no id user_id store_no sha256 filename mime_type size line_count chunk_count preview page_lines uploaded_at",
    ),
}
ONLY_ON_A_SERVER = {"content.analysis", "content.analyzed_to"}
"""How far the words of a text are counted: they are made again where it comes."""
NOT_COPIED = {
    "account audit egress": "not of a session, or of none any more",
    "assistant calibration": "of the user",
    "playbook playbook_deleted playbook_owner playbook_owner_row": "of the assistant",
    "decision operation queued_message run_delta run_live usage image_upload": "of what goes on: a copy begins anew",
    "content_deleted content_chunk_deleted": "can be restored only where it was deleted",
    "content_change content_chunk content_part content_word content_vocabulary": "made of the texts again",
    "message_number message_word": "made of the messages again",
    "migration notice process": "of the database",
}


@pytest.fixture(params=["disk", "server"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database = BACK_ENDS[request.param](tmp_path)
    try:
        await prepare_all(database)
        yield database
    finally:
        await database.close()


def undeclared(table: SessionTable[Any], columns: list[str]) -> list[str]:
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


async def test_a_column_that_is_copied_by_hand_is_known(database: Database) -> None:
    schema = await tables(database)

    assert [
        f"{table}.{column} is new or gone: see what {modules} should make of it in a copy and in an archive."
        for table, (modules, columns) in BY_HAND.items()
        for column in {*columns.split()} ^ {*schema[table]}
        if f"{table}.{column}" not in ONLY_ON_A_SERVER
    ] == []


async def test_every_table_is_declared_copied_by_hand_or_has_a_reason(database: Database) -> None:
    declared = {table.name for table in DECLARED.values()}
    known = {*BY_HAND, *(name for names in NOT_COPIED for name in names.split())}

    assert declared & known == set()
    assert [
        f"The table {name} is not declared: if it keeps something of a session, it needs a SessionTable."
        for name in await tables(database)
        if name not in declared | known
    ] == []


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


def fields(table: SessionTable[Any]) -> Iterator[str]:
    for name, column in table.columns.items():
        match column:
            case Saved(field) | Reference(field):
                yield field or name
            case Number(field=field):
                yield field
            case Id(is_saved=True):
                yield name
