"""Calls that a model wrote as text, through a whole run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.bench import ME
from tests.agent.stage import open_stage
from tests.model_server import answers
from tests.model_wires import Say

CALL = '{"name": "create_goal", "arguments": {"goal": "Learn to juggle"}}'


@pytest.mark.parametrize("wire", ["compatible", "anthropic"])
async def test_a_call_written_as_text_is_made_and_answered(tmp_path: Path, wire: str) -> None:
    turns = [[Say(f"<think>They want a goal.</think>\n```json\n{CALL}\n```")], [Say("Done.")]]

    async with open_stage(tmp_path, wire, *turns) as stage:
        run = await stage.say("Set a goal: learn to juggle")
        plan = await stage.agent.madang.provider.execute_tool(ME, "get_current_state", {})

    assert run.state == "finished"
    assert "Learn to juggle" in plan.text
    first, second = stage.server.requests
    assert "Learn to juggle" not in first.raw.decode()
    assert "They want a goal." not in second.raw.decode()
    results = {"compatible": '"role":"tool"', "anthropic": '"type":"tool_result"'}[wire]
    assert results in second.raw.decode()


async def test_a_call_within_an_answer_is_not_made(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible", [Say(f"I would write {CALL} for that.")]) as stage:
        run = await stage.say("How would you set a goal?")
        plan = await stage.agent.madang.provider.execute_tool(ME, "get_current_state", {})

    assert run.state == "finished"
    assert "Learn to juggle" not in plan.text


@pytest.mark.parametrize("wire", ["compatible", "anthropic"])
async def test_what_looks_like_a_call_and_is_none_is_asked_for_again(tmp_path: Path, wire: str) -> None:
    plays = [answers(Say(text)) for text in ('{"name": "set_the_goal", "arguments": {}}', CALL, "Done.")]

    async with open_stage(tmp_path, wire) as stage:
        stage.server.plays(*plays)
        run = await stage.say("Set a goal: learn to juggle")
        plan = await stage.agent.madang.provider.execute_tool(ME, "get_current_state", {})
        said = [one for one in await stage.agent.stores.messages.read_page(ME) if one.role == "assistant"]

    assert run.state == "finished"
    assert "Learn to juggle" in plan.text
    assert "there is no tool 'set_the_goal' here" in stage.server.requests[1].raw.decode()
    assert "set_the_goal" not in str([answer.parts for answer in said]), "it is shown to nobody"


async def test_a_model_that_writes_no_call_twice_has_not_answered(tmp_path: Path) -> None:
    half = [Say('{"name": "create_goal", "arguments": {"goal": "Learn')]

    async with open_stage(tmp_path, "compatible", half, half) as stage:
        run = await stage.say("Set a goal")

    assert (run.state, run.error_code) == ("failed", "incomplete")
    assert len(stage.server.requests) == 2
