"""Many stores in one process: their indexes take turns, and are closed when nobody uses them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from madang.core.ids import SessionId
from madang.services.content.engine import ranking
from madang.services.content.engine.ranking import MAX_INDEX_THREADS
from madang.services.content.engine.writer_lock import MAX_WRITERS, WRITER_THREADS
from tests.asking import Asker
from tests.services.content.contents import add, open_content, search

SESSIONS = 100
SLACK = MAX_WRITERS
"""Indexes that are opened at the same moment each see room for one."""
WITHIN_S = 30.0
TANTIVY = ("thread-tantivy", "thrd-tantivy", "merge_thread", "segment_updater")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the names of threads are in /proc")


def index_threads() -> int:
    count = 0
    for task in os.listdir("/proc/self/task"):
        try:
            count += Path(f"/proc/self/task/{task}/comm").read_text().startswith(TANTIVY)
        except OSError:  # it has just ended
            continue
    return count


def in_session(asker: Asker, number: int) -> Asker:
    return asker.with_call(session_id=SessionId(f"s{number}"))


async def until_threads(count: int) -> None:
    for _ in range(int(WITHIN_S / 0.05)):
        if index_threads() <= count:
            return
        await asyncio.sleep(0.05)
    raise TimeoutError


async def test_indexes_of_many_stores_take_turns_and_every_text_is_found(tmp_path: Path) -> None:
    most_threads = most_files = 0
    before = len(os.listdir("/proc/self/fd"))
    async with open_content(tmp_path) as asker:
        ids = []
        for number in range(SESSIONS):
            ids.append(await add(in_session(asker, number), f"needle {number}"))
            most_threads = max(most_threads, index_threads())
            most_files = max(most_files, len(os.listdir("/proc/self/fd")) - before)
        for number, id in enumerate(ids):
            assert await search(in_session(asker, number), "needle") == [id]
            most_threads = max(most_threads, index_threads())

    assert most_threads <= MAX_INDEX_THREADS + SLACK
    assert most_threads > WRITER_THREADS  # else the threads have other names by now
    assert most_files <= SESSIONS
    await until_threads(0)


async def test_an_index_that_nobody_uses_is_closed_and_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "IDLE_CLOSE_S", 0.5)
    async with open_content(tmp_path) as asker:
        id = await add(asker, "needle")
        assert await search(asker, "needle") == [id]
        assert index_threads() > 0
        await until_threads(0)

        another = await add(asker, "needle")
        assert set(await search(asker, "needle")) == {id, another}
        await until_threads(0)
