"""A process that dies before or after any commit of a compaction: the next one has one summary, and all messages."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from madang import app
from madang.agent_app import Agent, open_agent
from madang.core.ids import UserId
from madang.database.port import Database, ResultT, Transaction, Work
from madang.llm.base import ModelRequest
from madang.llm.messages import Part, TextPart
from madang.llm.opening import OpenedModel
from madang.settings import Settings
from tests.agent.bench import ME, eventually
from tests.agent.talker import Talker

LONG = "Tell me more of oolong, sencha and rooibos, please. " * 20

LAST = f"Last question. {LONG}"


class Died(Exception):
    """The process is gone."""


class MortalDatabase:
    """A database that ends its process before or after one commit: from then on nothing is written through it."""

    def __init__(self, database: Database, dies_at: str = "") -> None:
        self._database = database
        self._dies_at = dies_at
        self.count = 0
        self.is_dead = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def write(self, work: Work[ResultT], *, user_id: UserId | None = None, is_optional: bool = False) -> ResultT:
        self.count += 1
        number = self.count

        async def mortal(tx: Transaction) -> ResultT:
            self._check()
            result = await work(tx)
            self._die(f"{number}-")
            return result

        result = await self._database.write(mortal, user_id=user_id, is_optional=is_optional)
        self._die(f"{number}+")
        return result

    def _die(self, point: str) -> None:
        if self._dies_at == point:
            self.is_dead.set()
        self._check()

    def _check(self) -> None:
        if self.is_dead.is_set():
            raise Died


@pytest.fixture
def databases(monkeypatch: pytest.MonkeyPatch) -> list[MortalDatabase]:
    made: list[MortalDatabase] = []
    original = app._database

    def make(settings: Settings) -> Any:
        made.append(MortalDatabase(original(settings), DIES_AT[0]))
        return made[-1]

    monkeypatch.setattr(app, "_database", make)
    return made


DIES_AT = [""]


async def wait_for_end(agent: Agent, database: MortalDatabase) -> None:
    """Wait until no run is live, or the process dead."""

    async def is_over() -> bool:
        return database.is_dead.is_set() or not await agent.stores.runs.list_live(ME.user_id)

    await eventually(is_over, bool)


def chat(request: ModelRequest, number: int) -> Sequence[Part]:
    return [TextPart(f"Answer {number}. {LONG}")]


async def play(folder: Path, databases: list[MortalDatabase], dies_at: str, text: str) -> Talker:
    """Say something, or only go on with what is there, in a process that dies at a point."""
    DIES_AT[0] = dies_at
    model = Talker(chat)
    with suppress(Died):
        async with open_agent(
            Settings(data_dir=folder, model="script"), lambda name: OpenedModel(model, window_tokens=13_000)
        ) as agent:
            if text and not await agent.stores.runs.list_live(ME.user_id):
                with suppress(Died):
                    await agent.runner.post(ME, [TextPart(text)])
            await wait_for_end(agent, databases[-1])
    return model


async def test_killed_before_and_after_every_commit_of_a_compaction(
    tmp_path: Path, databases: list[MortalDatabase]
) -> None:
    base = tmp_path / "base"
    count = 0
    while not (await play(base, databases, "", f"Question {count}. {LONG}")).summaries:
        shutil.copytree(base, tmp_path / f"base{count}")
        count += 1
    before = tmp_path / f"base{count - 1}"  # the next message needs a compaction
    commits = databases[-1].count

    for point in [f"{number}{side}" for number in range(1, commits + 1) for side in "-+"]:
        folder = tmp_path / point
        shutil.copytree(before, folder)
        await play(folder, databases, point, LAST)
        await play(folder, databases, "", "" if said(folder) else LAST)
        check(folder, point)


def said(folder: Path) -> bool:
    with closing(sqlite3.connect(Settings(data_dir=folder).database_path)) as database:
        return bool(database.execute("SELECT 1 FROM message WHERE parts LIKE '%Last question.%'").fetchall())


def check(folder: Path, point: str) -> None:
    with closing(sqlite3.connect(Settings(data_dir=folder).database_path)) as database:
        messages = database.execute("SELECT role, parts FROM message ORDER BY seq").fetchall()
        seqs = [seq for (seq,) in database.execute("SELECT seq FROM event ORDER BY seq").fetchall()]
        states = {state for (state,) in database.execute("SELECT state FROM run").fetchall()}
    assert states == {"finished"}, point
    assert seqs == list(range(1, len(seqs) + 1)), point
    assert sum(role == "summary" for role, _ in messages) == 1, point
    assert sum("Last question." in parts for role, parts in messages if role == "user") == 1, point
    assert messages[-1][0] == "assistant", point
