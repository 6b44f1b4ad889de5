"""Archives over the API: a session to a ZIP file and back, and how any archive is sent."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.responses import Response, StreamingResponse

from madang.core.errors import LimitExceeded
from madang.core.phrases import say
from madang.core.texts import one_line
from madang.files.part_files import PartFile
from madang.host.api import API_HEADERS, ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.receiving import BYTES, UploadLimit, body_blocks
from madang.host.wire import ImportAnswer, NoBody
from madang.provider.sessions import SessionOperations
from madang.server.downloads import content_disposition, file_chunks
from madang.system.clock import format_timestamp, now

MAX_ARCHIVE_BYTES = 256 * 1024**2
MAX_NAME_CHARS = 60
_LIMIT = UploadLimit(MAX_ARCHIVE_BYTES, say("'madang sessions import FILE --trust' reads a larger one."))


class SessionArchives:
    """POST /api/sessions/{id}/export, and POST /api/imports with the archive as the body."""

    def __init__(self, calls: HostCalls, operations: SessionOperations, data_dir: Path) -> None:
        self._calls = calls
        self._operations = operations
        self._data_dir = data_dir
        self._is_importing = False

    def operations(self) -> list[Operation]:
        path = "/api/sessions/{id}/export"
        return [Operation("POST", path, self.export, None, NoBody, media_type="application/zip")]

    @property
    def import_operation(self) -> Operation:
        """The route of imports as an operation, for the OpenAPI document."""
        return Operation("POST", "/api/imports", self.import_, ImportAnswer, status=201, body_media_type=BYTES)

    async def export(self, request: ApiRequest) -> Response:
        """Return a session as a ZIP file, for another Madang or for this one."""
        call, session = await self._calls.session_of(request.request, request.path("id"))
        name = one_line(session.title)[:MAX_NAME_CHARS].strip() or "madang-session"
        return await archive_response(self._data_dir, name, lambda path: self._operations.export(call, path))

    async def import_(self, request: ApiRequest) -> ImportAnswer:
        """Make a new session of an archive."""
        if self._is_importing:
            raise LimitExceeded(say("Another archive is being read."), hint=say("Wait until it is done."))
        self._is_importing = True
        try:
            async with new_folder(self._data_dir) as folder:
                path = folder / "archive.zip"
                with path.open("xb") as file:
                    async for block in body_blocks(request.request, _LIMIT):
                        await asyncio.to_thread(file.write, block)
                call = self._calls.call_of(request.request)
                session = await self._operations.import_(call, path)
                return ImportAnswer(session_id=session.id, title=session.title)
        finally:
            self._is_importing = False


async def archive_response(data_dir: Path, name: str, write: Callable[[Path], Awaitable[object]]) -> Response:
    """Return what is written to a file, which is gone as soon as it is sent."""
    async with new_folder(data_dir) as folder:
        await write(folder / "archive.zip")
        file = (folder / "archive.zip").open("rb")
    size = os.fstat(file.fileno()).st_size
    headers = {
        **API_HEADERS,
        "content-length": str(size),
        "content-disposition": content_disposition(f"{name}-{format_timestamp(now())[:10]}.zip"),
    }
    return StreamingResponse(file_chunks(file, size), headers=headers, media_type="application/zip")


@asynccontextmanager
async def new_folder(data_dir: Path) -> AsyncIterator[Path]:
    """Make a folder for an archive, and remove it with what is in it."""
    # In the data folder: it may be larger than a temporary file system, and nobody else can read there.
    part = await asyncio.to_thread(PartFile, data_dir / "archive")
    folder = part.beside("files")
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        await asyncio.to_thread(part.discard)
