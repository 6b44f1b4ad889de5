"""Messages over the API: writing one, taking one back, and stopping the run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from madang.agent import events
from madang.agent.model_switch import choose_model
from madang.agent.news import attached_file
from madang.agent.runner import Runner
from madang.agent.stores import RunStores
from madang.core.calls import Call
from madang.core.errors import InvalidArguments, NotFound
from madang.core.phrases import say
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.model_catalogue import ModelCatalogue
from madang.host.wire import Attachment, Done, MessageBody, NoBody, PostAnswer, StopAnswer
from madang.llm.messages import ImagePart, Part, TextPart
from madang.records.image_uploads import ImageUploads, UploadedImage
from madang.records.runs.records import LostRun
from madang.rendering.catalogue import translator


class MessageApi:
    """The operations on messages of the person's."""

    def __init__(
        self, calls: HostCalls, runner: Runner, *, stores: RunStores, images: ImageUploads, catalogue: ModelCatalogue
    ) -> None:
        self._calls = calls
        self._runner = runner
        self._stores = stores
        self._images = images
        self._catalogue = catalogue

    def operations(self) -> list[Operation]:
        all_messages = "/api/sessions/{id}/messages"
        return [
            Operation("POST", all_messages, self.post, PostAnswer, MessageBody, status=202),
            Operation("DELETE", f"{all_messages}/{{message}}", self.withdraw, Done),
            Operation("POST", "/api/sessions/{id}/stop", self.stop, StopAnswer, NoBody),
        ]

    async def post(self, request: ApiRequest) -> PostAnswer:
        """Give the session's run a message, or start a run with it."""
        body: MessageBody = request.body
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        images = await self._images.read(call, [one.content_id for one in body.attachments])
        parts: list[Part] = [TextPart(body.text)] if body.text.strip() else []
        parts += [_note(one, images, call) for one in body.attachments]
        if not parts:
            raise InvalidArguments(say("The message is empty."))
        parts += [ImagePart(one.data, one.mime_type, one.name) for one in images]
        if body.model and body.model not in self._catalogue.names:
            raise NotFound(say("There is no model '{name}'.", name=body.model[:200]))
        if body.model:
            await self._switch(call, body.model)
        posted = await self._runner.send(call, parts, body.model)
        await self._images.delete(call, [one.id for one in images])
        run = posted.run or await self._stores.runs.get_live(call)
        return PostAnswer(run_id=run.id if run else "", queued_id=posted.queued_id)

    async def _switch(self, call: Call, model: str) -> None:
        """Tell of another model, if the session has a run that is not over: the message goes to that one."""
        run = await self._stores.runs.get_live(call)
        if run is not None and run.model != model:
            with suppress(LostRun):  # it has just ended, and the message starts a new one
                await choose_model(self._stores, run, model, call.locale)

    async def withdraw(self, request: ApiRequest) -> Done:
        """Take back a message that the model was not given yet."""
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        id = request.path("message")
        if not await self._stores.messages.withdraw(call, id, events.message_withdrawn(id)):
            raise NotFound(say("The model has this message already, or there is none."))
        return Done()

    async def stop(self, request: ApiRequest) -> StopAnswer:
        """Stop the session's run for good."""
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        return StopAnswer(stopped=await self._runner.cancel_live(call))


def _note(attachment: Attachment, images: Sequence[UploadedImage], call: Call) -> TextPart:
    """Return what tells the model of a file."""
    is_image = any(image.id == attachment.content_id for image in images)
    return attached_file(attachment.name, "" if is_image else attachment.content_id, translator(call.locale))
