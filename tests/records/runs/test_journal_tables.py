"""Tables of what runs say and do, from the state before: on every back end they lose only what nothing reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from madang.core.ids import UserId
from madang.database.port import Database, MigrationSet
from madang.records.run_journal_tables import JOURNAL_MIGRATIONS
from madang.records.run_tables import RUN_MIGRATIONS
from madang.records.runs.store import open_run_tables
from madang.records.session_tables import SESSION_MIGRATIONS
from tests.backends import BACK_ENDS

ANN = UserId("ann")
INDEXES = {
    "disk": "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'run_call_by_%'",
    "server": "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'run_call_by_%'",
}


async def indexes(database: Database, back_end: str) -> set[str]:
    return {str(name) for (name,) in await database.find(INDEXES[back_end], user_id=ANN)}


@pytest.mark.parametrize("back_end", ["disk", "server"])
async def test_calls_are_not_indexed_by_their_fingerprints_any_more(tmp_path: Path, back_end: str) -> None:
    database = BACK_ENDS[back_end](tmp_path)
    before = MigrationSet(JOURNAL_MIGRATIONS.name, JOURNAL_MIGRATIONS.sqlite[:6], JOURNAL_MIGRATIONS.postgresql[:6])
    for migrations in (SESSION_MIGRATIONS, RUN_MIGRATIONS, before):
        await database.prepare(migrations)
    assert await indexes(database, back_end) == {"run_call_by_pause", "run_call_by_fingerprint"}
    await database.close()

    database = BACK_ENDS[back_end](tmp_path)
    await open_run_tables(database)
    try:
        assert await indexes(database, back_end) == {"run_call_by_pause"}
    finally:
        await database.close()
