"""Runs whose process goes: another one goes on with them soon, without being told by anybody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from madang.agent import events, runner
from madang.agent_app import Agent, open_agent
from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.service import Service, ServiceMetadata
from madang.core.tools import tool, tools_of
from madang.files.place import read_place
from madang.llm.base import ModelRequest, Streamed
from madang.llm.messages import TextPart, dump_parts
from madang.llm.opening import OpenedModel
from madang.records.runs.journal import NewMessage, Step
from madang.records.runs.records import Run
from madang.records.runs.store import RunStore
from madang.settings import Settings
from tests.agent.bench import ME, Script, eventually, tool_call
from tests.postgresql import url_in


@pytest.fixture(params=["disk", "server"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_in(tmp_path) if request.param == "server" else ""


@pytest.fixture(autouse=True)
def quick_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("madang.database.liveness", "madang.database.postgresql.liveness"):
        monkeypatch.setattr(f"{module}.HEARTBEAT_S", 0.05)
    monkeypatch.setattr(runner, "MAX_LOOK_WAIT_S", 3600.0)


@asynccontextmanager
async def opened(folder: Path, url: str, model: Script) -> AsyncIterator[Agent]:
    async with open_agent(Settings(data_dir=folder, model="m", database=url), lambda name: OpenedModel(model)) as agent:
        yield agent


async def ended(agent: Agent, run: Run) -> Run:
    async def read() -> Run:
        now = await agent.stores.runs.get(run.user_id, run.id)
        assert now is not None
        return now

    return await eventually(read, lambda now: now.state not in ("running", "waiting"))


async def start(store: RunStore) -> Run:
    said = NewMessage(new_id(), "user", dump_parts([TextPart("Hello")]), 2)
    told = events.user_wrote(said.id, [TextPart("Hello")])
    return await store.start(ME, Step(events=told, messages=[said]), began=events.run_started)


async def test_the_runs_of_a_process_that_dies_are_taken_over_without_any_notice(tmp_path: Path, url: str) -> None:
    async with opened(tmp_path, url, Script([TextPart("Here I am.")])) as agent:
        liveness = agent.madang.database.new_liveness()
        other = RunStore(agent.madang.database, liveness)
        await other.open()
        run = await start(other)
        mine = agent.stores.runs._liveness
        await eventually(lambda: agent.madang.database.find("SELECT 1"), lambda _: liveness.me in mine._present)
        assert await agent.runner.look() == []

        await liveness.close()

        assert (await ended(agent, run)).state == "finished"


class Slow(Script):
    """Never answers, and tells that it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.was_asked = asyncio.Event()

    async def stream(self, request: ModelRequest) -> Streamed:
        self.was_asked.set()
        await asyncio.Event().wait()
        async for piece in super().stream(request):
            yield piece


async def test_a_process_that_ends_hands_its_runs_over(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is told, and waits for no heartbeat: a rolling restart is not noticed."""
    for module in ("madang.database.liveness", "madang.database.postgresql.liveness"):
        monkeypatch.setattr(f"{module}.HEARTBEAT_S", 3600.0)
    first, second = (tmp_path / "a", tmp_path / "b") if url else (tmp_path, tmp_path)
    async with opened(second, url, Script([TextPart("Here I am.")])) as other:
        async with opened(first, url, slow := Slow()) as ending:
            run = await ending.runner.post(ME, [TextPart("Hello")])
            assert run is not None
            await slow.was_asked.wait()

        assert (await ended(other, run)).state == "finished"


async def test_what_a_process_hands_over_to_nobody_goes_on_when_one_comes(tmp_path: Path, url: str) -> None:
    async with opened(tmp_path, url, slow := Slow()) as ending:
        run = await ending.runner.post(ME, [TextPart("Hello")])
        assert run is not None
        await slow.was_asked.wait()
    async with opened(tmp_path, url, Script([TextPart("Here I am.")])) as agent:
        assert (await ended(agent, run)).state == "finished"


async def test_a_call_that_is_being_made_ends_before_its_run_is_handed_over(tmp_path: Path, url: str) -> None:
    """Its outcome is kept, and is not told as unknown."""
    bell = Bell()
    script = Script([tool_call("ring", text="tea")], [TextPart("It rang.")])
    script.by_history = True
    async with opened(tmp_path, url, script) as agent:
        agent.madang.provider.register(bell)
        run = await agent.runner.post(ME, [TextPart("Ring")])
        assert run is not None
        await bell.tools_holder.has_begun.wait()
        asyncio.get_running_loop().call_later(0.1, bell.tools_holder.may_end.set)
    async with opened(tmp_path, url, script) as agent:
        agent.madang.provider.register(bell)
        assert (await ended(agent, run)).state == "finished"
        [call] = await agent.stores.calls.list_by_run(run.user_id, run.id)
    assert (call.outcome, bell.tools_holder.rung) == ("ok", 1)
    assert len(script.requests) == 2


class Rung(Document):
    text: str


class BellTools:
    def __init__(self) -> None:
        self.has_begun, self.may_end, self.rung = asyncio.Event(), asyncio.Event(), 0

    @tool(effect="write", trusted=True)
    async def ring(self, call: Call, text: str) -> ToolResult[Rung]:
        """Ring for something."""
        self.has_begun.set()
        await self.may_end.wait()
        self.rung += 1
        return ToolResult([say("It rang.")], Rung(text=text))


class Bell(Service):
    """Has an effect that nobody can look for afterwards, and that takes as long as the test wants."""

    def __init__(self) -> None:
        self.tools_holder = BellTools()
        self.metadata = ServiceMetadata("bell", say("Bell"), say("Rings."), "1")
        self.tools = tools_of(self.tools_holder)


# Files that are elsewhere


async def test_a_run_goes_on_where_its_files_are(tmp_path: Path) -> None:
    """Two machines with folders of their own on one server: after each answer the run is where it was."""
    url = url_in(tmp_path)
    script = Script(
        [tool_call("write_file", "c1", path="a.txt", content="tea")],
        [tool_call("prompt_user", "c2", prompt="Which?", type="text")],
        [tool_call("read_file", "c3", path="a.txt")],
        [TextPart("Done.")],
    )
    script.by_history = True
    elsewhere = Script([TextPart("I have no files.")])
    async with opened(tmp_path / "a", url, script) as first, opened(tmp_path / "b", url, elsewhere) as second:
        run = await first.runner.post(ME, [TextPart("Hello")])
        assert run is not None
        await first.runner.wait_idle()
        [pause] = await first.stores.pauses.list_by_run(run.user_id, run.id)
        answer = {"messageId": pause.id, "answer": "Green"}
        await second.madang.provider.execute_tool(ME, "reply_prompt", answer)

        assert (await ended(second, run)).state == "finished"
    assert elsewhere.requests == []


async def test_a_run_whose_machine_is_gone_goes_on_elsewhere_and_its_model_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "PREFER_S", 3600.0)
    url = url_in(tmp_path)
    script = Script(
        [tool_call("write_file", "c1", path="a.txt", content="tea")],
        [tool_call("prompt_user", "c2", prompt="Which?", type="text")],
    )
    elsewhere = Script([TextPart("I have no files.")])
    async with opened(tmp_path / "a", url, script) as first:
        run = await first.runner.post(ME, [TextPart("Hello")])
        assert run is not None
        await first.runner.wait_idle()
        [pause] = await first.stores.pauses.list_by_run(run.user_id, run.id)
    async with opened(tmp_path / "b", url, elsewhere) as second:
        there = second.madang.database.new_liveness()
        there.place = read_place(tmp_path / "a" / "workspaces")
        await there.open()
        mine = second.stores.runs._liveness
        await eventually(lambda: second.madang.database.find("SELECT 1"), lambda _: there.me in mine._present)
        answer = {"messageId": pause.id, "answer": "Green"}
        await second.madang.provider.execute_tool(ME, "reply_prompt", answer)
        assert await second.runner.look() == []  # those that have its files come first

        await there.close()
        assert (await ended(second, run)).state == "finished"
    [request] = elsewhere.requests
    texts = [part.text for message in request.messages for part in message.parts if isinstance(part, TextPart)]
    assert sum("are not here" in text for text in texts) == 1
