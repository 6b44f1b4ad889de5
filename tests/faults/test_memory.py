"""What clients make a process keep has bounds."""

from __future__ import annotations

import gc
import logging
import tracemalloc
from pathlib import Path

import pytest

import madang
from madang.app import open_madang
from madang.core.ids import SessionId
from madang.settings import Settings
from tests.asking import CALL, Asker

CODE = Path(madang.__file__).parent
SESSIONS = 2_500
BATCH = 1_500
MAX_GROWTH_BYTES = 130_000
"""134 bytes for each session after the first batch would be more: its name in one dictionary. Some 30,000 are there
whatever the number of sessions."""


async def test_thousands_of_sessions_leave_no_memory_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)  # pytest keeps what is logged
    async with open_madang(Settings(tmp_path)) as madang:
        asker = Asker(madang.provider, madang.database, CALL)

        async def visit(number: int) -> None:
            name = f"session {number} {'x' * 60}"
            one = asker.with_call(session_id=SessionId(name))
            await one.done("get_current_state")
            await one.done("list_directory")
            await one.provider.service_contexts(one.call)

        for number in range(BATCH):
            await visit(number)
        gc.collect()
        tracemalloc.start()
        try:
            for number in range(BATCH, SESSIONS):
                await visit(number)
            gc.collect()
            # What is allocated in our files: a suite that measures coverage keeps something for each line as well.
            ours = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, f"{CODE}/*")])
            grown_bytes = sum(part.size for part in ours.statistics("filename"))
        finally:
            tracemalloc.stop()

    assert grown_bytes < MAX_GROWTH_BYTES
