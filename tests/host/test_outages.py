"""A database that does not answer: whoever has a session open is told, though no event can be stored."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import apsw
import pytest

from madang.database.sqlite.database import SqliteDatabase
from tests.agent.test_outages import FillingDisk, Story
from tests.host.hosting import hosting


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[FillingDisk]:
    disk = FillingDisk("a host's disk")
    monkeypatch.setattr("madang.app.SqliteDatabase", partial(SqliteDatabase, vfs=disk.name))
    yield disk
    disk.remove()


async def test_a_tab_is_told_that_runs_wait_and_that_they_go_on(tmp_path: Path, disk: FillingDisk) -> None:
    def fill(count: int) -> None:
        disk.error = apsw.FullError("full") if count == 1 else None

    async with hosting(tmp_path, script=Story(before=fill)) as tab:
        session = await tab.new_session()
        async with tab.events(session) as events:
            await tab.write(session, "Tea, please")
            told = await events.until("CUSTOM", "madang/outage")
            assert told["value"] == {"reason": "The disk is full. Nothing was written."}
            async with tab.events(session) as late:
                assert (await late.until("CUSTOM", "madang/outage"))["value"]["reason"]
            disk.error = None

            assert (await events.until("CUSTOM", "madang/outage"))["value"] == {"reason": ""}
            await events.until("RUN_FINISHED")
