"""What a run may cost the database: counts, not times."""

from __future__ import annotations

from pathlib import Path

import pytest

from madang import app
from madang.core.ids import UserId
from madang.database.port import Database, ResultT, Work
from madang.settings import Settings
from tests.agent.stage import ask, open_stage
from tests.model_wires import Piece, Say


class Counting:
    """A database that counts the units that a caller waits for."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.count = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._database, name)

    async def write(self, work: Work[ResultT], *, user_id: UserId | None = None, is_optional: bool = False) -> ResultT:
        self.count += not is_optional
        return await self._database.write(work, user_id=user_id, is_optional=is_optional)


@pytest.mark.parametrize(
    ("turn", "limit"),
    [([ask("get_current_state"), ask("list_playbooks")], 3), ([ask("add_todo", name="Buy tea")], 4)],
    ids=["reads", "an effect"],
)
async def test_a_turn_takes_few_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turn: list[Piece], limit: int
) -> None:
    counting: list[Counting] = []
    original = app._database

    def make(settings: Settings) -> object:
        counting.append(Counting(original(settings)))
        return counting[-1]

    monkeypatch.setattr(app, "_database", make)
    async with open_stage(tmp_path, "compatible", turn, [Say("Done.")], turn, [Say("Done.")]) as stage:
        await stage.say("Begin")  # tables and services are opened on first use
        before = counting[0].count
        await stage.say("Again")
        taken = counting[0].count - before

    # The message of the person and the beginning; the turn; the answer without a call; the end.
    assert taken <= 1 + limit + 1 + 1
