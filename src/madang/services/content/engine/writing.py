"""Adding and deleting contents: from a source to rows, and on to the ranking."""

from __future__ import annotations

import hashlib
import mimetypes
from typing import Protocol

from madang.core.calls import Call
from madang.core.executor import Executor
from madang.core.operations import Operation
from madang.records.analysis.analysis import Analysis
from madang.services.content.domain.arguments import ContentMetadata
from madang.services.content.domain.contents import (
    UNTITLED_CONTENT,
    AddedContent,
    Content,
    ContentChange,
    NewContent,
    SavedContent,
    Store,
    StoreKey,
    check_text,
    line_count,
    normalized_name,
    preview,
    searched_text,
)
from madang.services.content.domain.jobs import Job, JobPlace
from madang.services.content.domain.search import Ranking
from madang.services.content.engine import chunks
from madang.services.content.engine.jobs import Jobs
from madang.services.content.engine.parsing import Parsed, Parser
from madang.services.content.engine.sources import Source, SourceReader

HASH_INLINE_MAX_BYTES = 100_000
"""Hashing fewer bytes takes less time than switching to a thread and back."""


class WritableContents(Protocol):
    """The rows that contents are written to: a `ContentStore`."""

    async def find_store(self, call: Call, id: str) -> StoreKey | None: ...
    async def find_duplicate(self, store: StoreKey, sha256: str) -> Content | None: ...
    async def find_added(self, call: Call) -> AddedContent | None: ...
    async def add(self, call: Call, store_id: str, new: NewContent) -> AddedContent: ...
    async def put(self, call: Call, store_id: str, new: NewContent) -> AddedContent: ...
    async def delete_content(
        self, call: Call, store_id: str, id: str, *, for_good: bool
    ) -> tuple[StoreKey, Content]: ...
    async def restore_content(self, call: Call, id: str) -> AddedContent: ...
    async def delete_store(self, call: Call, id: str) -> Store: ...
    async def undo(self, call: Call, operation: Operation) -> tuple[Operation, ContentChange]: ...


class ContentWriter:
    """Adds and deletes contents. When a method returns, its rows are durable; the ranking follows in the background,
    and a search waits for it."""

    def __init__(
        self,
        contents: WritableContents,
        ranking: Ranking,
        sources: SourceReader,
        parser: Parser,
        analysis: Analysis,
        executor: Executor,
        jobs: Jobs,
    ) -> None:
        self._contents = contents
        self._ranking = ranking
        self._sources = sources
        self._parser = parser
        self._analysis = analysis
        self._executor = executor
        self._jobs = jobs

    async def add_text(self, call: Call, text: str, store_id: str, metadata: ContentMetadata) -> AddedContent:
        """Add a text that the caller sent.

        Raises:
            ToolError: it cannot be stored.
        """
        added = await self._added_before(call)
        return added or await self._add(call, await self._sources.from_text(call, text), store_id, metadata)

    async def add_file(self, call: Call, url: str, store_id: str, metadata: ContentMetadata) -> AddedContent:
        """Add the text of a file.

        Raises:
            ToolError: it cannot be read, or its text cannot be stored.
        """
        added = await self._added_before(call)  # also where the file is not there any more
        return added or await self._add(call, await self._sources.from_url(call, url), store_id, metadata)

    async def add_saved(self, call: Call, store: StoreKey, saved: SavedContent, text: str) -> AddedContent:
        """Add a text that was stored in another session. The ranking does not follow yet.

        Raises:
            ToolError: it cannot be stored.
        """
        filename, mime_type = normalized_name(saved.filename, UNTITLED_CONTENT), normalized_name(saved.mime_type, "")
        parsed = Parsed(text, mime_type or "text/plain", "utf-8", tuple(saved.page_lines))
        new = await self._new_content(call, parsed, filename, saved.sha256, saved.size)
        return await self._contents.put(call, store.id, new)

    async def delete_content(
        self, call: Call, store_id: str, id: str, *, for_good: bool = False
    ) -> tuple[StoreKey, Content]:
        """Delete a content with its text, so that it can be restored unless it is `for_good`; return where it was.

        Raises:
            NotFound: there is no such store, or no such content in it.
        """
        store, content = await self._contents.delete_content(call, store_id, id, for_good=for_good)
        self._ranking.follow(store)
        return store, content

    async def restore_content(self, call: Call, id: str) -> AddedContent:
        """Take the deletion of a content back, and return it.

        Raises:
            ToolError: it cannot be restored.
        """
        restored = await self._contents.restore_content(call, id)
        self._ranking.follow(restored.store)
        return restored

    async def delete_store(self, call: Call, id: str) -> Store:
        """Delete a store with everything in it, so that it can be restored, and return it as it was.

        Raises:
            NotFound: the session has no such store.
        """
        store = await self._contents.delete_store(call, id)
        await self._ranking.drop(store.key)  # one that is restored is ranked anew
        return store

    async def undo(self, call: Call, operation: Operation) -> Operation:
        """Take back what an operation changed, as an operation of its own.

        Raises:
            ToolError: it cannot be taken back.
        """
        undo, change = await self._contents.undo(call, operation)
        if change.store is not None and change.is_deletion:
            await self._ranking.drop(change.key)
        else:
            self._ranking.follow(change.key)
        return undo

    async def _added_before(self, call: Call) -> AddedContent | None:
        """Return what the same call added before it was interrupted."""
        added = await self._contents.find_added(call)
        if added is not None:
            self._ranking.follow(added.store)
        return added

    async def _add(self, call: Call, source: Source, store_id: str, metadata: ContentMetadata) -> AddedContent:
        sha256 = await self._sha256(call, source.data)
        added = await self._duplicate(call, store_id, sha256)
        if added is None:
            filename = normalized_name(metadata.filename or source.filename, UNTITLED_CONTENT)
            mime_type = normalized_name(metadata.mime_type, source.mime_type)
            with self._jobs.doing(Job("reading", JobPlace.of_session(call), filename)) as job:
                new = await self._jobs.run(job, self._read(call, job, source, mime_type, sha256))
                added = await self._contents.add(call, store_id, new)
        # Also for a duplicate: the process that added it may have been killed before its ranking followed.
        self._ranking.follow(added.store)
        return added

    async def _sha256(self, call: Call, data: bytes) -> str:
        if len(data) < HASH_INLINE_MAX_BYTES:
            return hashlib.sha256(data).hexdigest()
        return (await self._executor.slow.run(call, hashlib.sha256, data)).hexdigest()

    async def _duplicate(self, call: Call, store_id: str, sha256: str) -> AddedContent | None:
        """Return the content with this hash, so that a file is not parsed only to be dropped by `add`."""
        store = await self._contents.find_store(call, store_id)
        duplicate = await self._contents.find_duplicate(store, sha256) if store else None
        return AddedContent(store, duplicate, is_duplicate=True) if store and duplicate else None

    async def _read(self, call: Call, job: Job, source: Source, mime_type: str, sha256: str) -> NewContent:
        """Return what becomes of a text or file. Until it is stored it can be stopped, and then nothing is kept."""
        filename = job.name
        if source.text is None:
            parsed = await self._parser.parse(
                source.data, filename=filename, mime_type=mime_type, owner=call, begin=lambda: self._jobs.begin(job)
            )
        else:
            self._jobs.begin(job)
            parsed = Parsed(source.text, mime_type or mimetypes.guess_type(filename)[0] or "text/plain", "utf-8")
        return await self._new_content(call, parsed, filename, sha256, len(source.data))

    async def _new_content(self, call: Call, parsed: Parsed, filename: str, sha256: str, size: int) -> NewContent:
        # Cutting a large text takes a while, which the event loop does not have.
        new = await self._executor.slow.run(call, _cut_content, parsed, filename, sha256, size)
        if not self._ranking.needs_stored_tokens:
            return new
        texts = [searched_text(filename, chunk.number, chunk.text) for chunk in new.chunks]
        tokens = await self._analysis.tokenize(call, texts)
        return new._replace(tokens=tokens, analysis=self._analysis.name)


def _cut_content(parsed: Parsed, filename: str, sha256: str, size: int) -> NewContent:
    check_text(parsed.text)
    return NewContent(
        sha256=sha256,
        filename=filename,
        mime_type=parsed.mime_type,
        size=size,
        line_count=line_count(parsed.text),
        preview=preview(parsed.text),
        page_lines=parsed.page_lines,
        chunks=chunks.split(parsed.text),
    )
