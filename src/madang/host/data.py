"""Data over the API: where it is, how much, a backup, an export, and deleting all of it."""

from __future__ import annotations

import asyncio
import math
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.responses import Response

from madang import __version__
from madang.core.errors import Conflict, InvalidArguments, Unavailable
from madang.core.phrases import say
from madang.host.api import ApiRequest, Operation
from madang.host.archives import archive_response
from madang.host.calls import HostCalls
from madang.host.ending import HostEnding
from madang.host.wire import Done, NoBody
from madang.host.wire_settings import DataAnswer, DataSizeAnswer, DeleteDataBody
from madang.records.data_folder import back_up_folder
from madang.records.folder_size import FolderSize, measure_folder
from madang.records.sessions import SessionStore
from madang.rendering.catalogue import translator

STOP_DELAY_S = 0.3
"""So that the answer is sent before the host stops."""
MEASURED_S = 10.0
"""How long a size that was counted is told to others."""
DELETION_WORDS = say("delete everything")


class DataApi:
    """The operations on all data at once."""

    def __init__(
        self,
        calls: HostCalls,
        sessions: SessionStore,
        *,
        folder: Path,
        is_on_server: bool,
        ending: HostEnding,
        export_everything: Callable[[Path], Awaitable[object]] | None,
    ) -> None:
        """`folder` has the data, and files alone if the database is on a server. `export_everything` writes all
        sessions and playbooks to a new ZIP file.
        """
        self._calls = calls
        self._sessions = sessions
        self._folder = folder
        self._is_on_server = is_on_server
        self._ending = ending
        self._export_everything = export_everything
        self._measuring = asyncio.Lock()
        self._measured = FolderSize(), -math.inf

    def operations(self) -> list[Operation]:
        return [
            Operation("GET", "/api/data", self.get, DataAnswer),
            Operation("GET", "/api/data/size", self.measure, DataSizeAnswer),
            Operation("POST", "/api/data/backup", self.back_up, None, NoBody, media_type="application/zip"),
            Operation("POST", "/api/data/export", self.export, None, NoBody, media_type="application/zip"),
            Operation("POST", "/api/data/delete", self.delete, Done, DeleteDataBody, status=202),
        ]

    async def get(self, request: ApiRequest) -> DataAnswer:
        """Return where the data is, and what can be told of it at once."""
        call = self._calls.call_of(request.request)
        counts = await self._sessions.count_by_assistant(call.user_id)
        return DataAnswer(
            folder=str(self._folder),
            free_bytes=shutil.disk_usage(self._folder).free,
            session_count=sum(counts.values()),
            is_on_server=self._is_on_server,
            deletion_words=DELETION_WORDS.render(translator(call.locale)),
        )

    async def measure(self, request: ApiRequest) -> DataSizeAnswer:
        """Return how much data there is, or at least how much: it is counted for some seconds, file by file."""
        async with self._measuring:  # of several tabs the first one counts
            size, measured_at = self._measured
            if time.monotonic() - measured_at > MEASURED_S:
                size = await asyncio.to_thread(measure_folder, self._folder)
                self._measured = size, time.monotonic()
        return DataSizeAnswer(
            database_bytes=size.database_bytes,
            file_bytes=size.file_bytes,
            other_bytes=size.other_bytes,
            is_cut=size.is_cut,
        )

    async def back_up(self, request: ApiRequest) -> Response:
        """Return a backup of the data folder as a ZIP file: without keys, tokens and search indexes."""
        if self._is_on_server:
            raise Conflict(
                say("This is for data in a folder, and yours is on a database server."),
                hint=say("'pg_dump' backs up a server, and a copy of workspaces/ the files."),
            )

        async def write(path: Path) -> None:
            await asyncio.to_thread(back_up_folder, self._folder, path, __version__)

        return await archive_response(self._folder, "madang-backup", write)

    async def export(self, request: ApiRequest) -> Response:
        """Return all sessions and playbooks as a ZIP file that people can read."""
        if self._export_everything is None:
            raise Unavailable(say("Nothing can be exported here."))
        return await archive_response(self._folder, "madang-export", self._export_everything)

    async def delete(self, request: ApiRequest) -> Done:
        """Stop Madang and delete everything in the data folder, if the person has written the words for it."""
        body: DeleteDataBody = request.body
        call = self._calls.call_of(request.request)
        words = DELETION_WORDS.render(translator(call.locale))
        if " ".join(body.words.split()).casefold() != words.casefold():
            raise InvalidArguments(
                say("Nothing was deleted: the words are not right."), hint=say("Write: {words}", words=words)
            )
        if self._is_on_server:
            raise Conflict(
                say("This is for data in a folder, and yours is on a database server."),
                hint=say("Drop the database on the server, and delete the data folder."),
            )
        if not self._ending.is_possible:
            raise Unavailable(say("This Madang cannot stop itself. Nothing was deleted."))
        asyncio.get_running_loop().call_later(STOP_DELAY_S, self._ending.delete_data)
        return Done()
