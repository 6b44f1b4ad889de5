"""An agent with a script for a model, for tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from madang.agent.runner import Runner
from madang.agent.stores import RunStores
from madang.agent_app import open_agent
from madang.app import Madang
from madang.core.calls import Call, Locale
from madang.core.ids import AssistantId, SessionId
from madang.core.pauses import PauseRecord
from madang.llm.base import Model, ModelAnswer, ModelDelta, ModelRequest, Streamed
from madang.llm.messages import CallPart, Part, ResultPart, TextPart
from madang.llm.opening import OpenedModel
from madang.records.events import EventLog
from madang.records.runs.message_search import MessageSearch
from madang.records.runs.records import Run
from madang.settings import Settings

T = TypeVar("T")


async def eventually(read: Callable[[], Awaitable[T]], holds: Callable[[T], bool]) -> T:
    """Read until what is read is as it should be, and return it."""
    async with asyncio.timeout(60):
        while True:
            value = await read()
            if holds(value):
                return value
            await asyncio.sleep(0.02)


ME = Call(assistant_id=AssistantId("default"), session_id=SessionId("tea"), door="host", actor="person")


def tool_call(tool: str, call_id: str = "c1", /, **arguments: Any) -> CallPart:
    return CallPart(call_id, tool, json.dumps(arguments))


class Script(Model):
    """Answers with what is written, one answer a request, and keeps the requests."""

    provider, name, label = "script", "script", "script"

    def __init__(self, *answers: Sequence[Part]) -> None:
        self._answers = answers
        self.requests: list[ModelRequest] = []
        self.by_history = False
        """Choose the answer by how many there were, not by how often it was asked."""

    async def stream(self, request: ModelRequest) -> Streamed:
        count = sum(message.role == "assistant" for message in request.messages)
        place = count if self.by_history else len(self.requests)
        parts = tuple(self._answers[min(place, len(self._answers) - 1)])
        self.requests.append(request)
        for part in parts:
            if isinstance(part, TextPart):
                yield ModelDelta("text", part.text)
        calls = any(isinstance(part, CallPart) for part in parts)
        yield ModelAnswer(parts, "tool_calls" if calls else "stop")


@dataclass
class Bench:
    madang: Madang
    runner: Runner
    stores: RunStores
    events: EventLog
    search: MessageSearch
    model: Script

    async def say(self, text: str) -> Run | None:
        run = await self.runner.post(ME, [TextPart(text)])
        await self.runner.wait_idle()
        return None if run is None else await self.run(run)

    async def run(self, run: Run) -> Run:
        now = await self.stores.runs.get(run.user_id, run.id)
        assert now is not None
        return now

    async def ended(self, run: Run) -> Run:
        """Wait for the end of a run that has something to go on with."""
        return await eventually(lambda: self.run(run), lambda now: now.state not in ("running", "waiting"))

    async def open_pauses(self, run: Run) -> list[PauseRecord]:
        """Wait until the run has asked something that is open, and return that."""

        async def read() -> list[PauseRecord]:
            return [pause for pause in await self.stores.pauses.list_by_run(run.user_id, run.id) if pause.is_open]

        return await eventually(read, bool)

    def results(self) -> list[ResultPart]:
        """Return the results that the last request ended with."""
        [*_, last] = [message for message in self.model.requests[-1].messages if message.role == "tool"]
        return [part for part in last.parts if isinstance(part, ResultPart)]

    async def kinds(self) -> list[str]:
        return [event.kind for event in (await self.events.read(ME)).events]


@asynccontextmanager
async def bench(
    folder: Path,
    *answers: Sequence[Part],
    window_tokens: int | None = None,
    script: Script | None = None,
    url: str = "",
    locale: Locale = "en",
) -> AsyncIterator[Bench]:
    """Open an agent with a script for a model; without answers the person is the model."""
    model = script or Script(*answers)
    settings = Settings(data_dir=folder, model="script" if answers or script else "", database=url, locale=locale)
    async with open_agent(settings, lambda name: OpenedModel(model, window_tokens=window_tokens)) as agent:
        yield Bench(agent.madang, agent.runner, agent.stores, agent.events, agent.search, model)
