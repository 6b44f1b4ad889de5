"""The list of sessions over the API: page by page, or those that have some words."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

from madang.core.calls import Call
from madang.core.ids import SessionId
from madang.database.port import Database
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.session_answers import read_session_answers
from madang.host.wire import SessionHit, SessionsAnswer, SessionSize, SessionsQuery
from madang.records.client_calls import SEEN_DAYS, ClientCalls
from madang.records.runs.message_search import MAX_HITS, MessageHit, MessageSearch
from madang.records.runs.messages import MessageStore
from madang.records.session_rows import SessionRecord
from madang.records.sessions import SessionStore
from madang.system.clock import format_timestamp, now


class SessionListApi:
    """GET /api/sessions"""

    def __init__(
        self,
        calls: HostCalls,
        sessions: SessionStore,
        *,
        database: Database,
        messages: MessageStore,
        search: MessageSearch,
        clients: ClientCalls,
    ) -> None:
        self._calls = calls
        self._sessions = sessions
        self._database = database
        self._messages = messages
        self._search = search
        self._clients = clients

    def operations(self) -> list[Operation]:
        id = "SessionApi_list_sessions"
        return [Operation("GET", "/api/sessions", self.list_sessions, SessionsAnswer, query=SessionsQuery, id=id)]

    async def list_sessions(self, request: ApiRequest) -> SessionsAnswer:
        """List sessions, newest first; with a query, those whose title or messages have its words."""
        query: SessionsQuery = request.query
        call = self._calls.call_of(request.request)
        if query.query.strip() and query.session:
            return await self._search_one(call, query)
        if query.query.strip():
            return await self._search_all(call, query)
        page = await self._sessions.list_page(
            call.user_id, query.after, query.limit, archived=bool(query.archived), assistant_id=query.assistant
        )
        return SessionsAnswer(
            sessions=await read_session_answers(self._database, call, page.items),
            next=page.next,
            hits=[],
            has_more_hits=False,
            sizes=await self._sizes(call, page.items) if query.sized else [],
        )

    async def _search_all(self, call: Call, query: SessionsQuery) -> SessionsAnswer:
        """Return the sessions that have the words, all on one page: the newest of them if there are too many."""
        words, is_archived, sessions = query.query.strip(), bool(query.archived), self._sessions
        by_title = await sessions.find_by_title(call.user_id, words, archived=is_archived, limit=query.limit)
        hits = await self._search.search(call, words, limit=MAX_HITS)
        by_message = await sessions.find(call.user_id, list({hit.session_id for hit in hits}))
        matches = {
            one.id: one
            for one in [*by_title, *by_message]
            if one.is_archived is is_archived and query.assistant in (None, one.assistant_id)
        }
        newest = sorted(matches.values(), key=lambda one: (one.last_at, one.id), reverse=True)[: query.limit]
        return SessionsAnswer(
            sessions=await read_session_answers(self._database, call, newest),
            next="",
            hits=[_hit(hit) for hit in hits if hit.session_id in matches],
            has_more_hits=len(hits) == MAX_HITS,
            sizes=await self._sizes(call, newest) if query.sized else [],
        )

    async def _search_one(self, call: Call, query: SessionsQuery) -> SessionsAnswer:
        """Return what a session shows that has the words, with messages of its parents."""
        session = await self._sessions.get(replace(call, session_id=SessionId(query.session)))
        found = [session] if session is not None else []
        id = SessionId(query.session)
        hits = await self._search.search(call, query.query, session_id=id, limit=MAX_HITS) if found else []
        return SessionsAnswer(
            sessions=await read_session_answers(self._database, call, found),
            next="",
            hits=[_hit(hit) for hit in hits],
            has_more_hits=len(hits) == MAX_HITS,
            sizes=[],
        )

    async def _sizes(self, call: Call, sessions: list[SessionRecord]) -> list[SessionSize]:
        sizes = await self._messages.count(call.user_id, [one.id for one in sessions])
        foreign: Counter[str] = Counter()
        if any(one.client for one in sessions):
            since = format_timestamp(now() - timedelta(days=SEEN_DAYS))
            for used in await self._clients.list_sessions(call.user_id, since):
                foreign[used.session_id] += used.calls
        return [
            SessionSize(session_id=id, messages=size.messages, calls=size.calls + foreign[id])
            for id, size in sizes.items()
        ]


def _hit(hit: MessageHit) -> SessionHit:
    return SessionHit(
        session_id=hit.session_id,
        message_id=hit.message.id,
        kind="returned" if hit.message.role == "tool" else "said",
        excerpt=hit.excerpt,
    )
