"""Messages over the API: reading them with their calls, writing one, taking one back, and stopping the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from madang.agent import events
from madang.core.calls import Call
from madang.core.errors import InvalidArguments, NotFound
from madang.core.phrases import Phrase, say
from madang.host.api import ApiRequest, Operation
from madang.host.parts import HostParts
from madang.host.wire import (
    Attachment,
    CallAnswer,
    Done,
    MessageAnswer,
    MessageBody,
    MessagesAnswer,
    MessagesQuery,
    NoBody,
    PostAnswer,
    QueuedAnswer,
    StopAnswer,
    ViewReference,
)
from madang.llm.messages import ImagePart, Part, TextPart
from madang.rendering.catalogue import translator
from madang.server.mapping import page_uri
from madang.storage.image_uploads import UploadedImage
from madang.storage.runs.journal import Message, QueuedMessage
from madang.storage.runs.message_calls import MessageCall, list_message_calls
from madang.storage.views import view_id


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
        call, session = await self._parts.session_of(request.request, request.path("id"))
        messages = await self._parts.stores.messages.read_page(call, query.before, query.limit + 1)
        has_more = len(messages) > query.limit
        messages = messages[-query.limit :]
        queued = await self._parts.stores.messages.list_queued(call)
        return MessagesAnswer(
            messages=[_message(message) for message in messages],
            calls=await self._calls(call, messages),
            queued=[QueuedAnswer(id=one.id, text=_text(one), created_at=one.created_at) for one in queued],
            last_seq=session.last_seq,
            has_more=has_more,
        )

    async def post(self, request: ApiRequest) -> PostAnswer:
        """Give the session's run a message, or start a run with it."""
        body: MessageBody = request.body
        call, _ = await self._parts.session_of(request.request, request.path("id"))
        images = await self._parts.images.read(call, [one.content_id for one in body.attachments])
        texts = [body.text] if body.text.strip() else []
        texts += [_note(one, images).render(translator(call.locale)) for one in body.attachments]
        if not texts:
            raise InvalidArguments(say("The message is empty."))
        parts: list[Part] = [
            TextPart("\n\n".join(texts)),
            *(ImagePart(one.data, one.mime_type, one.name) for one in images),
        ]
        if body.model and body.model not in self._parts.models:
            raise NotFound(say("There is no model '{name}'.", name=body.model[:200]))
        before = {one.id for one in await self._parts.stores.messages.list_queued(call)}
        run = await self._parts.runner.post(call, parts, body.model)
        await self._parts.images.delete(call, [one.id for one in images])
        if run is not None:
            return PostAnswer(run_id=run.id, queued_id="")
        live = await self._parts.stores.runs.get_live(call)
        queued = [one.id for one in await self._parts.stores.messages.list_queued(call) if one.id not in before]
        # Empty if the run has taken it already.
        return PostAnswer(run_id=live.id if live else "", queued_id=queued[-1] if queued else "")

    async def withdraw(self, request: ApiRequest) -> Done:
        """Take back a message that the model was not given yet."""
        call, _ = await self._parts.session_of(request.request, request.path("id"))
        id = request.path("message")
        if not await self._parts.stores.messages.withdraw(call, id, events.message_withdrawn(id)):
            raise NotFound(say("The model has this message already, or there is none."))
        return Done()

    async def stop(self, request: ApiRequest) -> StopAnswer:
        """Stop the session's run for good."""
        call, _ = await self._parts.session_of(request.request, request.path("id"))
        run = await self._parts.stores.runs.get_live(call)
        return StopAnswer(stopped=run is not None and await self._parts.runner.cancel(call.user_id, run.id))

    async def _calls(self, call: Call, messages: list[Message]) -> dict[str, CallAnswer]:
        if not messages:
            return {}
        calls = await list_message_calls(self._parts.database, call, messages[0].seq, messages[-1].seq)
        ids = {view_id(one.operation_id): one for one in calls}
        pages = await self._parts.views.find_pages(call.user_id, list(ids))
        return {f"{one.message_id}/{one.call.call_id}": _call(one, pages) for one in calls}


def _note(attachment: Attachment, images: Sequence[UploadedImage]) -> Phrase:
    if any(image.id == attachment.content_id for image in images):
        return say("[Image: {name}]", name=attachment.name)
    return say(
        "[File: {name}, content ID {id}: 'read_content' reads it]", name=attachment.name, id=attachment.content_id
    )


def _message(message: Message) -> MessageAnswer:
    # What a provider wants back verbatim is of no use to a tab, and may be large.
    parts = [{name: value for name, value in part.items() if name != "extra"} for part in message.parts]
    return MessageAnswer(id=message.id, seq=message.seq, role=message.role, parts=parts, created_at=message.created_at)


def _call(one: MessageCall, pages: Mapping[str, str]) -> CallAnswer:
    call, id = one.call, view_id(one.operation_id)
    texts = [_part_text(part) for part in call.result]
    return CallAnswer(
        tool=call.tool,
        arguments=call.arguments,
        state=call.state,
        outcome=call.outcome,
        text="\n".join(filter(None, texts)),
        data=None,
        took_ms=None,
        view=ViewReference(id=id, uri=page_uri(pages[id])) if id in pages else None,
        pause_id=call.pause_id,
    )


def _text(queued: QueuedMessage) -> str:
    return "\n".join(filter(None, map(_part_text, queued.parts)))


def _part_text(part: Mapping[str, Any]) -> str:
    text = part.get("text")
    return text if isinstance(text, str) else ""
