"""A foreign session that keeps a table of the server locked."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import asyncpg
import pytest

from madang.core.errors import Unavailable
from madang.database.port import LOCK_WAIT_S, Transaction
from tests.backends import NUMBERS, insert, numbers
from tests.postgresql import database_in, url_in

WITHIN_S = 1.9 * LOCK_WAIT_S
"""Nobody waits for a lock twice in a row; the rest is for a busy machine."""
AT_ONCE_S = 0.9 * LOCK_WAIT_S
"""Nobody waits for a lock as long as those who need it."""


async def test_more_writers_than_connections_are_refused_in_time_and_go_on_afterwards(tmp_path: Path) -> None:
    database = database_in(tmp_path, pool_size=2)
    await database.prepare(NUMBERS)
    foreign = await asyncpg.connect(url_in(tmp_path))
    await foreign.execute("BEGIN; LOCK TABLE number IN EXCLUSIVE MODE")

    started = time.monotonic()
    outcomes = await asyncio.gather(*(insert(database, value) for value in range(20)), return_exceptions=True)
    assert all(isinstance(outcome, Unavailable) for outcome in outcomes)
    assert time.monotonic() - started <= WITHIN_S

    async def optional(tx: Transaction) -> None:
        await tx.run("INSERT INTO number (value) VALUES (99)")

    started = time.monotonic()
    with pytest.raises(Unavailable):
        await database.write(optional, is_optional=True)
    assert time.monotonic() - started <= AT_ONCE_S
    assert await numbers(database) == []

    await foreign.execute("ROLLBACK")
    await foreign.close()
    await insert(database, 1)
    assert await numbers(database) == [1]
    await database.close()
