"""How far a run goes by itself: limits, circles, and answers that cannot be acted upon."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from madang.agent.limits import RunLimits, parse_limits
from madang.core.errors import SetupError
from madang.storage.assistants import AssistantRecord
from tests.agent.bench import ME
from tests.agent.stage import Stage, ask, open_stage
from tests.model_server import answers
from tests.model_wires import Ask, Piece, Say


async def limit(stage: Stage, limits: Mapping[str, Any]) -> None:
    await stage.agent.madang.assistants.save(ME.user_id, AssistantRecord(ME.assistant, limits=limits))


@pytest.mark.parametrize("limits", [{"turns": 2}, {"calls": 2}, {"tokens": 200}, {"unattended_minutes": 1e-9}])
async def test_a_run_ends_at_its_limit_and_says_so(tmp_path: Path, limits: dict[str, Any]) -> None:
    turns: list[list[Piece]] = [[ask("add_todo", name=f"To-do {number}")] for number in range(9)]
    async with open_stage(tmp_path, "compatible", *turns, [Say("Done.")]) as stage:
        await limit(stage, limits)
        run = await stage.say("Go on")

        assert (run.state, run.error_code) == ("failed", "limit")
        assert "Write a message to go on with it." in run.error
        assert stage.request_count <= 2
        # A next message goes on from there, as a run with counts of its own.
        again = await stage.say("Go on")
        assert (again.id != run.id, again.error_code) == (True, "limit")


async def test_a_run_that_turns_in_a_circle_is_told_once_and_then_ended(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible", [ask("get_current_state")]) as stage:
        run = await stage.say("Look")

        assert (run.state, run.error_code, run.turn) == ("failed", "loop", 4)
        assert [stage.count("had the same outcome 3 times", number) for number in range(4)] == [0, 0, 0, 1]


async def test_the_same_call_with_other_outcomes_is_no_circle(tmp_path: Path) -> None:
    turns: list[list[Piece]] = [[ask("add_todo", name="Tea")] for _ in range(6)]
    async with open_stage(tmp_path, "compatible", *turns, [Say("Done.")]) as stage:
        assert (await stage.say("Go on")).state == "finished"


async def test_of_an_answer_with_too_many_calls_the_first_are_made(tmp_path: Path) -> None:
    calls: list[Piece] = [ask("add_todo", name=f"To-do {number}") for number in range(80)]
    async with open_stage(tmp_path, "compatible", calls, [Say("Done.")]) as stage:
        run = await stage.say("Go on")

        assert run.state == "finished"
        assert (run.calls, len(stage.results())) == (64, 64)


async def test_an_answer_that_was_cut_inside_a_call_is_not_acted_upon(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(answers(Ask("add_todo", '{"name": "Half"}'), finish="length"))
        run = await stage.say("Go on")

        assert (run.state, run.error_code) == ("failed", "length")
        assert "Half" not in (await stage.call("get_current_state")).text


def test_a_limit_on_cost_needs_prices() -> None:
    assert parse_limits({"cost": 1.5}, has_prices=True).cost == 1.5
    with pytest.raises(SetupError):
        parse_limits({"cost": 1.5}, has_prices=False)
    with pytest.raises(SetupError):
        parse_limits({"turns": 0}, has_prices=True)
    assert parse_limits({}, has_prices=False) == RunLimits()
