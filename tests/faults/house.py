"""Madang on a disk whose power can be cut, driven from code that cannot wait, such as a state machine's."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from madang.core.ids import SessionId
from madang.core.results import Reply
from madang.database.sqlite.database import SqliteDatabase
from tests.asking import Asker
from tests.faults.disks import Disk, Loss
from tests.faults.story import check_inside, open_story

_lives = count()


@dataclass(frozen=True)
class Cut:
    """A power cut that comes with one of the next operations on the disk, or as soon as the call is over."""

    operation: int
    loss: Loss
    seed: int


class House:
    """One data folder through many lives of the process."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._folder = TemporaryDirectory()
        self._life = Path(self._folder.name) / "first"
        self._life.mkdir()
        self._open()

    def ask(self, tool: str, /, session: str = "session", **arguments: Any) -> Reply:
        asker = self._asker.with_call(session_id=SessionId(session))
        return self._runner.run(asker.ask(tool, **arguments))

    def done(self, tool: str, /, session: str = "session", **arguments: Any) -> dict[str, Any]:
        reply = self.ask(tool, session, **arguments)
        assert not reply.is_error, reply.text
        return reply.data

    def ask_and_cut(self, cut: Cut, tool: str, /, session: str = "session", **arguments: Any) -> Reply:
        """Ask while the power goes, then begin a new life with what the disk still has."""
        chance = random.Random(cut.seed)
        self._disk.cut_power_at(cut.operation, loss=cut.loss, chance=chance)
        reply = self.ask(tool, session, **arguments)
        assert not reply.is_error or self._disk.is_off, reply.text
        self.cut_power(cut)
        return reply

    def cut_power(self, cut: Cut) -> None:
        if not self._disk.is_off:
            self._disk.cut_power(loss=cut.loss, chance=random.Random(cut.seed))
        following = Path(self._folder.name) / str(next(_lives))
        self._disk.bury(following)
        self._close()
        self._life = following
        self._open()
        self._runner.run(check_inside(self._asker.database))

    def restart(self) -> None:
        self._close()
        self._open()

    def close(self) -> None:
        self._runner.run(check_inside(self._asker.database))
        self._close()
        self._runner.close()
        self._folder.cleanup()

    def _open(self) -> None:
        self._disk = Disk(f"house {next(_lives)}")
        self._services = AsyncExitStack()
        database = SqliteDatabase(self._life / "madang.db", vfs=self._disk.name)
        self._asker: Asker = self._runner.run(self._services.enter_async_context(open_story(database)))

    def _close(self) -> None:
        self._runner.run(self._services.aclose())
        self._disk.remove()
