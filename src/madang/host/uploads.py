"""Uploads: files that the person drops into a chat become contents of its session.

The body is a stream, read part by part up to the limit of its route. The content store parses a file as a whole, so it
is held in memory meanwhile; how many at a time is bounded for that.
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from madang.core.calls import Call
from madang.core.errors import InvalidArguments, LimitExceeded
from madang.core.phrases import say
from madang.host.api import answer_safely, checked, document_response, parse_query
from madang.host.parts import HostParts
from madang.host.wire import UploadAnswer, UploadQuery
from madang.server.gate import UPLOADS, PolicyRoute
from madang.storage.files.kinds import image_type

MAX_UPLOADS_AT_ONCE = 4
MAX_FILES_PER_SESSION = 100
QUOTA_PAGE = 1
FIRST_BYTES = 4096
"""By which an image is told from other files."""


class Uploads:
    """POST /api/sessions/{id}/uploads?name=…"""

    def __init__(self, parts: HostParts) -> None:
        self._parts = parts
        self._count = 0

    def route(self, host: str) -> PolicyRoute:
        policy = replace(UPLOADS, hosts=frozenset({host}), token="browser", max_answer_s=180.0)
        return PolicyRoute("/api/sessions/{id}/uploads", self.answer, policy=policy)

    async def answer(self, request: Request) -> Response:
        """Keep a file in the content store of a session."""
        return await answer_safely(self._parts, request, lambda: self._keep(request))

    async def _keep(self, request: Request) -> Response:
        query = parse_query(UploadQuery, request)
        assert isinstance(query, UploadQuery)
        call, _ = await self._parts.session_of(request, request.path_params["id"])
        with self._counted():
            await self._check_quota(call)
            data = await _read(request)
            size = len(data)
            content_id = await self._add(call, query.name, data)
        return document_response(UploadAnswer(content_id=content_id, name=query.name, size=size), 201)

    async def _add(self, call: Call, name: str, data: bytearray) -> str:
        """Keep a file, and return by what a message names it."""
        if mime_type := image_type(bytes(data[:FIRST_BYTES])):
            # Not for the content store, which keeps texts: it waits for the message that takes it.
            return await self._parts.images.add(call, name, mime_type, bytes(data))
        mime_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        url = await self._parts.executor.slow.run(call, _data_url, data, mime_type)
        arguments = {"fileUrl": url, "metadata": {"filename": name}}
        reply = await self._parts.provider.execute_tool(replace(call, pages="off"), "add_content", arguments)
        return str(checked(reply).data["contentId"])

    @contextmanager
    def _counted(self) -> Iterator[None]:
        if self._count >= MAX_UPLOADS_AT_ONCE:
            raise LimitExceeded(
                say("{max} files are being uploaded already.", max=MAX_UPLOADS_AT_ONCE),
                hint=say("Wait until one is done."),
            )
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1

    async def _check_quota(self, call: Call) -> None:
        """Check that the session has room for one more file.

        Raises:
            LimitExceeded: it has not.
        """
        listed = checked(
            await self._parts.provider.execute_tool(
                replace(call, pages="off"), "list_content", {"pagination": {"limit": QUOTA_PAGE}}
            )
        )
        if listed.data.get("total", 0) >= MAX_FILES_PER_SESSION:
            raise LimitExceeded(
                say("A session takes {max} files from the chat.", max=MAX_FILES_PER_SESSION),
                hint=say("Delete contents that are not needed, or begin another session."),
            )


async def _read(request: Request) -> bytearray:
    data = bytearray()
    try:
        async for part in request.stream():
            data += part
    except ClientDisconnect:
        # The person cancelled it, or the gate has cut it: nothing is kept, and the gate says why.
        raise InvalidArguments(say("The upload was broken off.")) from None
    return data


def _data_url(data: bytearray, mime_type: str) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(data).decode('ascii')}"
