"""What runs of the agent cost: a turn against pydantic-ai's own loop, and many runs at once that wait or stream."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks.harness import Effort, Finding, Goal, Sample, Side, compare, interleave
from madang.agent_app import Agent, open_agent
from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.llm.base import Model, ModelAnswer, ModelDelta, ModelRequest, Streamed
from madang.llm.compatible import CompatibleModel
from madang.llm.connection import Connection
from madang.llm.messages import CallPart, TextPart
from madang.llm.opening import OpenedModel
from madang.records.runs.records import Run
from madang.settings import Settings

RUNS = 500
DELTAS_PER_RUN = 200
DELTA_EVERY_S = 0.05
TURNS = 4
"""Of a conversation with the stub server: three with a call, one with a text."""
CONVERSATIONS = 12
MAX_STALL_MS = 100.0
MAX_WAITING_MB = 10.0

PERSON = Call(assistant_id=AssistantId("default"), door="host", actor="person")


async def turns(effort: Effort) -> list[Finding]:
    """The processor time of one turn with a call, everything stored, against a bare agent that stores nothing."""
    with _server() as url, tempfile.TemporaryDirectory() as folder:
        connection = Connection(f"{url}/v1")

        def open_model(name: str) -> OpenedModel:
            return OpenedModel(CompatibleModel("stub", connection))

        async with open_agent(Settings(data_dir=Path(folder), model="stub"), open_model) as agent:
            sides: dict[str, Side] = {"ours": _converse(agent), "theirs": await _bare_agent(agent, url)}
            for side in sides.values():
                await side()  # imports, connections, tables
            samples = await interleave(effort.rounds, sides)
    what = "agent, a turn with a call, vs a bare pydantic-ai agent that stores nothing"
    return [
        compare(what, "cpu", "ms CPU", samples["ours"], samples["theirs"], Goal(0.7)),
        compare(f"{what}, wall", "wall", "ms", samples["ours"], samples["theirs"], Goal(0.7, promised=False)),
    ]


def _converse(agent: Agent) -> Side:
    number = 0

    async def once() -> None:
        nonlocal number
        number += 1
        call = replace(PERSON, session_id=SessionId(f"turns-{number}"))
        run = await agent.runner.post(call, [TextPart("go")])
        assert run is not None
        await agent.runner.wait_idle()
        ended = await agent.stores.runs.get(run.user_id, run.id)
        assert ended is not None
        assert (ended.state, ended.turn) == ("finished", TURNS), ended.error

    return _timed(once)


async def _bare_agent(agent: Agent, url: str) -> Side:
    """An agent of pydantic-ai with the same tools, called in the same way."""
    from openai import AsyncOpenAI
    from pydantic_ai import Agent as BareAgent
    from pydantic_ai import Tool
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = agent.madang.provider
    call = replace(PERSON, session_id=SessionId("bare"), actor="model", door="agent")

    def wrap(name: str) -> Callable[..., Any]:
        async def made(**arguments: Any) -> str:
            return (await provider.execute_tool(call, name, arguments)).text

        return made

    tools = [
        Tool.from_schema(wrap(tool.name), tool.name, tool.description, dict(tool.input_schema))
        for tool in await provider.available_tools(call)
    ]
    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none")
    bare: BareAgent[None, str] = BareAgent(
        OpenAIChatModel("stub", provider=OpenAIProvider(openai_client=client)), tools=tools, instructions="Be brief."
    )

    async def once() -> None:
        async with bare.run_stream_events("go") as events:
            async for _ in events:
                pass

    return _timed(once)


def _timed(once: Callable[[], Any]) -> Side:
    async def side() -> Sample:
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(CONVERSATIONS):
            await once()
        count = CONVERSATIONS * TURNS
        return {
            "cpu": (time.process_time() - cpu) / count * 1000,
            "wall": (time.perf_counter() - wall) / count * 1000,
        }

    return side


class _Asking(Model):
    """Asks the person at once."""

    provider = name = label = "asking"

    async def stream(self, request: ModelRequest) -> Streamed:
        yield ModelAnswer((CallPart("c1", "prompt_user", '{"prompt": "Which tea?", "type": "text"}'),), "tool_calls")


class _Streaming(Model):
    """Speaks for ten seconds."""

    provider = name = label = "streaming"

    async def stream(self, request: ModelRequest) -> Streamed:
        for _ in range(DELTAS_PER_RUN):
            yield ModelDelta("text", "word ")
            await asyncio.sleep(DELTA_EVERY_S)
        yield ModelAnswer((TextPart("word " * DELTAS_PER_RUN),), "stop")


async def runs(effort: Effort) -> list[Finding]:
    """Five hundred runs that wait for the person, then five hundred whose models speak all at once."""
    async with _opened(_Asking()) as agent:
        waiting_mb, waiting_tasks, look_ms = await _wait(agent)
    async with _opened(_Streaming()) as agent:
        took_s, stalls_ms, first_ms = await _stream(agent)
    model_s = DELTAS_PER_RUN * DELTA_EVERY_S
    stall_p99 = quantiles(stalls_ms, n=100)[-1]
    return [
        _bound(f"agent, {RUNS} runs that wait, memory", "MB", waiting_mb, MAX_WAITING_MB),
        _bound(f"agent, {RUNS} runs that wait, tasks", "tasks and 1", waiting_tasks + 1, 1),
        _bound(f"agent, a look at {RUNS} runs that wait", "ms", look_ms, 10),
        _bound(f"agent, {RUNS} runs that stream, time of {model_s:g} s", "s", took_s, 1.2 * model_s),
        _bound(f"agent, {RUNS} runs that stream, longest stall", "ms", max(stalls_ms), MAX_STALL_MS),
        _bound(f"agent, {RUNS} runs that stream, stall p99", "ms", stall_p99, MAX_STALL_MS),
        _bound(f"agent, {RUNS} runs that stream, first delta p95", "ms", quantiles(first_ms, n=20)[-1], 100),
    ]


async def _wait(agent: Agent) -> tuple[float, int, float]:
    await _post(agent, "warm")
    await agent.runner.wait_idle()
    gc.collect()
    before_mb, tasks = _rss_mb(), len(asyncio.all_tasks())
    for number in range(RUNS):
        await _post(agent, f"waits-{number}")
    await agent.runner.wait_idle()
    gc.collect()
    waiting_mb, waiting_tasks = _rss_mb() - before_mb, len(asyncio.all_tasks()) - tasks
    began_s = time.perf_counter()
    assert await agent.runner.look() == []
    return waiting_mb, waiting_tasks, (time.perf_counter() - began_s) * 1000


async def _stream(agent: Agent) -> tuple[float, list[float], list[float]]:
    stalls_ms: list[float] = []
    posted: dict[str, float] = {}
    first: dict[str, float] = {}

    def hear(run: Run, message_no: int, at_char: int, delta: ModelDelta | None) -> None:
        first.setdefault(run.id, time.perf_counter())

    async def beat() -> None:
        while True:
            began_s = time.perf_counter()
            await asyncio.sleep(0.01)
            stalls_ms.append((time.perf_counter() - began_s - 0.01) * 1000)

    agent.runner.listen(hear)
    heart = asyncio.create_task(beat())
    began_s = time.perf_counter()
    for number in range(RUNS):
        at_s = time.perf_counter()
        run = await _post(agent, f"streams-{number}")
        posted[run.id] = at_s
    last_s = time.perf_counter()
    await agent.runner.wait_idle()
    heart.cancel()
    # From when the last one began: starting them one after the other is not what is measured.
    took_s = time.perf_counter() - max(began_s, last_s)
    return took_s, stalls_ms, [(first[id] - at_s) * 1000 for id, at_s in posted.items()]


async def _post(agent: Agent, session: str) -> Run:
    run = await agent.runner.post(replace(PERSON, session_id=SessionId(session)), [TextPart("go")])
    assert run is not None
    return run


@asynccontextmanager
async def _opened(model: Model) -> AsyncIterator[Agent]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), model="stub")
        async with open_agent(settings, lambda name: OpenedModel(model)) as agent:
            yield agent


def _bound(what: str, unit: str, value: float, bound: float) -> Finding:
    return Finding(what, unit, value, bound, value / bound, Goal(1))


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


@contextmanager
def _server() -> Iterator[str]:
    """The stub server in a process of its own, so that its work is not counted."""
    command = [sys.executable, "-m", "tests.model_server", "turns"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()
        server.wait()
