"""Uploads: files that the person drops into a chat become contents of its session, and images parts of a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from starlette.requests import Request

from madang.core.calls import Call
from madang.core.errors import LimitExceeded
from madang.core.phrases import say
from madang.core.uploads import UploadedFile
from madang.files.folders.uploads import Upload
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.receiving import BYTES, Receiver, UploadLimit, UploadTooLarge, keep_if_wanted
from madang.host.wire import UploadAnswer, UploadQuery
from madang.provider.provider import Provider
from madang.records.image_uploads import ImageUploads
from madang.services.content.domain.contents import MAX_CONTENT_BYTES
from madang.text.kinds import MAX_IMAGE_BYTES, image_type

CONTENT = "content"
"""The service that keeps what is not an image."""
MAX_FILES_PER_SESSION = 100
FIRST_BYTES = 4096
"""By which an image is told from other files."""
_LARGER = say("Put a larger one into the workspace, and let the agent read it there.")


class Uploads:
    """POST /api/sessions/{id}/uploads?name=…"""

    def __init__(self, calls: HostCalls, receiver: Receiver, *, provider: Provider, images: ImageUploads) -> None:
        self._calls = calls
        self._receiver = receiver
        self._provider = provider
        self._images = images
        self._coming: Counter[str] = Counter()
        """Uploads of each session that are under way: they count as files of it."""

    @property
    def operation(self) -> Operation:
        """The route as an operation, for the OpenAPI document."""
        path = "/api/sessions/{id}/uploads"
        return Operation("POST", path, self.keep, UploadAnswer, query=UploadQuery, status=201, body_media_type=BYTES)

    async def keep(self, request: ApiRequest) -> UploadAnswer:
        """Keep a file in the content store of a session, or an image for its next message."""
        query: UploadQuery = request.query
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        limit = UploadLimit(MAX_CONTENT_BYTES, _LARGER)
        async with self._counted(call), self._receiver.receive(call, request.request, limit) as upload:
            content_id = await self._add(call, request.request, query.name, upload)
            return UploadAnswer(content_id=content_id, name=query.name, size=upload.size_bytes)

    async def _add(self, call: Call, request: Request, name: str, upload: Upload) -> str:
        """Keep the file, and return by what a message names it."""
        mime_type = image_type(upload.read(FIRST_BYTES))
        if not mime_type:
            return await self._add_content(call, request, name, upload.url)
        # Not for the content store, which keeps texts: it waits for the message that takes it.
        if upload.size_bytes > MAX_IMAGE_BYTES:
            raise UploadTooLarge(say("An image may have {max} MB.", max=MAX_IMAGE_BYTES // 1024**2), hint=_LARGER)
        adding = self._images.add(call, name, mime_type, upload.read(MAX_IMAGE_BYTES))
        return await keep_if_wanted(request, adding, lambda id: self._images.delete(call, [id]))

    async def _add_content(self, call: Call, request: Request, name: str, url: str) -> str:
        provider = self._provider
        accepting = provider.accept_upload(call, CONTENT, UploadedFile(url, name))
        withdraw = partial(provider.withdraw_upload, call, CONTENT)
        return (await keep_if_wanted(request, accepting, withdraw)).id

    @asynccontextmanager
    async def _counted(self, call: Call) -> AsyncIterator[None]:
        """Count the upload among the files of its session.

        Raises:
            LimitExceeded: the session has no room for one more.
        """
        self._coming[call.session] += 1
        try:
            count = await self._provider.count_uploads(call, CONTENT)
            if count + self._coming[call.session] > MAX_FILES_PER_SESSION:
                raise LimitExceeded(
                    say("A session takes {max} files from the chat.", max=MAX_FILES_PER_SESSION),
                    hint=say("Delete contents that are not needed, or begin another session."),
                )
            yield
        finally:
            self._coming[call.session] -= 1
            if not self._coming[call.session]:
                del self._coming[call.session]
