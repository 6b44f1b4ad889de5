"""Two people, each with an agent and a model of their own, on one database: nobody's run goes on at the other's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from madang.agent_app import Agent, open_agent
from madang.core.calls import Call
from madang.core.ids import UserId
from madang.llm.base import ModelRequest, Streamed
from madang.llm.messages import TextPart
from madang.llm.opening import OpenedModel
from madang.settings import Settings
from tests.agent.bench import ME, Script, tool_call
from tests.postgresql import url_in

ANN = replace(ME, user_id=UserId("ann"))
BOB = replace(ME, user_id=UserId("bob"))


class Silent(Script):
    """Never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.was_asked = asyncio.Event()

    async def stream(self, request: ModelRequest) -> Streamed:
        self.was_asked.set()
        await asyncio.Event().wait()
        async for piece in super().stream(request):
            yield piece


@pytest.fixture(params=["disk", "server"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_in(tmp_path) if request.param == "server" else ""


@asynccontextmanager
async def opened(call: Call, folder: Path, url: str, model: Script) -> AsyncIterator[Agent]:
    settings = Settings(data_dir=folder / call.user_id if url else folder, user=call.user_id, model="m", database=url)
    async with open_agent(settings, lambda name: OpenedModel(model)) as agent:
        yield agent


async def state(agent: Agent, run_id: str) -> str:
    run = await agent.stores.runs.get(ANN.user_id, run_id)
    assert run is not None
    return run.state


async def test_an_answer_does_not_take_a_run_to_another_users_model(tmp_path: Path, url: str) -> None:
    question = [tool_call("prompt_user", prompt="Which?", type="text")]
    hers, his = Script(question, [TextPart("Green it is.")]), Script([TextPart("I am Bob's.")])
    async with opened(ANN, tmp_path, url, hers) as ann:
        run = await ann.runner.post(ANN, [TextPart("Tea, please")])
        assert run is not None
        await ann.runner.wait_idle()
    async with opened(BOB, tmp_path, url, his) as bob:
        [pause] = await bob.stores.pauses.list_by_run(ANN.user_id, run.id)
        reply = await bob.madang.provider.execute_tool(ANN, "reply_prompt", {"messageId": pause.id, "answer": "Green"})
        assert not reply.is_error
        assert await bob.runner.look() == []
        assert await state(bob, run.id) == "waiting"
    async with opened(ANN, tmp_path, url, hers) as ann:
        await ann.runner.look()
        await ann.runner.wait_idle()
        assert await state(ann, run.id) == "finished"

    assert (len(hers.requests), his.requests) == (2, [])


async def test_the_end_of_a_process_does_not_take_its_runs_to_another_users_model(tmp_path: Path, url: str) -> None:
    silent, hers, his = Silent(), Script([TextPart("Here I am again.")]), Script([TextPart("I am Bob's.")])
    async with opened(ANN, tmp_path, url, silent) as ann:
        run = await ann.runner.post(ANN, [TextPart("Tea, please")])
        assert run is not None
        async with asyncio.timeout(60):
            await silent.was_asked.wait()
    async with opened(BOB, tmp_path, url, his) as bob:
        assert await bob.runner.look() == []
        assert await state(bob, run.id) == "running"
    async with opened(ANN, tmp_path, url, hers) as ann:
        await ann.runner.look()
        await ann.runner.wait_idle()
        assert await state(ann, run.id) == "finished"

    assert (len(hers.requests), his.requests) == (1, [])
