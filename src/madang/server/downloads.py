"""GET /exports/<key>/<name>: files for browsers, always to be saved and never to be shown."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from typing import IO
from urllib.parse import quote

import anyio.to_thread
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from madang.core.errors import ToolError
from madang.storage.downloads import PREFIX, Downloads

CHUNK = 256 * 1024

# Whatever a file is called or holds, a browser must not run it with our address as its origin: it is saved, not shown;
# its type is not guessed from what is in it; and should it be shown all the same, it has no rights and loads nothing.
HEADERS = {
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

_NOT_PLAIN = re.compile(r"[^ !#$&\'()+,\-.0-9;=@A-Z\[\]^_`a-z{}~]")


def is_download(scope: Scope) -> bool:
    """Tell whether a request asks for a file by an address that is its own permission."""
    return scope["method"] in ("GET", "HEAD") and scope["path"].startswith(PREFIX)


class DownloadRoute:
    """Answers downloads and passes everything else on."""

    def __init__(self, app: ASGIApp, downloads: Downloads) -> None:
        self._app = app
        self._downloads = downloads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_download(scope):
            return await self._app(scope, receive, send)
        response = await self._response(scope)
        return await response(scope, receive, send)

    async def _response(self, scope: Scope) -> Response:
        # The name in the address is for people; the one the file is saved under was kept when the address was made.
        key, _, name = scope["path"].removeprefix(PREFIX).partition("/")
        download = self._downloads.find(key) if name and "/" not in name else None
        if download is None:
            return _gone()
        try:
            file = await asyncio.to_thread(self._downloads.open, download)
        except ToolError:
            return _gone()
        size = os.fstat(file.fileno()).st_size
        headers = {
            **HEADERS,
            "content-disposition": content_disposition(download.name),
            "content-length": str(size),
        }
        if scope["method"] == "HEAD":
            file.close()
            return Response(headers=headers, media_type="application/octet-stream")
        return StreamingResponse(_parts(file, size), headers=headers, media_type="application/octet-stream")


def content_disposition(name: str) -> str:
    """Return the header under which every browser saves a file by its name (RFC 6266, RFC 5987), in ASCII alone."""
    plain = _NOT_PLAIN.sub("_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _gone() -> Response:
    text = "This download is not there, or not any more. Ask for the file to be exported again.\n"
    return PlainTextResponse(text, 404, headers=HEADERS)


async def _parts(file: IO[bytes], size: int) -> AsyncIterator[bytes]:
    try:
        # Not left behind when the client goes away: a thread that still reads must not meet a descriptor that was
        # closed and given to somebody else.
        while size > 0 and (part := await anyio.to_thread.run_sync(file.read, min(size, CHUNK))):
            size -= len(part)
            yield part
    finally:
        file.close()
