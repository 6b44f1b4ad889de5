"""GET /exports/<key>/<name>: exports as attachments, which a browser saves and never displays."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from typing import IO
from urllib.parse import quote

import anyio.to_thread
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from madang.core.errors import ToolError
from madang.files.downloads import PREFIX, Downloads
from madang.server.gate import DOWNLOADS, PolicyRoute

CHUNK_BYTES = 256 * 1024

# Stored XSS: a browser must not run a file with our address as its origin, whatever it is called or holds. It is an
# attachment; its type is not sniffed; and should it be displayed all the same, it is sandboxed and loads nothing.
HEADERS = {
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

_UNSAFE_IN_HEADER = re.compile(r"[^ !#$&\'()+,\-.0-9;=@A-Z\[\]^_`a-z{}~]")


class DownloadRoute(PolicyRoute):
    """Every path below the prefix, whatever it holds: the pattern of a path in Starlette takes no line breaks."""

    def __init__(self, downloads: Downloads) -> None:
        super().__init__(PREFIX, _DownloadEndpoint(downloads), policy=DOWNLOADS)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        is_below = scope["type"] == "http" and scope["path"].startswith(PREFIX)
        return (Match.FULL if is_below else Match.NONE), {"endpoint": self.endpoint, "path_params": {}}


class _DownloadEndpoint:
    def __init__(self, downloads: Downloads) -> None:
        self._downloads = downloads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._response(scope)
        await response(scope, receive, send)

    async def _response(self, scope: Scope) -> Response:
        # The name in the URL is for people; the file is saved under the one stored with the key.
        key, _, name = scope["path"].removeprefix(PREFIX).partition("/")
        download = self._downloads.find(key) if name and "/" not in name else None
        if download is None:
            return _not_found()
        try:
            file = await asyncio.to_thread(self._downloads.open, download)
        except ToolError:
            return _not_found()
        size = os.fstat(file.fileno()).st_size
        headers = {
            **HEADERS,
            "content-disposition": content_disposition(download.name),
            "content-length": str(size),
        }
        if scope["method"] == "HEAD":
            file.close()
            return Response(headers=headers, media_type="application/octet-stream")
        return StreamingResponse(file_chunks(file, size), headers=headers, media_type="application/octet-stream")


def content_disposition(name: str) -> str:
    """Return the header under which every browser saves a file by its name (RFC 6266, RFC 5987), in ASCII alone."""
    ascii_name = _UNSAFE_IN_HEADER.sub("_", name)
    return f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(name, safe='')}"


def _not_found() -> Response:
    text = "This download does not exist or has expired. Ask for the file to be exported again.\n"
    return PlainTextResponse(text, 404, headers=HEADERS)


async def file_chunks(file: IO[bytes], unread_bytes: int) -> AsyncIterator[bytes]:
    """Yield so many bytes of a file, and close it. What grows meanwhile is not sent: the length is said already."""
    try:
        # Not abandoned when the client disconnects: a thread that still reads must not meet a descriptor number that
        # was closed and reused.
        while unread_bytes > 0 and (chunk := await anyio.to_thread.run_sync(file.read, min(unread_bytes, CHUNK_BYTES))):
            unread_bytes -= len(chunk)
            yield chunk
    finally:
        file.close()
