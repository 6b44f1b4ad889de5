"""Runs of the agent, told as stories: models' servers on loopback, over two wires, and the person in front of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from madang.agent.prompt import build_request
from madang.llm.base import ModelOptions
from tests.agent.bench import ME
from tests.agent.stage import ask, open_stage
from tests.model_wires import Piece, Say


@pytest.fixture(params=["compatible", "anthropic"])
def wire(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


async def test_after_list_playbooks_the_run_goes_on_in_the_same_turn(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("list_playbooks")], [Say("None yet.")]) as stage:
        run = await stage.say("Which playbooks are there?")

        assert (run.state, stage.request_count) == ("finished", 2)
        assert await stage.pauses(run) == []


async def test_after_show_playbooks_the_run_waits_and_asks_no_model(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("show_playbooks")], [Say("Fine.")]) as stage:
        await stage.playbook("Brew tea")
        run = await stage.say("Let me choose")

        assert (run.state, stage.request_count) == ("waiting", 1)


async def test_after_show_playbooks_with_none_the_run_goes_on(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("show_playbooks")], [Say("There are none.")]) as stage:
        run = await stage.say("Let me choose")

        assert (run.state, stage.request_count) == ("finished", 2)


async def test_paging_deleting_and_refreshing_leave_the_run_waiting(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("show_playbooks")], [Say("Fine.")]) as stage:
        ids = [await stage.playbook(f"Brew tea {number}") for number in range(12)]
        await stage.say("Let me choose")
        assert not (await stage.call("get_playbook_page", page=2)).is_error
        assert not (await stage.call("delete_playbook", id=ids[3])).is_error
        await stage.call("get_playbook_page", page=1)
        await stage.agent.runner.look()
        run = await stage.settled()

        assert (run.state, stage.request_count) == ("waiting", 1)


async def test_select_playbook_from_the_page_wakes_the_run_once(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("show_playbooks")], [Say("On it.")]) as stage:
        id = await stage.playbook("Brew tea")
        selected = await stage.select(await stage.say("Let me choose"), id)
        run = await stage.over()

        assert (run.state, stage.request_count) == ("finished", 2)
        assert "has been selected for execution" in selected.text
        assert stage.count(f'Playbook "Brew tea" (ID: {id}) has been selected for execution.') == 1


async def test_a_pages_call_made_while_waiting_is_in_the_next_request_once(tmp_path: Path, wire: str) -> None:
    turns: list[list[Piece]] = [[ask("show_playbooks")], [ask("get_current_state")], [Say("On it.")]]
    async with open_stage(tmp_path, wire, *turns) as stage:
        id, other = await stage.playbook("Brew tea"), await stage.playbook("Brew coffee")
        run = await stage.say("Let me choose")
        deleted = await stage.call("delete_playbook", id=other)
        await stage.select(run, id)
        await stage.over()

        words = deleted.text.splitlines()[0]
        assert [stage.count(words, number) for number in (0, 1, 2)] == [0, 1, 1]
        [text] = [text for text in stage.texts() if words in text]
        assert text.startswith("Meanwhile the person did this themselves:")


async def test_reply_prompt_makes_the_answer_the_outcome_of_the_call_that_asked(tmp_path: Path, wire: str) -> None:
    turns: list[list[Piece]] = [[ask("prompt_user", prompt="Which tea?", type="text")], [Say("Oolong it is.")]]
    async with open_stage(tmp_path, wire, *turns) as stage:
        run = await stage.say("Tea, please")
        [pause] = await stage.open_pauses(run)
        await stage.call("reply_prompt", messageId=pause.id, answer="oolong")
        run = await stage.over()

        assert (run.state, stage.request_count) == ("finished", 2)
        [result] = stage.results()
        assert "oolong" in result
        assert "Wait" not in result, "the model never sees the asking text"


async def test_with_three_prompts_open_each_answer_reaches_its_own_call(tmp_path: Path, wire: str) -> None:
    prompts = [ask("prompt_user", prompt=f"Question {number}?", type="text") for number in (1, 2, 3)]
    async with open_stage(tmp_path, wire, prompts, [Say("Thanks.")]) as stage:
        run = await stage.say("Ask me")
        pauses = await stage.open_pauses(run)
        by_title = {pause.title: pause.id for pause in pauses}
        for number in (2, 3, 1):
            assert (await stage.settled()).state == "waiting"
            id = by_title[f"Question {number}?"]
            await stage.call("reply_prompt", messageId=id, answer=f"answer {number}")
        run = await stage.over()

        assert (run.state, stage.request_count) == ("finished", 2)
        for number, result in enumerate(stage.results(), 1):
            assert f"answer {number}" in result


async def test_a_cancelled_prompt_wakes_the_run_with_words_that_say_so(tmp_path: Path, wire: str) -> None:
    turns: list[list[Piece]] = [[ask("prompt_user", prompt="Which tea?", type="text")], [Say("As you like.")]]
    async with open_stage(tmp_path, wire, *turns) as stage:
        run = await stage.say("Tea, please")
        [pause] = await stage.open_pauses(run)
        await stage.call("reply_prompt", messageId=pause.id, cancelled=True)
        run = await stage.over()

        assert (run.state, stage.request_count) == ("finished", 2)
        assert "no answer" in stage.results()[0].lower() or "declined" in stage.results()[0].lower()


async def test_an_expired_prompt_wakes_the_run_with_words_that_say_so(tmp_path: Path, wire: str) -> None:
    turns: list[list[Piece]] = [
        [ask("prompt_user", prompt="Which tea?", type="text", timeoutS=1)],
        [Say("As you like.")],
    ]
    async with open_stage(tmp_path, wire, *turns) as stage:
        await stage.say("Tea, please")
        run = await stage.over()

        assert (run.state, stage.request_count) == ("finished", 2)
        assert "no answer" in stage.results()[0].lower() or "expired" in stage.results()[0].lower()


async def test_charts_and_exports_show_a_page_and_do_not_pause(tmp_path: Path, wire: str) -> None:
    chart = {"type": "bar", "title": "Cups", "data": [{"label": "Mon", "value": 3}]}
    calls = [
        ask("write_file", path="tea.txt", content="oolong"),
        ask("visualize_data", **chart),
        ask("export_file", path="tea.txt"),
        ask("export_zip", files=["tea.txt"], packageName="tea"),
    ]
    async with open_stage(tmp_path, wire, calls, [Say("Done.")]) as stage:
        run = await stage.say("Show me")

        assert (run.state, stage.request_count) == ("finished", 2)
        assert [result for result in stage.results() if "Error" in result] == []
        assert await stage.pauses(run) == []


async def test_each_request_carries_the_contexts_of_that_moment_and_no_older_ones(tmp_path: Path, wire: str) -> None:
    turns: list[list[Piece]] = [[ask("add_todo", name="Buy tea")], [ask("add_todo", name="Boil water")], [Say("Done.")]]
    async with open_stage(tmp_path, wire, *turns) as stage:
        await stage.say("Plan it")

        assert [stage.count("# Plan\n", number) for number in range(3)] == [0, 1, 1], "nothing is told of nothing"
        messages = await stage.agent.stores.messages.read_page(ME)
        assert not any("# Plan" in str(message.parts) for message in messages)


async def test_a_request_without_a_session_tells_the_time_alone_and_no_error(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible", [Say("Hello.")]) as stage:
        call = replace(ME, session_id=None, actor="model", door="agent")
        request, _ = await build_request(stage.agent.madang.provider, call, [], "", ModelOptions())

        assert request.state.count("\n") == 1, request.state
        assert "\nNow: " in request.state
        assert "Error" not in request.instructions


async def test_the_history_of_a_call_holds_its_texts_only(tmp_path: Path, wire: str) -> None:
    turns: list[list[Piece]] = [[ask("show_playbooks"), ask("list_playbooks")], [Say("Fine.")]]
    async with open_stage(tmp_path, wire, *turns) as stage:
        id = await stage.playbook("Brew tea")
        await stage.select(await stage.say("Let me choose"), id)
        await stage.over()

        assert stage.count("<html") + stage.count("<!doctype") + stage.count("ui://") == 0
        messages = await stage.agent.stores.messages.read_page(ME)
        assert not any("<html" in str(message.parts) or "ui://" in str(message.parts) for message in messages)


@pytest.mark.parametrize("tool", ["reply_prompt", "resume_from_wait", "get_playbook_page"])
async def test_what_only_the_person_calls_is_refused_to_our_own_model(tmp_path: Path, wire: str, tool: str) -> None:
    async with open_stage(tmp_path, wire, [ask("prompt_user", prompt="Which tea?", type="text")]) as stage:
        run = await stage.say("Tea, please")
        [pause] = await stage.open_pauses(run)
        tools: dict[str, dict[str, Any]] = {
            "reply_prompt": {"messageId": pause.id, "answer": "coffee"},
            "resume_from_wait": {"waitId": pause.id},
            "get_playbook_page": {"page": 1},
        }
        # The run waits, so its model is made to call it by the same way that a call of its answer takes.
        refused = await stage.call(tool, run.call("c9", "op9"), **tools[tool])

        assert refused.error_code == "denied"
        assert "Hint:" in refused.text
        assert [one.id for one in await stage.open_pauses(run)] == [pause.id]
        assert tool not in [one["name"] for one in _offered(stage.server.requests[0].body)]


def _offered(body: dict[str, object]) -> list[dict[str, str]]:
    tools = body["tools"]
    assert isinstance(tools, list)
    return [tool.get("function", tool) for tool in tools]
