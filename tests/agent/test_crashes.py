"""Runs whose process dies before and after each commit: another goes on, nothing is done or asked twice."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from madang import app
from madang.agent_app import Agent, open_agent
from madang.core.ids import UserId
from madang.llm.messages import Part, TextPart
from madang.llm.opening import OpenedModel
from madang.settings import Settings
from madang.storage.database import Database, ResultT, Transaction, Work
from madang.storage.runs.records import Run
from tests.agent.bench import ME, Script, tool_call

STORIES: dict[str, list[Sequence[Part]]] = {
    "text": [[TextPart("Hello.")]],
    "effect": [[tool_call("add_todo", name="Buy tea")], [TextPart("Done.")]],
    "reads and effects": [
        [
            tool_call("get_current_state", "c1"),
            tool_call("add_todo", "c2", name="Buy tea"),
            tool_call("add_todo", "c3", name="Boil water"),
        ],
        [TextPart("Done.")],
    ],
    "question": [[tool_call("prompt_user", prompt="Which tea?", type="text")], [TextPart("Fine.")]],
    "two questions and an effect": [
        [
            tool_call("prompt_user", "c1", prompt="Which tea?", type="text"),
            tool_call("add_todo", "c2", name="Buy tea"),
            tool_call("prompt_user", "c3", prompt="How hot?", type="text"),
        ],
        [TextPart("Fine.")],
    ],
    "approval": [[tool_call("delete_playbook", "c1", id="none")], [TextPart("Gone.")]],
}


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


async def tell(agent: Agent, database: MortalDatabase) -> Run | None:
    """Say something and be the person until the run is over, or the process dead."""
    dead = asyncio.ensure_future(database.is_dead.wait())
    work = asyncio.ensure_future(_tell(agent))
    done, _ = await asyncio.wait({dead, work}, return_when=asyncio.FIRST_COMPLETED, timeout=30)
    assert done, "it hangs"
    dead.cancel()
    if work in done and not database.is_dead.is_set():
        return work.result()
    work.cancel()
    with suppress(asyncio.CancelledError, Died, Exception):
        await work
    return None


async def _tell(agent: Agent) -> Run:
    runs = await agent.stores.messages.read_page(ME)
    if not runs:
        await agent.runner.post(ME, [TextPart("Tea, please")])
    while True:
        if not (live := await agent.stores.runs.list_live(ME.user_id)):
            rows = await agent.madang.database.find("SELECT id FROM run ORDER BY no DESC LIMIT 1")
            run = await agent.stores.runs.get(ME.user_id, rows[0][0])
            assert run is not None
            return run
        for pause in await agent.stores.pauses.list_by_run(ME.user_id, live[0].id):
            if pause.is_open and live[0].state == "waiting":
                await _answer(agent, pause.id, pause.kind)
        await asyncio.sleep(0.01)


async def _answer(agent: Agent, id: str, kind: str) -> None:
    if kind == "approval":
        await agent.stores.approvals.decide(ME, id, allow=True)
    else:
        await agent.madang.provider.execute_tool(ME, "reply_prompt", {"messageId": id, "answer": "oolong"})


async def play(folder: Path, story: str, databases: list[MortalDatabase], dies_at: str) -> tuple[Run | None, Script]:
    DIES_AT[0] = dies_at
    script = Script(*STORIES[story])
    script.by_history = True
    run: Run | None = None
    with suppress(Died):
        async with open_agent(Settings(data_dir=folder, model="script"), lambda name: OpenedModel(script)) as agent:
            run = await tell(agent, databases[-1])
    return run, script


def check(folder: Path) -> None:
    """Check what a story left behind."""
    with closing(sqlite3.connect(Settings(data_dir=folder).database_path)) as database:

        def find(sql: str) -> list[Any]:
            return database.execute(sql).fetchall()

        events = find("SELECT seq, kind, payload FROM event ORDER BY seq")
        assert [seq for seq, _, _ in events] == list(range(1, len(events) + 1))
        [(state, owner)] = find("SELECT state, owner FROM run")
        assert (state, owner) == ("finished", "")
        calls = find("SELECT tool, arguments, state, outcome FROM run_call ORDER BY turn, number")
        assert all(state == "done" for _, _, state, _ in calls)
        todos = [name for (document,) in find("SELECT document FROM plan") for name in _todos(document)]
        assert all(count == 1 for count in Counter(todos).values()), todos
        for tool, arguments, _, outcome in calls:
            if tool == "add_todo" and outcome == "ok":
                assert json.loads(arguments)["name"] in todos
            assert outcome in ("ok", "interrupted") or tool == "delete_playbook", (tool, outcome)
        messages = find("SELECT role, turn FROM message ORDER BY seq")
        assert [role for role, _ in messages] == ["user", *["assistant", "tool"] * bool(calls), "assistant"]
        pauses = find("SELECT operation_id, status FROM pause")
        asked = sum(tool in ("prompt_user", "delete_playbook") for tool, *_ in calls)
        assert len(pauses) == asked
        assert all(status == "answered" for _, status in pauses)


def _todos(document: str) -> list[str]:
    return [todo["name"] for todo in json.loads(document)["state"]["todos"]]


@pytest.mark.parametrize("story", STORIES)
async def test_killed_before_and_after_every_commit(
    tmp_path: Path, story: str, databases: list[MortalDatabase]
) -> None:
    run, _ = await play(tmp_path / "whole", story, databases, "")
    assert run is not None
    assert run.state == "finished"
    check(tmp_path / "whole")
    count = databases[0].count
    for point in [f"{number}{side}" for number in range(1, count + 1) for side in "-+"]:
        folder = tmp_path / point
        await play(folder, story, databases, point)
        run, _ = await play(folder, story, databases, "")
        assert run is not None, point
        assert run.state == "finished", (point, run.error)
        check(folder)
