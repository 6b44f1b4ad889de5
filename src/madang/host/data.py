"""Data over the API: where it is, how much, a backup, an export, deleting it; which clients came, what left."""

from __future__ import annotations

import asyncio
import math
import shutil
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from starlette.responses import Response

from madang import __version__
from madang.core.errors import Conflict, InvalidArguments, Unavailable
from madang.core.ids import SessionId
from madang.core.phrases import say
from madang.host.api import ApiRequest, Operation
from madang.host.archives import archive_response
from madang.host.parts import HostParts
from madang.host.wire import Done, NoBody
from madang.host.wire_settings import (
    ClientAnswer,
    ClientCallAnswer,
    ClientCallsAnswer,
    ClientCallsQuery,
    ClientsAnswer,
    ClientSessionAnswer,
    DataAnswer,
    DataSizeAnswer,
    DeleteDataBody,
    RequestsAnswer,
    RequestsByHost,
)
from madang.records.client_calls import MAX_CALLS, SEEN_DAYS, ClientCalls, ClientSession
from madang.records.data_folder import back_up_folder
from madang.records.folder_size import FolderSize, measure_folder
from madang.rendering.catalogue import translator
from madang.system.clock import format_timestamp, now

STOP_DELAY_S = 0.3
"""So that the answer is sent before the host stops."""
MEASURED_S = 10.0
"""How long a size that was counted is told to others."""
DELETION_WORDS = say("delete everything")


class DataApi:
    """The operations on all data at once, and on what the trail tells."""

    def __init__(self, parts: HostParts) -> None:
        self._parts = parts
        self._folder = parts.data_dir
        self._clients = ClientCalls(parts.database, parts.audit)
        self._measuring = asyncio.Lock()
        self._measured = FolderSize(), -math.inf

    def operations(self) -> list[Operation]:
        return [
            Operation("GET", "/api/data", self.get, DataAnswer),
            Operation("GET", "/api/data/size", self.measure, DataSizeAnswer),
            Operation("POST", "/api/data/backup", self.back_up, None, NoBody, media_type="application/zip"),
            Operation("POST", "/api/data/export", self.export, None, NoBody, media_type="application/zip"),
            Operation("POST", "/api/data/delete", self.delete, Done, DeleteDataBody, status=202),
            Operation("GET", "/api/clients", self.list_clients, ClientsAnswer),
            Operation("GET", "/api/clients/sessions/{id}", self.list_calls, ClientCallsAnswer, query=ClientCallsQuery),
            Operation("GET", "/api/requests", self.list_requests, RequestsAnswer),
        ]

    async def get(self, request: ApiRequest) -> DataAnswer:
        """Return where the data is, and what can be told of it at once."""
        call = self._parts.calls.call_of(request.request)
        counts = await self._parts.sessions.count_by_assistant(call.user_id)
        return DataAnswer(
            folder=str(self._folder),
            free_bytes=shutil.disk_usage(self._folder).free,
            session_count=sum(counts.values()),
            is_on_server=self._parts.is_on_server,
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
        if self._parts.is_on_server:
            raise Conflict(
                say("This is for data in a folder, and yours is on a database server."),
                hint=say("'pg_dump' backs up a server, and a copy of workspaces/ the files."),
            )

        async def write(path: Path) -> None:
            await asyncio.to_thread(back_up_folder, self._folder, path, __version__)

        return await archive_response(self._folder, "madang-backup", write)

    async def export(self, request: ApiRequest) -> Response:
        """Return all sessions and playbooks as a ZIP file that people can read."""
        export = self._parts.export_everything
        if export is None:
            raise Unavailable(say("Nothing can be exported here."))
        return await archive_response(self._folder, "madang-export", export)

    async def delete(self, request: ApiRequest) -> Done:
        """Stop Madang and delete everything in the data folder, if the person has written the words for it."""
        body: DeleteDataBody = request.body
        call = self._parts.calls.call_of(request.request)
        words = DELETION_WORDS.render(translator(call.locale))
        if " ".join(body.words.split()).casefold() != words.casefold():
            raise InvalidArguments(
                say("Nothing was deleted: the words are not right."), hint=say("Write: {words}", words=words)
            )
        if self._parts.is_on_server:
            raise Conflict(
                say("This is for data in a folder, and yours is on a database server."),
                hint=say("Drop the database on the server, and delete the data folder."),
            )
        if not self._parts.ending.is_possible:
            raise Unavailable(say("This Madang cannot stop itself. Nothing was deleted."))
        asyncio.get_running_loop().call_later(STOP_DELAY_S, self._parts.ending.delete_data)
        return Done()

    async def list_clients(self, request: ApiRequest) -> ClientsAnswer:
        """List the programs that called tools lately, with the sessions that they worked in."""
        call = self._parts.calls.call_of(request.request)
        rows = await self._clients.list_sessions(call.user_id, _since())
        by_client: dict[tuple[str, str], list[ClientSession]] = {}
        for row in rows:
            by_client.setdefault((row.client, row.door), []).append(row)
        titles = {}
        for id in {row.session_id for row in rows if row.session_id}:
            session = await self._parts.sessions.get(replace(call, session_id=SessionId(id)))
            titles[id] = session.title if session is not None else None
        return ClientsAnswer(
            days=SEEN_DAYS,
            clients=[
                ClientAnswer(
                    name=name,
                    door=door,
                    calls=sum(row.calls for row in sessions),
                    first_at=min(row.first_at for row in sessions),
                    last_at=max(row.last_at for row in sessions),
                    sessions=[
                        ClientSessionAnswer(
                            id=row.session_id,
                            title=titles.get(row.session_id) or "",
                            calls=row.calls,
                            last_at=row.last_at,
                        )
                        for row in sessions
                    ],
                )
                for (name, door), sessions in by_client.items()
            ],
        )

    async def list_calls(self, request: ApiRequest) -> ClientCallsAnswer:
        """List the calls of other programs in a session, the latest first."""
        query: ClientCallsQuery = request.query
        call, session = await self._parts.calls.session_of(request.request, request.path("id"))
        calls = await self._clients.list_calls(call.user_id, session.id, _since(), query.before)
        return ClientCallsAnswer(
            calls=[
                ClientCallAnswer(
                    seq=one.seq,
                    at=one.at,
                    client=one.client,
                    tool=one.tool,
                    effect=one.effect,
                    arguments=one.arguments,
                    outcome=one.outcome,
                    took_ms=one.took_ms,
                )
                for one in calls
            ],
            has_more=len(calls) == MAX_CALLS,
        )

    async def list_requests(self, request: ApiRequest) -> RequestsAnswer:
        """List the hosts that requests went to lately, beyond this computer."""
        totals = await self._parts.egress.list_totals(self._parts.calls.call.user_id, SEEN_DAYS)
        return RequestsAnswer(
            days=SEEN_DAYS,
            hosts=[
                RequestsByHost(host=one.host, purpose=one.purpose, count=one.count, last_at=one.last_at)
                for one in totals
            ],
        )


def _since() -> str:
    return format_timestamp(now() - timedelta(days=SEEN_DAYS))
