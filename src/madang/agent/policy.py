"""What a run may do by itself, and for what the person is asked first.

Reading and changing what belongs to the session is allowed, also taking away what can be brought back. Asked for is
what takes away something that other sessions have, and what reaches beyond Madang. Once something was read that cannot
be trusted, what other sessions would notice is asked for too, and what leaves Madang is denied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from madang.agent.rules import NO_RULES, ApprovalRules
from madang.core.calls import Call
from madang.core.ids import AssistantId, UserId
from madang.core.phrases import say
from madang.core.tools import Tool
from madang.provider.policy import ALLOWED, Decision
from madang.storage.assistants import AssistantRecord
from madang.storage.sessions import SessionRecord

ASK_FIRST = "ask"
"""In an assistant's policy: the services for which the person is asked before anything is changed."""


class Decisions(Protocol):
    """What the person has allowed for good: a `DecisionStore`."""

    async def is_allowed(self, call: Call, tool: str) -> bool: ...


class Sessions(Protocol):
    """Where it is kept that something untrusted was read: a `SessionStore`."""

    async def get(self, call: Call) -> SessionRecord | None: ...


class Assistants(Protocol):
    """How assistants are set up: an `AssistantStore`."""

    async def get(self, user_id: UserId, assistant_id: AssistantId) -> AssistantRecord | None: ...


ServiceFinder = Callable[[str], str]
"""Returns the name of the service that a tool belongs to."""


class AgentPolicy:
    """Decides over the calls of our own model; those of people and of other programs are theirs to decide."""

    def __init__(self, rules: ApprovalRules = NO_RULES) -> None:
        self._rules = rules
        self._decisions: Decisions | None = None
        self._sessions: Sessions | None = None
        self._assistants: Assistants | None = None
        self._find_service: ServiceFinder = _no_service
        self._approved: set[str] = set()

    def connect(
        self, decisions: Decisions, sessions: Sessions, assistants: Assistants, find_service: ServiceFinder
    ) -> None:
        """Give it what it looks things up in, which is opened after it is made."""
        self._decisions, self._sessions, self._assistants = decisions, sessions, assistants
        self._find_service = find_service

    def approve(self, operation_id: str) -> None:
        """Allow one call of a run, which the person has agreed to."""
        self._approved.add(operation_id)

    async def decide(self, call: Call, tool: Tool, arguments: Mapping[str, Any]) -> Decision:
        if call.actor != "model":
            return ALLOWED
        if tool.name in self._rules.deny:
            return Decision("deny", say("'{tool}' is denied by a rule of the person's.", tool=tool.name))
        if tool.effect == "read" and not tool.open_world:
            return ALLOWED
        if call.operation_id and call.operation_id in self._approved:
            return ALLOWED
        is_tainted = await self._is_tainted(call)
        decision = decide_by_traits(tool, is_tainted=is_tainted)
        if decision.verdict == "allow" and await self._asks_first(call, tool):
            decision = Decision("ask", say("The assistant is set up to ask before it uses '{tool}'.", tool=tool.name))
        if decision.verdict == "ask" and tool.name in self._rules.allow_untrusted:
            return ALLOWED
        # What was allowed before something untrusted was read was not meant for what that may have asked for.
        if decision.verdict == "ask" and not is_tainted and await self._is_allowed(call, tool):
            return ALLOWED
        return decision

    async def _is_tainted(self, call: Call) -> bool:
        session = await self._sessions.get(call) if self._sessions else None
        return session is not None and session.is_tainted

    async def _asks_first(self, call: Call, tool: Tool) -> bool:
        """Tell whether the person wants to be asked before this assistant uses the tool's service."""
        if self._assistants is None or call.assistant_id is None:
            return False
        assistant = await self._assistants.get(call.user_id, call.assistant_id)
        return assistant is not None and self._find_service(tool.name) in assistant.policy.get(ASK_FIRST, ())

    async def _is_allowed(self, call: Call, tool: Tool) -> bool:
        if tool.name in self._rules.allow:
            return True
        return self._decisions is not None and await self._decisions.is_allowed(call, tool.name)


def _no_service(tool: str) -> str:
    return ""


def decide_by_traits(tool: Tool, *, is_tainted: bool) -> Decision:
    """Return what is decided of a tool by what it is. Pure."""
    if tool.open_world:
        if is_tainted:
            return Decision("deny", say("'{tool}' could send out what was read here.", tool=tool.name))
        return Decision("ask", say("'{tool}' reaches beyond Madang.", tool=tool.name))
    if tool.effect == "destroy" and tool.reach != "session" and not tool.restorable:
        return Decision("ask", say("'{tool}' takes away something for good.", tool=tool.name))
    if tool.effect != "read" and tool.reach != "session" and is_tainted:
        return Decision("ask", say("'{tool}' changes what other sessions use.", tool=tool.name))
    return ALLOWED
