"""Which tools are listed to the model of a session, and how the others are found.

All of them, as long as they are few for the model's window. Otherwise planning, questions and the services of what the
session has, as far as they fit; `find_tools` finds the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from madang.agent.found_tools import FIND_TOOLS, FINDERS
from madang.agent.history import count_tool
from madang.agent.sent_schemas import sent_description, sent_schema
from madang.agent.tool_search import ToolSearch
from madang.core.calls import Call
from madang.core.tools import MethodTool, Tool
from madang.core.trust import Origin
from madang.llm.base import OfferedTool
from madang.provider.policy import is_offered
from madang.provider.provider import Provider
from madang.records.runs.offers import OfferStore, ToolOffer

MAX_LISTED_TOKENS = 8_000
WINDOW_PART = 4
"""Of the model's window, a fourth at most is for tools."""
FIRST_SERVICES = ("planning", "ui")
MAX_SCHEMAS = 5
MAX_NAMES = 15


@dataclass(frozen=True, slots=True)
class FoundOffers:
    """Tools that fit a query, the best first."""

    best: Sequence[OfferedTool]
    others: Sequence[str]
    origins: tuple[Origin, ...]
    """Another server says what its tools are for: such words are not ours."""


class ToolOffers:
    """What the models of sessions are listed, and find."""

    def __init__(self, provider: Provider, store: OfferStore, search: ToolSearch) -> None:
        self._provider = provider
        self._store = store
        self._search = search

    async def settle(self, call: Call, window_tokens: int, factor: float = 1.0) -> ToolOffer:
        """Return the list of the call's session, which is settled by the first who asks.

        `factor` is how many tokens the model counts for one of our estimate.
        """
        known = await self._store.find(call)
        if known is not None:
            return known
        hidden = await self._provider.needless_arguments(call)
        tools = await offered_tools(self._provider, call)
        tokens = {tool.name: count_tool(offer_tool(tool, hidden)) * factor for tool in tools}
        limit = min(MAX_LISTED_TOKENS, window_tokens // WINDOW_PART)
        if sum(tokens.values()) <= limit:
            return await self._store.settle(call, ToolOffer(hidden=sorted(hidden)))
        contexts = await self._provider.service_contexts(call)
        present = [name for name, context in contexts.items() if context.context_prompt or context.summary]
        listed: set[str] = set()
        for service in dict.fromkeys((*FIRST_SERVICES, *present)):
            for tool in tools:
                if self._provider.find_service_name(tool.name) == service and tokens[tool.name] <= limit:
                    listed.add(tool.name)
                    limit -= int(tokens[tool.name])
        names = [tool.name for tool in tools if tool.name in listed]
        behind = dict.fromkeys(self._provider.find_service_name(tool.name) for tool in tools if tool.name not in listed)
        return await self._store.settle(call, ToolOffer(listed=names, behind=list(behind), hidden=sorted(hidden)))

    async def find(self, call: Call, query: str) -> FoundOffers:
        """Return the tools that fit a query.

        Raises:
            LimitExceeded, Unavailable: the query cannot be analyzed now.
        """
        offer = await self._store.find(call) or ToolOffer()
        tools = await offered_tools(self._provider, call)
        found = await self._search.search(call, tools, query)
        told = found[: MAX_SCHEMAS + MAX_NAMES]
        return FoundOffers(
            [offer_tool(tool, offer.hidden) for tool in told[:MAX_SCHEMAS]],
            [tool.name for tool in told[MAX_SCHEMAS:]],
            tuple(Origin("tool", tool.name) for tool in told if not isinstance(tool, MethodTool)),
        )


async def offered_tools(provider: Provider, call: Call) -> list[Tool]:
    """Return the tools that a run's model may call, in a fixed order, without those that find others."""
    return [tool for tool in await _callable_tools(provider, call) if tool.name not in FINDERS]


async def _can_find(provider: Provider, call: Call) -> bool:
    """Tell whether the assistant may use `find_tools`: without it, what is not listed is out of reach."""
    return any(tool.name == FIND_TOOLS for tool in await _callable_tools(provider, call))


async def _callable_tools(provider: Provider, call: Call) -> list[Tool]:
    return [tool for tool in await provider.available_tools(call) if is_offered(call, tool)]


async def list_offer(provider: Provider, call: Call, offer: ToolOffer) -> list[OfferedTool]:
    """Return the tools that a model is sent by its session's offer: the same each time, as far as they are there."""
    if offer.listed is None or not await _can_find(provider, call):
        return [offer_tool(tool, offer.hidden) for tool in await offered_tools(provider, call)]
    listed = {*offer.listed, *FINDERS}
    sent = [offer_tool(tool, offer.hidden) for tool in await _callable_tools(provider, call) if tool.name in listed]
    return [_with_services(tool, provider, offer) if tool.name == FIND_TOOLS else tool for tool in sent]


def offer_tool(tool: Tool, hidden: Sequence[str] | frozenset[str] = ()) -> OfferedTool:
    """Return a tool as a model is sent it, without the optional arguments in `hidden`. Another server's words stay."""
    if isinstance(tool, MethodTool):
        return _offer_own(tool.name, tool.description, _Same(tool.input_schema), tuple(hidden))
    return OfferedTool(tool.name, tool.description, sent_schema(tool.input_schema, hidden))


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """A schema that is equal to itself alone: it is built once for each tool, and comparing takes as long."""

    schema: Mapping[str, Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.schema is other.schema

    def __hash__(self) -> int:
        return id(self.schema)


@lru_cache(maxsize=1_000)
def _offer_own(name: str, description: str, same: _Same, hidden: tuple[str, ...]) -> OfferedTool:
    """Return one of our own tools, which every request has: making them anew takes as long as the rest of it."""
    return OfferedTool(name, sent_description(description, same.schema, hidden), sent_schema(same.schema, hidden))


def _with_services(tool: OfferedTool, provider: Provider, offer: ToolOffer) -> OfferedTool:
    """Return `find_tools` with what it finds: a model does not look for what it does not expect."""
    services = [(name, provider.get_service_metadata(name)) for name in offer.behind]
    lines = [f"{name} ({str(metadata.description).rstrip('.')})" for name, metadata in services if metadata]
    return replace(tool, description=f"{tool.description} It has tools of: {', '.join(lines)}.") if lines else tool
