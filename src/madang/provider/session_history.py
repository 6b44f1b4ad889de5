"""What a session keeps beside its services, when it is copied, exported or imported: runs, calls, messages, events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.executor import Executor
from madang.database.port import Database
from madang.provider.saved_sessions import EVENTS, EVENTS_PER_BATCH, SavedEvent
from madang.records.events import Event, EventLog, restore_events
from madang.records.runs.journal import MAX_MESSAGE_BYTES
from madang.records.runs.offers import OfferStore, ToolOffer
from madang.records.runs.saved import (
    RunRestorer,
    SavedCall,
    SavedMessage,
    SavedRun,
    read_calls,
    read_messages,
    read_runs,
    renamed_run,
)
from madang.records.saved_views import SavedView, ViewRestorer, read_views

if TYPE_CHECKING:
    from madang.files.archives import ZipArchiveReader, ZipArchiveWriter

RUNS, CALLS, VIEWS, MESSAGES = "runs.jsonl", "calls.jsonl", "views.jsonl", "messages.jsonl"
TOOLS = "tools.json"
ROWS_PER_BATCH = 20
"""A message may have megabytes."""
MAX_LINE_BYTES = 2 * MAX_MESSAGE_BYTES

Rest = ParamSpec("Rest")
ResultT = TypeVar("ResultT")
DocumentT = TypeVar("DocumentT", bound=Document)


class SessionHistory:
    """Copies, exports and imports the histories of sessions. The caller has opened the tables."""

    def __init__(self, database: Database, executor: Executor) -> None:
        self._database = database
        self._executor = executor
        self._events = EventLog(database)

    async def copy(self, call: Call, copy: Call) -> None:
        """Copy the history of the call's session to that of `copy`, which is new."""
        restorer = RunRestorer(self._database, copy)
        await _add(read_runs(self._database, call), restorer.add_runs)
        await _add(read_calls(self._database, call), restorer.add_calls)
        await self.copy_offer(call, copy)
        views = ViewRestorer(self._database, copy, restorer, inert=False)
        await _add(read_views(self._database, call), views.add)
        await _add(read_messages(self._database, call), restorer.add_messages)
        after, has_more = 0, True
        while has_more:
            page = await self._events.read(call, after)
            await self._append(copy, page.events, restorer)
            after, has_more = page.next_after, page.has_more

    async def copy_offer(self, call: Call, copy: Call) -> None:
        """Let the model of a fork or a copy be listed the same tools: its history begins alike."""
        await OfferStore(self._database).copy(call, copy)

    async def write(self, call: Call, archive: ZipArchiveWriter) -> None:
        """Write the history of the call's session into an archive."""
        page = await self._events.read(call)
        if page.events:
            with archive.create(EVENTS) as file:
                while page.events:
                    lines = [SavedEvent(**asdict(event)).model_dump_json() + "\n" for event in page.events]
                    await self._in_thread(call, file.write, "".join(lines).encode())
                    page = await self._events.read(call, page.next_after)
        offer = await OfferStore(self._database).find(call)
        if offer is not None:
            await self._in_thread(call, archive.add, TOOLS, offer)
        await self._write_all(call, archive, RUNS, read_runs(self._database, call))
        await self._write_all(call, archive, CALLS, read_calls(self._database, call))
        await self._write_all(call, archive, VIEWS, read_views(self._database, call))
        await self._write_all(call, archive, MESSAGES, read_messages(self._database, call))

    async def restore(self, call: Call, archive: ZipArchiveReader) -> None:
        """Take what `write` wrote into the call's session, which is new.

        Raises:
            InvalidArguments, LimitExceeded: it is not what `write` writes.
        """
        offer = await self._in_thread(call, archive.read, TOOLS, ToolOffer)
        if offer is not None:
            await OfferStore(self._database).settle(call, offer)
        restorer = RunRestorer(self._database, call)
        await self._read_all(call, archive.read_all(RUNS, SavedRun, MAX_LINE_BYTES), restorer.add_runs)
        await self._read_all(call, archive.read_all(CALLS, SavedCall, MAX_LINE_BYTES), restorer.add_calls)
        views = ViewRestorer(self._database, call, restorer, inert=True)
        await self._read_all(call, archive.read_all(VIEWS, SavedView, MAX_LINE_BYTES), views.add)
        await self._read_all(call, archive.read_all(MESSAGES, SavedMessage, MAX_LINE_BYTES), restorer.add_messages)
        saved = archive.read_all(EVENTS, SavedEvent)
        while batch := await self._in_thread(call, _batch, saved, EVENTS_PER_BATCH):
            await self._append(call, [event.event() for event in batch], restorer)

    async def _append(self, call: Call, events: Sequence[Event], restorer: RunRestorer) -> None:
        renamed = [_renamed(event, restorer) for event in events]
        await self._database.write(lambda tx: restore_events(tx, call, renamed), user_id=call.user_id)

    async def _write_all(
        self, call: Call, archive: ZipArchiveWriter, name: str, documents: AsyncIterator[Document]
    ) -> None:
        first = await anext(documents, None)
        if first is None:
            return
        with archive.create(name) as file:
            await self._in_thread(call, file.write, _line(first))
            async for document in documents:
                await self._in_thread(call, file.write, _line(document))

    async def _read_all(
        self,
        call: Call,
        documents: Iterator[DocumentT],
        add: Callable[[Sequence[DocumentT]], Awaitable[None]],
    ) -> None:
        while batch := await self._in_thread(call, _batch, documents, ROWS_PER_BATCH):
            await add(batch)

    async def _in_thread(
        self, call: Call, work: Callable[Rest, ResultT], *args: Rest.args, **kwargs: Rest.kwargs
    ) -> ResultT:
        return await self._executor.native.run_to_end(call, lambda _: work(*args, **kwargs))


async def _add(documents: AsyncIterator[DocumentT], add: Callable[[Sequence[DocumentT]], Awaitable[None]]) -> None:
    batch: list[DocumentT] = []
    async for document in documents:
        batch.append(document)
        if len(batch) == ROWS_PER_BATCH:
            await add(batch)
            batch = []
    if batch:
        await add(batch)


def _renamed(event: Event, restorer: RunRestorer) -> Event:
    """Return an event with the id that its run has in the new session."""
    new = restorer.new_run_id(event.run_id)
    if not event.run_id or new == event.run_id:
        return event
    return replace(event, run_id=new, payload=renamed_run(event.payload, event.run_id, new))


def _line(document: Document) -> bytes:
    return document.model_dump_json().encode() + b"\n"


def _batch(documents: Iterator[DocumentT], count: int) -> list[DocumentT]:
    return list(islice(documents, count))
