"""The agent's own tools, for its models: finding what was said, and keeping a way of working.

It is registered where an agent runs, not for clients of `madang mcp`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from madang.agent.distil import distil
from madang.agent.offers import FoundOffers, ToolOffers
from madang.agent.rules import AGENT_TOOLS
from madang.core.calls import Call
from madang.core.documents import NOT_BLANK, Document
from madang.core.errors import InvalidArguments, NotFound
from madang.core.ids import SessionId
from madang.core.phrases import Phrase, Rows, layout, say
from madang.core.results import ToolResult
from madang.core.service import Service, ServiceMetadata
from madang.core.tools import tool, tools_of
from madang.records.runs.calls import CallStore
from madang.records.runs.message_search import MessageHit, MessageSearch

MAX_FOUND = 20

PlaybookCreator = Callable[[Call, Mapping[str, Any]], Awaitable[str]]
"""Makes a playbook of the arguments of `create_playbook`, and returns its id."""

Words = Annotated[str, Field(min_length=1, max_length=1_000), NOT_BLANK]
ToolName = Annotated[str, Field(min_length=1, max_length=200)]
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


class FoundTool(Document):
    name: str
    description: str
    parameters: dict[str, Any]


class FoundTools(Document):
    success: bool = True
    tools: list[FoundTool]
    others: list[str]


class AgentTools:
    """What a model can do with the history of its sessions."""

    def __init__(
        self,
        search: MessageSearch,
        calls: CallStore,
        create_playbook: PlaybookCreator,
        is_effect: Callable[[str], bool],
        offers: ToolOffers,
    ) -> None:
        self._search = search
        self._calls = calls
        self._create_playbook = create_playbook
        self._is_effect = is_effect
        self._offers = offers

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

    @tool(effect="read", only_in_runs=True)
    async def find_tools(self, call: Call, query: Words) -> ToolResult[FoundTools]:
        """Find tools that are not in your list, by what you want to do. Returns the schemas of the best and the names
        of others."""
        return _tools_found(query, await self._offers.find(call, query))

    @tool(effect="read", trusted=True, only_in_runs=True)
    async def use_tool(self, call: Call, name: ToolName, arguments: dict[str, Any]) -> ToolResult[Document]:
        """Call a tool that is not in your list, by its name, with its arguments as one object."""
        # A run calls the tool that is named in the place of this one: only what names none comes here.
        raise InvalidArguments(
            say("'{name}' cannot be called with 'use_tool'.", name=name),
            hint=say("Name a tool that 'find_tools' found, with its arguments as an object."),
        )


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


def _tools_found(query: str, offers: FoundOffers) -> ToolResult[FoundTools]:
    found = [FoundTool(name=one.name, description=one.description, parameters=dict(one.schema)) for one in offers.best]
    data = FoundTools(tools=found, others=list(offers.others))
    if not found:
        text: list[Phrase | Rows] = [say('No tool fits "{query}".', query=query)]
        return ToolResult(
            text, data, origins=(), next=[say("Say in other words what you want to do: names are English.")]
        )
    lines = [layout("{tool}", tool=json.dumps(one.model_dump(), ensure_ascii=False)) for one in found]
    text = [
        say('{count} tool(s) for "{query}", the best first:', count=len(found), query=query),
        Rows(lines, say("… and {left_out} more.")),
    ]
    if data.others:
        text.append(say("Others that may fit: {names}.", names=", ".join(data.others)))
    following = say("Call one with 'use_tool': its name, and its arguments as an object.")
    return ToolResult(text, data, origins=offers.origins, next=[following])
