"""What clients make a process keep has bounds."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

from madang.app import open_madang
from madang.core.ids import SessionId
from madang.settings import Settings
from tests.asking import CALL, Asker

SESSIONS = 10_000
BATCH = 2_500
MAX_GROWTH_BYTES = 1 << 20
"""140 bytes for each session would be more: its name in one dictionary."""


async def test_ten_thousand_sessions_leave_no_memory_behind(tmp_path: Path) -> None:
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
            grown_bytes, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert grown_bytes < MAX_GROWTH_BYTES
