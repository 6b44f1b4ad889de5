"""The event stream of a session: its log from a number on, and what is live beside it.

Stored events have an id, by which a reader that comes again goes on; what has none is not stored and may be missed:
the words of a message before it is whole, the state of the services, the inbox.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from madang.core.calls import Call
from madang.host.api import API_HEADERS, Endpoint, answer_safely, parse_query
from madang.host.calls import HostCalls
from madang.host.live import LiveReaders
from madang.host.reader import ReaderQueue, frame, live_frame
from madang.host.wire import EventsQuery
from madang.host.wire_events import ServiceChange, StateDelta, StateServices, StateSnapshot, StreamEvent
from madang.provider.provider import Provider
from madang.records.events import EventLog
from madang.records.runs.store import RunStore
from madang.server.gate import CONNECTION_KEY, GatedConnection

HEARTBEAT_S = 15.0
SEND_TIMEOUT_S = 30.0
END_TIMEOUT_S = 5.0
PAGE_EVENTS = 100
PAGE_CHARS = 256 * 1024

logger = logging.getLogger(__name__)


class EventStreams:
    """GET /api/sessions/{id}/events and /api/events: ASGI applications, because they have to know when a client does
    not read. The second is for screens without a session: it tells of the inbox and the list of sessions alone."""

    def __init__(
        self, calls: HostCalls, events: EventLog, runs: RunStore, *, provider: Provider, readers: LiveReaders
    ) -> None:
        self._calls = calls
        self._events = events
        self._runs = runs
        self._provider = provider
        self._readers = readers

    def endpoints(self) -> list[Endpoint]:
        """Return both streams."""
        path = "/api/sessions/{id}/events"
        return [
            Endpoint("GET", path, self.follow, StreamEvent, query=EventsQuery, media_type="text/event-stream"),
            Endpoint("GET", "/api/events", self.listen, StreamEvent, media_type="text/event-stream"),
        ]

    async def listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Follow what is of no session: how much is in the inbox, and that the list of sessions may have changed."""

        async def begin() -> Response:
            self._readers.check_room()
            return Response()

        refusal = await answer_safely(Request(scope, receive), self._calls.call.locale, begin)
        if refusal.status_code != 200:
            await refusal(scope, receive, send)
            return
        queue = ReaderQueue(self._calls.call_of(Request(scope)).locale)
        with self._readers.listening(queue):
            await self._serve([self._write(queue, scope, send), _disconnected(receive)], scope)

    async def follow(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Follow a session: its log after a number, as server-sent events, then what happens."""
        request = Request(scope, receive)
        begun: list[tuple[Call, int]] = []

        async def begin() -> Response:
            query = parse_query(EventsQuery, request)
            assert isinstance(query, EventsQuery)
            call, _ = await self._calls.session_of(request, request.path_params["id"])
            self._readers.check_room()
            begun.append((call, query.after))
            return Response()

        refusal = await answer_safely(request, self._calls.call.locale, begin)
        if not begun:
            await refusal(scope, receive, send)
            return
        await self._stream(*begun[0], scope, receive, send)

    async def _stream(self, call: Call, after: int, scope: Scope, receive: Receive, send: Send) -> None:
        queue = ReaderQueue(self._calls.call_of(Request(scope)).locale)
        with self._readers.reading(call, queue):
            jobs: list[Coroutine[Any, Any, None]] = [
                self._write(queue, scope, send),
                _disconnected(receive),
                _endless(self._tell_log(call, after, queue)),
                _endless(self._tell_state(call, queue)),
            ]
            await self._serve(jobs, scope)

    async def _serve(self, jobs: Sequence[Coroutine[Any, Any, None]], scope: Scope) -> None:
        """Do the jobs of a stream until the first of them ends."""
        tasks = [asyncio.create_task(job) for job in jobs]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            if not task.cancelled() and (error := task.exception()) is not None:
                logger.error("A stream ended", exc_info=error)
                _abort(scope)

    async def _tell_log(self, call: Call, after: int, queue: ReaderQueue) -> None:
        await self._tell_written(call, queue)
        pages = self._events.watch(call, after, PAGE_EVENTS, PAGE_CHARS)
        async with aclosing(pages) as read:
            async for page in read:
                if page.is_beyond or page.has_gap:
                    queue.cut("beyond" if page.is_beyond else "gap")
                    return
                for event in page.events:
                    await queue.put(frame(event.document(), event.seq))
                    if event.kind in ("RUN_FINISHED", "RUN_ERROR"):
                        self._readers.forget(event.run_id)

    async def _tell_written(self, call: Call, queue: ReaderQueue) -> None:
        """Tell a reader that comes in the middle of a message what there is of it."""
        run = await self._runs.get_live(call)
        for written in self._readers.written(run) if run is not None else []:
            queue.push_text(written)

    async def _tell_state(self, call: Call, queue: ReaderQueue) -> None:
        is_first = True
        async with aclosing(self._provider.watch_contexts(call)) as contexts:
            async for changed in contexts:
                states = {
                    name: context.structured_state.model_dump(mode="json", by_alias=True)
                    for name, context in changed.items()
                }
                queue.push(live_frame(_snapshot(states) if is_first else _delta(states)))
                is_first = False

    async def _write(self, queue: ReaderQueue, scope: Scope, send: Send) -> None:
        headers = {**API_HEADERS, "content-type": "text/event-stream", "x-accel-buffering": "no"}
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await send({"type": "http.response.start", "status": 200, "headers": raw})
                await send({"type": "http.response.body", "body": b": \n\n", "more_body": True})
            while chunk := await queue.take(HEARTBEAT_S):
                async with asyncio.timeout(SEND_TIMEOUT_S):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            async with asyncio.timeout(END_TIMEOUT_S):
                await send({"type": "http.response.body", "body": queue.end or b"", "more_body": False})
        except TimeoutError:
            # It takes what is there too slowly to be told anything.
            _abort(scope)


def _snapshot(states: dict[str, Any]) -> StateSnapshot:
    return StateSnapshot(snapshot=StateServices(services=states))


def _delta(states: dict[str, Any]) -> StateDelta:
    # Whole states: what changes within one is for the service to know, and a reader has nothing to put together.
    return StateDelta(delta=[ServiceChange(path=f"/services/{name}", value=state) for name, state in states.items()])


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _endless(job: Coroutine[Any, Any, None]) -> None:
    """Do a job and never end: that there is nothing more to tell does not end a stream."""
    await job
    await asyncio.Event().wait()


def _abort(scope: Scope) -> None:
    connection: GatedConnection | None = scope.get("state", {}).get(CONNECTION_KEY)
    if connection is not None:
        connection.abort()
