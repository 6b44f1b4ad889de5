"""The question before a run ends whose last calls failed: whether everything was done."""

from __future__ import annotations

from pathlib import Path

import pytest

from madang.llm.messages import TextPart
from tests.agent.bench import ME, bench, tool_call
from tests.agent.stage import Stage, ask, open_stage
from tests.agent.test_limits import limit
from tests.model_server import Play, answers, refuses
from tests.model_wires import Ask, Say
from tests.postgresql import url_in

FAILS = answers(Ask("mark_todo", '{"id": 99}'))
WORKS = answers(ask("add_todo", name="Tea"))
CLAIM = answers(Say("I did it."))
DONE = answers(Say("**DONE.**"))


async def said(stage: Stage) -> list[str]:
    """Return what the model said to the person."""
    messages = await stage.agent.stores.messages.read_page(ME)
    texts = [[part["text"] for part in one.parts if part["type"] == "text"] for one in messages if one.role != "user"]
    return [text for one in texts for text in one]


@pytest.mark.parametrize(
    ("plays", "requests", "words"),
    [
        ([FAILS, CLAIM, DONE], 3, ["I did it."]),
        ([FAILS, CLAIM, CLAIM], 3, ["I did it."]),
        ([FAILS, CLAIM, answers()], 3, ["I did it."]),
        ([FAILS, CLAIM, answers(Say("Not all of it."))], 3, ["I did it.", "Not all of it."]),
        ([FAILS, CLAIM, WORKS, answers(Say("Now it is."))], 4, ["I did it.", "Now it is."]),
        ([FAILS, CLAIM, FAILS, CLAIM], 4, ["I did it.", "I did it."]),
        ([FAILS, answers(Say("Which one do you mean?"))], 2, ["Which one do you mean?"]),
        ([FAILS, WORKS, CLAIM], 3, ["I did it."]),
        ([CLAIM], 1, ["I did it."]),
        ([FAILS, CLAIM, refuses(401, "no")], 3, ["I did it."]),
    ],
    ids=[
        "it is done",
        "it says the same again",
        "it says nothing",
        "something is missing",
        "it goes on",
        "once a run",
        "a question back",
        "the last calls worked",
        "no calls while somebody looks on",
        "a server that is gone",
    ],
)
async def test_a_run_whose_last_calls_failed_is_asked_once_whether_all_is_done(
    tmp_path: Path, plays: list[Play], requests: int, words: list[str]
) -> None:
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(*plays)
        run = await stage.say("Tick it off")

        assert (run.state, stage.request_count) == ("finished", requests)
        assert await said(stage) == words


async def test_the_question_does_not_lead_a_run_into_its_limit(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(FAILS, CLAIM, DONE)
        await limit(stage, {"turns": 2})
        run = await stage.say("Tick it off")

        assert (run.state, stage.request_count) == ("finished", 2)


async def test_it_is_asked_once_on_a_server_database_too(tmp_path: Path) -> None:
    fails, claim = [tool_call("mark_todo", id=99)], [TextPart("I did it.")]
    async with bench(tmp_path, fails, claim, fails, claim, url=url_in(tmp_path)) as stage:
        run = await stage.say("Tick it off")

        assert run is not None
        assert (run.state, len(stage.model.requests)) == ("finished", 4)
