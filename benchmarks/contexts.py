"""What services tell of their state: how much it costs until a change is told, whatever else there is to tell."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.harness import Effort, Finding, Goal, Sample, Side, compare, interleave, repeated
from madang.app import Madang, open_madang
from madang.core.calls import Call
from madang.core.ids import SessionId
from madang.core.service import ServiceContext
from madang.files.folders import Folders
from madang.services.planning.domain import PlanState
from madang.services.workspace.context import workspace_context
from madang.services.workspace.engine.exports import Exports
from madang.services.workspace.engine.files import FileEngine
from madang.settings import Settings

FEW = 20
MANY = 20_000
FOLDERS = 200
TODO_MS = 5.0
AT_ONCE = 10

Contexts = AsyncIterator[dict[str, ServiceContext]]


async def contexts(effort: Effort) -> list[Finding]:
    """One to-do beside few and many files, the workspace's own state, and ten to-dos at once."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="madang-bench-")))
        madang = await stack.enter_async_context(open_madang(Settings(data_dir=folder)))
        calls = {count: replace(madang.call("python"), session_id=SessionId(f"s{count}")) for count in (FEW, MANY)}
        folders = Folders(folder / "workspaces")
        for count, call in calls.items():
            _fill(folders, call, count)
        return [
            *await _todos(madang, calls, effort),
            *await _workspace(folders, calls, effort),
            await _at_once(madang, calls[MANY], effort),
        ]


async def _todos(madang: Madang, calls: dict[int, Call], effort: Effort) -> list[Finding]:
    async with AsyncExitStack() as stack:
        sides: dict[int, Side] = {}
        for count, call in calls.items():
            watched = await stack.enter_async_context(_watched(madang, call))
            sides[count] = _until_told(madang, call, watched)
            await sides[count]()
        samples = await interleave(effort.rounds, sides)
    limit: list[Sample] = [{"cpu": TODO_MS}] * effort.rounds
    what = "one to-do until its context is told"
    return [
        compare(f"{what}, {MANY:,} files vs {TODO_MS:g} ms", "cpu", "ms CPU", samples[MANY], limit, Goal(1)),
        compare(f"{what}, {MANY:,} files vs {FEW}", "cpu", "ms CPU", samples[MANY], samples[FEW], Goal(1.3)),
    ]


def _until_told(madang: Madang, call: Call, watched: Contexts) -> Side:
    async def side() -> Sample:
        begun = time.process_time()
        await madang.provider.execute_tool(call, "add_todo", {"name": "one more"})
        await _until(watched, 1)
        spent = time.process_time() - begun
        await madang.provider.execute_tool(call, "clear_todos", {})
        await _until(watched, 0)
        return {"cpu": spent * 1e3}

    return side


async def _workspace(folders: Folders, calls: dict[int, Call], effort: Effort) -> list[Finding]:
    """The state of the workspace alone, where nothing changed and after each write."""
    engine, exports = FileEngine(folders), Exports(folders)
    looks = max(effort.calls // 5, 1)
    unchanged: dict[int, Side] = {}
    written: dict[int, Side] = {}
    for count, call in calls.items():
        await workspace_context(engine, exports, call)  # the walk over all files, once
        unchanged[count] = repeated(partial(workspace_context, engine, exports, call), looks)
        written[count] = _after_writes(engine, exports, call, looks)
    findings = []
    for what, sides in {"the workspace's state": unchanged, "the same after each write_file": written}.items():
        samples = await interleave(effort.rounds, sides)
        findings.append(
            compare(f"{what}, {MANY:,} files vs {FEW}", "cpu", "µs CPU", samples[MANY], samples[FEW], WORKSPACE)
        )
    return findings


def _after_writes(engine: FileEngine, exports: Exports, call: Call, looks: int) -> Side:
    async def side() -> Sample:
        spent = 0.0
        for _ in range(looks):
            engine.write(call, "0/written.txt", "x", "overwrite")
            begun = time.process_time()
            await workspace_context(engine, exports, call)
            spent += time.process_time() - begun
        return {"cpu": spent / looks * 1e6}

    return side


async def _at_once(madang: Madang, call: Call, effort: Effort) -> Finding:
    """How often the plan is told when ten to-dos come at once: changes that nobody read yet are coalesced."""
    samples: list[Sample] = []
    async with _watched(madang, call) as watched:
        for _ in range(effort.rounds):
            todos = (madang.provider.execute_tool(call, "add_todo", {"name": f"{n}"}) for n in range(AT_ONCE))
            _, tellings = await asyncio.gather(asyncio.gather(*todos), _until(watched, AT_ONCE))
            samples.append({"tellings": tellings})
            await madang.provider.execute_tool(call, "clear_todos", {})
            await _until(watched, 0)
    floor: list[Sample] = [{"tellings": AT_ONCE}] * effort.rounds
    what = f"{AT_ONCE} to-dos at once, how often the plan is told vs each by itself"
    return compare(what, "tellings", "tellings", samples, floor, Goal(1))


@asynccontextmanager
async def _watched(madang: Madang, call: Call) -> AsyncIterator[Contexts]:
    async with aclosing(madang.provider.watch_contexts(call)) as watched:
        await anext(watched)
        yield watched


async def _until(watched: Contexts, todos: int) -> int:
    """Read until the plan has so many to-dos, and return how often something was told until then."""
    tellings = 0
    async for changed in watched:
        tellings += 1
        plan = changed["planning"].structured_state if "planning" in changed else None
        if isinstance(plan, PlanState) and len(plan.todos) == todos:
            break
    return tellings


def _fill(folders: Folders, call: Call, count: int) -> None:
    with folders.of(call) as session:
        root = session.path / "files"
    for number in range(min(count, FOLDERS)):
        (root / str(number)).mkdir()
    for number in range(count):
        (root / str(number % FOLDERS) / f"{number}.txt").write_bytes(b"x")


WORKSPACE = Goal(3, promised=False)
"""Few files are all checked at each look; of many, as many as a look may check: some 200 questions to the disk."""
