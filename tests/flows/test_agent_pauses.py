"""What a run asks of the person, and every way in which that ends: models' servers on loopback, over two wires."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from madang.core.errors import Conflict, Denied, Expired
from madang.core.results import Reply
from madang.llm.messages import TextPart
from madang.system import clock
from tests.agent.bench import ME, eventually
from tests.agent.stage import Stage, ask, open_stage
from tests.model_server import refuses
from tests.model_wires import Piece, Say

FOREIGN = replace(ME, actor="foreign", door="mcp-stdio", client_id="c1", client_name="editor")


@pytest.fixture(params=["compatible", "anthropic"])
def wire(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


async def answer(stage: Stage, **arguments: Any) -> Reply:
    """Answer what the session's run has asked last."""
    *_, pause = await stage.open_pauses(await stage.settled())
    return await stage.call("reply_prompt", messageId=pause.id, **arguments)


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [("select", "oolong", ["oolong"]), ("multiselect", ["green", "oolong"], ["green", "oolong"])],
)
async def test_a_choice_among_options(tmp_path: Path, wire: str, kind: str, given: object, words: list[str]) -> None:
    prompt = ask("prompt_user", prompt="Which tea?", type=kind, options=["green", "oolong", "black"])
    async with open_stage(tmp_path, wire, [prompt], [Say("Fine.")]) as stage:
        await stage.say("Tea, please")
        await answer(stage, answer=given)
        run = await stage.over()

        assert run.state == "finished"
        [result] = stage.results()
        assert [word for word in words if word not in result] == []
        assert "black" not in result


async def test_a_wait_ends_when_the_person_says_so(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("wait_for_user", message="Plug it in")], [Say("Good.")]) as stage:
        run = await stage.say("Start")
        [pause] = await stage.open_pauses(run)
        await stage.call("resume_from_wait", waitId=pause.id)

        assert (await stage.over()).state == "finished"
        assert stage.request_count == 2


async def test_what_is_done_beside_a_question_is_done_before_the_run_waits(tmp_path: Path, wire: str) -> None:
    calls = [ask("prompt_user", prompt="Which tea?", type="text"), ask("add_todo", name="Boil water")]
    async with open_stage(tmp_path, wire, calls, [Say("Fine.")]) as stage:
        await stage.say("Tea, please")
        state = await stage.call("get_current_state")
        assert "Boil water" in state.text
        await answer(stage, answer="oolong")
        await stage.over()

        asked, added = stage.results()
        assert "oolong" in asked
        assert "Boil water" in added


async def test_a_message_instead_of_an_answer_and_the_answer_after_all(tmp_path: Path, wire: str) -> None:
    prompt = ask("prompt_user", prompt="Which tea?", type="text")
    go_on = ask("prompt_user", prompt="Anything else?", type="text")
    async with open_stage(tmp_path, wire, [prompt], [go_on], [Say("Good.")]) as stage:
        run = await stage.say("Tea, please")
        [first] = await stage.open_pauses(run)
        await stage.say("Is there any milk?")
        await stage.asked(2)
        await stage.settled()
        assert "No answer yet" in stage.results()[0]
        assert stage.count("Is there any milk?") == 1
        # The run lives and waits for something else now: the answer is given to its model as news, and wakes it.
        replied = await stage.call("reply_prompt", messageId=first.id, answer="oolong")
        assert not replied.is_error, replied.text
        run = await stage.over()

        assert run.state == "finished"
        [text] = [text for text in stage.texts() if "The person has now answered" in text]
        assert "Which tea?" in text
        assert "oolong" in text
        assert stage.request_count == 3


async def test_an_answer_after_the_run_ended_starts_a_run(tmp_path: Path, wire: str) -> None:
    turns: list[list[Piece]] = [[ask("prompt_user", prompt="Which?", type="text")], [Say("Later, then.")], [Say("Ok.")]]
    async with open_stage(tmp_path, wire, *turns) as stage:
        run = await stage.say("Tea, please")
        [pause] = await stage.open_pauses(run)
        await stage.say("Tell me about coffee")
        ended = await stage.over()
        assert ended.state == "finished"
        assert [one.id for one in await stage.open_pauses(run)] == [pause.id]
        late = await stage.call("reply_prompt", messageId=pause.id, answer="oolong")
        assert not late.is_error, late.text
        await stage.asked(3)
        run = await stage.over()

        assert (run.state, run.turn, run.id != ended.id) == ("finished", 1, True)
        [text] = [text for text in stage.texts() if "The person has now answered" in text]
        assert "Which?" in text
        assert "oolong" in text
        assert await stage.agent.runner.look() == []


async def test_answers_that_come_together_go_to_one_run(tmp_path: Path, wire: str) -> None:
    questions = [ask("prompt_user", prompt=f"Which {number}?", type="text") for number in range(3)]
    async with open_stage(tmp_path, wire, questions, [Say("Later, then.")], *([Say("Ok.")],) * 3) as stage:
        run = await stage.say("Tea, please")
        pauses = await stage.open_pauses(run)
        await stage.say("Tell me about coffee")
        assert (await stage.over()).state == "finished"
        for pause in reversed(pauses):
            await stage.call("reply_prompt", messageId=pause.id, answer=f"the answer to {pause.title}")
        await stage.asked(3)
        run = await stage.over()
        told = "\n".join(stage.texts())

        assert told.count("The person has now answered") == 3
        places = [told.index(f"the answer to Which {number}?") for number in (2, 1, 0)]
        assert places == sorted(places)
        runs = await stage.agent.madang.database.find("SELECT no FROM run", user_id=ME.user_id)
        assert len(runs) == 2


async def test_a_question_stays_open_while_the_models_server_is_away_and_for_days(
    tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path, wire, [ask("prompt_user", prompt="Which?", type="text")], [Say("Ok.")]) as stage:
        run = await stage.say("Tea, please")
        [pause] = await stage.open_pauses(run)
        play = stage.server._plays[0]
        stage.server.plays(refuses(503))
        await stage.say("Tell me about coffee")
        failed = await stage.over()
        assert failed.state == "failed"
        assert [one.id for one in await stage.open_pauses(run)] == [pause.id]

        stage.server.plays(play)
        day_later = clock.now() + timedelta(days=1)
        monkeypatch.setattr(clock, "now", lambda: day_later)
        late = await stage.call("reply_prompt", messageId=pause.id, answer="oolong")
        assert not late.is_error, late.text
        await eventually(stage.settled, lambda run: run.id != failed.id)
        run = await stage.over()

        assert run.state == "finished"
        assert stage.count("The person has now answered what you asked before ('Which?')") == 1
        assert stage.count("oolong") == 1


async def test_a_stop_withdraws_what_the_run_has_asked(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("prompt_user", prompt="Which?", type="text")]) as stage:
        run = await stage.say("Tea, please")
        [pause] = await stage.open_pauses(run)
        assert await stage.agent.runner.cancel(run.user_id, run.id)
        late = await stage.call("reply_prompt", messageId=pause.id, answer="oolong")

        assert late.error_code == "expired"
        assert "was stopped" in late.text
        assert await stage.agent.runner.look() == []


async def test_a_message_in_place_of_a_decision_leaves_nothing_to_allow(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("erase", name="all")], [Say("Fine.")]) as stage:
        run = await stage.say("Clear it")
        [pause] = await stage.open_pauses(run)
        await stage.say("No, wait")
        assert (await stage.over()).state == "finished"
        [result] = stage.results()

        assert "instead of allowing it" in result
        assert [one.status for one in await stage.pauses(run)] == ["withdrawn"]
        with pytest.raises((Conflict, Expired)):
            await stage.agent.stores.approvals.decide(ME, pause.id, allow=True)
        assert stage.outside.erased == []


async def test_a_message_while_it_works_is_given_before_the_next_request(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("get_current_state")], [Say("Both done.")]) as stage:
        gate = asyncio.Event()
        play = stage.server._plays[0]

        async def held(exchange: object) -> None:
            await gate.wait()
            await play(exchange)  # type: ignore[arg-type]

        stage.server.plays(held)
        said = asyncio.ensure_future(stage.say("First"))
        await stage.server.asked.wait()
        await stage.agent.runner.post(ME, [TextPart("And second")])
        [queued] = await stage.agent.stores.messages.list_queued(ME)
        assert "second" in str(queued.parts)
        gate.set()
        run = await said

        assert run.state == "finished"
        assert [stage.count("And second", number) for number in (0, 1)] == [0, 1]
        assert await stage.agent.stores.messages.list_queued(ME) == ()


async def test_show_next_delete_select(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("show_playbooks")], [Say("On it.")]) as stage:
        ids = [await stage.playbook(f"Brew tea {number}") for number in range(12)]
        run = await stage.say("Let me choose")
        await stage.call("get_playbook_page", page=2)
        await stage.call("delete_playbook", id=ids[0])
        assert stage.request_count == 1
        await stage.select(run, ids[1])

        assert (await stage.over()).state == "finished"
        assert stage.request_count == 2


@pytest.mark.parametrize("allow", [True, False])
async def test_an_approval_is_decided_once(tmp_path: Path, wire: str, allow: bool) -> None:
    async with open_stage(tmp_path, wire, [ask("erase", name="all")], [Say("Fine.")]) as stage:
        run = await stage.say("Clear it")
        [pause] = await stage.open_pauses(run)
        assert (pause.kind, pause.tool) == ("approval", "erase")
        assert stage.outside.erased == []
        await stage.agent.stores.approvals.decide(ME, pause.id, allow=allow)
        with pytest.raises(Conflict):
            await stage.agent.stores.approvals.decide(ME, pause.id, allow=not allow)
        run = await stage.over()

        assert run.state == "finished"
        [result] = stage.results()
        assert ("did not allow" in result) is not allow
        assert stage.outside.erased == (["all"] if allow else [])


async def test_a_model_decides_no_approval(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible", [ask("erase", name="all")], [Say("Fine.")]) as stage:
        run = await stage.say("Clear it")
        [pause] = await stage.open_pauses(run)
        for call in (run.call("c9", "op9"), replace(FOREIGN, relays=True)):
            with pytest.raises(Denied):
                await stage.agent.stores.approvals.decide(call, pause.id, allow=True)

        assert [one.id for one in await stage.open_pauses(run)] == [pause.id]


async def test_an_answer_from_another_process(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("prompt_user", prompt="Which?", type="text")], [Say("Fine.")]) as stage:
        run = await stage.say("Tea, please")
        [pause] = await stage.open_pauses(run)
        process = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("madang"),
            *("call", "reply_prompt", json.dumps({"messageId": pause.id, "answer": "oolong"}), "--session", "tea"),
            env={**os.environ, "MADANG_DATA_DIR": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        assert process.returncode == 0, output.decode()

        assert (await stage.over()).state == "finished"
        assert "oolong" in stage.results()[0]


async def test_a_foreign_client_that_shows_pages_answers(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("prompt_user", prompt="Which?", type="text")], [Say("Fine.")]) as stage:
        run = await stage.say("Tea, please")
        [pause] = await stage.open_pauses(run)
        await stage.call("reply_prompt", FOREIGN, messageId=pause.id, answer="oolong")

        assert (await stage.over()).state == "finished"
        assert "oolong" in stage.results()[0]


async def test_a_relayed_answer_to_a_question_of_ours_is_refused(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("prompt_user", prompt="Which?", type="text")], [Say("Fine.")]) as stage:
        run = await stage.say("Tea, please")
        [pause] = await stage.open_pauses(run)
        relayed = replace(FOREIGN, relays=True)
        refused = await stage.call("reply_prompt", relayed, messageId=pause.id, answer="coffee")

        assert refused.error_code == "denied"
        assert (await stage.settled()).state == "waiting"
        assert stage.request_count == 1


async def test_stop_withdraws_what_is_open(tmp_path: Path, wire: str) -> None:
    async with open_stage(tmp_path, wire, [ask("prompt_user", prompt="Which?", type="text")], [Say("Fine.")]) as stage:
        run = await stage.say("Tea, please")
        assert await stage.agent.runner.cancel(run.user_id, run.id)
        assert not await stage.agent.runner.cancel(run.user_id, run.id)

        [pause] = await stage.pauses(run)
        assert (pause.status, (await stage.over()).state) == ("withdrawn", "cancelled")
        assert stage.request_count == 1
