"""What came and went, over the API: programs that called tools, their calls, and hosts that requests went to."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from madang.core.ids import SessionId
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.wire_settings import (
    ClientAnswer,
    ClientCallAnswer,
    ClientCallsAnswer,
    ClientCallsQuery,
    ClientsAnswer,
    ClientSessionAnswer,
    RequestsAnswer,
    RequestsByHost,
)
from madang.records.client_calls import MAX_CALLS, SEEN_DAYS, ClientCalls, ClientSession
from madang.records.egress import EgressLog
from madang.records.sessions import SessionStore
from madang.system.clock import format_timestamp, now


class ClientApi:
    """The operations on what the audit trail and the egress log tell."""

    def __init__(self, calls: HostCalls, sessions: SessionStore, *, clients: ClientCalls, egress: EgressLog) -> None:
        self._calls = calls
        self._sessions = sessions
        self._clients = clients
        self._egress = egress

    def operations(self) -> list[Operation]:
        calls = "/api/clients/sessions/{id}"
        return [
            Operation("GET", "/api/clients", self.list_clients, ClientsAnswer, id="DataApi_list_clients"),
            Operation(
                "GET", calls, self.list_calls, ClientCallsAnswer, query=ClientCallsQuery, id="DataApi_list_calls"
            ),
            Operation("GET", "/api/requests", self.list_requests, RequestsAnswer, id="DataApi_list_requests"),
        ]

    async def list_clients(self, request: ApiRequest) -> ClientsAnswer:
        """List the programs that called tools lately, with the sessions that they worked in."""
        call = self._calls.call_of(request.request)
        rows = await self._clients.list_sessions(call.user_id, _since())
        by_client: dict[tuple[str, str], list[ClientSession]] = {}
        for row in rows:
            by_client.setdefault((row.client, row.door), []).append(row)
        titles = {}
        for id in {row.session_id for row in rows if row.session_id}:
            session = await self._sessions.get(replace(call, session_id=SessionId(id)))
            titles[id] = session.title if session is not None else None
        return ClientsAnswer(
            days=SEEN_DAYS,
            clients=[
                ClientAnswer(
                    name=name,
                    door=door,
                    calls=sum(row.calls for row in sessions),
                    first_at=min(row.first_at for row in sessions),
                    last_at=max(row.last_at for row in sessions),
                    sessions=[
                        ClientSessionAnswer(
                            id=row.session_id,
                            title=titles.get(row.session_id) or "",
                            calls=row.calls,
                            last_at=row.last_at,
                        )
                        for row in sessions
                    ],
                )
                for (name, door), sessions in by_client.items()
            ],
        )

    async def list_calls(self, request: ApiRequest) -> ClientCallsAnswer:
        """List the calls of other programs in a session, the latest first."""
        query: ClientCallsQuery = request.query
        call, session = await self._calls.session_of(request.request, request.path("id"))
        calls = await self._clients.list_calls(call.user_id, session.id, _since(), query.before)
        return ClientCallsAnswer(
            calls=[
                ClientCallAnswer(
                    seq=one.seq,
                    at=one.at,
                    client=one.client,
                    tool=one.tool,
                    effect=one.effect,
                    arguments=one.arguments,
                    outcome=one.outcome,
                    took_ms=one.took_ms,
                )
                for one in calls
            ],
            has_more=len(calls) == MAX_CALLS,
        )

    async def list_requests(self, request: ApiRequest) -> RequestsAnswer:
        """List the hosts that requests went to lately, beyond this computer."""
        totals = await self._egress.list_totals(self._calls.call.user_id, SEEN_DAYS)
        return RequestsAnswer(
            days=SEEN_DAYS,
            hosts=[
                RequestsByHost(host=one.host, purpose=one.purpose, count=one.count, last_at=one.last_at)
                for one in totals
            ],
        )


def _since() -> str:
    return format_timestamp(now() - timedelta(days=SEEN_DAYS))
