"""Stopping a run: at any moment, from any process, for good."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from madang.agent_app import Agent, open_agent
from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.ids import SessionId, UserId
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.service import Service, ServiceMetadata
from madang.core.tools import tool, tools_of
from madang.llm.base import ModelRequest, Streamed
from madang.llm.messages import TextPart
from madang.llm.opening import OpenedModel
from madang.records.runs.records import Run
from madang.settings import Settings
from tests.agent.bench import ME, Script
from tests.agent.stage import Stage, ask, open_stage
from tests.model_server import Exchange
from tests.model_wires import Piece, Say, chunk, event


class Done(Document):
    text: str = ""


class SlowTools:
    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.was_cancelled = False

    @tool(effect="write")
    async def brew(self, call: Call) -> ToolResult[Done]:
        """Take for ever."""
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return ToolResult([say("Brewed.")], Done())


class Slow(Service):
    def __init__(self) -> None:
        self.holder = SlowTools()
        self.metadata = ServiceMetadata("slow", say("Slow"), say("Takes its time."), "1")
        self.tools = tools_of(self.holder)


async def endless(exchange: Exchange) -> None:
    """Speak until nobody listens."""
    await exchange.head()
    while True:
        await exchange.send(event(chunk({"content": "word "})))
        await asyncio.sleep(0.01)


async def check_cancelled(stage: Stage) -> None:
    run = await stage.over()
    assert run.state == "cancelled"
    [*_, last] = (await stage.agent.events.read(ME)).events
    assert (last.kind, last.payload["outcome"]) == ("RUN_FINISHED", {"type": "cancelled"})
    calls = await stage.agent.stores.calls.list_by_turn(run)
    assert all(call.outcome in ("ok", "cancelled") for call in calls)


@pytest.mark.parametrize("by", ["its own process", "another process"])
async def test_a_model_that_speaks_is_hung_up_on(tmp_path: Path, by: str) -> None:
    async with open_stage(tmp_path, "compatible") as stage:
        stage.server.plays(endless)
        run = await stage.agent.runner.post(ME, [TextPart("Tell me")])
        assert run is not None
        await stage.server.asked.wait()
        if by == "its own process":
            assert await stage.agent.runner.cancel(run.user_id, run.id)
        else:
            async with open_agent(stage.settings, lambda name: stage.fail()) as other:
                assert await other.runner.cancel(run.user_id, run.id)
        async with asyncio.timeout(30):
            await stage.server.dropped.wait()
        await check_cancelled(stage)

        assert stage.request_count == 1


async def test_a_tool_that_runs_is_cancelled(tmp_path: Path) -> None:
    async with open_stage(tmp_path, "compatible", [ask("brew")], [Say("Done.")]) as stage:
        slow = Slow()
        stage.agent.madang.provider.register(slow)
        run = await stage.agent.runner.post(ME, [TextPart("Brew")])
        assert run is not None
        async with asyncio.timeout(30):
            await slow.holder.began.wait()
        await stage.agent.runner.cancel(run.user_id, run.id)
        await check_cancelled(stage)
        await stage.agent.runner.wait_idle()

        assert slow.holder.was_cancelled
        assert stage.request_count == 1


async def test_the_next_message_after_a_stop_begins_a_new_run(tmp_path: Path) -> None:
    turns: list[list[Piece]] = [[ask("prompt_user", prompt="Which?", type="text")], [Say("Hello again.")]]
    async with open_stage(tmp_path, "compatible", *turns) as stage:
        run = await stage.say("Tea, please")
        await stage.agent.runner.cancel(run.user_id, run.id)
        again = await stage.say("Never mind")

        assert again.id != run.id
        assert again.state == "finished"
        # Every call in the history has a result, or servers would refuse the session for ever.
        assert len(stage.results()) == 1


async def test_after_a_stop_the_model_is_told_what_was_done_and_what_was_not(tmp_path: Path) -> None:
    turns: list[list[Piece]] = [
        [ask("add_todo", name="Buy tea"), ask("brew"), ask("add_todo", name="Boil water"), ask("get_goal")],
        [Say("I see.")],
    ]
    async with open_stage(tmp_path, "compatible", *turns) as stage:
        slow = Slow()
        stage.agent.madang.provider.register(slow)
        run = await stage.agent.runner.post(ME, [TextPart("Brew")])
        assert run is not None
        async with asyncio.timeout(30):
            await slow.holder.began.wait()
        await stage.agent.runner.cancel(run.user_id, run.id)
        await stage.agent.runner.wait_idle()
        await stage.say("What happened?")
        first, brewed, second, unknown = stage.results()

        assert "Buy tea" in first
        assert "it may have been done" in brewed
        assert second.startswith("[add_todo] Error: Not done: the run was stopped before.")
        assert "get_goal" in unknown


class Endless(Script):
    """Thinks until nobody waits for it."""

    def __init__(self) -> None:
        super().__init__([])
        self.was_asked, self.was_left = asyncio.Event(), asyncio.Event()

    async def stream(self, request: ModelRequest) -> Streamed:
        self.was_asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.was_left.set()
        async for piece in super().stream(request):
            yield piece


async def begin(owner: Agent, model: Endless, call: Call) -> Run:
    """Start a run, and return it once its model was asked."""
    run = await owner.runner.post(call, [TextPart("Think")])
    assert run is not None
    async with asyncio.timeout(60):
        await model.was_asked.wait()
    return run


@pytest.mark.parametrize(
    "name", ["kim", "김철수", "kim@example.org", "team/kim", "50%", "%2F", "kim lee", "Ünal\N{BEER MUG}"]
)
async def test_a_run_is_stopped_from_another_process_whatever_the_names_are(tmp_path: Path, name: str) -> None:
    call = replace(ME, user_id=UserId(name), session_id=SessionId(name))
    settings, model = Settings(data_dir=tmp_path, user=call.user_id, model="m"), Endless()
    async with (
        open_agent(settings, lambda name: OpenedModel(model)) as owner,
        open_agent(settings, lambda name: OpenedModel(Script([])), only_session=call) as other,
    ):
        run = await begin(owner, model, call)
        assert await other.runner.cancel(run.user_id, run.id)
        async with asyncio.timeout(20):
            await model.was_left.wait()


async def test_a_run_that_was_stopped_before_its_owner_watched_is_stopped(tmp_path: Path) -> None:
    """The notice that named it was missed, as it may be while a database is away."""
    settings, model = Settings(data_dir=tmp_path, model="m"), Endless()
    async with (
        open_agent(settings, lambda name: OpenedModel(model), only_session=ME) as owner,
        open_agent(settings, lambda name: OpenedModel(Script([])), only_session=ME) as other,
    ):
        run = await begin(owner, model, ME)
        assert await other.runner.cancel(run.user_id, run.id)
        owner.watch()
        async with asyncio.timeout(20):
            await model.was_left.wait()
