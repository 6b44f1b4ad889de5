"""Stores of runs, each with an owner of its own: as many processes in one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from madang.database.port import Database
from madang.records.runs.store import RunStore
from tests.backends import BACK_ENDS
from tests.records.runs.owners import Owner


@pytest.fixture(params=["disk", "server"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database: Database = BACK_ENDS[request.param](tmp_path)
    yield database
    await database.close()


@pytest.fixture
async def owners(database: Database) -> AsyncIterator[list[Owner]]:
    """Two owners of runs on one database."""
    async with AsyncExitStack() as stack:
        found = []
        for _ in range(2):
            liveness = database.new_liveness()
            stack.push_async_callback(liveness.close)
            store = RunStore(database, liveness)
            await store.open()
            found.append(Owner(store, liveness, database))
        yield found
