"""The agent's own tools, for its models: finding what was said, and keeping a way of working.

It is registered where an agent runs, not for clients of `madang mcp`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from madang.agent.distil import distil
from madang.core.calls import Call
from madang.core.documents import NOT_BLANK, Document
from madang.core.errors import InvalidArguments, NotFound
from madang.core.ids import SessionId
from madang.core.phrases import Phrase, Rows, layout, say
from madang.core.results import ToolResult
from madang.core.service import Service, ServiceMetadata
from madang.core.tools import tool, tools_of
from madang.storage.runs.calls import CallStore
from madang.storage.runs.message_search import MessageHit, MessageSearch

MAX_FOUND = 20
AGENT_TOOLS = frozenset({"save_as_playbook", "search_messages"})

PlaybookCreator = Callable[[Call, Mapping[str, Any]], Awaitable[str]]
"""Makes a playbook of the arguments of `create_playbook`, and returns its id."""

Words = Annotated[str, Field(min_length=1, max_length=1_000), NOT_BLANK]
Goal = Annotated[str, Field(min_length=1, max_length=2_000), NOT_BLANK]


class FoundMessage(Document):
    session_id: str
    title: str
    role: str
    at: str
    excerpt: str


class FoundMessages(Document):
    success: bool = True
    messages: list[FoundMessage]


class SavedPlaybook(Document):
    success: bool = True
    id: str
    steps: int


class AgentTools:
    """What a model can do with the history of its sessions."""

    def __init__(
        self,
        search: MessageSearch,
        calls: CallStore,
        create_playbook: PlaybookCreator,
        is_effect: Callable[[str], bool],
    ) -> None:
        self._search = search
        self._calls = calls
        self._create_playbook = create_playbook
        self._is_effect = is_effect

    # What it finds may be a document or a page that somebody else wrote, read in another session.
    @tool(effect="read")
    async def search_messages(
        self, call: Call, query: Words, session_id: Annotated[str, Field(max_length=200)] = ""
    ) -> ToolResult[FoundMessages]:
        """Find earlier messages and tool results that have all words of a query, newest first, in all sessions or in
        one. Use it when the person refers to something that is not in this conversation."""
        assistant_id = call.assistant_id if call.actor == "model" else None
        hits = await self._search.search(
            call,
            query,
            session_id=SessionId(session_id) if session_id else None,
            assistant_id=assistant_id,
            limit=MAX_FOUND,
        )
        return _found(query, hits)

    @tool(effect="write", reach="assistant")
    async def save_as_playbook(
        self, call: Call, goal: Goal, from_run: Annotated[str, Field(max_length=100)] = ""
    ) -> ToolResult[SavedPlaybook]:
        """Keep what a run did as a playbook: this run, or the one with the given id. Use it when the person wants to
        repeat it."""
        run_id = from_run or call.run_id
        if not run_id:
            raise InvalidArguments(say("There is no run to take the steps from."), hint=say("Name one: fromRun."))
        calls = await self._calls.list_by_run(call.user_id, run_id)
        steps = distil(calls, self._is_effect, AGENT_TOOLS)
        if not steps:
            raise NotFound(
                say("The run did nothing that could be repeated."),
                hint=say("'create_playbook' takes steps of your own."),
            )
        id = await self._create_playbook(call, {"goal": goal, "workflow": steps})
        text: list[Phrase | Rows] = [
            say('Playbook saved: "{goal}" (ID: {id}), {count} step(s).', goal=goal, id=id, count=len(steps)),
            Rows([layout("- {step}", step=step["description"]) for step in steps], say("… and {left_out} more.")),
        ]
        return ToolResult(text, SavedPlaybook(id=id, steps=len(steps)))


class AgentService(Service):
    """The agent's own service. What it shows is kept elsewhere."""

    metadata = ServiceMetadata(
        name="agent",
        title=say("Agent"),
        description=say("Earlier conversations, and ways of working that are worth keeping."),
        version="1",
    )

    def __init__(self, tools: AgentTools) -> None:
        self.tools = tools_of(tools)


def _found(query: str, hits: Sequence[MessageHit]) -> ToolResult[FoundMessages]:
    messages = [
        FoundMessage(
            session_id=hit.session_id,
            title=hit.title,
            role=hit.message.role,
            at=hit.message.created_at,
            excerpt=hit.excerpt,
        )
        for hit in hits
    ]
    if not hits:
        return ToolResult([say('No message has all words of "{query}".', query=query)], FoundMessages(messages=[]))
    lines = [
        layout(
            "- {at} {session} ({role}): {excerpt}",
            at=message.at[:16],
            session=message.title or message.session_id,
            role=message.role,
            excerpt=message.excerpt,
        )
        for message in messages
    ]
    head = say('{count} message(s) with all words of "{query}", newest first:', count=len(hits), query=query)
    rest = say("… and {left_out} more: search with more words.")
    return ToolResult([head, Rows(lines, rest)], FoundMessages(messages=messages))
