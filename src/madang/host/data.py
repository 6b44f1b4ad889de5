"""Data over the API: where it is, how much, a backup, an export, deleting it; which clients came, what left."""

from __future__ import annotations

import asyncio
import os
import shutil
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
    DeleteDataBody,
    RequestsAnswer,
    RequestsByHost,
)
from madang.rendering.catalogue import translator
from madang.storage.client_calls import MAX_CALLS, SEEN_DAYS, ClientCalls, ClientSession
from madang.storage.clock import format_timestamp, now
from madang.storage.data_folder import DATABASE, WORKSPACES, back_up_folder

STOP_DELAY_S = 0.3
"""So that the answer is sent before the host stops."""
DELETION_WORDS = say("delete everything")


class DataApi:
    """The operations on all data at once, and on what the trail tells."""

    def __init__(self, parts: HostParts) -> None:
        self._parts = parts
        self._folder = Path(parts.data_dir)
        self._clients = ClientCalls(parts.database, parts.audit)

    def operations(self) -> list[Operation]:
        return [
            Operation("GET", "/api/data", self.get, DataAnswer),
            Operation("POST", "/api/data/backup", self.back_up, None, NoBody, media_type="application/zip"),
            Operation("POST", "/api/data/export", self.export, None, NoBody, media_type="application/zip"),
            Operation("POST", "/api/data/delete", self.delete, Done, DeleteDataBody, status=202),
            Operation("GET", "/api/clients", self.list_clients, ClientsAnswer),
            Operation("GET", "/api/clients/sessions/{id}", self.list_calls, ClientCallsAnswer, query=ClientCallsQuery),
            Operation("GET", "/api/requests", self.list_requests, RequestsAnswer),
        ]

    async def get(self, request: ApiRequest) -> DataAnswer:
        """Return where the data is and how much of it there is."""
        call = self._parts.call_of(request.request)
        sizes = await asyncio.to_thread(_measure, self._folder)
        counts = await self._parts.sessions.count_by_assistant(call.user_id)
        return DataAnswer(
            folder=str(self._folder),
            database_bytes=sizes.get(DATABASE, 0),
            file_bytes=sizes.get(WORKSPACES, 0),
            other_bytes=sum(size for name, size in sizes.items() if name not in (DATABASE, WORKSPACES)),
            free_bytes=shutil.disk_usage(self._folder).free,
            session_count=sum(counts.values()),
            is_on_server=self._parts.is_on_server,
            deletion_words=DELETION_WORDS.render(translator(call.locale)),
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

        return await archive_response(self._parts, "madang-backup", write)

    async def export(self, request: ApiRequest) -> Response:
        """Return all sessions and playbooks as a ZIP file that people can read."""
        export = self._parts.export_everything
        if export is None:
            raise Unavailable(say("Nothing can be exported here."))
        return await archive_response(self._parts, "madang-export", export)

    async def delete(self, request: ApiRequest) -> Done:
        """Stop Madang and delete everything in the data folder, if the person has written the words for it."""
        body: DeleteDataBody = request.body
        call = self._parts.call_of(request.request)
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
        call = self._parts.call_of(request.request)
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
        call, session = await self._parts.session_of(request.request, request.path("id"))
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
        totals = await self._parts.egress.list_totals(self._parts.call.user_id, SEEN_DAYS)
        return RequestsAnswer(
            days=SEEN_DAYS,
            hosts=[
                RequestsByHost(host=one.host, purpose=one.purpose, count=one.count, last_at=one.last_at)
                for one in totals
            ],
        )


def _since() -> str:
    return format_timestamp(now() - timedelta(days=SEEN_DAYS))


def _measure(folder: Path) -> dict[str, int]:
    """Return the bytes of what is in a data folder: the database with its log, and the others by their names."""
    sizes: dict[str, int] = {}
    for entry in os.scandir(folder):
        name = DATABASE if entry.name.startswith(DATABASE) else entry.name
        sizes[name] = sizes.get(name, 0) + _size(entry)
    return sizes


def _size(entry: os.DirEntry[str]) -> int:
    try:
        if entry.is_dir(follow_symlinks=False):
            with os.scandir(entry.path) as entries:
                return sum(map(_size, entries))
        return entry.stat(follow_symlinks=False).st_size
    except OSError:  # it was deleted meanwhile, or cannot be read
        return 0
