"""Receiving a file from the browser, wherever it is to be kept.

The body is a stream: it goes to a draft beside the session's folders part by part, and from there to where it belongs.
Whatever happens meanwhile, the draft is removed; a client that leaves leaves nothing behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from madang.core.calls import Call, Locale
from madang.core.documents import Document
from madang.core.errors import InvalidArguments, LimitExceeded
from madang.core.executor import Executor
from madang.core.phrases import Phrase, say
from madang.files.folders import Folders
from madang.files.folders.uploads import Upload
from madang.host.api import ApiRequest, Operation, answer_safely, document_response, parse_query
from madang.server.gate import UPLOADS, PolicyRoute

MAX_UPLOADS_AT_ONCE = 4
MAX_WAITING_UPLOADS = 32
"""Beyond those that are being read: a whole folder may be dropped into a chat."""
MAX_ANSWER_S = 180.0
BLOCK_BYTES = 512 * 1024
"""What is held of a body before it is written: a thread for every few kilobytes would cost more than the writing."""
BYTES = "application/octet-stream"

ResultT = TypeVar("ResultT")


class UploadTooLarge(LimitExceeded):
    code = "too_large"


@dataclass(frozen=True, slots=True)
class UploadLimit:
    """How large a file may be, and what to do with a larger one."""

    max_bytes: int
    hint: Phrase

    def refusal(self) -> UploadTooLarge:
        return UploadTooLarge(say("A file may have {max} MB.", max=self.max_bytes // 1024**2), hint=self.hint)


class Receiver:
    """Receives the uploads of one host: a few at a time, others wait, and too many are refused."""

    def __init__(self, executor: Executor, folders: Folders) -> None:
        self._executor = executor
        self._folders = folders
        self._slots = asyncio.Semaphore(MAX_UPLOADS_AT_ONCE)
        self._waiting = 0

    @asynccontextmanager
    async def receive(self, call: Call, request: Request, limit: UploadLimit) -> AsyncIterator[Upload]:
        """Give the whole body of a request as an upload into the call's session, which is gone afterwards.

        Raises:
            UploadTooLarge: the body is larger than `limit` allows.
            LimitExceeded: too many others are being received.
            InvalidArguments: the client has left.
        """
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > limit.max_bytes:
            raise limit.refusal()
        async with self._slot():
            upload = await self._executor.writes.run(call, self._folders.new_upload, call)
            try:
                await self._write_body(call, request, upload, limit)
                yield upload
            finally:
                upload.close()

    async def _write_body(self, call: Call, request: Request, upload: Upload, limit: UploadLimit) -> None:
        async for block in body_blocks(request, limit):
            await self._write(call, upload, block)

    async def _write(self, call: Call, upload: Upload, data: bytes) -> None:
        await self._executor.writes.run_to_end(call, lambda _: upload.write(data))

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


async def body_blocks(request: Request, limit: UploadLimit) -> AsyncIterator[bytes]:
    """Yield a body in blocks that are worth being written.

    Raises:
        UploadTooLarge: it is larger than `limit` allows.
        InvalidArguments: the client has left.
    """
    block, size = bytearray(), 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit.max_bytes:
                raise limit.refusal()
            block += part
            if len(block) >= BLOCK_BYTES:
                yield bytes(block)
                block.clear()
    except ClientDisconnect:
        # The person cancelled it, or the gate has cut it and says why.
        raise broken_off() from None
    yield bytes(block)


async def keep_if_wanted(
    request: Request, keeping: Coroutine[Any, Any, ResultT], take_back: Callable[[ResultT], Awaitable[object]]
) -> ResultT:
    """Return what `keeping` returns; if the client has left until then, what it kept is taken back.

    Work that has begun is not left half.

    Raises:
        InvalidArguments: the client has left.
    """
    leaving = asyncio.create_task(_disconnected(request))
    try:
        result = await keeping
        is_wanted = not leaving.done()
    finally:
        leaving.cancel()
    if not is_wanted:
        await take_back(result)
        raise broken_off()
    return result


def upload_route(operation: Operation, host: str, locale: Locale) -> PolicyRoute:
    """Return the route of an operation whose body is a file."""

    async def answer(request: Request) -> Response:
        async def handle() -> Response:
            query = parse_query(operation.query, request) if operation.query is not None else None
            kept = await operation.handler(ApiRequest(request, query=query))
            assert isinstance(kept, Document)
            return document_response(kept, operation.status)

        return await answer_safely(request, locale, handle)

    policy = replace(UPLOADS, hosts=frozenset({host}), token="browser", max_answer_s=MAX_ANSWER_S)
    return PolicyRoute(operation.path, answer, policy=policy)


def broken_off() -> InvalidArguments:
    return InvalidArguments(say("The upload was broken off."))


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
