"""The files of a session as bytes: for the preview and the download of a panel, and what the person uploads there.

Downloads need the tab's token, which no address carries, so the tab fetches them and saves what it got.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import PurePosixPath
from typing import IO

from starlette.responses import Response, StreamingResponse

from madang.core.calls import Call
from madang.core.errors import LimitExceeded
from madang.core.executor import Executor
from madang.core.phrases import say
from madang.core.uploads import UploadedFile
from madang.files.folders import Folders
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.receiving import BYTES, Receiver, UploadLimit, keep_if_wanted
from madang.host.wire_panels import ExportQuery, FileAnswer, FilePageQuery, FileQuery, FileTextAnswer
from madang.provider.provider import Provider
from madang.rendering.png import encode_png
from madang.server.downloads import HEADERS, content_disposition, file_chunks
from madang.services.content.domain.contents import MAX_CONTENT_BYTES
from madang.services.content.engine.parsing import Parser
from madang.services.workspace.domain.exports import stored_name
from madang.services.workspace.domain.files import MAX_COPIED_FILE_BYTES

WORKSPACE = "workspace"
"""The service whose files these are."""
MAX_PREVIEW_CHARS = 200_000
MAX_PARSED_AT_ONCE = 2
PNG = "image/png"

FILES_PATH = "/api/sessions/{id}/files"
EXPORTS_PATH = "/api/sessions/{id}/exports"


class Files:
    """GET and POST …/files?path=…, GET …/files/text and …/files/page of documents, GET …/exports of a session."""

    def __init__(
        self, calls: HostCalls, receiver: Receiver, *, provider: Provider, executor: Executor, folders: Folders
    ) -> None:
        self._calls = calls
        self._receiver = receiver
        self._provider = provider
        self._executor = executor
        self._folders = folders
        self._parsing = asyncio.Semaphore(MAX_PARSED_AT_ONCE)

    def operations(self) -> list[Operation]:
        """Return what reads. Downloads are never displayed by themselves, whatever the browser makes of them."""
        return [
            Operation("GET", FILES_PATH, self.read, None, query=FileQuery, media_type=BYTES),
            Operation("GET", f"{FILES_PATH}/text", self.read_text, FileTextAnswer, query=FileQuery),
            Operation("GET", f"{FILES_PATH}/page", self.read_page, None, query=FilePageQuery, media_type=PNG),
            Operation("GET", EXPORTS_PATH, self.read_export, None, query=ExportQuery, media_type=BYTES),
        ]

    @property
    def upload_operation(self) -> Operation:
        """The route of uploads as an operation, for the OpenAPI document."""
        return Operation("POST", FILES_PATH, self.write, FileAnswer, query=FileQuery, status=201, body_media_type=BYTES)

    async def read(self, request: ApiRequest) -> Response:
        """Return the bytes of a file of the workspace."""
        query: FileQuery = request.query
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        return await self._stream(call, query.path, PurePosixPath(query.path).name, is_export=False)

    async def read_export(self, request: ApiRequest) -> Response:
        """Return the bytes of an export."""
        query: ExportQuery = request.query
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        return await self._stream(call, stored_name(query.id, query.name), query.name, is_export=True)

    async def read_text(self, request: ApiRequest) -> FileTextAnswer:
        """Return what a document says, as the content service would read it; nothing is kept."""
        query: FileQuery = request.query
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        data = await self._read_document(call, query.path)
        async with self._parser() as parser:
            parsed = await parser.parse(data, filename=PurePosixPath(query.path).name, owner=call)
        text = parsed.text[:MAX_PREVIEW_CHARS]
        is_cut = len(text) < len(parsed.text)
        lines = text.count("\n") + 1
        pages = [line for line in parsed.page_lines if line <= lines]
        return FileTextAnswer(text=text, size=len(data), is_cut=is_cut, page_lines=pages)

    async def read_page(self, request: ApiRequest) -> Response:
        """Return a page of a PDF as a picture; `x-page-count` is how many it has. It is drawn in a fenced process."""
        query: FilePageQuery = request.query
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        data = await self._read_document(call, query.path)
        async with self._parser() as parser:
            page = await parser.render_page(data, filename=PurePosixPath(query.path).name, page=query.page)
        image = await self._executor.slow.run(call, encode_png, page.width, page.height, page.pixels)
        headers = {**HEADERS, "x-page-count": str(page.pages), "x-file-size": str(len(data))}
        return Response(image, headers=headers, media_type=PNG)

    async def _read_document(self, call: Call, path: str) -> bytes:
        def read_whole() -> bytes:
            with self._open(call, path) as file:
                if os.fstat(file.fileno()).st_size > MAX_CONTENT_BYTES:
                    raise LimitExceeded(say("The file is larger than {max} bytes.", max=MAX_CONTENT_BYTES))
                return file.read(MAX_CONTENT_BYTES)

        return await self._executor.reads.run(call, read_whole)

    @asynccontextmanager
    async def _parser(self) -> AsyncIterator[Parser]:
        async with self._parsing:
            parser = Parser(self._executor)
            try:
                yield parser
            finally:
                await parser.close()

    async def write(self, request: ApiRequest) -> FileAnswer:
        """Keep a file in the workspace, where none is yet."""
        query: FileQuery = request.query
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        limit = UploadLimit(MAX_COPIED_FILE_BYTES, say("Let the agent copy it from a folder that you allow."))
        async with self._receiver.receive(call, request.request, limit) as upload:
            provider = self._provider
            accepting = provider.accept_upload(call, WORKSPACE, UploadedFile(upload.url, query.path))
            withdraw = partial(provider.withdraw_upload, call, WORKSPACE)
            written = await keep_if_wanted(request.request, accepting, withdraw)
            return FileAnswer(path=written.id, size=upload.size_bytes)

    def _open(self, call: Call, path: str, *, is_export: bool = False) -> IO[bytes]:
        with self._folders.reading(call) as session:
            folder = session.exports if is_export else session.files
            with folder.open_file(path) as file:
                # Its own descriptor: that of the folder is closed with the folder.
                return os.fdopen(os.dup(file.fileno()), "rb")

    async def _stream(self, call: Call, path: str, name: str, *, is_export: bool) -> Response:
        file = await self._executor.reads.run(call, lambda: self._open(call, path, is_export=is_export))
        size = os.fstat(file.fileno()).st_size
        headers = {**HEADERS, "content-disposition": content_disposition(name), "content-length": str(size)}
        return StreamingResponse(file_chunks(file, size), headers=headers, media_type=BYTES)
