"""What the person has allowed for more than one call, over the API: listing it and taking it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.ids import AssistantId, SessionId
from madang.core.phrases import say
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.wire import Done
from madang.host.wire_assistants import DecisionAnswer, DecisionsAnswer, ForgetDecisionQuery
from madang.records.decisions import Decision, DecisionStore
from madang.records.sessions import SessionStore


class DecisionApi:
    """The operations on decisions that are remembered."""

    def __init__(self, calls: HostCalls, decisions: DecisionStore, sessions: SessionStore) -> None:
        self._calls = calls
        self._decisions = decisions
        self._sessions = sessions

    def operations(self) -> list[Operation]:
        path = "/api/decisions"
        return [
            Operation("GET", path, self.list_decisions, DecisionsAnswer, id="AssistantApi_list_decisions"),
            Operation("DELETE", path, self.forget, Done, query=ForgetDecisionQuery, id="AssistantApi_forget"),
        ]

    async def list_decisions(self, request: ApiRequest) -> DecisionsAnswer:
        """List all that the person has allowed for more than one call, newest first."""
        call = self._calls.call_of(request.request)
        return DecisionsAnswer(decisions=await read_decisions(call, self._decisions, self._sessions))

    async def forget(self, request: ApiRequest) -> Done:
        """Take back what was allowed: the next call of the tool asks again."""
        query: ForgetDecisionQuery = request.query
        call = self._calls.call_of(request.request)
        if query.scope == "session":
            call = replace(call, session_id=SessionId(query.scope_id))
        else:
            call = replace(call, assistant_id=AssistantId(query.scope_id))
        if not await self._decisions.forget(call, query.scope, query.tool):
            raise NotFound(say("This was not allowed, or was taken back already."))
        return Done()


async def read_decisions(call: Call, store: DecisionStore, sessions: SessionStore) -> list[DecisionAnswer]:
    """Return all that the person has allowed for more than one call, newest first, with where it was."""
    decisions = await store.list_all(call.user_id)
    places = await _places_of(call, decisions, sessions)
    answers = []
    for one in decisions:
        title, owner = places.get(one.scope_id, ("", "")) if one.scope == "session" else ("", one.scope_id)
        answers.append(
            DecisionAnswer(
                scope=one.scope,
                scope_id=one.scope_id,
                session_title=title,
                assistant_id=owner,
                tool=one.tool,
                decided_at=one.decided_at,
            )
        )
    return answers


async def _places_of(call: Call, decisions: Sequence[Decision], sessions: SessionStore) -> dict[str, tuple[str, str]]:
    """Return title and assistant of the sessions in which something was allowed."""
    places: dict[str, tuple[str, str]] = {}
    for id in {one.scope_id for one in decisions if one.scope == "session"}:
        session = await sessions.get(replace(call, session_id=SessionId(id)))
        if session is not None:
            places[id] = session.title, session.assistant_id or call.assistant
    return places
