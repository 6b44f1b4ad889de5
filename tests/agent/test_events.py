"""The stored log is AG-UI: each event by that protocol's own models, each segment with one beginning and one end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Event
from pydantic import TypeAdapter

from madang.llm.messages import TextPart
from tests.agent.bench import ME
from tests.agent.stage import Stage, ask, open_stage
from tests.model_server import refuses
from tests.model_wires import Piece, Say, Think

ADAPTER: TypeAdapter[Any] = TypeAdapter(Event)


async def check_log(stage: Stage) -> list[str]:
    """Check what is stored of the session, and return the kinds of its events."""
    is_open, ids = False, set()
    log = (await stage.agent.events.read(ME)).events
    for event in log:
        ADAPTER.validate_python({"type": event.kind, **event.payload})
        match event.kind:
            case "RUN_STARTED":
                assert not is_open
                assert event.payload["runId"] not in ids, "a segment has an id of its own"
                ids.add(event.payload["runId"])
                is_open = True
            case "RUN_FINISHED" | "RUN_ERROR":
                assert is_open
                is_open = False
            case "CUSTOM":
                pass
            case _:
                assert is_open, event
    assert not is_open
    return [event.kind for event in log]


TURNS: dict[str, Sequence[Sequence[Piece]]] = {
    "text": [[Think("Hm."), Say("Hello.")]],
    "calls": [[ask("add_todo", name="Buy tea"), ask("get_current_state")], [Say("Done.")]],
    "wrong": [[ask("no_such_tool"), ask("add_todo", wrong=1)], [Say("Sorry.")]],
}


@pytest.mark.parametrize("turns", TURNS)
async def test_a_run_that_ends_by_itself(tmp_path: Path, turns: str) -> None:
    async with open_stage(tmp_path, "compatible", *TURNS[turns]) as stage:
        assert (await stage.say("Tea, please")).state == "finished"
        kinds = await check_log(stage)

        assert kinds[0] == "RUN_STARTED"
        assert kinds[-1] == "RUN_FINISHED"


async def test_a_run_that_waits_is_answered_and_written_to(tmp_path: Path) -> None:
    prompt = ask("prompt_user", prompt="Which tea?", type="text")
    async with open_stage(tmp_path, "compatible", [prompt], [prompt], [Say("Fine.")]) as stage:
        [pause] = await stage.open_pauses(await stage.say("Tea, please"))
        await stage.call("reply_prompt", messageId=pause.id, answer="oolong")
        await stage.asked(2)
        await stage.settled()
        await check_log(stage)
        await stage.agent.runner.post(ME, [TextPart("Never mind")])
        await stage.over()
        kinds = await check_log(stage)

        assert kinds.count("RUN_STARTED") == 3


async def test_a_run_that_is_stopped_while_it_waits(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible", [ask("wait_for_user", message="Sit")], [Say("Fine.")]) as stage:
        run = await stage.say("Start")
        await stage.agent.runner.cancel(run.user_id, run.id)
        await stage.over()
        kinds = await check_log(stage)

        assert kinds[-2:] == ["RUN_STARTED", "RUN_FINISHED"]


async def test_a_run_whose_model_fails(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(refuses(401))
        run = await stage.say("Tea, please")
        kinds = await check_log(stage)

        assert (run.state, kinds[-1]) == ("failed", "RUN_ERROR")
