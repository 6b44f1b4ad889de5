"""Power cuts: whatever a flush did not promise may be gone, and nothing that was acknowledged is."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import pytest

from madang.core.ids import AssistantId, SessionId
from madang.database.sqlite.database import SqliteDatabase
from tests.asking import Asker
from tests.faults.disks import LOSSES, Disk
from tests.faults.story import STORY, check_inside, open_story, state, states, tell

CUTS = int(os.environ.get("MADANG_TEST_POWER_CUTS", "80"))
SEED = int(os.environ.get("MADANG_TEST_SEED", str(random.SystemRandom().randrange(10**9))))
CLIENTS = 4

logger = logging.getLogger(__name__)


class Writers:
    """Clients that tell the story at once, each as an assistant of its own, again and again until the power goes."""

    def __init__(self, expected: list[dict[str, Any]]) -> None:
        self.acknowledged: dict[str, int] = {}
        self._expected = expected
        self._names = (f"writer {number}" for number in count())

    async def work(self, asker: Asker, disk: Disk) -> None:
        await asyncio.gather(*(self._work(asker, disk) for _ in range(CLIENTS)))

    async def _work(self, asker: Asker, disk: Disk) -> None:
        while True:
            name = next(self._names)
            self.acknowledged[name] = 0
            for step in STORY:
                reply = await tell(_as(asker, name), step)
                if reply.is_error:
                    assert disk.is_off, reply.text
                    assert reply.error_code == "unavailable", reply.text
                    return
                self.acknowledged[name] += 1

    async def check(self, asker: Asker, *names: str) -> None:
        for name in names:
            done = self.acknowledged[name]
            found = await state(_as(asker, name))
            assert found in self._expected[done : done + 2], f"{name} after {done} steps, seed {SEED}"
            self.acknowledged[name] = self._expected.index(found)


def _as(asker: Asker, name: str) -> Asker:
    return asker.with_call(assistant_id=AssistantId(name), session_id=SessionId(name))


def checkpoint_often(connection: apsw.Connection) -> None:
    """Copy the log into the main file every hundred pages, not every thousand, so that lives can be short."""
    connection.execute("PRAGMA wal_autocheckpoint = 100").fetchall()


async def test_t55_power_cuts_lose_nothing_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One database lives through all cuts. Every other one comes in a checkpoint, where the main file is written."""
    monkeypatch.setattr(apsw, "connection_hooks", [checkpoint_often])
    chance = random.Random(SEED)
    writers = Writers(await states())
    folder = tmp_path / "0"
    folder.mkdir()
    cuts_in_checkpoints = 0
    latest: list[str] = []
    for cut in range(CUTS):
        disk = Disk(f"power {cut}")
        async with open_story(SqliteDatabase(folder / "madang.db", vfs=disk.name)) as asker:
            if cut:
                await check_inside(asker.database)
                await writers.check(asker, *latest)
            before = set(writers.acknowledged)
            loss = LOSSES[cut % len(LOSSES)]
            if cut // len(LOSSES) % 2:  # four by four, so that every kind of loss meets both
                disk.cut_power_at(chance.randint(1, 80), loss=loss, chance=chance, on=".db")
            else:
                disk.cut_power_at(chance.randint(1, 600), loss=loss, chance=chance)
            await writers.work(asker, disk)
            latest = [name for name in writers.acknowledged if name not in before]
            cuts_in_checkpoints += disk.cut_in_checkpoint
            following = tmp_path / str(cut + 1)
            disk.bury(following)
        disk.remove()
        shutil.rmtree(folder)
        folder = following

    async with open_story(SqliteDatabase(folder / "madang.db")) as asker:
        await check_inside(asker.database)
        await writers.check(asker, *writers.acknowledged)
    assert cuts_in_checkpoints >= CUTS // 10, f"seed {SEED}"
    total = sum(writers.acknowledged.values())
    logger.info("%d power cuts, %d in checkpoints, %d writes acknowledged, 0 lost", CUTS, cuts_in_checkpoints, total)
