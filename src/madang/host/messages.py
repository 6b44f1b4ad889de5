"""Messages over the API: reading them with their calls, writing one, taking one back, and stopping the run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress

from madang.agent import events
from madang.agent.model_switch import choose_model
from madang.agent.news import attached_file
from madang.core.calls import Call
from madang.core.errors import InvalidArguments, NotFound
from madang.core.phrases import say
from madang.core.run_events import Answered, Retried, read_event
from madang.host.api import ApiRequest, Operation
from madang.host.parts import HostParts
from madang.host.talk import call_answer, calls_of_parts, message_answer, note_answer, part_text, switch_note
from madang.host.wire import (
    Attachment,
    CallAnswer,
    Done,
    MessageBody,
    MessagesAnswer,
    MessagesQuery,
    NoBody,
    PostAnswer,
    QueuedAnswer,
    RetryAnswer,
    RunAnswer,
    StopAnswer,
    UntoldAnswer,
)
from madang.llm.messages import ImagePart, Part, TextPart, parse_parts, written_text
from madang.records.image_uploads import UploadedImage
from madang.records.runs.endings import LastRun, read_session_runs
from madang.records.runs.journal import Message, QueuedMessage
from madang.records.runs.message_calls import find_call_pauses, list_message_calls
from madang.records.runs.records import LostRun
from madang.records.runs.segments import END_SEQ
from madang.rendering.catalogue import translator

MAX_PAGE_DATA_BYTES = 2 * 1024 * 1024
"""Of the data of all calls of a page together."""
MAX_PAUSES_FOUND = 500
MAX_RETRY_EVENTS = 10


class MessageApi:
    """The operations on the messages of a session."""

    def __init__(self, parts: HostParts) -> None:
        self._parts = parts

    def operations(self) -> list[Operation]:
        all_messages = "/api/sessions/{id}/messages"
        return [
            Operation("GET", all_messages, self.list_messages, MessagesAnswer, query=MessagesQuery),
            Operation("POST", all_messages, self.post, PostAnswer, MessageBody, status=202),
            Operation("DELETE", f"{all_messages}/{{message}}", self.withdraw, Done),
            Operation("POST", "/api/sessions/{id}/stop", self.stop, StopAnswer, NoBody),
        ]

    async def list_messages(self, request: ApiRequest) -> MessagesAnswer:
        """Return the newest messages of a session, or those before a number, with the calls that they ask for."""
        query: MessagesQuery = request.query
        # The session first: what happens after `last_seq` is told by the stream, and may be here already.
        call, session = await self._parts.calls.session_of(request.request, request.path("id"))
        # What is newer is told by the stream, from `last_seq` on: had both told it, it would be there twice.
        before = min(query.before or END_SEQ, session.last_seq + 1)
        messages = await self._parts.stores.messages.read_page(call, before, query.limit + 1)
        has_more = len(messages) > query.limit
        messages = messages[-query.limit :]
        waiting = await self._parts.stores.messages.list_waiting(call)
        queued = [one for one in waiting if one.kind == "message"]
        from_seq = messages[0].seq if has_more else 0
        runs = await read_session_runs(self._parts.database, call, from_seq, before - 1)
        return MessagesAnswer(
            messages=[message_answer(message) for message in messages],
            calls=await self._calls(call, messages),
            notes=[*map(note_answer, runs.endings), *map(switch_note, runs.switches)],
            queued=[_queued(one) for one in queued],
            run=RunAnswer(id=runs.last.id, state=runs.last.state) if runs.last else None,
            retry=await self._retry(call, runs.last, session.last_seq),
            untold=[_untold(one) for one in waiting if one.kind == "action"],
            last_seq=session.last_seq,
            has_more=has_more,
        )

    async def post(self, request: ApiRequest) -> PostAnswer:
        """Give the session's run a message, or start a run with it."""
        body: MessageBody = request.body
        call, _ = await self._parts.calls.session_of(request.request, request.path("id"))
        images = await self._parts.images.read(call, [one.content_id for one in body.attachments])
        parts: list[Part] = [TextPart(body.text)] if body.text.strip() else []
        parts += [_note(one, images, call) for one in body.attachments]
        if not parts:
            raise InvalidArguments(say("The message is empty."))
        parts += [ImagePart(one.data, one.mime_type, one.name) for one in images]
        if body.model and body.model not in self._parts.models:
            raise NotFound(say("There is no model '{name}'.", name=body.model[:200]))
        if body.model:
            await self._switch(call, body.model)
        posted = await self._parts.runner.send(call, parts, body.model)
        await self._parts.images.delete(call, [one.id for one in images])
        run = posted.run or await self._parts.stores.runs.get_live(call)
        return PostAnswer(run_id=run.id if run else "", queued_id=posted.queued_id)

    async def _switch(self, call: Call, model: str) -> None:
        """Tell of another model, if the session has a run that is not over: the message goes to that one."""
        run = await self._parts.stores.runs.get_live(call)
        if run is not None and run.model != model:
            with suppress(LostRun):  # it has just ended, and the message starts a new one
                await choose_model(self._parts.stores, run, model, call.locale)

    async def withdraw(self, request: ApiRequest) -> Done:
        """Take back a message that the model was not given yet."""
        call, _ = await self._parts.calls.session_of(request.request, request.path("id"))
        id = request.path("message")
        if not await self._parts.stores.messages.withdraw(call, id, events.message_withdrawn(id)):
            raise NotFound(say("The model has this message already, or there is none."))
        return Done()

    async def stop(self, request: ApiRequest) -> StopAnswer:
        """Stop the session's run for good."""
        call, _ = await self._parts.calls.session_of(request.request, request.path("id"))
        run = await self._parts.stores.runs.get_live(call)
        return StopAnswer(stopped=run is not None and await self._parts.runner.cancel(call.user_id, run.id))

    async def _calls(self, call: Call, messages: list[Message]) -> dict[str, CallAnswer]:
        if not messages:
            return {}
        calls = await list_message_calls(self._parts.database, call, messages[0].seq, messages[-1].seq)
        views = [one.call.view_id for one in calls if one.call.view_id]
        pages = await self._parts.views.find_pages(call.user_id, views)
        asked = [one.call.pause_id for one in calls if one.call.pause_id]
        pauses = await find_call_pauses(self._parts.database, call, asked[-MAX_PAUSES_FOUND:])
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
        page = await self._parts.events.read(call, max(last_seq - MAX_RETRY_EVENTS, 0), MAX_RETRY_EVENTS)
        for event in reversed(page.events):
            told = read_event(event.document())
            if isinstance(told, Retried):
                return RetryAnswer(attempt=told.value.attempt, code=told.value.code)
            if isinstance(told, Answered) or event.kind != "CUSTOM":
                return None
        return None


def _note(attachment: Attachment, images: Sequence[UploadedImage], call: Call) -> TextPart:
    """Return what tells the model of a file."""
    is_image = any(image.id == attachment.content_id for image in images)
    return attached_file(attachment.name, "" if is_image else attachment.content_id, translator(call.locale))


def _queued(message: QueuedMessage) -> QueuedAnswer:
    text = written_text(parse_parts(list(message.parts)))
    return QueuedAnswer(id=message.id, text=text, created_at=message.created_at)


def _untold(action: QueuedMessage) -> UntoldAnswer:
    by = str(action.parts[0].get("by", "")) if action.parts else ""
    return UntoldAnswer(id=action.id, by=by, text=_text(action).partition("\n")[0])


def _text(queued: QueuedMessage) -> str:
    return "\n".join(filter(None, map(part_text, queued.parts)))
