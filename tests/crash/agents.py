"""Runs with a model that plays a story, in processes that are killed: another one goes on with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from madang import app
from madang.agent_app import Agent, open_agent
from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.core.pauses import PauseRecord
from madang.database.port import Database
from madang.llm.messages import Part, TextPart
from madang.llm.opening import OpenedModel
from madang.settings import Settings
from tests.agent.bench import Script, tool_call
from tests.agent.outside import Outside
from tests.crash.runs import MortalDatabase

PERSON = Call(assistant_id=AssistantId("default"), actor="person", door="host")
ASK = {"prompt": "Which tea?", "type": "text"}

STORIES: dict[str, list[Sequence[Part]]] = {
    "text": [[TextPart("Hello.")]],
    "effect": [[tool_call("add_todo", name="Buy tea")], [TextPart("Done.")]],
    "reads and effects": [
        [
            tool_call("get_current_state", "c1"),
            tool_call("add_todo", "c2", name="Buy tea"),
            tool_call("add_todo", "c3", name="Boil water"),
        ],
        [TextPart("Done.")],
    ],
    "question": [[tool_call("prompt_user", **ASK)], [TextPart("Fine.")]],
    "two questions and an effect": [
        [
            tool_call("prompt_user", "c1", **ASK),
            tool_call("add_todo", "c2", name="Buy tea"),
            tool_call("prompt_user", "c3", **ASK),
        ],
        [TextPart("Fine.")],
    ],
    "files": [
        [
            tool_call("write_file", "c1", path="a.md", content="one\n"),
            tool_call("write_file", "c2", path="a.md", content="two\n", mode="append"),
            tool_call("edit_file", "c3", path="a.md", edits=[{"oldText": "two", "newText": "two and three"}]),
            tool_call("move_file", "c4", source="a.md", target="b.md"),
            tool_call("write_file", "c5", path="c.md", content="gone\n"),
            tool_call("delete_file", "c6", path="c.md"),
            tool_call("export_file", "c7", path="b.md"),
        ],
        [TextPart("Done.")],
    ],
    "a shared write beside an untrusted read": [
        [
            tool_call("keyword_similarity_search", "c1", query="tea"),
            tool_call("create_playbook", "c2", goal="Brew tea", workflow=[]),
        ],
        [TextPart("Done.")],
    ],
    "approval": [[tool_call("erase", "c1", name="all")], [TextPart("Gone.")]],
}


@dataclass(frozen=True)
class AgentProcess:
    """Everything that one process has: the agent, and the person in front of it."""

    database: MortalDatabase
    agent: Agent

    async def tell(self, story: str, session: str, dies_at: str) -> int:
        """Have a story told from wherever it is to its end, being the person; return how many commits that took."""
        call = replace(PERSON, session_id=SessionId(session))
        self.database.count, self.database.dies_at = 0, dies_at
        if not await self.agent.stores.messages.read_page(call):
            await self.agent.runner.post(call, [TextPart("Tea, please")], model=story)
        async with asyncio.timeout(60):
            while run := await self._live_run(session):
                for pause in await self.agent.stores.pauses.list_by_run(call.user_id, run.id):
                    if pause.is_open and run.state == "waiting":
                        await self._answer(call, pause)
                await asyncio.sleep(0.01)
        return self.database.count

    async def _live_run(self, session: str) -> Any:
        runs = await self.agent.stores.runs.list_live(PERSON.user_id)
        return next((run for run in runs if run.session_id == session), None)

    async def _answer(self, call: Call, pause: PauseRecord) -> None:
        if pause.kind == "approval":
            await self.agent.stores.approvals.decide(call, pause.id, allow=True)
        else:
            arguments = {"messageId": pause.id, "answer": "oolong"}
            await self.agent.madang.provider.execute_tool(call, "reply_prompt", arguments)


@asynccontextmanager
async def open_process(where: str) -> AsyncIterator[AgentProcess]:
    """Open an agent on a data folder; `where` is its path, and behind a space the URL of a server, if there is one."""
    folder, _, url = where.partition(" ")
    databases: list[MortalDatabase] = []
    original = app._database

    def make(settings: Settings) -> Database:
        databases.append(MortalDatabase(original(settings)))
        return cast(Database, databases[-1])

    app._database = make
    try:
        async with open_agent(Settings(data_dir=Path(folder), database=url), _open_model) as agent:
            agent.madang.provider.register(Outside(Path(folder) / "erased"))
            yield AgentProcess(databases[0], agent)
    finally:
        app._database = original


def _open_model(name: str) -> OpenedModel:
    script = Script(*STORIES[name])
    script.by_history = True  # a next owner begins where the rows are
    return OpenedModel(script)
