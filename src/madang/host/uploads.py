"""Uploads: files that the person drops into a chat become contents of its session, and images parts of a message.

The body is a stream: it goes to a draft beside the session's folders part by part, and from there into the content
store. Whatever happens meanwhile, the draft is removed; a client that leaves leaves nothing behind.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from madang.core.calls import Call
from madang.core.errors import InvalidArguments, LimitExceeded
from madang.core.phrases import Phrase, say
from madang.core.results import Reply
from madang.host.api import ApiRequest, Operation, answer_safely, checked, document_response, parse_query
from madang.host.parts import HostParts
from madang.host.wire import UploadAnswer, UploadQuery
from madang.server.gate import UPLOADS, PolicyRoute
from madang.storage.files.kinds import MAX_IMAGE_BYTES, image_type
from madang.storage.folders.uploads import Upload

MAX_UPLOAD_BYTES = 25 * 1024 * 1024
MAX_UPLOADS_AT_ONCE = 4
MAX_WAITING_UPLOADS = 32
"""Beyond those that are being read: a whole folder may be dropped into a chat."""
MAX_FILES_PER_SESSION = 100
FIRST_BYTES = 4096
"""By which an image is told from other files."""
BLOCK_BYTES = 512 * 1024
"""What is held of a body before it is written: a thread for every few kilobytes would cost more than the writing."""

ResultT = TypeVar("ResultT")


class UploadTooLarge(LimitExceeded):
    code = "too_large"


class Uploads:
    """POST /api/sessions/{id}/uploads?name=…"""

    def __init__(self, parts: HostParts) -> None:
        self._parts = parts
        self._slots = asyncio.Semaphore(MAX_UPLOADS_AT_ONCE)
        self._waiting = 0
        self._coming: Counter[str] = Counter()
        """Uploads of each session that are under way: they count as files of it."""

    @property
    def operation(self) -> Operation:
        """The route as an operation, for the OpenAPI document."""
        path, media_type = "/api/sessions/{id}/uploads", "application/octet-stream"
        return Operation(
            "POST", path, self.keep, UploadAnswer, query=UploadQuery, status=201, body_media_type=media_type
        )

    def route(self, host: str) -> PolicyRoute:
        policy = replace(UPLOADS, hosts=frozenset({host}), token="browser", max_answer_s=180.0)
        return PolicyRoute(self.operation.path, self.answer, policy=policy)

    async def answer(self, request: Request) -> Response:
        async def keep() -> Response:
            query = parse_query(UploadQuery, request)
            return document_response(await self.keep(ApiRequest(request, query=query)), self.operation.status)

        return await answer_safely(self._parts, request, keep)

    async def keep(self, request: ApiRequest) -> UploadAnswer:
        """Keep a file in the content store of a session, or an image for its next message."""
        query: UploadQuery = request.query
        call, _ = await self._parts.session_of(request.request, request.path("id"))
        length = request.request.headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > MAX_UPLOAD_BYTES:
            raise _too_large(MAX_UPLOAD_BYTES)
        async with self._slot(), self._counted(call), self._staged(call) as upload:
            await self._receive(call, request.request, upload)
            content_id = await self._add(call, request.request, query.name, upload)
            return UploadAnswer(content_id=content_id, name=query.name, size=upload.size_bytes)

    async def _receive(self, call: Call, request: Request, upload: Upload) -> None:
        """Write the body into the draft.

        Raises:
            UploadTooLarge: it does not end where it should.
            InvalidArguments: the client has left.
        """
        block, size = bytearray(), 0
        try:
            async for part in request.stream():
                size += len(part)
                if size > MAX_UPLOAD_BYTES:
                    raise _too_large(MAX_UPLOAD_BYTES)
                block += part
                if len(block) >= BLOCK_BYTES:
                    await self._write(call, upload, bytes(block))
                    block.clear()
        except ClientDisconnect:
            # The person cancelled it, or the gate has cut it and says why.
            raise _broken_off() from None
        await self._write(call, upload, bytes(block))

    async def _write(self, call: Call, upload: Upload, data: bytes) -> None:
        await self._parts.executor.writes.run_to_end(call, lambda _: upload.write(data))

    async def _add(self, call: Call, request: Request, name: str, upload: Upload) -> str:
        """Keep the file, and return by what a message names it."""
        mime_type = image_type(upload.read(FIRST_BYTES))
        if not mime_type:
            return await self._add_content(call, request, name, upload.url)
        # Not for the content store, which keeps texts: it waits for the message that takes it.
        if upload.size_bytes > MAX_IMAGE_BYTES:
            raise _too_large(MAX_IMAGE_BYTES, say("An image may have {max} MB.", max=MAX_IMAGE_BYTES // 1024**2))
        adding = self._parts.images.add(call, name, mime_type, upload.read(MAX_IMAGE_BYTES))
        id, is_wanted = await _while_connected(request, adding)
        if not is_wanted:
            await self._parts.images.delete(call, [id])
            raise _broken_off()
        return id

    async def _add_content(self, call: Call, request: Request, name: str, url: str) -> str:
        arguments = {"fileUrl": url, "metadata": {"filename": name}}
        reply, is_wanted = await _while_connected(request, self._call_tool(call, "add_content", arguments))
        id = str(checked(reply).data["contentId"])
        if not is_wanted:
            if not reply.data["duplicate"]:
                await self._call_tool(call, "delete_content", {"contentId": id})
            raise _broken_off()
        return id

    async def _call_tool(self, call: Call, name: str, arguments: dict[str, Any]) -> Reply:
        return await self._parts.provider.execute_tool(replace(call, pages="off"), name, arguments)

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        if self._waiting >= MAX_WAITING_UPLOADS:
            raise LimitExceeded(
                say("{max} files are being uploaded already.", max=MAX_WAITING_UPLOADS + MAX_UPLOADS_AT_ONCE),
                hint=say("Wait until one is done."),
            )
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._slots.release()

    @asynccontextmanager
    async def _counted(self, call: Call) -> AsyncIterator[None]:
        """Count the upload among the files of its session.

        Raises:
            LimitExceeded: the session has no room for one more.
        """
        self._coming[call.session] += 1
        try:
            listed = checked(await self._call_tool(call, "list_content", {"pagination": {"limit": 1}}))
            if listed.data.get("total", 0) + self._coming[call.session] > MAX_FILES_PER_SESSION:
                raise LimitExceeded(
                    say("A session takes {max} files from the chat.", max=MAX_FILES_PER_SESSION),
                    hint=say("Delete contents that are not needed, or begin another session."),
                )
            yield
        finally:
            self._coming[call.session] -= 1
            if not self._coming[call.session]:
                del self._coming[call.session]

    @asynccontextmanager
    async def _staged(self, call: Call) -> AsyncIterator[Upload]:
        upload = await self._parts.executor.writes.run(call, self._parts.folders.new_upload, call)
        try:
            yield upload
        finally:
            upload.close()


async def _while_connected(request: Request, work: Coroutine[Any, Any, ResultT]) -> tuple[ResultT, bool]:
    """Return what `work` returns, and whether the client was there until then. Work that has begun is not left half."""
    leaving = asyncio.create_task(_disconnected(request))
    try:
        result = await work
        return result, not leaving.done()
    finally:
        leaving.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _too_large(max_bytes: int, words: Phrase | None = None) -> UploadTooLarge:
    return UploadTooLarge(
        words or say("A file may have {max} MB.", max=max_bytes // 1024**2),
        hint=say("Put a larger one into the workspace, and let the agent read it there."),
    )


def _broken_off() -> InvalidArguments:
    return InvalidArguments(say("The upload was broken off."))
