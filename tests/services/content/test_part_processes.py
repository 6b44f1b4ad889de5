"""Processes that add, delete and fold on one store of a database server, killed at any moment, under a searcher."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

import pytest

from tests.postgresql import url_in
from tests.services.content.parts import House, open_house

ROLES = ("add", "add", "delete", "fold")
KILLS = 8
WORK_S = 0.5
"""How long they work between two kills."""


class Processes:
    """One process for each role, and what they have said."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._children: list[tuple[str, asyncio.subprocess.Process]] = []
        self._readers: list[asyncio.Task[None]] = []
        self.added: set[int] = set()
        self.deleted: set[int] = set()
        self.folds = 0

    async def start(self, role: str) -> None:
        """Start a process, and return when it has begun to work."""
        words = (sys.executable, "-m", "tests.services.content.part_children", role, self._url)
        child = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
        assert child.stdout is not None
        assert (await child.stdout.readline()).startswith(b"ready")
        self._children.append((role, child))
        self._readers.append(asyncio.create_task(self._read(child.stdout)))

    async def kill(self, place: int) -> str:
        """Kill a process, and return its role."""
        role, child = self._children.pop(place)
        child.kill()
        await child.wait()
        return role

    async def close(self) -> None:
        while self._children:
            await self.kill(0)
        await asyncio.gather(*self._readers)

    async def _read(self, lines: asyncio.StreamReader) -> None:
        async for line in lines:
            if not line.endswith(b"\n"):
                return  # killed over it
            word, *numbers = line.decode().split()
            chunks = {int(number) for number in numbers}
            if word == "added":
                self.added |= chunks
            elif word == "deleted":
                self.deleted |= chunks
            else:
                self.folds += 1


async def check(house: House, processes: Processes) -> None:
    """Search, and compare with what was said before."""
    added, deleted = set(processes.added), set(processes.deleted)
    found = {chunk.chunk_no for chunk in await house.rank("tea", limit=100_000)}

    assert not found & deleted
    if missing := added - deleted - found:
        # They may have been deleted meanwhile, or by a process that was killed before it could say so.
        sql = f"SELECT no FROM content_chunk WHERE no IN ({', '.join(map(str, missing))})"
        assert await house.rows(sql) == []


async def test_every_committed_chunk_is_found_and_no_deleted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(13)
    async with open_house(tmp_path, monkeypatch) as house:
        processes = Processes(url_in(tmp_path))
        searches = 0
        try:
            await asyncio.gather(*map(processes.start, ROLES))
            loop = asyncio.get_running_loop()
            for _ in range(KILLS):
                until = loop.time() + WORK_S
                while loop.time() < until:
                    await check(house, processes)
                    searches += 1
                await processes.start(await processes.kill(chance.randrange(len(ROLES))))
            async with asyncio.timeout(60):
                # On a busy machine each of them may have died before its first.
                while not (processes.folds and processes.added and processes.deleted):
                    await check(house, processes)
        finally:
            await processes.close()
        await check(house, processes)
        rows = await house.rows("SELECT count(*) FROM content_chunk")
        ranked = await house.rank("tea", limit=100_000)

    assert len(ranked) == rows[0][0]
    assert searches > KILLS
    assert processes.added
    assert processes.deleted
    assert processes.folds
