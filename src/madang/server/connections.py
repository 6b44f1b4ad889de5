"""Which client a request comes from, and the session that each client is in.

Over a pipe, and in a session of the older era over HTTP, requests share a connection. Since 2026-07-28 a request over
HTTP stands alone: there is no connection, only what the request says of its client.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Self

from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from madang.core.calls import Call
from madang.core.ids import new_id
from madang.core.limits import MAX_NAME_CHARS
from madang.core.service import ActiveSession
from madang.core.texts import one_line
from madang.provider.provider import Provider
from madang.server.sdk import RequestContext, connection_of

_STATE_KEY = "madang/connection"


@dataclass(slots=True, eq=False)
class _Connection:
    """One connection. Its id is unguessable: it decides which open questions are the client's own."""

    id: str = field(default_factory=new_id)
    active: ActiveSession | None = None


class Connections:
    """The connections over one transport: a pipe has one, HTTP many.

    The services are told when a client moves to another session, and when the last one is gone. No request waits for
    that: it is done by a task that ends with the transport.
    """

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._pipe = _Connection()
        self._present: set[_Connection] = set()
        self._pending: list[ActiveSession | None] = []
        self._switching: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Self]:
        """Keep track of connections for as long as their transport is served."""
        try:
            yield self
        finally:
            self._leave(self._pipe)
            if self._switching is not None:
                try:
                    await asyncio.wait({self._switching})  # the provider bounds it
                finally:
                    self._switching.cancel()

    def client_id(self, context: RequestContext) -> str:
        """Return the id of a request's connection; empty if it stands alone."""
        connection = self._connection(context)
        return "" if connection is None else connection.id

    def note(self, context: RequestContext, call: Call) -> None:
        """Tell the services, in the background, if this request is in another session than the last of its client."""
        connection, active = self._connection(context), ActiveSession(call.assistant_id, call.session_id)
        if connection is not None and connection.active != active:
            connection.active = active
            self._present.add(connection)
            self._switch(active)

    def _connection(self, context: RequestContext) -> _Connection | None:
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._pipe if context.request is None else None
        sdk_connection = connection_of(context)
        connection: _Connection | None = sdk_connection.state.get(_STATE_KEY)
        if connection is None:
            connection = sdk_connection.state[_STATE_KEY] = _Connection()
            sdk_connection.exit_stack.callback(self._leave, connection)
        return connection

    def _leave(self, connection: _Connection) -> None:
        if connection in self._present:
            self._present.remove(connection)
            if not self._present:
                self._switch(None)

    def _switch(self, active: ActiveSession | None) -> None:
        # Only the last move counts: a client that goes to and fro does not make a queue at a slow service.
        self._pending = [active]
        if active is None and self._switching is not None:
            # Nobody is there to prepare for, and the end of a transport should not wait for it.
            self._switching.cancel()
            self._switching = None
        if self._switching is None or self._switching.done():
            self._switching = asyncio.create_task(self._run_switches())

    async def _run_switches(self) -> None:
        while self._pending:
            await self._provider.switch_context(self._pending.pop())


def client_name(context: RequestContext) -> str:
    """Return what a request's client calls itself, or nothing. It scopes the client's questions, and proves nothing."""
    params = context.session.client_params
    return "" if params is None else one_line(params.client_info.name, MAX_NAME_CHARS)
