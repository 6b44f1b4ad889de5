"""The messages of a session over the API, with the calls that they ask for: what a tab shows after a reload."""

from __future__ import annotations

import json

from madang.core.calls import Call
from madang.core.own_events import Answered, Retried
from madang.core.run_events import read_event
from madang.database.port import Database
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.talk import call_answer, calls_of_parts, message_answer, note_answer, part_text, switch_note
from madang.host.wire import (
    CallAnswer,
    MessagesAnswer,
    MessagesQuery,
    QueuedAnswer,
    RetryAnswer,
    RunAnswer,
    UntoldAnswer,
)
from madang.llm.messages import parse_parts, written_text
from madang.records.events import EventLog
from madang.records.runs.endings import LastRun, read_session_runs
from madang.records.runs.journal import Message, QueuedMessage
from madang.records.runs.message_calls import find_call_pauses, list_message_calls
from madang.records.runs.messages import MessageStore
from madang.records.runs.segments import END_SEQ
from madang.records.views import ViewStore

MAX_PAGE_DATA_BYTES = 2 * 1024 * 1024
"""Of the data of all calls of a page together."""
MAX_PAUSES_FOUND = 500
MAX_RETRY_EVENTS = 10


class MessageListApi:
    """GET /api/sessions/{id}/messages"""

    def __init__(
        self, calls: HostCalls, messages: MessageStore, *, database: Database, events: EventLog, views: ViewStore
    ) -> None:
        self._calls = calls
        self._messages = messages
        self._database = database
        self._events = events
        self._views = views

    def operations(self) -> list[Operation]:
        path, id = "/api/sessions/{id}/messages", "MessageApi_list_messages"
        return [Operation("GET", path, self.list_messages, MessagesAnswer, query=MessagesQuery, id=id)]

    async def list_messages(self, request: ApiRequest) -> MessagesAnswer:
        """Return the newest messages of a session, or those before a number, with the calls that they ask for."""
        query: MessagesQuery = request.query
        # The session first: what happens after `last_seq` is told by the stream, and may be here already.
        call, session = await self._calls.session_of(request.request, request.path("id"))
        # What is newer is told by the stream, from `last_seq` on: had both told it, it would be there twice.
        before = min(query.before or END_SEQ, session.last_seq + 1)
        messages = await self._messages.read_page(call, before, query.limit + 1)
        has_more = len(messages) > query.limit
        messages = messages[-query.limit :]
        waiting = await self._messages.list_waiting(call)
        queued = [one for one in waiting if one.kind == "message"]
        from_seq = messages[0].seq if has_more else 0
        runs = await read_session_runs(self._database, call, from_seq, before - 1)
        return MessagesAnswer(
            messages=[message_answer(message) for message in messages],
            calls=await self._message_calls(call, messages),
            notes=[*map(note_answer, runs.endings), *map(switch_note, runs.switches)],
            queued=[_queued(one) for one in queued],
            run=RunAnswer(id=runs.last.id, state=runs.last.state) if runs.last else None,
            retry=await self._retry(call, runs.last, session.last_seq),
            untold=[_untold(one) for one in waiting if one.kind == "action"],
            last_seq=session.last_seq,
            has_more=has_more,
        )

    async def _message_calls(self, call: Call, messages: list[Message]) -> dict[str, CallAnswer]:
        if not messages:
            return {}
        calls = await list_message_calls(self._database, call, messages[0].seq, messages[-1].seq)
        views = [one.call.view_id for one in calls if one.call.view_id]
        pages = await self._views.find_pages(call.user_id, views)
        asked = [one.call.pause_id for one in calls if one.call.pause_id]
        pauses = await find_call_pauses(self._database, call, asked[-MAX_PAUSES_FOUND:])
        answers = calls_of_parts(messages)  # of runs that are not here: an archive of a fork has none of its parent's
        room = MAX_PAGE_DATA_BYTES
        for one in reversed(calls):  # the newest have their data, whatever the older ones have
            answer = call_answer(one, pages, pauses)
            size = len(json.dumps(answer.data)) if answer.data is not None else 0
            if size > room:
                answer = answer.model_copy(update={"data": None, "data_left_out": size})
            else:
                room -= size
            answers[f"{one.message_id}/{one.call.call_id}"] = answer
        return answers

    async def _retry(self, call: Call, run: LastRun | None, last_seq: int) -> RetryAnswer | None:
        """Return whether the model's server is being asked again: what the end of the log says."""
        if run is None or run.state != "running":
            return None
        page = await self._events.read(call, max(last_seq - MAX_RETRY_EVENTS, 0), MAX_RETRY_EVENTS)
        for event in reversed(page.events):
            told = read_event(event.document())
            if isinstance(told, Retried):
                return RetryAnswer(attempt=told.value.attempt, code=told.value.code)
            if isinstance(told, Answered) or event.kind != "CUSTOM":
                return None
        return None


def _queued(message: QueuedMessage) -> QueuedAnswer:
    text = written_text(parse_parts(list(message.parts)))
    return QueuedAnswer(id=message.id, text=text, created_at=message.created_at)


def _untold(action: QueuedMessage) -> UntoldAnswer:
    by = str(action.parts[0].get("by", "")) if action.parts else ""
    return UntoldAnswer(id=action.id, by=by, text=_text(action).partition("\n")[0])


def _text(queued: QueuedMessage) -> str:
    return "\n".join(filter(None, map(part_text, queued.parts)))
