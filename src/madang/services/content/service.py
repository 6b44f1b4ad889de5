"""Puts the content service together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from madang.core.archives import ArchiveReader, ArchiveWriter
from madang.core.arguments import parse_document
from madang.core.calls import Call
from madang.core.executor import Executor
from madang.core.ids import SessionId
from madang.core.operations import Operation
from madang.core.phrases import Phrase, say
from madang.core.service import RowQuery, Service, ServiceContext, ServiceMetadata, StateRows
from madang.core.tools import tools_of
from madang.core.uploads import AcceptedUpload, UploadedFile
from madang.database.port import Database
from madang.files.folders import Folders
from madang.records.analysis.analysis import Analysis
from madang.services.content.context import ContentState, content_context, content_rows
from madang.services.content.domain.arguments import ContentMetadata
from madang.services.content.domain.contents import ContentChange, Limits
from madang.services.content.domain.search import Ranking
from madang.services.content.engine.jobs import Jobs
from madang.services.content.engine.parsing import Parser
from madang.services.content.engine.ranking import IndexRanking
from madang.services.content.engine.reading import ContentReader
from madang.services.content.engine.searching import PassageSearch
from madang.services.content.engine.sessions import SessionContents
from madang.services.content.engine.sources import SourceReader
from madang.services.content.engine.writing import ContentWriter
from madang.services.content.store import ContentStore, IndexQueue, SessionRows, content_topic
from madang.services.content.tools import ContentTools
from madang.services.content.views.contents import content_added
from madang.services.content.views.stores import changed


class ContentService(Service):
    """Stores the texts and files of each session, and searches them.

    `index_dir` is the folder of an embedded database's search indexes; without it they are in memory, and rebuilt at
    each start.
    """

    metadata = ServiceMetadata(
        name="content",
        title=say("Content"),
        description=say("Texts and files that a session keeps, reads by lines and searches."),
        version="1",
        instructions="add_content keeps texts and documents, and keyword_similarity_search finds passages in them.",
        needs_posix=True,
    )
    state_type = ContentState

    def __init__(
        self,
        database: Database,
        index_dir: Path | None,
        folders: Folders | None = None,
        limits: Limits | None = None,
        executor: Executor | None = None,
    ) -> None:
        limits = limits or Limits()
        executor = executor or Executor()
        self._analysis = analysis = Analysis(executor)
        self._database = database
        self._contents = ContentStore(database, limits)
        rows = SessionRows(database, limits)
        self._jobs = Jobs(rows.tell)
        self._parser = Parser(executor)
        self._ranking = self._new_ranking(index_dir, analysis, executor)
        sources = SourceReader(folders, limits.file_bytes, executor)
        self._writer = writer = ContentWriter(
            self._contents, self._ranking, sources, self._parser, analysis, executor, self._jobs
        )
        self._sessions = SessionContents(rows, writer, self._ranking, executor)
        self.tools = tools_of(
            ContentTools(
                self._contents,
                writer,
                ContentReader(self._contents),
                PassageSearch(self._contents, self._ranking, analysis),
                self._jobs,
            )
        )

    def _new_ranking(self, index_dir: Path | None, analysis: Analysis, executor: Executor) -> Ranking:
        if self._database.ranks_text:
            # Only then: a start on a file does not need it.
            from madang.services.content.store.ranking import ServerRanking

            return ServerRanking(self._database, analysis)
        return IndexRanking(index_dir, IndexQueue(self._database), analysis, executor, self._jobs)

    async def load(self) -> None:
        await self._contents.open()
        await self._ranking.open()

    async def unload(self) -> None:
        """Close the indexes, the parser and the analysis; the database belongs to the composition root."""
        try:
            await self._ranking.close()
        finally:  # also when it took too long: these have processes
            await self._jobs.close()
            await self._parser.close()
            await self._analysis.close()

    async def get_service_context(self, call: Call) -> ServiceContext:
        return await content_context(self._contents, self._jobs, call)

    async def get_state_rows(self, call: Call, query: RowQuery) -> StateRows | None:
        return await content_rows(self._contents, call, query)

    async def count_uploads(self, call: Call) -> int:
        store = await self._contents.find_store(call, "")
        return 0 if store is None else (await self._contents.list_contents(store, 0, 1))[1]

    async def accept_upload(self, call: Call, upload: UploadedFile) -> AcceptedUpload:
        metadata = parse_document(ContentMetadata, {"filename": upload.name})
        added = await self._writer.add_file(call, upload.url, "", metadata)
        return AcceptedUpload(added.content.id, "add_content", content_added(added).text, is_new=not added.is_duplicate)

    async def withdraw_upload(self, call: Call, accepted: AcceptedUpload) -> None:
        await self._writer.delete_content(call, "", accepted.id, for_good=True)

    def changes(self, call: Call) -> AsyncIterator[object]:
        return self._database.changes(content_topic(call))

    async def needless_arguments(self, call: Call) -> frozenset[str]:
        return frozenset({"storeId"}) if len(await self._contents.list_stores(call)) <= 1 else frozenset()

    async def id_kind(self, call: Call, id: str) -> str:
        return await self._contents.id_kind(call, id)

    async def undo(self, call: Call, operation: Operation) -> Operation:
        return await self._writer.undo(call, operation)

    def describe(self, operation: Operation) -> Phrase:
        return changed(ContentChange.model_validate_json(operation.change))

    async def forget_session(self, call: Call) -> None:
        await self._sessions.forget(call)

    async def copy_session(self, call: Call, target: SessionId) -> None:
        await self._sessions.copy(call, replace(call, session_id=target))

    async def export_session(self, call: Call, archive: ArchiveWriter) -> None:
        await self._sessions.export(call, archive)

    async def import_session(self, call: Call, archive: ArchiveReader) -> None:
        await self._sessions.import_(call, archive)
