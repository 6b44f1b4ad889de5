"""Sessions over the API: beginning, changing, forking and deleting them."""

from __future__ import annotations

from dataclasses import replace

from madang.agent.runner import Runner
from madang.core.calls import Call
from madang.core.errors import NotFound
from madang.core.ids import AssistantId, SessionId, new_id
from madang.core.phrases import say
from madang.database.port import Database
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.session_answers import read_session_answers
from madang.host.wire import Done, ForkBody, NewSessionBody, SessionAnswer, SessionPatch
from madang.provider.sessions import SessionOperations
from madang.records.assistants import AssistantStore
from madang.records.session_rows import SessionRecord
from madang.records.sessions import SessionStore


class SessionApi:
    """The operations on one session."""

    def __init__(
        self,
        calls: HostCalls,
        sessions: SessionStore,
        *,
        database: Database,
        assistants: AssistantStore,
        operations: SessionOperations,
        runner: Runner,
    ) -> None:
        self._calls = calls
        self._sessions = sessions
        self._database = database
        self._assistants = assistants
        self._operations = operations
        self._runner = runner

    def operations(self) -> list[Operation]:
        one = "/api/sessions/{id}"
        return [
            Operation("POST", "/api/sessions", self.create, SessionAnswer, NewSessionBody, status=201),
            Operation("GET", one, self.get, SessionAnswer),
            Operation("PATCH", one, self.change, SessionAnswer, SessionPatch),
            Operation("DELETE", one, self.delete, Done),
            Operation("POST", f"{one}/fork", self.fork, SessionAnswer, ForkBody, status=201),
        ]

    async def create(self, request: ApiRequest) -> SessionAnswer:
        """Begin a session."""
        body: NewSessionBody = request.body
        call = self._calls.call_of(request.request)
        if body.assistant_id and body.assistant_id != call.assistant_id:
            if await self._assistants.get(call.user_id, AssistantId(body.assistant_id)) is None:
                raise NotFound(say("There is no such assistant."))
            call = replace(call, assistant_id=AssistantId(body.assistant_id))
        call = replace(call, session_id=SessionId(new_id()))
        session = await self._sessions.create(call, title=body.title)
        if body.locale is not None:
            session = await self._sessions.set_locale(call, body.locale)
        return await self._answer(call, session)

    async def get(self, request: ApiRequest) -> SessionAnswer:
        """Return one session."""
        return await self._answer(*await self._calls.session_of(request.request, request.path("id")))

    async def change(self, request: ApiRequest) -> SessionAnswer:
        """Change what is given of a session: title, language, whether it is pinned or archived."""
        body: SessionPatch = request.body
        call, session = await self._calls.session_of(request.request, request.path("id"))
        sessions = self._sessions
        if body.title is not None:
            session = await sessions.rename(call, body.title)
        if body.is_archived is not None:
            session = await sessions.set_archived(call, body.is_archived)
        if body.is_pinned is not None:
            session = await sessions.set_pinned(call, body.is_pinned)
        if body.locale is not None:
            session = await sessions.set_locale(call, body.locale)
        return await self._answer(call, session)

    async def delete(self, request: ApiRequest) -> Done:
        """Delete a session with all that is kept of it. A run that is not over is stopped first."""
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        await self._runner.cancel_live(call)
        await self._operations.forget(call)
        return Done()

    async def fork(self, request: ApiRequest) -> SessionAnswer:
        """Branch off a new session after a message, or before one of the person's."""
        body: ForkBody = request.body
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        target = SessionId(new_id())
        fork = await self._operations.fork(call, target, body.message_id, before=body.before)
        return await self._answer(replace(call, session_id=target), fork)

    async def _answer(self, call: Call, session: SessionRecord) -> SessionAnswer:
        [answer] = await read_session_answers(self._database, call, [session])
        return answer
