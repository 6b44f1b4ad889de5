"""How far a run goes by itself: its limits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from madang.agent.limits import RunLimits, parse_limits
from madang.core.errors import SetupError
from madang.llm.opening import Prices
from madang.records.assistants import AssistantRecord
from tests.agent.bench import ME
from tests.agent.stage import Stage, ask, open_stage
from tests.model_server import Exchange, Play, answers, refuses, stream
from tests.model_wires import END_EVENTS, Piece, Say, render


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


def without_usage(*pieces: Piece) -> Play:
    """Answer as a server does that never tells how many tokens something took."""
    return stream([event for event in render("chat", pieces) if b"prompt_tokens" not in event])


@pytest.mark.parametrize("limits", [{"tokens": 10}, {"cost": 0.000001}])
async def test_a_limit_holds_where_the_server_tells_no_usage(tmp_path: Path, limits: dict[str, Any]) -> None:
    async with open_stage(tmp_path, "compatible", prices=Prices(1.0, 4.0)) as stage:
        stage.server.plays(without_usage(ask("add_todo", name="Tea")))
        await limit(stage, limits)
        run = await stage.say("Go on")

        assert (run.error_code, stage.request_count) == ("limit", 1)
        assert run.input_tokens > 100
        assert 0 < run.output_tokens < 100
        assert run.cost > 0


def breaks_off(*pieces: Piece) -> Play:
    """Begin to answer, and break off."""
    return stream(render("chat", pieces)[: -END_EVENTS["chat"]])


async def test_an_attempt_that_broke_off_is_counted(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(breaks_off(Say("Half an answer of several words")), answers(Say("Done.")))
        run = await stage.say("Go on")

        assert (run.state, stage.request_count) == ("finished", 2)
        [total] = await stage.agent.stores.usage.list_totals(ME)
        assert total.requests == 2
        assert (run.input_tokens > 200, run.output_tokens > 20) == (True, True), "100 and 20 are those of the answer"


async def test_a_limit_holds_while_attempts_break_off(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(breaks_off(Say("Half")))
        await limit(stage, {"tokens": 10})
        run = await stage.say("Go on")

        assert (run.error_code, stage.request_count) == ("limit", 1)


async def test_a_request_that_was_refused_takes_nothing(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(refuses(401, "no"))
        run = await stage.say("Go on")

        assert (run.error_code, run.input_tokens) == ("bad_credentials", 0)


async def test_an_answer_that_drips_ends_when_the_run_was_alone_for_too_long(tmp_path: Path) -> None:
    async def drips(exchange: Exchange) -> None:
        await exchange.head()
        first, word = render(exchange.wire, [Say("Green ")])[:2]
        await exchange.send(first)
        while True:
            await exchange.send(word)
            await asyncio.sleep(0.05)

    async with open_stage(tmp_path, "compatible", [Say("Hello.")]) as stage:
        await stage.say("Hello")  # tables and services are opened on first use
        await limit(stage, {"unattended_minutes": 0.05})
        stage.server.plays(drips)
        run = await stage.say("Tell me")

        assert (run.error_code, stage.request_count) == ("limit", 2)
        assert "by itself" in run.error
        await stage.server.dropped.wait()
        *_, half = await stage.agent.stores.messages.read_page(ME)
        assert (half.role, half.kind) == ("assistant", "cut")
        assert str(half.parts[0]["text"]).startswith("Green ")
        assert run.output_tokens > 0


def test_a_limit_on_cost_needs_prices() -> None:
    assert parse_limits({"cost": 1.5}, has_prices=True).cost == 1.5
    with pytest.raises(SetupError):
        parse_limits({"cost": 1.5}, has_prices=False)
    with pytest.raises(SetupError):
        parse_limits({"turns": 0}, has_prices=True)
    assert parse_limits({}, has_prices=False) == RunLimits()
