"""What a run may do by itself, and for what the person is asked first.

Reading and changing what belongs to the session is allowed, also taking away what can be brought back. Asked for is
what takes something away for good, and what reaches beyond Madang. Once the model was shown something untrusted, what
other sessions would notice is asked for too, and nothing that was allowed before counts any more. What a call does
with the paths that it names comes before all of this (`path_policy`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from madang.agent.path_policy import GuardedPath, NamedPath, PathPolicy, Places, why_asked
from madang.agent.rules import NO_RULES, ApprovalRules
from madang.core.calls import Call, PathFilter
from madang.core.ids import AssistantId, UserId
from madang.core.phrases import Phrase, say
from madang.core.tools import Tool
from madang.core.trust import Origin, describe_origins
from madang.provider.policy import ALLOWED, Decision
from madang.records.assistants import AssistantRecord
from madang.records.session_rows import SessionRecord

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


Taint = tuple[Origin, ...]
"""Where the untrusted words came from that a session's model was shown, newest first. It may be empty: of older
sessions only that there were some is known."""

ServiceFinder = Callable[[str], str]
"""Returns the name of the service that a tool belongs to."""


class AgentPolicy:
    """Decides over the calls of our own model; those of people and of other programs are theirs to decide."""

    def __init__(self, rules: ApprovalRules = NO_RULES) -> None:
        self._rules = rules
        self._paths = PathPolicy(rules)
        self._decisions: Decisions | None = None
        self._sessions: Sessions | None = None
        self._assistants: Assistants | None = None
        self._find_service: ServiceFinder = _no_service

    def connect(
        self,
        decisions: Decisions,
        sessions: Sessions,
        assistants: Assistants,
        find_service: ServiceFinder,
        places: Places | None = None,
    ) -> None:
        """Give it what it looks things up in, which is opened after it is made."""
        if places is not None:
            self._paths.connect(places)
        self._decisions, self._sessions, self._assistants = decisions, sessions, assistants
        self._find_service = find_service

    async def decide(
        self, call: Call, tool: Tool, arguments: Mapping[str, Any], shown: Sequence[Origin] = ()
    ) -> Decision:
        if call.actor != "model":
            return ALLOWED
        if tool.name in self._rules.deny:
            return Decision("deny", say("'{tool}' is denied by a rule of the person's.", tool=tool.name))
        named = self._paths.named(call, tool, arguments)
        if (denied := self._paths.find_denied(tool, named)) is not None:
            what = say("'{tool}' is denied for '{path}' by a rule of the person's.", tool=tool.name, path=denied.path)
            return Decision("deny", what)
        if guarded := await self._find_guarded(call, tool, named, shown):
            # Of one call alone: whoever lets a tool read one such file has not let it read the next.
            return Decision("ask", why_asked(tool, guarded))
        if tool.effect == "read" and not tool.open_world:
            return ALLOWED
        taint = await self._taint(call, shown)
        decision = decide_by_traits(tool, taint)
        if decision.verdict == "allow" and await self._asks_first(call, tool):
            decision = Decision("ask", say("The assistant is set up to ask before it uses '{tool}'.", tool=tool.name))
        if decision.verdict == "ask" and tool.name in self._rules.allow_untrusted:
            return ALLOWED
        if decision.verdict == "ask" and self._paths.are_allowed(tool, named, is_tainted=taint is not None):
            return ALLOWED
        # What was allowed before something untrusted was read was not meant for what that may have asked for.
        if decision.verdict == "ask" and taint is None and await self._is_allowed(call, tool):
            return ALLOWED
        return decision

    async def find_hidden(self, call: Call, tool: Tool, arguments: Mapping[str, Any]) -> PathFilter | None:
        if call.actor != "model" or not {"read", "walk"} & set(tool.paths.values()):
            return None
        named = self._paths.named(call, tool, arguments)
        is_tainted = not self._paths.has_allowed(tool) or await self._taint(call, ()) is not None
        return self._paths.find_hidden(tool, named, is_tainted=is_tainted)

    async def _find_guarded(
        self, call: Call, tool: Tool, named: Sequence[NamedPath], shown: Sequence[Origin]
    ) -> list[GuardedPath]:
        guarded = self._paths.find_guarded(call, tool, named, is_tainted=True)
        if not guarded or not self._paths.has_allowed(tool) or await self._taint(call, shown) is not None:
            return guarded
        return self._paths.find_guarded(call, tool, named, is_tainted=False)

    async def _taint(self, call: Call, shown: Sequence[Origin]) -> Taint | None:
        session = await self._sessions.get(call) if self._sessions else None
        if not shown and (session is None or not session.is_tainted):
            return None
        return tuple(dict.fromkeys((*shown, *(session.origins if session else ()))))

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


def decide_by_traits(tool: Tool, taint: Taint | None) -> Decision:
    """Return what is decided of a tool by what it is, and by what its model was shown. Pure."""
    if tool.effect == "read" and not tool.open_world:
        return ALLOWED
    if tool.open_world:
        return _ask(say("'{tool}' reaches beyond Madang.", tool=tool.name), taint)
    if tool.effect == "destroy" and not tool.restorable:
        return _ask(say("'{tool}' takes away something for good.", tool=tool.name), taint)
    if tool.reach != "session" and taint is not None:
        return _ask(say("'{tool}' changes what other sessions use.", tool=tool.name), taint)
    return ALLOWED


def _ask(what: Phrase, taint: Taint | None) -> Decision:
    if not taint:
        return Decision("ask", what)
    origins = describe_origins(taint)
    return Decision(
        "ask",
        say("{what} It is asked because of what was read in this session: {origins}.", what=what, origins=origins),
    )
