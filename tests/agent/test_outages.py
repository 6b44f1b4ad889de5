"""A database that is away, locked or full while agents work: runs wait for it, and go on as if nothing had been."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import apsw
import pytest

from madang.agent import events, execution, runner
from madang.agent_app import Agent, open_agent
from madang.core.calls import Call
from madang.core.errors import StoreUnavailable, Unavailable
from madang.core.ids import SessionId, new_id
from madang.database.sqlite.database import SqliteDatabase
from madang.llm.base import ModelDelta, ModelRequest, Streamed
from madang.llm.messages import Part, TextPart, dump_parts
from madang.llm.opening import OpenedModel
from madang.records.runs.deltas import DeltaStore, joined_text
from madang.records.runs.journal import NewMessage, Step
from madang.records.runs.records import Run
from madang.settings import Settings
from tests.agent.bench import ME, Script, eventually, tool_call
from tests.faults.disks import Disk
from tests.postgresql import Server, url_in

TODOS = ("boil", "pour", "wait", "drink")
STORY: Sequence[Sequence[Part]] = (
    [tool_call("add_todo", "c1", name="boil"), tool_call("add_todo", "c2", name="pour")],
    [tool_call("add_todo", "c3", name="wait"), tool_call("list_playbooks", "c4")],
    [tool_call("add_todo", "c5", name="drink")],
    [TextPart("Done.")],
)


class Story(Script):
    """Plays the story, and calls a function before it gives an answer."""

    def __init__(self, *answers: Sequence[Part], before: Callable[[int], None] = lambda _: None) -> None:
        super().__init__(*(answers or STORY))
        self.by_history = True
        self.before = before

    async def stream(self, request: ModelRequest) -> Streamed:
        self.before(len(self.requests))
        async for piece in super().stream(request):
            yield piece


@asynccontextmanager
async def opened(folder: Path, model: Script, url: str = "") -> AsyncIterator[Agent]:
    settings = Settings(data_dir=folder, model="m", database=url)
    async with open_agent(settings, lambda name: OpenedModel(model)) as agent:
        yield agent


async def ended(agent: Agent, run: Run) -> Run:
    async def read() -> Run | None:
        try:
            return await agent.stores.runs.get(run.user_id, run.id)
        except Unavailable:
            return None

    found = await eventually(read, lambda now: now is not None and now.state not in ("running", "waiting"))
    assert found is not None
    return found


async def todos(agent: Agent, call: Call = ME) -> list[str]:
    reply = await agent.madang.provider.execute_tool(call, "get_current_state", {})
    return [todo["name"] for todo in reply.data["todos"]]


async def check_log(agent: Agent, call: Call = ME) -> None:
    """Check that the log has no gap, and tells each call and its result once."""
    page = await agent.events.read(call)
    assert [event.seq for event in page.events] == list(range(1, page.last_seq + 1))
    for kind in ("TOOL_CALL_START", "TOOL_CALL_RESULT"):
        ids = [event.payload["toolCallId"] for event in page.events if event.kind == kind]
        assert sorted(ids) == sorted(set(ids)) == ["c1", "c2", "c3", "c4", "c5"]


# Disks


class FillingDisk(Disk):
    """A disk that is full from one of its flushes on, until it is given room."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.flushes = 0
        self.fills_at = 0

    def sync(self, path: str, *, with_folder: bool) -> None:
        self.flushes += 1
        if self.flushes == self.fills_at:
            self.error = apsw.FullError("full")
        super().sync(path, with_folder=with_folder)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[FillingDisk]:
    disk = FillingDisk("filling disk")
    monkeypatch.setattr("madang.app.SqliteDatabase", partial(SqliteDatabase, vfs=disk.name))
    yield disk
    disk.remove()


async def test_a_disk_that_is_full_parks_a_run_and_its_model_is_not_asked_again(
    tmp_path: Path, disk: FillingDisk
) -> None:
    """What the model has said is in memory until it can be kept; the person is told of the wait, and of its end."""

    def fill(count: int) -> None:
        disk.error = apsw.FullError("full") if count == 1 else None

    told: list[str | None] = []
    async with opened(tmp_path, model := Story(before=fill)) as agent:
        agent.runner.listen_outages(lambda reason: told.append(str(reason) if reason else None))
        run = await agent.runner.post(ME, [TextPart("Tea, please")])
        assert run is not None
        await eventually(lambda: asyncio.sleep(0, told), bool)
        assert agent.runner.is_at_work(run.id)
        disk.error = None

        assert (await ended(agent, run)).state == "finished"
        assert told == ["The disk is full. Nothing was written.", None]
        assert await todos(agent) == [*TODOS]
        await check_log(agent)
    assert len(model.requests) == len(STORY)


async def test_a_disk_may_be_full_before_any_commit_of_a_story(tmp_path: Path, disk: FillingDisk) -> None:
    """Every run ends, no effect is had twice and none is lost, whichever write it is that finds no room."""
    number, was_full = 0, True
    while was_full:
        number += 1
        async with opened(tmp_path / str(number), model := Story()) as agent:
            loop = asyncio.get_running_loop()

            def free(reason: object, loop: asyncio.AbstractEventLoop = loop) -> None:
                if reason:
                    loop.call_later(0.05, setattr, disk, "error", None)

            agent.runner.listen_outages(free)
            await open_all(agent)
            disk.fills_at = disk.flushes + number
            run = await posted(agent, disk)
            assert (await ended(agent, run)).state == "finished", number
            was_full = disk.fills_at <= disk.flushes
            disk.error, disk.fills_at = None, 0
            assert await todos(agent) == [*TODOS], number
            await check_log(agent)
            assert len(model.requests) == len(STORY), number
    assert number > len(STORY)


async def open_all(agent: Agent) -> None:
    """Have the tables of all services: what is written afterwards is of runs."""
    await agent.madang.provider.open_all()
    await agent.madang.provider.execute_tool(ME, "get_current_state", {})


async def posted(agent: Agent, disk: Disk) -> Run:
    """Write a message, once more if there was no room for it: the person is told so at once."""
    try:
        run = await agent.runner.post(ME, [TextPart("Tea, please")])
    except StoreUnavailable:
        disk.error = None
        run = await agent.runner.post(ME, [TextPart("Tea, please")])
    assert run is not None
    return run


# Locks


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the write lock of a database, as another program may."""
    with closing(apsw.Connection(str(folder / "madang.db"))) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a lock of another program waited for a moment, not for seconds, before it counts as an outage."""
    monkeypatch.setattr("madang.database.sqlite.database.LOCK_WAIT_S", 0.2)


class Writing(Script):
    """Writes a part of its answer, and the rest when it is told to."""

    def __init__(self) -> None:
        super().__init__([TextPart("Green tea.")])
        self.was_asked, self.may_begin, self.may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stream(self, request: ModelRequest) -> Streamed:
        self.was_asked.set()
        await self.may_begin.wait()
        yield ModelDelta("text", "Green ")
        await self.may_end.wait()
        yield ModelDelta("text", "tea.")
        async for piece in super().stream(request):
            if not isinstance(piece, ModelDelta):
                yield piece


async def test_what_a_model_writes_while_the_database_is_locked_is_written_afterwards(
    tmp_path: Path, impatient: None, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, model := Writing()) as agent:
        run = await agent.runner.post(ME, [TextPart("Which?")])
        assert run is not None
        deltas = DeltaStore(agent.madang.database)
        async with asyncio.timeout(60):
            await model.was_asked.wait()
        with locked(tmp_path):
            model.may_begin.set()
            await eventually(lambda: asyncio.sleep(0, caplog.text), lambda text: "is not written" in text)

        async def written() -> str:
            return joined_text(await deltas.read(run, 1))

        assert await eventually(written, bool) == "Green "
        model.may_end.set()
        assert (await ended(agent, run)).state == "finished"


async def test_an_own_run_that_nobody_works_on_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a start that was in doubt: the row is there, with a living owner, and no task."""
    monkeypatch.setattr(runner, "ADOPT_S", 0.05)
    async with opened(tmp_path, model := Story([TextPart("Here I am.")])) as agent:
        said = NewMessage(new_id(), "user", dump_parts([TextPart("Hello")]), 2)
        told = events.user_wrote(said.id, [TextPart("Hello")])
        run = await agent.stores.runs.start(ME, Step(events=told, messages=[said]), began=events.run_started)
        assert await agent.runner.look() == []  # its start may be about to be told here

        assert (await ended(agent, run)).state == "finished"
    assert len(model.requests) == 1


async def test_a_run_that_fails_whenever_it_is_worked_on_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(code: str) -> bool:
        raise RuntimeError(code)

    monkeypatch.setattr(runner, "ADOPT_S", 0.05)
    monkeypatch.setattr(execution, "retry_helps", break_down)
    async with opened(tmp_path, model := Story([])) as agent:

        def refuse(_: int) -> None:
            raise ValueError

        model.before = refuse
        run = await agent.runner.post(ME, [TextPart("Hello")])
        assert run is not None

        over = await ended(agent, run)
    assert (over.state, over.error_code) == ("failed", "internal")


# Servers


async def test_a_server_that_crashes_leaves_every_run_with_its_worker(tmp_path: Path, postgresql: Server) -> None:
    calls = [replace(ME, session_id=SessionId(f"tea-{number}")) for number in range(4)]
    loop, may_crash = asyncio.get_running_loop(), asyncio.Event()
    told: list[object] = []

    def crash(count: int) -> None:
        if count == len(calls) + 1:
            loop.call_soon(may_crash.set)

    async with opened(tmp_path, Story(before=crash), url_in(tmp_path)) as agent:
        agent.runner.listen_outages(told.append)
        runs = [await agent.runner.post(call, [TextPart("Tea")]) for call in calls]
        with anyio.fail_after(60):
            await may_crash.wait()
        await asyncio.to_thread(postgresql.stop, "immediate")
        try:
            await eventually(lambda: asyncio.sleep(0, told), bool)
        finally:
            await asyncio.to_thread(postgresql.start)
        for run, call in zip(runs, calls, strict=True):
            assert run is not None
            assert (await ended(agent, run)).state == "finished"
            assert await todos(agent, call) == [*TODOS]
            await check_log(agent, call)


async def test_after_an_outage_answers_are_taken_up_again(
    tmp_path: Path, postgresql: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The loop that looks for what can go on fails while the server is away, and is started again."""
    monkeypatch.setattr(runner, "MAX_LOOK_WAIT_S", 0.1)
    question = [tool_call("prompt_user", prompt="Which?", type="text")]
    async with opened(tmp_path, Story(question, [TextPart("Green.")]), url_in(tmp_path)) as agent:
        run = await agent.runner.post(ME, [TextPart("Tea")])
        assert run is not None
        await agent.runner.wait_idle()
        await asyncio.to_thread(postgresql.stop, "immediate")
        try:
            await eventually(lambda: asyncio.sleep(0, caplog.text), lambda text: "runs failed" in text)
        finally:
            await asyncio.to_thread(postgresql.start)
        [pause] = await agent.stores.pauses.list_by_run(run.user_id, run.id)
        answer = {"messageId": pause.id, "answer": "Green"}
        await agent.madang.provider.execute_tool(ME, "reply_prompt", answer)

        assert (await ended(agent, run)).state == "finished"
