"""An agent before a model's server on loopback that plays a story, and the person in front of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from madang.agent_app import Agent, open_agent
from madang.core.calls import Call
from madang.core.ids import SessionId
from madang.core.pauses import PauseRecord
from madang.core.results import Reply
from madang.llm.messages import TextPart
from madang.llm.opening import OpenedModel, Prices
from madang.records.runs.records import Run
from madang.settings import Settings
from tests.agent.bench import ME, eventually
from tests.agent.outside import Outside, OutsideTools
from tests.llm.adapters import ADAPTERS, QUICK
from tests.model_server import ModelServer, story
from tests.model_wires import Ask, Piece


def ask(tool: str, /, **arguments: Any) -> Ask:
    return Ask(tool, json.dumps(arguments, ensure_ascii=False))


@dataclass
class Stage:
    """What a story is played on."""

    agent: Agent
    server: ModelServer
    settings: Settings
    wire: str
    outside: OutsideTools

    async def say(self, text: str, call: Call = ME) -> Run:
        """Write a message, and return the session's run once nothing works on it."""
        await self.agent.runner.post(call, [TextPart(text)])
        return await self.settled(call)

    async def settled(self, call: Call = ME) -> Run:
        """Return the session's last run once it waits for something that is open, or is over."""

        async def read() -> Run:
            rows = await self.agent.madang.database.find(
                "SELECT run.id FROM run JOIN session ON session.no = run.session_no "
                "WHERE session.id = ?1 ORDER BY run.no DESC LIMIT 1",
                call.session,
                user_id=call.user_id,
            )
            run = await self.agent.stores.runs.get(call.user_id, rows[0][0])
            assert run is not None
            return run

        async def is_settled(run: Run) -> bool:
            # A run that waits for nothing that is open is about to go on.
            return run.state != "running" and (run.state != "waiting" or bool(await self.open_pauses(run)))

        async def read_settled() -> Run | None:
            run = await read()
            return run if await is_settled(run) else None

        run = await eventually(read_settled, lambda run: run is not None)
        assert run is not None
        return run

    async def over(self, call: Call = ME) -> Run:
        """Return the session's last run once it is over."""
        return await eventually(lambda: self.settled(call), lambda run: run.state != "waiting")

    async def pauses(self, run: Run) -> list[PauseRecord]:
        return await self.agent.stores.pauses.list_by_run(run.user_id, run.id)

    async def open_pauses(self, run: Run) -> list[PauseRecord]:
        return [pause for pause in await self.pauses(run) if pause.is_open]

    async def call(self, tool: str, /, call: Call = ME, **arguments: Any) -> Reply:
        """Do something as the person, from a page or a panel."""
        return await self.agent.madang.provider.execute_tool(call, tool, arguments)

    async def select(self, run: Run, id: str) -> Reply:
        """Press the button of a playbook, in the page that the run has shown."""
        [pause] = await self.open_pauses(run)
        return await self.call("select_playbook", id=id, pauseId=pause.id)

    async def playbook(self, goal: str) -> str:
        """Have a playbook, made in another session, and return its id."""
        elsewhere = replace(ME, session_id=SessionId("elsewhere"))
        created = await self.call("create_playbook", elsewhere, goal=goal, workflow=[])
        id: str = created.data["playbook"]["id"]
        return id

    @property
    def request_count(self) -> int:
        return len(self.server.requests)

    def fail(self) -> OpenedModel:
        """Be the model of a process that must not ask one."""
        raise AssertionError

    async def asked(self, count: int) -> None:
        """Wait until the model was asked so often."""

        async def read() -> int:
            return self.request_count

        await eventually(read, lambda now: now >= count)

    def texts(self, number: int = -1) -> list[str]:
        """Return every text of a request, by default the last."""
        return list(_strings(self.server.requests[number].body))

    def count(self, words: str, number: int = -1) -> int:
        """Return how often words are in a request."""
        return sum(text.count(words) for text in self.texts(number))

    def results(self, number: int = -1) -> list[str]:
        """Return the results of calls in a request, oldest first."""
        body = self.server.requests[number].body
        if self.wire == "anthropic":
            blocks = [block for message in body["messages"] for block in _blocks(message["content"])]
            return ["".join(_strings(block["content"])) for block in blocks if block["type"] == "tool_result"]
        return ["".join(_strings(one["content"])) for one in body["messages"] if one["role"] == "tool"]


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


@asynccontextmanager
async def open_stage(
    folder: Path, wire: str, *turns: Sequence[Piece], prices: Prices | None = None
) -> AsyncIterator[Stage]:
    """Open an agent with a story for a model; `wire` names the adapter."""
    settings = Settings(data_dir=folder, model="stub")
    async with ModelServer() as server:
        server.plays(story(*turns))

        def open_model(name: str) -> OpenedModel:
            return OpenedModel(ADAPTERS[wire].make(server.url, name, QUICK), prices=prices)

        async with open_agent(settings, open_model) as agent:
            outside = Outside()
            agent.madang.provider.register(outside)
            yield Stage(agent, server, settings, wire, outside.holder)
