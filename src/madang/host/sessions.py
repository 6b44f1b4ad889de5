"""Sessions over the API: listing, searching, changing, forking and deleting them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from madang import __version__
from madang.core.calls import LOCALES, Call
from madang.core.errors import NotFound
from madang.core.ids import AssistantId, SessionId, new_id
from madang.core.pauses import PauseRecord
from madang.core.phrases import say
from madang.host.api import ApiRequest, Operation
from madang.host.parts import HostParts
from madang.host.wire import (
    AssistantAnswer,
    Done,
    ForkBody,
    MeAnswer,
    ModelChoice,
    NewSessionBody,
    RunAnswer,
    SessionAnswer,
    SessionHit,
    SessionPatch,
    SessionsAnswer,
    SessionSize,
    SessionsQuery,
)
from madang.records.client_calls import SEEN_DAYS, ClientCalls
from madang.records.overview import read_overview
from madang.records.runs.message_search import MAX_HITS, MessageHit
from madang.records.runs.records import Run
from madang.records.sessions import SessionRecord
from madang.system.clock import format_timestamp, now


class SessionApi:
    """The operations on sessions."""

    def __init__(self, parts: HostParts) -> None:
        self._parts = parts
        self._clients = ClientCalls(parts.database, parts.audit)

    def operations(self) -> list[Operation]:
        one = "/api/sessions/{id}"
        return [
            Operation("GET", "/api/me", self.me, MeAnswer),
            Operation("GET", "/api/sessions", self.list_sessions, SessionsAnswer, query=SessionsQuery),
            Operation("POST", "/api/sessions", self.create, SessionAnswer, NewSessionBody, status=201),
            Operation("GET", one, self.get, SessionAnswer),
            Operation("PATCH", one, self.change, SessionAnswer, SessionPatch),
            Operation("DELETE", one, self.delete, Done),
            Operation("POST", f"{one}/fork", self.fork, SessionAnswer, ForkBody, status=201),
        ]

    async def me(self, request: ApiRequest) -> MeAnswer:
        """Return what a tab needs to know before it draws anything."""
        parts = self._parts
        assistants = await parts.assistants.list_all(parts.calls.call.user_id)
        listed = [AssistantAnswer(id=one.id, name=one.name, model=one.model) for one in assistants]
        own = parts.calls.call.assistant_id or ""
        if own not in [one.id for one in listed]:
            listed.insert(0, AssistantAnswer(id=own, name="", model=""))
        return MeAnswer(
            version=__version__,
            locale=parts.calls.call.locale,
            locales=list(LOCALES),
            model=parts.model,
            is_model_fixed=bool(parts.catalogue.fixed),
            models=[await self._model(name, label) for name, label in parts.models.items()],
            assistants=listed,
            assistant_id=own,
            data_dir=str(parts.data_dir),
            content_origin=parts.content_origin,
            tool_count=len(await parts.provider.available_tools(parts.calls.call)),
        )

    async def _model(self, name: str, label: str) -> ModelChoice:
        config = self._parts.catalogue.configs.get(name)
        learnt = await self._parts.stores.usage.get_calibration(self._parts.calls.call.user_id, name)
        told = (config.window_tokens if config else None) or self._parts.open_models.find_window(name)
        known = [tokens for tokens in (told, learnt.window_tokens) if tokens]
        return ModelChoice(name=name, label=label, context_tokens=min(known, default=None))

    async def list_sessions(self, request: ApiRequest) -> SessionsAnswer:
        """List sessions, newest first; with a query, those whose title or messages have its words."""
        query: SessionsQuery = request.query
        call = self._parts.calls.call_of(request.request)
        if query.query.strip() and query.session:
            return await self._search_one(call, query)
        if query.query.strip():
            return await self._search(call, query)
        page = await self._parts.sessions.list_page(
            call.user_id, query.after, query.limit, archived=bool(query.archived), assistant_id=query.assistant
        )
        return SessionsAnswer(
            sessions=await self._answers(call, page.items),
            next=page.next,
            hits=[],
            has_more_hits=False,
            sizes=await self._sizes(call, page.items) if query.sized else [],
        )

    async def _search(self, call: Call, query: SessionsQuery) -> SessionsAnswer:
        """Return the sessions that have the words, all on one page: the newest of them if there are too many."""
        words, is_archived, sessions = query.query.strip(), bool(query.archived), self._parts.sessions
        by_title = await sessions.find_by_title(call.user_id, words, archived=is_archived, limit=query.limit)
        hits = await self._parts.search.search(call, words, limit=MAX_HITS)
        by_message = await sessions.find(call.user_id, list({hit.session_id for hit in hits}))
        matches = {
            one.id: one
            for one in [*by_title, *by_message]
            if one.is_archived is is_archived and query.assistant in (None, one.assistant_id)
        }
        newest = sorted(matches.values(), key=lambda one: (one.last_at, one.id), reverse=True)[: query.limit]
        return SessionsAnswer(
            sessions=await self._answers(call, newest),
            next="",
            hits=[_hit(hit) for hit in hits if hit.session_id in matches],
            has_more_hits=len(hits) == MAX_HITS,
            sizes=await self._sizes(call, newest) if query.sized else [],
        )

    async def _search_one(self, call: Call, query: SessionsQuery) -> SessionsAnswer:
        """Return what a session shows that has the words, with messages of its parents."""
        session = await self._parts.sessions.get(replace(call, session_id=SessionId(query.session)))
        found = [session] if session is not None else []
        id = SessionId(query.session)
        hits = await self._parts.search.search(call, query.query, session_id=id, limit=MAX_HITS) if found else []
        return SessionsAnswer(
            sessions=await self._answers(call, found),
            next="",
            hits=[_hit(hit) for hit in hits],
            has_more_hits=len(hits) == MAX_HITS,
            sizes=[],
        )

    async def _sizes(self, call: Call, sessions: list[SessionRecord]) -> list[SessionSize]:
        sizes = await self._parts.stores.messages.count(call.user_id, [one.id for one in sessions])
        foreign: Counter[str] = Counter()
        if any(one.client for one in sessions):
            since = format_timestamp(now() - timedelta(days=SEEN_DAYS))
            for used in await self._clients.list_sessions(call.user_id, since):
                foreign[used.session_id] += used.calls
        return [
            SessionSize(session_id=id, messages=size.messages, calls=size.calls + foreign[id])
            for id, size in sizes.items()
        ]

    async def create(self, request: ApiRequest) -> SessionAnswer:
        """Begin a session."""
        body: NewSessionBody = request.body
        call = self._parts.calls.call_of(request.request)
        if body.assistant_id and body.assistant_id != call.assistant_id:
            if await self._parts.assistants.get(call.user_id, AssistantId(body.assistant_id)) is None:
                raise NotFound(say("There is no such assistant."))
            call = replace(call, assistant_id=AssistantId(body.assistant_id))
        call = replace(call, session_id=SessionId(new_id()))
        session = await self._parts.sessions.create(call, title=body.title)
        if body.locale is not None:
            session = await self._parts.sessions.set_locale(call, body.locale)
        return await self._answer(call, session)

    async def get(self, request: ApiRequest) -> SessionAnswer:
        """Return one session."""
        return await self._answer(*await self._parts.calls.session_of(request.request, request.path("id")))

    async def change(self, request: ApiRequest) -> SessionAnswer:
        """Change what is given of a session: title, language, whether it is pinned or archived."""
        body: SessionPatch = request.body
        call, session = await self._parts.calls.session_of(request.request, request.path("id"))
        sessions = self._parts.sessions
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
        call, _ = await self._parts.calls.session_of(request.request, request.path("id"))
        run = await self._parts.stores.runs.get_live(call)
        if run is not None:
            await self._parts.runner.cancel(call.user_id, run.id)
        await self._parts.operations.forget(call)
        return Done()

    async def fork(self, request: ApiRequest) -> SessionAnswer:
        """Branch off a new session after a message, or before one of the person's."""
        body: ForkBody = request.body
        call, _ = await self._parts.calls.session_of(request.request, request.path("id"))
        target = SessionId(new_id())
        fork = await self._parts.operations.fork(call, target, body.message_id, before=body.before)
        return await self._answer(replace(call, session_id=target), fork)

    async def _answer(self, call: Call, session: SessionRecord) -> SessionAnswer:
        [answer] = await self._answers(call, [session])
        return answer

    async def _answers(self, call: Call, sessions: list[SessionRecord]) -> list[SessionAnswer]:
        rows = await read_overview(self._parts.database, call.user_id, ())
        return session_answers(sessions, rows.runs, rows.pauses)


def session_answers(
    sessions: Iterable[SessionRecord], runs: Iterable[Run], pauses: Iterable[PauseRecord]
) -> list[SessionAnswer]:
    """Return sessions as lists show them, with what runs and what is asked there."""
    by_session = {run.session_id: run for run in runs}
    counts = Counter(pause.session_id for pause in pauses if not pause.is_turn)
    return [_session(one, by_session.get(one.id), counts[one.id]) for one in sessions]


def _hit(hit: MessageHit) -> SessionHit:
    return SessionHit(
        session_id=hit.session_id,
        message_id=hit.message.id,
        kind="returned" if hit.message.role == "tool" else "said",
        excerpt=hit.excerpt,
    )


def _session(session: SessionRecord, run: Run | None, open_pauses: int) -> SessionAnswer:
    return SessionAnswer(
        id=session.id,
        title=session.title,
        assistant_id=session.assistant_id,
        locale=session.locale,
        parent_id=session.parent_id,
        created_at=session.created_at,
        last_at=session.last_at,
        last_seq=session.last_seq,
        is_pinned=session.is_pinned,
        is_archived=session.is_archived,
        run=RunAnswer(id=run.id, state=run.state) if run is not None else None,
        open_pauses=open_pauses,
        client=session.client,
    )
