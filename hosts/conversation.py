"""A model's request and reply, whatever wire they came over, and the scripted choice of the reply.

The model keeps no state: the step it is at is the number of our tools that were called in the request's history.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hosts.script import SERVER, STEPS, Arguments, Step

MAX_SEARCHES = 12
"""How often the model looks for a deferred tool: hosts that do not wait for a server find nothing until it is up."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as the request offers it. Hosts with namespaces give the name of the group apart."""

    name: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """A tool call of the history with its result, as the model reads it."""

    name: str
    arguments: Arguments
    result: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a request gives to the model."""

    offers: Sequence[Offer]
    turns: Sequence[Turn]

    @property
    def is_waiting(self) -> bool:
        """Whether the model has looked for its tool before and has to look again."""
        return bool(self.turns) and self.turns[-1].name in (*_SEARCH_TOOLS, *_IDLE_TOOLS)

    @property
    def results(self) -> list[str]:
        """The results of our tools so far."""
        return [turn.result for turn in self.turns if _is_ours(turn)]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The reply that asks for one tool."""

    name: str
    arguments: Arguments
    namespace: str = ""


Reply = ToolCall | str
"""What the model says: a call, or a text that ends the run."""

_SEARCH_TOOLS = ("ToolSearch", "tool_search")
_PROXY_TOOL = "tool_call"
# Tools that change nothing: a host that goes on before its servers are up is asked for one, and then for ours again.
_IDLE_TOOLS = ("list_mcp_resources", "ListMcpResourcesTool")


def next_reply(conversation: Conversation, steps: Sequence[Step] = STEPS) -> Reply:
    """Return the next call of the script, the search for its tool where the host defers tools, or the end."""
    if not conversation.offers:
        return "Bread"  # requests for a title, a summary or a route
    given = conversation.results
    if len(given) >= len(steps):
        return "Done."
    step = steps[len(given)]
    arguments = step.arguments(given)
    offer = _find(conversation.offers, step.tool)
    if offer is not None:
        return ToolCall(offer.name, arguments, offer.namespace)
    return _deferred(conversation, step.tool, arguments)


def _find(offers: Sequence[Offer], tool: str) -> Offer | None:
    """Find our tool, not the host's own of the same name: only hosts without prefixes and searches name it barely."""
    ours = [offer for offer in offers if SERVER in f"{offer.namespace}{offer.name}"]
    if not ours and not any(offer.name in _SEARCH_TOOLS for offer in offers):
        return next((offer for offer in offers if offer.name == tool), None)
    return next((offer for offer in ours if offer.name.endswith(tool)), None)


def _deferred(conversation: Conversation, tool: str, arguments: Arguments) -> Reply:
    """Search for a tool that is not listed; call it by the name that a search brought."""
    names = [offer.name for offer in conversation.offers]
    search = next((name for name in (*_SEARCH_TOOLS, *_IDLE_TOOLS) if name in names), None)
    searches = [turn for turn in conversation.turns if turn.name in (*_SEARCH_TOOLS, *_IDLE_TOOLS)]
    full_name = f"mcp__{SERVER}__{tool}"
    is_known = any(full_name in turn.result for turn in searches)
    if is_known and _PROXY_TOOL in names:
        return ToolCall(_PROXY_TOOL, {"name": full_name, "arguments": arguments})
    if is_known:
        return ToolCall(full_name, arguments)
    if search is None or len(searches) >= MAX_SEARCHES:
        return f"There is no tool {tool}: {names}"
    if search in _IDLE_TOOLS:
        return ToolCall(search, {})
    wanted = sorted({f"mcp__{SERVER}__{step.tool}" for step in STEPS})
    return ToolCall(search, {"query": f"select:{','.join(wanted)}", "max_results": 20})


def _is_ours(turn: Turn) -> bool:
    name = str(turn.arguments.get("name", "")) if turn.name == _PROXY_TOOL else turn.name
    return any(name == step.tool or (SERVER in name and name.endswith(step.tool)) for step in STEPS)


def flatten(content: Any) -> str:
    """Return what a result's content says to the model: its texts, and anything else as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(flatten(part) for part in content)
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return str(content["text"])
    return json.dumps(content, ensure_ascii=False)


def parsed(arguments: Any) -> Arguments:
    """Return a call's arguments as an object, also when the wire has them as JSON in a string."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return {}
    return arguments if isinstance(arguments, dict) else {}
